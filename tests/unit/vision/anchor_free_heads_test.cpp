// YOLOX and YOLOv8 against boxes worked out by hand: sigmoid(ln 3) = 3/4, exp(ln 3) = 3. Bins: two equal
// logits far above the rest have their mean, one logit far above the rest has its number, and a bin ln 3
// above another weighs three times as much.
#include <gmock/gmock.h>

#include <limits>

#include "heads_testing.hpp"

namespace peraxis::vision {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const float kNan = std::numeric_limits<float>::quiet_NaN();

// Input 24 x 16, strides 8 and 16: 3 x 2 and 2 x 1 cells, two classes.
const InputGeometry kInput = {24, 16, {}};

ModelInfo two_classes() {
  ModelInfo info;
  info.labels = {"a", "b"};
  info.strides = {8, 16};
  return info;
}

TEST(Yolox, OffsetsFromTheCells) {
  Tensor<float> head = float_tensor({1, 8, 7});
  set_row(head, 5, {0.5f, -1, 0, kLn3, 0.5f, 0, 1});      // row 1, column 2 of stride 8: (20, 0), 8 x 24
  set_row(head, 7, {0.25f, 0.5f, kLn3, 0, 0.75f, 1, 0});  // row 0, column 1 of stride 16: (20, 8), 48 x 16
  EXPECT_EQ(head_of({{1, 8, 7}}, two_classes(), kInput), "yolox");
  for (const char* name : {"", "yolox"}) {
    auto found = decode_as(name, {head.view()}, two_classes(), kInput);
    ASSERT_TRUE(found) << found.error().text();
    ASSERT_EQ(found->size(), 2u);
    EXPECT_EQ((*found)[0].label, "a");
    EXPECT_NEAR((*found)[0].score, 0.75, 1e-6);
    expect_box((*found)[0], -4, 0, 44, 16);
    EXPECT_EQ((*found)[1].label, "b");
    EXPECT_NEAR((*found)[1].score, 0.5, 1e-6);
    expect_box((*found)[1], 16, -12, 24, 12);
  }
}

TEST(Yolox, PixelsWhenAValueIsAbove16) {
  Tensor<float> head = float_tensor({1, 7, 8});  // the other order of the sides
  const float row[] = {20, 8, 10, 6, 1, 0, 1};
  for (size_t i = 0; i < 7; ++i) head.values[i * 8 + 3] = row[i];
  auto found = decode_as("yolox", {head.view()}, two_classes(), kInput);
  ASSERT_TRUE(found) << found.error().text();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ((*found)[0].class_id, 1);
  expect_box((*found)[0], 15, 5, 25, 11);
}

TEST(Yolox, SaysTheUnitItTakes) {
  const Tensor<float> head = float_tensor({1, 8, 7});
  ModelInfo info = two_classes();
  const std::vector<OutputTensor> outputs = {head.view()};
  const HeadView view{outputs, info, kInput};
  const auto choice = choose_head(view);
  ASSERT_TRUE(choice) << choice.error().text();
  EXPECT_THAT(
      decode_with(*choice, view)->assumed,
      testing::ElementsAre(HasSubstr("'yolox'"), AllOf(HasSubstr("boxes in cells"), HasSubstr("\"boxes\""))));
  info.boxes = "cells";
  EXPECT_THAT(decode_with(*choice, view)->assumed, testing::ElementsAre(HasSubstr("'yolox'")));
}

TEST(Yolox, UnitsCanBeStated) {
  Tensor<float> head = float_tensor({1, 8, 7});
  set_row(head, 0, {0.5f, 0.25f, 0.5f, 1, 1, 1, 0});
  ModelInfo info = two_classes();
  info.boxes = "fractions";
  auto found = decode_as("yolox", {head.view()}, info, kInput);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1u);
  expect_box((*found)[0], 6, -4, 18, 12);
  info.boxes = "pixels";
  expect_box(decode_as("yolox", {head.view()}, info, kInput)->at(0), 0.25f, -0.25f, 0.75f, 0.75f);
}

TEST(Yolox, RefusesLogitsCoarseScoresAndOtherCells) {
  Tensor<float> logits = float_tensor({1, 8, 7}, 3);
  auto found = decode_as("yolox", {logits.view()}, two_classes(), kInput);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, AllOf(HasSubstr("'yolox'"), HasSubstr("column 4 of row 0 is 3")));
  const Tensor<int8_t> coarse = {{1, 8, 7}, std::vector<int8_t>(56), "int8", 2.5f, 0};
  found = decode_as("yolox", {coarse.view()}, two_classes(), kInput);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("2.5 apart"));
  const Tensor<float> other = float_tensor({1, 9, 7});
  found = decode_as("yolox", {other.view()}, two_classes(), kInput);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, AllOf(HasSubstr("9 rows"), HasSubstr("8 cells")));
}

