// The --model-info file: every key, and an error that names the key for every mistake.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vision/heads.hpp"

namespace peraxis::vision {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ModelInfo, EmptyObjectGivesYoloV5Coco) {
  auto info = parse_model_info("{}", "m.json");
  ASSERT_TRUE(info) << info.error().text();
  EXPECT_EQ(info->task, "");
  EXPECT_EQ(info->head, "");
  EXPECT_TRUE(info->labels.empty());
  EXPECT_THAT(info->strides, ElementsAre(8, 16, 32));
  ASSERT_EQ(info->anchors.size(), 3u);
  EXPECT_THAT(info->anchors[0], ElementsAre(Anchor{10, 13}, Anchor{16, 30}, Anchor{33, 23}));
  EXPECT_THAT(info->anchors[2], ElementsAre(Anchor{116, 90}, Anchor{156, 198}, Anchor{373, 326}));
  EXPECT_EQ(info->score, 0.25);
  EXPECT_EQ(info->iou, 0.45);
}

TEST(ModelInfo, EveryKey) {
  auto info = parse_model_info(R"({"task": "detect", "head": "yolov5", "labels": ["a", "b\u00e9"],
      "strides": [8, 16], "anchors": [[[16, 17.5]], [[46, 47]]], "score": 0.5, "iou": 1, "max_detections": 7})",
                               "m.json");
  ASSERT_TRUE(info) << info.error().text();
  EXPECT_EQ(info->task, "detect");
  EXPECT_EQ(info->head, "yolov5");
  EXPECT_THAT(info->labels, ElementsAre("a", "b\xc3\xa9"));
  EXPECT_THAT(info->strides, ElementsAre(8, 16));
  ASSERT_EQ(info->anchors.size(), 2u);
  EXPECT_THAT(info->anchors[0], ElementsAre(Anchor{16, 17.5f}));
  EXPECT_EQ(info->score, 0.5);
  EXPECT_EQ(info->iou, 1);
  EXPECT_EQ(info->max_detections, 7);
}

TEST(ModelInfo, WhatIsStatedIsKnown) {
  auto info = parse_model_info(R"({"anchors": [[[1, 2]], [[3, 4]], [[5, 6]]], "variances": [0.1, 0.2],
      "labels": ["???", "ant", ""]})",
                               "m.json");
  ASSERT_TRUE(info) << info.error().text();
  EXPECT_TRUE(info->anchors_stated);
  EXPECT_FALSE(info->strides_stated);
  EXPECT_TRUE(info->variances_stated);
  EXPECT_TRUE(info->labels_background);
  EXPECT_THAT(info->labels, ElementsAre("???", "ant", "2"));
}

TEST(ModelInfo, NullLabelsAreNoLabels) {
  auto info = parse_model_info(R"({"labels": null})", "m.json");
  ASSERT_TRUE(info);
  EXPECT_TRUE(info->labels.empty());
}

struct BadCase {
  const char* text;
  const char* key;  // quoted as the message must name it, or part of the sentence
  const char* part;
};

class BadModelInfo : public testing::TestWithParam<BadCase> {};

