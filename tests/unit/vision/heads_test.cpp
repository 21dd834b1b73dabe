// Heads against boxes worked out by hand: sigmoid(0) = 1/2 and sigmoid(ln 3) = 3/4 make the YOLOv5 formulas
// come out in round numbers.
#include "vision/heads.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace peraxis::vision {
namespace {

using testing::HasSubstr;

constexpr float kOff = -20.0f;  // a logit whose sigmoid is next to nothing
constexpr float kOn = 20.0f;
const float kLn3 = std::log(3.0f);

// Owns the bytes that an OutputTensor looks at.
template <class T>
struct Tensor {
  std::vector<int64_t> shape;
  std::vector<T> values;
  std::string type;
  float scale = 0;
  int64_t zero_point = 0;

  OutputTensor view() const {
    return {shape,
            type,
            scale,
            zero_point,
            {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)}};
  }
};

Tensor<float> float_tensor(std::vector<int64_t> shape, float fill = 0) {
  size_t count = 1;
  for (int64_t side : shape) count *= static_cast<size_t>(side);
  return {std::move(shape), std::vector<float>(count, fill), "float32"};
}

// One stride of 8, one anchor 10 x 20, classes "a" and "b"; input 24 wide and 16 high: 3 x 2 cells.
ModelInfo small_info() {
  ModelInfo info;
  info.labels = {"a", "b"};
  info.strides = {8};
  info.anchors = {{{10, 20}}};
  return info;
}

const InputGeometry kSmallInput = {24, 16, {}};

void set_row(Tensor<float>& tensor, size_t row, std::vector<float> values) {
  std::copy(values.begin(), values.end(),
            tensor.values.begin() + static_cast<std::ptrdiff_t>(row * values.size()));
}

void expect_box(const Detection& detection, float x1, float y1, float x2, float y2) {
  EXPECT_NEAR(detection.box[0], x1, 1e-4);
  EXPECT_NEAR(detection.box[1], y1, 1e-4);
  EXPECT_NEAR(detection.box[2], x2, 1e-4);
  EXPECT_NEAR(detection.box[3], y2, 1e-4);
}

TEST(YoloRaw, OneBoxByHand) {
  Tensor<float> head = float_tensor({1, 2, 3, 7}, kOff);
  // Row 1, column 2: centre ((2/2 - 0.5 + 2) * 8, (2/2 - 0.5 + 1) * 8) = (20, 12), size (1 * 10, 2.25 * 20)
  // because (2 * 3/4)^2 = 2.25; score 3/4.
  set_row(head, 5, {0, 0, 0, kLn3, kOn, kOff, kLn3});
  auto found = decode_yolo_raw(std::vector{head.view()}, small_info(), kSmallInput);
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
  auto found = decode_yolo_raw(std::vector{head.view()}, small_info(), input);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1u);
  expect_box((*found)[0], (15 - 4) * 2, (2 - 1) * 2, (25 - 4) * 2, (22 - 1) * 2);
}

TEST(YoloRaw, OneBoxGivesADetectionForEachClass) {
  Tensor<float> head = float_tensor({1, 2, 3, 7}, kOff);
  set_row(head, 0, {0, 0, 0, 0, kOn, 0, kLn3});
  auto found = decode_yolo_raw(std::vector{head.view()}, small_info(), kSmallInput);
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
  auto found = decode_yolo_raw(std::vector{head.view()}, small_info(), kSmallInput);
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
  EXPECT_EQ(detect_head(views, info), HeadKind::YoloRaw);
  auto found = decode_detections(views, info, {96, 64, {}});
  ASSERT_TRUE(found) << found.error().text();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ((*found)[0].class_id, 7);
  EXPECT_FALSE((*found)[0].label.has_value());
  const float cx = (1 - 0.5f + 5) * 16, cy = (1 - 0.5f + 3) * 16;
  expect_box((*found)[0], cx - 29.5f, cy - 59.5f, cx + 29.5f, cy + 59.5f);
}

