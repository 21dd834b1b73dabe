// SSD with and without its post-processing operator, against boxes worked out by hand.
#include <gmock/gmock.h>

#include <limits>

#include "heads_testing.hpp"

namespace peraxis::vision {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const float kNoScore = std::numeric_limits<float>::quiet_NaN();
const InputGeometry kSsdInput = {20, 10, {}};

struct Ssd {
  Tensor<float> codes = float_tensor({1, 3, 4}), scores = float_tensor({1, 3, 3});
  ModelInfo info;

  Ssd() {
    info.labels = {"a", "b"};  // the scores have a column more: background
    info.box_order = "xywh";
    info.priors = {{0.25f, 0.5f, 0.5f, 0.2f}, {0.5f, 0.5f, 0.1f, 0.4f}, {0.5f, 0.5f, 1, 1}};
    // Anchor (10, 5) with 2 x 4: centre moves by 5 * 0.1 * 2 and -2.5 * 0.1 * 4, sides 3 and 1 times as long.
    set_row(codes, 1, {5, -2.5f, 5 * kLn3, 0});
    set_row(scores, 1, {0.125f, 0.25f, 0.625f});
  }
  Found decode() const { return decode_as("ssd", {scores.view(), codes.view()}, info, kSsdInput); }
};

TEST(Ssd, CodesAroundPriors) {
  const Ssd ssd;
  EXPECT_EQ(head_of({{1, 3, 3}, {1, 3, 4}}, ssd.info, kSsdInput), "ssd");
  auto found = ssd.decode();
  ASSERT_TRUE(found) << found.error().text();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ((*found)[0].label, "b");
  EXPECT_NEAR((*found)[0].score, 0.625, 1e-6);
  expect_box((*found)[0], 11 - 3, 4 - 2, 11 + 3, 4 + 2);
}

TEST(Ssd, OtherOrderAndVariances) {
  Ssd ssd;
  ssd.info.box_order = "yxhw";
  ssd.info.centre_variance = 0.2;
  ssd.info.size_variance = 0.4;
  set_row(ssd.codes, 1, {-2.5f, 5, 0, 2.5f * kLn3});
  auto found = ssd.decode();
  ASSERT_TRUE(found) << found.error().text();
  ASSERT_EQ(found->size(), 1u);
  expect_box((*found)[0], 12 - 3, 3 - 2, 12 + 3, 3 + 2);
}

TEST(Ssd, AnchorsOfTheStrides) {
  Ssd ssd;
  ssd.info.priors.clear();
  ssd.info.anchors_stated = true;
  ssd.info.strides = {10, 20};  // 2 x 1 and 1 x 1 cells
  ssd.info.anchors = {{{2, 4}}, {{8, 8}}};
  auto found = ssd.decode();  // the second cell: centre (15, 5)
  ASSERT_TRUE(found) << found.error().text();
  ASSERT_EQ(found->size(), 1u);
  expect_box((*found)[0], 16 - 3, 4 - 2, 16 + 3, 4 + 2);
  ssd.info.anchors[0].push_back({3, 3});
  found = ssd.decode();
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, AllOf(HasSubstr("make 5 boxes"), HasSubstr("have 3")));
}

TEST(Ssd, ColumnZeroIsAClassWhenTheLabelsCountIt) {
  Ssd ssd;
  ssd.info.labels = {"x", "y", "z"};
  set_row(ssd.scores, 1, {0.5f, 0, 0});
  auto found = ssd.decode();
  ASSERT_TRUE(found) << found.error().text();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ((*found)[0].label, "x");
  ssd.info.labels.clear();
  EXPECT_TRUE(ssd.decode()->empty());
  ssd.info.background = false;
  EXPECT_EQ(ssd.decode()->size(), 1u);
}

// A leading label for the background names the column that the scores have for it.
TEST(Ssd, LabelsThatNameTheBackground) {
  Ssd ssd;
  for (const char* text : {"???\na\nb", "background\na\nb", "0 background\n1 a\n2 b", "1 a\n2 b"}) {
    ssd.info.set_labels(*parse_labels(text, "l.txt"));
    auto found = ssd.decode();
    ASSERT_TRUE(found) << found.error().text();
    ASSERT_EQ(found->size(), 1u) << text;
    EXPECT_EQ((*found)[0].class_id, 1);
    EXPECT_EQ((*found)[0].label, "b");
  }
}