TEST(Yolox, ValuesThatAreNoNumbersAreNoBoxes) {
  Tensor<float> head = float_tensor({1, 8, 7});
  set_row(head, 0, {kNan, 0, 0, 0, 1, 1, 1});
  set_row(head, 1, {0, 0, 0, 0, kNan, 1, 1});
  set_row(head, 2, {0, 0, 0, 0, 1, kNan, kNan});
  set_row(head, 3, {0, 0, std::numeric_limits<float>::infinity(), 0, 1, 1, 1});
  auto found = decode_as("yolox", {head.view()}, two_classes(), kInput);
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_TRUE(found->empty());
}

// 64 box logits whose sides are 0.5, 3, 2.75 and 15 cells.
std::vector<float> box_logits() {
  std::vector<float> logits(64, -40);
  logits[0] = logits[1] = 5;  // bins 0 and 1
  logits[16 + 3] = 5;         // bin 3
  logits[32 + 2] = 7;         // bin 2
  logits[32 + 3] = 7 + kLn3;  // bin 3, three times as heavy
  logits[48 + 15] = 5;        // bin 15
  return logits;
}
// With them around the cell (1, 0) of stride 8, whose centre is (12, 4).
void expect_bins(const Detection& detection) {
  expect_box(detection, 8, -20, 34, 124);
}

TEST(YoloV8, OneMapAStride) {
  Tensor<float> fine = float_tensor({1, 2, 3, 66}, kOff), coarse = float_tensor({1, 1, 2, 66}, kOff);
  std::vector<float> row = box_logits();
  row.insert(row.end(), {kOff, kLn3});
  set_row(fine, 1, row);
  auto found = decode_as("", {coarse.view(), fine.view()}, two_classes(), kInput);
  ASSERT_TRUE(found) << found.error().text();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ((*found)[0].label, "b");
  EXPECT_NEAR((*found)[0].score, 0.75, 1e-6);
  expect_bins((*found)[0]);
}

TEST(YoloV8, TwoMapsAStrideInAnyOrder) {
  Tensor<float> boxes = float_tensor({1, 2, 3, 64}), classes = float_tensor({1, 2, 3, 2}, kOff);
  Tensor<float> coarse_boxes = float_tensor({1, 1, 2, 64}), coarse_classes = float_tensor({1, 1, 2, 2}, kOff);
  set_row(boxes, 1, box_logits());
  set_row(classes, 1, {kOn, kOff});
  set_row(coarse_classes, 1, {0, kOff});  // equal bins: 7.5 cells of 16 each way around (24, 8)
  for (auto views : {std::vector{boxes.view(), classes.view(), coarse_boxes.view(), coarse_classes.view()},
                     std::vector{coarse_classes.view(), classes.view(), coarse_boxes.view(), boxes.view()}}) {
    auto found = decode_as("", views, two_classes(), kInput);
    ASSERT_TRUE(found) << found.error().text();
    ASSERT_EQ(found->size(), 2u);
    EXPECT_EQ((*found)[0].label, "a");
    expect_bins((*found)[0]);
    EXPECT_NEAR((*found)[1].score, 0.5, 1e-6);
    expect_box((*found)[1], 24 - 120, 8 - 120, 24 + 120, 8 + 120);
  }
}

TEST(YoloV8, OneOutputForAllStrides) {
  std::vector<float> row = box_logits();
  row.insert(row.end(), {kOff, kOn});
  Tensor<float> rows = float_tensor({1, 8, 66}, kOff), columns = float_tensor({1, 66, 8}, kOff);
  set_row(rows, 7, row);  // column 1 of stride 16: centre (24, 8), sides twice as long
  for (size_t i = 0; i < row.size(); ++i) columns.values[i * 8 + 7] = row[i];
  for (const Tensor<float>* head : {&rows, &columns}) {
    auto found = decode_as("", {head->view()}, two_classes(), kInput);
    ASSERT_TRUE(found) << found.error().text();
    ASSERT_EQ(found->size(), 1u);
    expect_box((*found)[0], 24 - 8, 8 - 48, 24 + 44, 8 + 240);
  }
}