TEST(YoloRaw, WrongGridIsAnErrorWithTheShapes) {
  Tensor<float> head = float_tensor({1, 3, 2, 7}, kOff);  // width and height exchanged
  auto found = decode_yolo_raw(std::vector{head.view()}, small_info(), kSmallInput);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("[1, 3, 2, 7]"));
  EXPECT_THAT(found.error().message, HasSubstr("2 x 3 cells"));
}

TEST(YoloRaw, WrongDataSizeScaleAndTypeAreErrors) {
  Tensor<int8_t> head = {{1, 2, 3, 7}, std::vector<int8_t>(42), "int8", 0.1f, 0};
  const auto decode = [&] { return decode_yolo_raw(std::vector{head.view()}, small_info(), kSmallInput); };
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
  EXPECT_EQ(detect_head(std::vector{head.view()}, small_info()), HeadKind::YoloDecoded);
  auto found = decode_detections(std::vector{head.view()}, small_info(), input);
  ASSERT_TRUE(found) << found.error().text();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_FLOAT_EQ((*found)[0].score, 0.375f);
  expect_box((*found)[0], 24, 0, 40, 16);
}

TEST(YoloDecoded, PixelsWhenAValueIsAbove2) {
  Tensor<float> head = decoded_tensor({{32, 8, 16, 16, 1, 1, 0}});
  auto found = decode_yolo_decoded(head.view(), small_info(), {64, 32, {}});
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1u);
  expect_box((*found)[0], 24, 0, 40, 16);
}

TEST(YoloDecoded, NotFiniteRowsAreNoBoxes) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  Tensor<float> head = decoded_tensor(
      {{nan, .5f, .1f, .1f, 1, 1, 0}, {.5f, .5f, .1f, .1f, nan, 1, 0}, {.5f, .5f, .1f, .1f, inf, 1, 0}});
  auto found = decode_yolo_decoded(head.view(), small_info(), {64, 32, {}});
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->empty());
}

TEST(YoloDecoded, OneRowACellNeedsTheHeadsName) {
  // YOLOX on 320 x 320: 40 * 40 + 20 * 20 + 10 * 10 rows.
  Tensor<float> head = float_tensor({1, 2100, 85});
  ModelInfo info;
  auto found = decode_detections(std::vector{head.view()}, info, {320, 320, {}});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::Unsupported);
  EXPECT_THAT(found.error().message, HasSubstr("[1, 2100, 85]"));
  info.head = "yolov5-decoded";
  EXPECT_TRUE(decode_detections(std::vector{head.view()}, info, {320, 320, {}}));
}

TEST(Nms, ThresholdIsStrictAndWithinAClass) {
  // 10 x 10 boxes at x = 20 and 20 + d overlap with IoU (10 - d) / (10 + d): d = 3.75 gives 6.25 / 13.75 =
  // 0.4545, d = 4 gives 6 / 14 = 0.4286.
  const auto count = [](float d, float class_a, float class_b) {
    Tensor<float> head =
        decoded_tensor({{20, 20, 10, 10, 1, 0.9f, 0}, {20 + d, 20, 10, 10, 1, class_a, class_b}});
    auto found = decode_yolo_decoded(head.view(), small_info(), {64, 64, {}});
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
  auto found = decode_yolo_decoded(head.view(), small_info(), {64, 64, {}});
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
  auto all = decode_yolo_decoded(head.view(), info, {320, 32, {}});
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 15u);
  for (size_t i = 0; i < 15; ++i) EXPECT_EQ((*all)[i].box[0], 5 + 20 * static_cast<float>(i));
  info.max_detections = 4;
  EXPECT_EQ(decode_yolo_decoded(head.view(), info, {320, 32, {}})->size(), 4u);
}

HeadKind head_of(std::vector<std::vector<int64_t>> shapes, const ModelInfo& info = {}) {
  std::vector<OutputTensor> outputs;
  for (auto& shape : shapes) outputs.push_back({shape, "int8", 1, 0, {}});
  return detect_head(outputs, info);
}

