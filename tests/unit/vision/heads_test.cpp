// Heads against boxes worked out by hand: sigmoid(0) = 1/2 and sigmoid(ln 3) = 3/4 make the YOLOv5 formulas
// come out in round numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "heads_testing.hpp"

namespace peraxis::vision {
namespace {

using testing::HasSubstr;

// One stride of 8, one anchor 10 x 20, classes "a" and "b"; input 24 wide and 16 high: 3 x 2 cells.
ModelInfo small_info() {
  ModelInfo info;
  info.labels = {"a", "b"};
  info.strides = {8};
  info.anchors = {{{10, 20}}};
  return info;
}

const InputGeometry kSmallInput = {24, 16, {}};

TEST(YoloRaw, OneBoxByHand) {
  Tensor<float> head = float_tensor({1, 2, 3, 7}, kOff);
  // Row 1, column 2: centre ((2/2 - 0.5 + 2) * 8, (2/2 - 0.5 + 1) * 8) = (20, 12), size (1 * 10, 2.25 * 20)
  // because (2 * 3/4)^2 = 2.25; score 3/4.
  set_row(head, 5, {0, 0, 0, kLn3, kOn, kOff, kLn3});
  auto found = decode_as("yolov5", {head.view()}, small_info(), kSmallInput);
  ASSERT_TRUE(found) << found.error().text();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ((*found)[0].class_id, 1);
  EXPECT_EQ((*found)[0].label, "b");
  EXPECT_NEAR((*found)[0].score, 0.75, 1e-6);
  expect_box((*found)[0], 15, 12 - 22.5f, 25, 12 + 22.5f);  // beyond the picture: not clipped
}

TEST(YoloRaw, MapsBackThroughTheLetterbox) {
  Tensor<float> head = float_tensor({1, 2, 3, 7}, kOff);
  set_row(head, 5, {0, 0, 0, 0, kOn, kLn3, kOff});
  InputGeometry input = kSmallInput;
  input.letterbox = {0.5, 4, 1};
  auto found = decode_as("yolov5", {head.view()}, small_info(), input);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1u);
  expect_box((*found)[0], (15 - 4) * 2, (2 - 1) * 2, (25 - 4) * 2, (22 - 1) * 2);
}

TEST(YoloRaw, OneBoxGivesADetectionForEachClass) {
  Tensor<float> head = float_tensor({1, 2, 3, 7}, kOff);
  set_row(head, 0, {0, 0, 0, 0, kOn, 0, kLn3});
  auto found = decode_as("yolov5", {head.view()}, small_info(), kSmallInput);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].class_id, 1);
  EXPECT_EQ((*found)[1].class_id, 0);
  EXPECT_NEAR((*found)[1].score, 0.5, 1e-6);
}

TEST(YoloRaw, ScoreIsObjectnessTimesClass) {
  Tensor<float> head = float_tensor({1, 2, 3, 7}, kOff);
  set_row(head, 0, {0, 0, 0, 0, kLn3, kOff, kLn3});  // 0.5625
  set_row(head, 3, {0, 0, 0, 0, 0, kOff, 0});        // 0.25: not above the threshold
  auto found = decode_as("yolov5", {head.view()}, small_info(), kSmallInput);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1u);
  EXPECT_NEAR((*found)[0].score, 0.5625, 1e-6);
}

TEST(YoloRaw, OutputsInAnyOrderAndQuantized) {
  // COCO shapes: 80 classes, input 96 x 64, grids 12 x 8, 6 x 4, 3 x 2; real = (stored - 10) * 0.5.
  std::vector<Tensor<int8_t>> heads;
  for (int stride : {32, 8, 16}) {
    const int64_t h = 64 / stride, w = 96 / stride;
    heads.push_back(
        {{1, h, w, 255}, std::vector<int8_t>(static_cast<size_t>(h * w * 255), -30), "int8", 0.5f, 10});
  }
  // Stride 16 (third tensor), row 3, column 5, anchor 2 (59 x 119), class 7: all box logits 0.
  int8_t* row = heads[2].values.data() + ((3 * 6 + 5) * 3 + 2) * 85;
  for (int i = 0; i < 4; ++i) row[i] = 10;
  row[4] = 50;      // logit 20
  row[5 + 7] = 50;  // logit 20
  std::vector<OutputTensor> views;
  for (const auto& head : heads) views.push_back(head.view());
  const ModelInfo info;
  auto found = decode_as("", views, info, {96, 64, {}});
  ASSERT_TRUE(found) << found.error().text();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ((*found)[0].class_id, 7);
  EXPECT_FALSE((*found)[0].label.has_value());
  const float cx = (1 - 0.5f + 5) * 16, cy = (1 - 0.5f + 3) * 16;
  expect_box((*found)[0], cx - 29.5f, cy - 59.5f, cx + 29.5f, cy + 59.5f);
}