TEST(Ssd, WhatTheFileDoesNotTellIsAskedFor) {
  Ssd ssd;
  ssd.info.box_order.clear();
  EXPECT_THAT(ssd.decode().error().message, HasSubstr("\"box_order\""));
  ssd.info.box_order = "xywh";
  ssd.info.priors.pop_back();
  EXPECT_THAT(ssd.decode().error().message, AllOf(HasSubstr("2 priors"), HasSubstr("3 boxes")));
  ssd.info.priors.clear();
  const auto found = ssd.decode();
  EXPECT_EQ(found.error().code, ErrorCode::Unsupported);
  EXPECT_THAT(found.error().message,
              AllOf(HasSubstr("'ssd'"), HasSubstr("3 boxes"), HasSubstr("\"priors\"")));
}

TEST(Ssd, LogitsAreRefusedAndNoNumbersAreNoBoxes) {
  Ssd ssd;
  set_row(ssd.codes, 0, {kNoScore, 0, 0, 0});
  set_row(ssd.scores, 0, {0, 1, 1});
  set_row(ssd.codes, 2, {0, 0, 1e6f, 0});
  set_row(ssd.scores, 2, {0, 1, 1});
  EXPECT_EQ(ssd.decode()->size(), 1u);
  set_row(ssd.scores, 0, {0, 4.5f, 0});
  EXPECT_THAT(ssd.decode().error().message, HasSubstr("column 1 of row 0 is 4.5"));
}

struct Processed {
  Tensor<float> boxes = float_tensor({1, 3, 4}), classes = float_tensor({1, 3}),
                scores = float_tensor({1, 3}), count = float_tensor({1}, 2);
  ModelInfo info;

  Processed() {
    set_row(boxes, 0, {0.1f, 0.25f, 0.5f, 0.75f});  // ymin, xmin, ymax, xmax
    set_row(boxes, 1, {0.1f, 0.25f, 0.5f, 0.75f});  // the same again: the operator has suppressed, we do not
    set_row(boxes, 2, {0, 0, 1, 1});
    classes.values = {1, 0, 0};
    scores.values = {0.75f, 0.5f, 0.875f};  // the third is beyond the count
    info.labels = {"a", "b"};
  }
  std::vector<OutputTensor> in_order() const {
    return {boxes.view(), classes.view(), scores.view(), count.view()};
  }
};

TEST(SsdPostprocess, TheOperatorsOrderAndThatOfSignatures) {
  const Processed p;
  for (const auto& views :
       {p.in_order(), std::vector{p.scores.view(), p.boxes.view(), p.count.view(), p.classes.view()},
        std::vector{p.boxes.view(), p.scores.view(), p.classes.view(), p.count.view()}}) {
    auto found = decode_as("", views, p.info, kSsdInput);
    ASSERT_TRUE(found) << found.error().text();
    ASSERT_EQ(found->size(), 2u);
    EXPECT_EQ((*found)[0].label, "b");
    EXPECT_FLOAT_EQ((*found)[0].score, 0.75f);
    expect_box((*found)[0], 5, 1, 15, 5);
    EXPECT_EQ((*found)[1].label, "a");
  }
}

Decoded decoded(const std::vector<OutputTensor>& outputs, const ModelInfo& info, int64_t operator_classes) {
  const HeadView view{outputs, info, kSsdInput, operator_classes};
  const auto choice = choose_head(view);
  EXPECT_TRUE(choice) << choice.error().text();
  auto found = decode_with(*choice, view);
  EXPECT_TRUE(found) << found.error().text();
  return found ? *found : Decoded{};
}

// The model's operator says which list is which and how many classes there are; nothing is assumed then.
TEST(SsdPostprocess, TheOperatorsWordGoesBeforeValuesAndPlaces) {
  Processed p;
  p.scores.values = {1, 1, 0};
  p.classes.values = {0, 1, 0};
  std::vector<OutputTensor> views = {p.boxes.view(), p.scores.view(), p.classes.view(), p.count.view()};
  EXPECT_EQ(decoded(views, p.info, 0).detections.at(0).class_id, 1);  // by places, and said so
  EXPECT_THAT(decoded(views, p.info, 0).assumed,
              testing::Contains(HasSubstr("output 1 holds the classes and output 2 the scores")));
  const int roles[] = {0, 2, 1, 3};
  for (size_t i = 0; i < 4; ++i) views[i].detection_output = roles[i];
  const Decoded known = decoded(views, p.info, 2);
  ASSERT_EQ(known.detections.size(), 2u);
  EXPECT_EQ(known.detections[0].class_id, 0);
  EXPECT_THAT(known.assumed, testing::ElementsAre(HasSubstr("TFLite_Detection_PostProcess")));
}