TEST(DetectHead, ByShapes) {
  EXPECT_EQ(head_of({{1, 80, 80, 255}, {1, 40, 40, 255}, {1, 20, 20, 255}}), HeadKind::YoloRaw);
  EXPECT_EQ(head_of({{1, 20, 20, 75}, {1, 80, 80, 75}, {1, 40, 40, 75}}), HeadKind::YoloRaw);
  EXPECT_EQ(head_of({{1, 6300, 85}}), HeadKind::YoloDecoded);
  EXPECT_EQ(head_of({{1, 1001}}), HeadKind::Classification);
  EXPECT_EQ(head_of({{1, 1, 1, 10}}), HeadKind::Classification);

  EXPECT_EQ(head_of({}), HeadKind::None);
  EXPECT_EQ(head_of({{}}), HeadKind::None);
  EXPECT_EQ(head_of({{1, 84, 2100}}), HeadKind::None);                       // YOLOv8's order
  EXPECT_EQ(head_of({{1, 80, 80, 255}, {1, 40, 40, 255}}), HeadKind::None);  // three strides
  EXPECT_EQ(head_of({{1, 80, 80, 255}, {1, 40, 40, 255}, {1, 20, 20, 75}}), HeadKind::None);
  EXPECT_EQ(head_of({{1, 80, 80, 256}, {1, 40, 40, 256}, {1, 20, 20, 256}}), HeadKind::None);
  EXPECT_EQ(head_of({{2, 6300, 85}}), HeadKind::None);
  EXPECT_EQ(head_of({{1, 1118, 4}, {1, 1118, 2}}), HeadKind::None);
  EXPECT_EQ(head_of({{1, 7, 7, 10}}), HeadKind::None);
}

TEST(DetectHead, ObeysLabelsTaskAndHead) {
  ModelInfo info;
  info.labels = {"a", "b"};
  EXPECT_EQ(head_of({{1, 6300, 85}}, info), HeadKind::None);
  EXPECT_EQ(head_of({{1, 6300, 7}}, info), HeadKind::YoloDecoded);
  EXPECT_EQ(head_of({{1, 8, 8, 21}, {1, 4, 4, 21}, {1, 2, 2, 21}}, info), HeadKind::YoloRaw);
  info.head = "none";
  EXPECT_EQ(head_of({{1, 6300, 7}}, info), HeadKind::None);
  info.head = "yolov5";
  EXPECT_EQ(head_of({{1, 6300, 7}}, info), HeadKind::None);
  info.head = "";
  info.task = "classify";
  EXPECT_EQ(head_of({{1, 6300, 7}}, info), HeadKind::None);
  EXPECT_EQ(head_of({{1, 10}}, info), HeadKind::Classification);
  info.task = "detect";
  EXPECT_EQ(head_of({{1, 10}}, info), HeadKind::None);
}

TEST(TopClasses, FiveBestWithLabelsAndStableTies) {
  Tensor<uint8_t> scores = {{1, 7}, {10, 200, 30, 200, 5, 90, 31}, "uint8", 1 / 256.0f, 0};
  ModelInfo info;
  info.labels = {"zero", "one", "two", "three"};
  auto best = top_classes(scores.view(), info);
  ASSERT_TRUE(best) << best.error().text();
  ASSERT_EQ(best->size(), 5u);
  const int order[] = {1, 3, 5, 6, 2};
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ((*best)[i].class_id, order[i]);
  EXPECT_FLOAT_EQ((*best)[0].score, 200 / 256.0f);
  EXPECT_EQ((*best)[1].label, "three");
  EXPECT_FALSE((*best)[2].label.has_value());
  EXPECT_EQ(top_classes(scores.view(), info, 100)->size(), 7u);
  EXPECT_FALSE(top_classes(float_tensor({1, 3, 3}).view(), info));
}

}  // namespace
}  // namespace peraxis::vision