TEST(YoloV8, ValuesThatAreNoNumbersAreNoBoxes) {
  Tensor<float> fine = float_tensor({1, 2, 3, 66}, kOff), coarse = float_tensor({1, 1, 2, 66}, kOff);
  std::vector<float> row = box_logits();
  row.insert(row.end(), {kOn, kNan});
  row[7] = kNan;
  set_row(fine, 1, row);
  row[7] = std::numeric_limits<float>::infinity();
  set_row(fine, 2, row);
  auto found = decode_as("yolov8", {fine.view(), coarse.view()}, two_classes(), kInput);
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_TRUE(found->empty());
}

TEST(YoloV8Decoded, EitherOrderFractionsAndPixels) {
  Tensor<float> rows = float_tensor({1, 8, 6}), columns = float_tensor({1, 6, 8});
  const std::vector<float> row = {0.5f, 0.25f, 0.5f, 1, 0.125f, 0.875f};
  set_row(rows, 3, row);
  for (size_t i = 0; i < row.size(); ++i) columns.values[i * 8 + 3] = row[i];
  for (Tensor<float>* head : {&rows, &columns}) {
    auto found = decode_as("", {head->view()}, two_classes(), kInput);
    ASSERT_TRUE(found) << found.error().text();
    ASSERT_EQ(found->size(), 1u);
    EXPECT_EQ((*found)[0].label, "b");
    EXPECT_NEAR((*found)[0].score, 0.875, 1e-6);
    expect_box((*found)[0], 6, -4, 18, 12);
  }
  set_row(rows, 3, {12, 4, 12, 16, 0.125f, 0.875f});
  expect_box(decode_as("yolov8-decoded", {rows.view()}, two_classes(), kInput)->at(0), 6, -4, 18, 12);
}

// Boxes and scores under one scale, as int8 exports have it: 0 is -128, 1 is 127.
TEST(YoloV8Decoded, OneScaleForBoxesAndScores) {
  Tensor<int8_t> head = {{1, 6, 8}, std::vector<int8_t>(48, -128), "int8", 1 / 255.0f, -128};
  const int8_t row[] = {-77, -77, -26, -26, 127, -128};  // 0.2, 0.2, 0.4, 0.4, 1, 0
  for (size_t i = 0; i < 6; ++i) head.values[i * 8 + 6] = row[i];
  auto found = decode_as("", {head.view()}, two_classes(), {24, 16, {0.5, 4, 1}});
  ASSERT_TRUE(found) << found.error().text();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_FLOAT_EQ((*found)[0].score, 1);
  // 0 .. 9.6 and 0 .. 6.4 in the input, less the letterbox's 4 and 1, times 2.
  expect_box((*found)[0], -8, -2, 11.2f, 10.8f);
  head.scale = 640 / 255.0f;
  found = decode_as("", {head.view()}, two_classes(), kInput);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, AllOf(HasSubstr("'yolov8-decoded'"), HasSubstr("fractions")));
}

TEST(YoloV8Decoded, SuppressesWithinAClassOnly) {
  Tensor<float> head = float_tensor({1, 8, 6});
  set_row(head, 0, {12, 8, 10, 10, 0.9f, 0});
  set_row(head, 1, {13, 8, 10, 10, 0.8f, 0});
  set_row(head, 2, {13, 8, 10, 10, 0, 0.7f});
  auto found = decode_as("yolov8-decoded", {head.view()}, two_classes(), kInput);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 2u);
  EXPECT_FLOAT_EQ((*found)[0].score, 0.9f);
  EXPECT_FLOAT_EQ((*found)[1].score, 0.7f);
}

TEST(YoloV8Decoded, RefusesLogits) {
  Tensor<float> head = float_tensor({1, 8, 6}, -3);
  auto found = decode_as("yolov8-decoded", {head.view()}, two_classes(), kInput);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("column 4 of row 0 is -3"));
}

TEST(AnchorFree, AWrongNumberOfBytesIsAnError) {
  Tensor<float> head = float_tensor({1, 8, 7});
  head.values.pop_back();
  for (const char* name : {"yolox", "yolov8-decoded"}) {
    ModelInfo info = two_classes();
    info.labels.clear();
    auto found = decode_as(name, {head.view()}, info, kInput);
    ASSERT_FALSE(found);
    EXPECT_THAT(found.error().message, HasSubstr("220 bytes, needs 224"));
  }
}

}  // namespace
}  // namespace peraxis::vision
