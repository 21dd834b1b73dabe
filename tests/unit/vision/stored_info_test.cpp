// Model info as an executable carries it: everything comes back, and an error names what is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vision/model_info.hpp"

namespace peraxis::vision {
namespace {

using testing::AllOf;
using testing::HasSubstr;

void expect_same(const SourcedInfo& a, const SourcedInfo& b) {
  EXPECT_EQ(a.source, b.source);
  EXPECT_EQ(a.labels_source, b.labels_source);
  const ModelInfo &x = a.info, &y = b.info;
  EXPECT_EQ(x.task, y.task);
  EXPECT_EQ(x.head, y.head);
  EXPECT_EQ(x.candidates, y.candidates);
  EXPECT_EQ(x.candidates_source, y.candidates_source);
  EXPECT_EQ(x.labels, y.labels);
  EXPECT_EQ(x.labels_background, y.labels_background);
  EXPECT_EQ(x.labels_numbered, y.labels_numbered);
  EXPECT_EQ(x.strides, y.strides);
  EXPECT_EQ(x.anchors, y.anchors);
  EXPECT_EQ(x.strides_stated, y.strides_stated);
  EXPECT_EQ(x.anchors_stated, y.anchors_stated);
  EXPECT_EQ(x.boxes, y.boxes);
  EXPECT_EQ(x.priors, y.priors);
  EXPECT_EQ(x.box_order, y.box_order);
  EXPECT_EQ(x.centre_variance, y.centre_variance);
  EXPECT_EQ(x.size_variance, y.size_variance);
  EXPECT_EQ(x.variances_stated, y.variances_stated);
  EXPECT_EQ(x.background, y.background);
  EXPECT_EQ(x.score, y.score);
  EXPECT_EQ(x.iou, y.iou);
  EXPECT_EQ(x.max_detections, y.max_detections);
}

TEST(StoredInfo, EverythingComesBack) {
  auto given = parse_model_info(R"({"task": "detect", "head": "ssd", "labels": ["???", "a b", "b\u00e9"],
      "strides": [8, 16], "anchors": [[[16.3, 17.5]], [[46, 47]]], "score": 0.3, "iou": 0.7, "max_detections": 7,
      "boxes": "cells", "priors": [[0.1, 0.2, 0.3, 0.4]], "box_order": "yxhw", "variances": [0.1, 0.3],
      "background": false})",
                                "m.json");
  ASSERT_TRUE(given) << given.error().text();
  SourcedInfo info{std::move(*given), "m.json beside the model", "--labels l.txt"};
  info.info.labels_numbered = true;
  for (const auto& candidates : {std::optional<std::vector<std::string>>(), {{}}, {{"yolov8", "pose"}}}) {
    info.info.candidates = candidates;
    info.info.candidates_source = candidates ? "metadata.json inside the model says so" : "";
    auto back = parse_stored_info(print_stored_info(info), "the executable");
    ASSERT_TRUE(back) << back.error().text();
    expect_same(*back, info);
  }
}

TEST(StoredInfo, DefaultsComeBack) {
  auto back = parse_stored_info(print_stored_info({}), "the executable");
  ASSERT_TRUE(back) << back.error().text();
  expect_same(*back, {});
}

// Names that look like numbers are not read a second time.
TEST(StoredInfo, LabelsAreTakenAsTheyAre) {
  SourcedInfo info;
  info.info.labels = {"1 euro", "0", "???", "\x1b[2J"};
  auto back = parse_stored_info(print_stored_info(info), "the executable");
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->info.labels, info.info.labels);
  EXPECT_FALSE(back->info.labels_background);
}

struct Mistake {
  const char *text, *says;
};
class StoredInfoMistake : public testing::TestWithParam<Mistake> {};

TEST_P(StoredInfoMistake, IsNamed) {
  auto info = parse_stored_info(GetParam().text, "the file");
  ASSERT_FALSE(info);
  EXPECT_THAT(info.error().text(), AllOf(HasSubstr("the file"), HasSubstr(GetParam().says)));
}

INSTANTIATE_TEST_SUITE_P(
    All, StoredInfoMistake,
    testing::Values(Mistake{"[]", "object"}, Mistake{"{}", "'info'"}, Mistake{R"({"info": 3})", "'info'"},
                    Mistake{R"({"info": {"head": "yolo99"}})", "yolo99"},
                    Mistake{R"({"info": {}, "labels": {}})", "'labels'"},
                    Mistake{R"({"info": {}, "labels": ["a", 3]})", "item 1"},
                    Mistake{R"({"info": {}, "labels": ["a", ""]})", "item 1"},
                    Mistake{R"({"info": {}, "labels_background": 1})", "'labels_background'"},
                    Mistake{R"({"info": {}, "candidates": "x"})", "'candidates'"},
                    Mistake{R"({"info": {}, "source": 3})", "'source'"}));

}  // namespace
}  // namespace peraxis::vision
