// YOLOv3 and its small relatives against boxes worked out by hand: sigmoid(0) = 1/2, sigmoid(ln 3) = 3/4,
// exp(ln 3) = 3, exp(0) = 1.
#include <gmock/gmock.h>

#include <limits>

#include "heads_testing.hpp"

namespace peraxis::vision {
namespace {

using testing::HasSubstr;

// Two maps of an input of 96 x 64 pixels, three anchors, two classes: 6 x 4 and 3 x 2 cells.
struct TwoMaps {
  Tensor<float> fine = float_tensor({1, 4, 6, 21}, kOff);
  Tensor<float> coarse = float_tensor({1, 2, 3, 21}, kOff);

  std::vector<OutputTensor> views() const { return {coarse.view(), fine.view()}; }
};
const InputGeometry kGridInput = {96, 64, {}};

ModelInfo two_labels() {
  ModelInfo info;
  info.labels = {"a", "b"};
  return info;
}

TEST(YoloFastest, BoxesByHand) {
  TwoMaps maps;
  // Fine, row 3, column 2, anchor 1 (37 x 49): centre (2.75 * 16, 3.5 * 16), size (37, 147), score 0.75 *
  // 0.75.
  set_row(maps.fine, (3 * 6 + 2) * 3 + 1, {kLn3, 0, 0, kLn3, kLn3, kLn3, kOff});
  // Coarse, row 0, column 1, anchor 0 (115 x 73): centre (1.5 * 32, 0.5 * 32).
  set_row(maps.coarse, (0 * 3 + 1) * 3 + 0, {0, 0, 0, 0, kOn, kOff, kOn});
  auto found = decode_as("yolo-fastest", maps.views(), two_labels(), kGridInput);
  ASSERT_TRUE(found) << found.error().text();
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].label, "b");
  EXPECT_NEAR((*found)[0].score, 1, 1e-6);
  expect_box((*found)[0], 48 - 57.5f, 16 - 36.5f, 48 + 57.5f, 16 + 36.5f);
  EXPECT_EQ((*found)[1].label, "a");
  EXPECT_NEAR((*found)[1].score, 0.5625, 1e-6);
  expect_box((*found)[1], 44 - 18.5f, 56 - 73.5f, 44 + 18.5f, 56 + 73.5f);
}

TEST(YoloV3Tiny, HasOtherAnchors) {
  TwoMaps maps;
  set_row(maps.fine, (3 * 6 + 2) * 3 + 1, {kLn3, 0, 0, kLn3, kLn3, kLn3, kOff});  // 23 x 27
  auto found = decode_as("yolov3-tiny", maps.views(), two_labels(), kGridInput);
  ASSERT_TRUE(found) << found.error().text();
  ASSERT_EQ(found->size(), 1u);
  expect_box((*found)[0], 44 - 11.5f, 56 - 40.5f, 44 + 11.5f, 56 + 40.5f);
}

TEST(YoloV3, AnchorsOfTheModelInfo) {
  TwoMaps maps;
  ModelInfo info = two_labels();
  info.anchors_stated = true;
  info.strides = {32, 16};
  info.anchors = {{{1, 2}, {3, 4}, {5, 6}}, {{7, 8}, {9, 10}, {11, 12}}};
  set_row(maps.fine, (3 * 6 + 2) * 3 + 1, {0, 0, 0, 0, kOn, kOn, kOff});
  for (const char* name : {"yolov3", "yolov3-tiny", "yolo-fastest"}) {
    auto found = decode_as(name, maps.views(), info, kGridInput);
    ASSERT_TRUE(found) << found.error().text();
    ASSERT_EQ(found->size(), 1u);
    expect_box((*found)[0], 40 - 4.5f, 56 - 5, 40 + 4.5f, 56 + 5);
  }
}

TEST(YoloV3, GridsThatAreNotTheStridesAreRefused) {
  TwoMaps maps;
  auto found = decode_as("yolo-fastest", maps.views(), two_labels(), {64, 96, {}});
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message,
              HasSubstr("head 'yolo-fastest': stride 16 needs an output of 6 x 4 cells"));
}

TEST(YoloV3, ValuesThatAreNoNumbersAreNoBoxes) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  TwoMaps maps;
  set_row(maps.fine, 0, {0, 0, 1000, 0, kOn, kOn, kOn});  // exp is infinite
  set_row(maps.fine, 1, {nan, 0, 0, 0, kOn, kOn, kOn});
  set_row(maps.fine, 2, {0, 0, 0, 0, nan, kOn, kOn});
  set_row(maps.fine, 3, {0, 0, 0, 0, kOn, nan, kOff});
  auto found = decode_as("yolo-fastest", maps.views(), two_labels(), kGridInput);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->empty());
}

}  // namespace
}  // namespace peraxis::vision