TEST_P(BadModelInfo, NamesFileKeyAndValue) {
  auto info = parse_model_info(GetParam().text, "m.json");
  ASSERT_FALSE(info);
  EXPECT_EQ(info.error().code, ErrorCode::InvalidArgument);
  EXPECT_THAT(info.error().message,
              AllOf(HasSubstr("m.json"), HasSubstr(GetParam().key), HasSubstr(GetParam().part)));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadModelInfo,
    testing::Values(
        BadCase{"{", "", "not JSON"}, BadCase{"", "", "not JSON"}, BadCase{"[1]", "", "[1]"},
        BadCase{R"({"anchor": []})", "'anchor'", "not known"},
        BadCase{R"({"task": "segment"})", "'task'", "segment"}, BadCase{R"({"task": 3})", "'task'", "3"},
        BadCase{R"({"head": "yolov99"})", "'head'", "\"yolox\""},
        BadCase{R"({"task": "classify", "head": "yolov5"})", "'head'", "classify"},
        BadCase{R"({"labels": "coco.txt"})", "'labels'", "coco.txt"},
        BadCase{R"({"labels": ["a", 5]})", "'labels'", "item 1"},
        BadCase{R"({"strides": []})", "'strides'", "[]"},
        BadCase{R"({"strides": [8, 16, 0]})", "'strides'", "0"},
        BadCase{R"({"strides": [8, 16, 18446744073709551615]})", "'strides'", "18446744073709551615"},
        BadCase{R"({"strides": [8, 16, -3]})", "'strides'", "-3"},
        BadCase{R"({"strides": [8, 8, 16]})", "'strides'", "twice"},
        BadCase{R"({"strides": [8, 16.5, 32]})", "'strides'", "16.5"},
        BadCase{R"({"strides": [8, 16]})", "'strides'", "2 strides but 3"},
        BadCase{R"({"anchors": [[[1, 2]]]})", "'anchors'", "3 strides but 1"},
        BadCase{R"({"anchors": 5})", "'anchors'", "5"},
        BadCase{R"({"anchors": [[]]})", "'anchors'", "item 0"},
        BadCase{R"({"anchors": [[[1]]]})", "'anchors'", "[1]"},
        BadCase{R"({"anchors": [[[1, 0]]]})", "'anchors'", "[1,0]"},
        BadCase{R"({"anchors": [[[1e300, 4]]]})", "'anchors'", "1e+300"},
        BadCase{R"({"score": "high"})", "'score'", "high"}, BadCase{R"({"score": 1.5})", "'score'", "1.5"},
        BadCase{R"({"iou": -1})", "'iou'", "-1"},
        BadCase{R"({"max_detections": 0})", "'max_detections'", "0"},
        BadCase{R"({"task": "classify", "head": "yolov8"})", "'head'", "classify"},
        BadCase{R"({"task": "detect", "head": "classification"})", "'head'", "detect"},
        BadCase{R"({"boxes": "metres"})", "'boxes'", "metres"},
        BadCase{R"({"box_order": "wxyz"})", "'box_order'", "wxyz"},
        BadCase{R"({"variances": [0.1]})", "'variances'", "[0.1]"},
        BadCase{R"({"variances": [0.1, 0]})", "'variances'", "[0.1,0]"},
        BadCase{R"({"variances": [1e9, 1]})", "'variances'", "between"},
        BadCase{R"({"background": 1})", "'background'", "1"}, BadCase{R"({"priors": []})", "'priors'", "[]"},
        BadCase{R"({"priors": [[0, 0, 1, 1], [0, 0, 1]]})", "'priors'", "item 1"},
        BadCase{R"({"priors": [[0, 0, 0, 1]]})", "'priors'", "positive"},
        BadCase{R"({"priors": [[0, 0, 1e300, 1]]})", "'priors'", "1e+300"},
        BadCase{R"({"priors": [["a", 0, 1, 1]]})", "'priors'", "a"},
        BadCase{R"({"head": "yolox", "anchors": [[[1, 2]]]})", "'anchors'", "3 strides but 1"}));

TEST(ModelInfo, KeysOfTheSsdHeadAndUnits) {
  auto info = parse_model_info(R"({"head": "ssd", "priors": [[0.5, 0.25, 1, 2]], "box_order": "yxhw",
      "variances": [0.5, 1], "background": false, "boxes": "pixels"})",
                               "m.json");
  ASSERT_TRUE(info) << info.error().text();
  EXPECT_THAT(info->priors, ElementsAre(Prior{0.5f, 0.25f, 1, 2}));
  EXPECT_EQ(info->box_order, "yxhw");
  EXPECT_EQ(info->centre_variance, 0.5);
  EXPECT_EQ(info->size_variance, 1);
  EXPECT_EQ(info->background, false);
  EXPECT_EQ(info->boxes, "pixels");
  EXPECT_FALSE(info->anchors_stated);
}

TEST(ModelInfo, EveryHeadHasAName) {
  for (const std::string& name : head_names()) {
    auto info = parse_model_info(fmt::format(R"({{"head": "{}"}})", name), "m.json");
    ASSERT_TRUE(info) << info.error().text();
    EXPECT_EQ(info->head, name);
  }
}

TEST(ModelInfo, HeadsWithoutAnchorsTakeStridesAlone) {
  auto info = parse_model_info(R"({"head": "yolov8", "strides": [8, 16, 32, 64]})", "m.json");
  ASSERT_TRUE(info) << info.error().text();
  EXPECT_THAT(info->strides, ElementsAre(8, 16, 32, 64));
  EXPECT_TRUE(info->strides_stated);
  EXPECT_FALSE(info->anchors_stated);
}

TEST(ModelInfo, DeepNestingIsOnlyAnError) {
  EXPECT_FALSE(parse_model_info(std::string(200'000, '['), "m.json"));
  for (int depth : {15, 100, 1'000'000}) {
    const auto count = static_cast<size_t>(depth);
    auto info =
        parse_model_info("{\"anchors\":" + std::string(count, '[') + std::string(count, ']') + "}", "m.json");
    ASSERT_FALSE(info);
    EXPECT_THAT(info.error().message, HasSubstr(depth > 15 ? "deeper than 16" : "'anchors'"));
  }
}

}  // namespace
}  // namespace peraxis::vision