TEST(YoloRaw, WrongGridIsAnErrorWithTheShapes) {
  Tensor<float> head = float_tensor({1, 3, 2, 7}, kOff);  // width and height exchanged
  auto found = decode_as("yolov5", {head.view()}, small_info(), kSmallInput);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("[1, 3, 2, 7]"));
  EXPECT_THAT(found.error().message, HasSubstr("2 x 3 cells"));
}

TEST(YoloRaw, WrongDataSizeScaleAndTypeAreErrors) {
  Tensor<int8_t> head = {{1, 2, 3, 7}, std::vector<int8_t>(42), "int8", 0.1f, 0};
  const auto decode = [&] { return decode_as("yolov5", {head.view()}, small_info(), kSmallInput); };
  EXPECT_TRUE(decode());
  head.values.pop_back();
  EXPECT_THAT(decode().error().message, HasSubstr("41 bytes"));
  head.values.push_back(0);
  head.scale = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(decode().error().message, HasSubstr("scale"));
  head.scale = 0.1f;
  head.type = "bool";
  EXPECT_THAT(decode().error().message, HasSubstr("bool"));
}

// Rows of a decoded head: cx, cy, w, h, objectness, two classes.
Tensor<float> decoded_tensor(const std::vector<std::vector<float>>& rows) {
  Tensor<float> tensor = float_tensor({1, 20, 7});
  for (size_t i = 0; i < rows.size(); ++i) set_row(tensor, i, rows[i]);
  return tensor;
}

TEST(YoloDecoded, FractionsOfANonSquareInput) {
  Tensor<float> head = decoded_tensor({{0.5f, 0.25f, 0.25f, 0.5f, 0.5f, 0.75f, 0}});
  const InputGeometry input = {64, 32, {}};
  EXPECT_THAT(head_of({{1, 20, 7}}, small_info(), input), HasSubstr("--head yolov5-decoded"));
  auto found = decode_as("yolov5-decoded", {head.view()}, small_info(), input);
  ASSERT_TRUE(found) << found.error().text();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_FLOAT_EQ((*found)[0].score, 0.375f);
  expect_box((*found)[0], 24, 0, 40, 16);
}

TEST(YoloDecoded, PixelsWhenAValueIsAbove2) {
  Tensor<float> head = decoded_tensor({{32, 8, 16, 16, 1, 1, 0}});
  auto found = decode_as("yolov5-decoded", {head.view()}, small_info(), {64, 32, {}});
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1u);
  expect_box((*found)[0], 24, 0, 40, 16);
}

TEST(YoloDecoded, NotFiniteRowsAreNoBoxes) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  Tensor<float> head = decoded_tensor({{nan, .5f, .1f, .1f, 1, 1, 0},
                                       {.5f, .5f, .1f, .1f, nan, 1, 0},
                                       {.5f, .5f, .1f, .1f, inf, 1, 0},
                                       {.5f, .5f, .1f, 1e38f, 1, 1, 0},
                                       {.5f, .5f, -.1f, .1f, 1, 1, 0},
                                       {.5f, .5f, .1f, .1f, 1e38f, 1e38f, 0}});
  auto found = decode_as("yolov5-decoded", {head.view()}, small_info(), {64, 32, {}});
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->empty());
}

TEST(YoloDecoded, OneRowACellNeedsTheHeadsName) {
  // 40 * 40 + 20 * 20 + 10 * 10 rows on 320 x 320 are YOLOX's, whose rows mean something else.
  Tensor<float> head = float_tensor({1, 2100, 85});
  EXPECT_EQ(head_of({{1, 2100, 85}}, {}, {320, 320, {}}), "yolox");
  EXPECT_TRUE(decode_as("yolov5-decoded", {head.view()}, {}, {320, 320, {}}));
}

TEST(YoloDecoded, UnitsCanBeStated) {
  Tensor<float> head = decoded_tensor({{0.5f, 0.25f, 1, 1, 1, 1, 0}});
  ModelInfo info = small_info();
  info.boxes = "pixels";
  auto found = decode_as("yolov5-decoded", {head.view()}, info, {64, 32, {}});
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1u);
  expect_box((*found)[0], 0, -0.25f, 1, 0.75f);
  info.boxes = "cells";
  found = decode_as("yolov5-decoded", {head.view()}, info, {64, 32, {}});
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("\"cells\""));
}