TEST(SsdPostprocess, LabelsInStepWithTheOperatorsClasses) {
  const Processed p;  // the best box is of class 1
  const auto label = [&](std::string_view text, int64_t classes) {
    std::vector<OutputTensor> views = p.in_order();
    for (size_t i = 0; i < 4; ++i) views[i].detection_output = static_cast<int>(i);
    ModelInfo info;
    info.set_labels(*parse_labels(text, "l.txt"));
    return decoded(views, info, classes).detections.at(0).label.value_or("none");
  };
  EXPECT_EQ(label("a\nb", 2), "b");
  EXPECT_EQ(label("???\na\nb", 2), "b");
  EXPECT_EQ(label("1 a\n2 b", 2), "b");
  EXPECT_EQ(label("0 a\n1 b", 2), "b");
  EXPECT_EQ(label("0 a\n1 b", 90), "b");
  EXPECT_EQ(label("a\nb\nc", 90), "none");
  // Without the operator's number a first ??? stands for the background, and a number is an index.
  EXPECT_EQ(label("???\na\nb", 0), "b");
  EXPECT_EQ(label("1 b\n2 c", 0), "b");
}

TEST(SsdPostprocess, PixelsAreKnownByTheirValues) {
  Processed p;
  set_row(p.boxes, 0, {1, 5, 5, 15});
  set_row(p.boxes, 1, {1, 5, 5, 15});
  const Decoded found = decoded(p.in_order(), p.info, 0);
  ASSERT_EQ(found.detections.size(), 2u);
  expect_box(found.detections[0], 5, 1, 15, 5);
  EXPECT_THAT(found.assumed, testing::Contains(AllOf(HasSubstr("pixels"), HasSubstr("15"))));
}

// Classes 0 and 1 beside scores 0 and 1: only the place of the boxes tells.
TEST(SsdPostprocess, ThePlaceOfTheBoxesDecidesWhereValuesDoNot) {
  Processed p;
  p.scores.values = {1, 1, 0};
  p.classes.values = {0, 0, 0};
  const std::vector<OutputTensor> saved = {p.scores.view(), p.boxes.view(), p.count.view(), p.classes.view()};
  EXPECT_EQ(decode_as("", p.in_order(), p.info, kSsdInput)->at(0).class_id, 0);
  EXPECT_EQ(decode_as("", saved, p.info, kSsdInput)->at(0).class_id, 0);
}

TEST(SsdPostprocess, ThresholdAndLimit) {
  Processed p;
  p.count.values = {3};
  EXPECT_EQ(decode_as("", p.in_order(), p.info, kSsdInput)->size(), 3u);
  p.info.max_detections = 1;
  EXPECT_FLOAT_EQ(decode_as("", p.in_order(), p.info, kSsdInput)->at(0).score, 0.875f);
  p.info.score = 0.9;
  EXPECT_TRUE(decode_as("", p.in_order(), p.info, kSsdInput)->empty());
}

TEST(SsdPostprocess, ImpossibleCountsAndListsAreRefused) {
  Processed p;
  for (const float count : {-1.0f, 4.0f, 1.5f, kNoScore, 1e30f}) {
    p.count.values = {count};
    const auto found = decode_as("", p.in_order(), p.info, kSsdInput);
    ASSERT_FALSE(found);
    EXPECT_THAT(found.error().message, HasSubstr("number of detections is"));
  }
  p.count.values = {0};
  EXPECT_TRUE(decode_as("", p.in_order(), p.info, kSsdInput)->empty());
  p.count.values = {2};
  p.classes.values = {0.5f, kNoScore, 0};
  EXPECT_THAT(decode_as("", p.in_order(), p.info, kSsdInput).error().message, HasSubstr("neither list"));
  p.classes.values = {1e30f, 0, 0};
  EXPECT_FALSE(decode_as("", p.in_order(), p.info, kSsdInput));
}

TEST(SsdPostprocess, BoxesThatAreNoneAreLeftOut) {
  Processed p;
  set_row(p.boxes, 0, {0.5f, 0.25f, 0.1f, 0.75f});  // ymax above ymin
  set_row(p.boxes, 1, {kNoScore, 0, 1, 1});
  auto found = decode_as("", p.in_order(), p.info, kSsdInput);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->empty());
}

}  // namespace
}  // namespace peraxis::vision