TEST(Nms, ThresholdIsStrictAndWithinAClass) {
  // 10 x 10 boxes at x = 20 and 20 + d overlap with IoU (10 - d) / (10 + d): d = 3.75 gives 6.25 / 13.75 =
  // 0.4545, d = 4 gives 6 / 14 = 0.4286.
  const auto count = [](float d, float class_a, float class_b) {
    Tensor<float> head =
        decoded_tensor({{20, 20, 10, 10, 1, 0.9f, 0}, {20 + d, 20, 10, 10, 1, class_a, class_b}});
    auto found = decode_as("yolov5-decoded", {head.view()}, small_info(), {64, 64, {}});
    return found ? found->size() : 99;
  };
  EXPECT_EQ(count(3.75f, 0.8f, 0), 1u);
  EXPECT_EQ(count(4, 0.8f, 0), 2u);
  EXPECT_EQ(count(3.75f, 0, 0.8f), 2u);
  EXPECT_EQ(count(0, 0.95f, 0), 1u);
}

TEST(Nms, ASuppressedBoxSuppressesNothing) {
  // A at 20 (0.9), B at 23 (0.8, overlaps A and C), C at 26 (0.7, overlaps B only: IoU with A 4 / 16).
  Tensor<float> head =
      decoded_tensor({{26, 20, 10, 10, 1, .7f, 0}, {23, 20, 10, 10, 1, .8f, 0}, {20, 20, 10, 10, 1, .9f, 0}});
  auto found = decode_as("yolov5-decoded", {head.view()}, small_info(), {64, 64, {}});
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 2u);
  EXPECT_FLOAT_EQ((*found)[0].score, .9f);
  EXPECT_FLOAT_EQ((*found)[1].score, .7f);
}

TEST(Nms, EqualScoresKeepTheirOrderAndTheLimitHolds) {
  std::vector<std::vector<float>> rows;
  for (int i = 0; i < 15; ++i) rows.push_back({10.0f + 20.0f * static_cast<float>(i), 5, 10, 10, 1, .5f, 0});
  Tensor<float> head = decoded_tensor(rows);
  ModelInfo info = small_info();
  auto all = decode_as("yolov5-decoded", {head.view()}, info, {320, 32, {}});
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 15u);
  for (size_t i = 0; i < 15; ++i) EXPECT_EQ((*all)[i].box[0], 5 + 20 * static_cast<float>(i));
  info.max_detections = 4;
  EXPECT_EQ(decode_as("yolov5-decoded", {head.view()}, info, {320, 32, {}})->size(), 4u);
}

// A leading name for the background is a class of its own or none: the number of classes tells.
TEST(TopClasses, LabelsWithABackground) {
  const Tensor<float> scores = {{1, 3}, {0.1f, 0.2f, 0.7f}, "float32"};
  const auto best = [&](std::string_view text) {
    ModelInfo info;
    info.set_labels(*parse_labels(text, "l.txt"));
    return top_classes(scores.view(), info)->at(0).label.value_or("none");
  };
  EXPECT_EQ(best("ant\nbee\ncat"), "cat");
  EXPECT_EQ(best("???\nant\nbee\ncat"), "cat");
  EXPECT_EQ(best("background\nbee\ncat"), "cat");
  EXPECT_EQ(best("0 ???\n1 ant\n2 bee\n3 cat"), "cat");
  EXPECT_EQ(best("1 ant\n2 bee\n3 cat"), "cat");
  EXPECT_EQ(best("1 bee\n2 cat"), "cat");  // as many indices as classes: they are the classes
  EXPECT_EQ(best("0 ant\n2 cat"), "cat");
  EXPECT_EQ(best("2 cat"), "cat");
  EXPECT_EQ(best("0 ant"), "none");
  EXPECT_EQ(best("ant\nbee\ncat\ndog"), "none");
  EXPECT_EQ(best("0 ant\n1 bee\n2 cat\n3 dog\n4 elk"), "none");
}

TEST(TopClasses, FiveBestWithLabelsAndStableTies) {
  Tensor<uint8_t> scores = {{1, 7}, {10, 200, 30, 200, 5, 90, 31}, "uint8", 1 / 256.0f, 0};
  ModelInfo info;
  info.labels = {"zero", "one", "two", "three"};
  info.labels_numbered = true;
  auto best = top_classes(scores.view(), info);
  ASSERT_TRUE(best) << best.error().text();
  ASSERT_EQ(best->size(), 5u);
  const int order[] = {1, 3, 5, 6, 2};
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ((*best)[i].class_id, order[i]);
  EXPECT_FLOAT_EQ((*best)[0].score, 200 / 256.0f);
  EXPECT_EQ((*best)[1].label, "three");
  EXPECT_FALSE((*best)[2].label.has_value());
  EXPECT_EQ(top_classes(scores.view(), info, 100)->size(), 7u);
  // Four names in their order are not those of seven classes: nobody knows which are missing.
  info.labels_numbered = false;
  EXPECT_FALSE(top_classes(scores.view(), info)->at(0).label.has_value());
  EXPECT_FALSE(top_classes(float_tensor({1, 3, 3}).view(), info));
}

}  // namespace
}  // namespace peraxis::vision
