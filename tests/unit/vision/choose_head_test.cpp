// The rule that chooses a head by the shapes of the outputs, by labels or by name.
#include <gmock/gmock.h>

#include "base/file.hpp"
#include "heads_testing.hpp"

namespace peraxis::vision {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

ModelInfo labelled(size_t count) {
  ModelInfo info;
  for (size_t i = 0; i < count; ++i) info.labels.push_back(std::to_string(i));
  return info;
}

TEST(ChooseHead, YoloV5) {
  EXPECT_EQ(head_of({{1, 80, 80, 255}, {1, 40, 40, 255}, {1, 20, 20, 255}}), "yolov5");
  EXPECT_EQ(head_of({{1, 20, 20, 75}, {1, 80, 80, 75}, {1, 40, 40, 75}}), "yolov5");
  EXPECT_EQ(head_of({{1, 25200, 85}}), "yolov5-decoded");
  EXPECT_EQ(head_of({{1, 6300, 85}}, {}, {320, 320, {}}), "yolov5-decoded");
  EXPECT_EQ(head_of({{1, 80, 80, 255}, {1, 40, 40, 255}, {1, 20, 20, 75}}), "none");
  EXPECT_EQ(head_of({{1, 80, 80, 256}, {1, 40, 40, 256}, {1, 21, 20, 256}}), "none");
  EXPECT_EQ(head_of({{2, 6300, 85}}), "none");
}

TEST(ChooseHead, OneRowACell) {
  EXPECT_EQ(head_of({{1, 8400, 85}}), "yolox");
  EXPECT_EQ(head_of({{1, 84, 8400}}), "yolov8-decoded");
  EXPECT_EQ(head_of({{1, 8400, 84}}), "yolov8-decoded");
  EXPECT_EQ(head_of({{1, 144, 8400}}), "yolov8");
  EXPECT_EQ(head_of({{1, 5, 8400}}), "yolov8-decoded");
  EXPECT_EQ(head_of({{1, 84, 8399}}), "none");
  // The same columns with labels that count otherwise.
  EXPECT_EQ(head_of({{1, 8400, 85}}, labelled(81)), "yolov8-decoded");
  EXPECT_EQ(head_of({{1, 84, 8400}}, labelled(79)), "yolox");
  EXPECT_EQ(head_of({{1, 84, 8400}}, labelled(20)), "yolov8");
  EXPECT_EQ(head_of({{1, 84, 8400}}, labelled(3)), "none");
}

TEST(ChooseHead, YoloV8Maps) {
  const InputGeometry input = {96, 64, {}};  // 12 x 8, 6 x 4 and 3 x 2 cells
  EXPECT_EQ(head_of({{1, 8, 12, 144}, {1, 4, 6, 144}, {1, 2, 3, 144}}, {}, input), "yolov8");
  EXPECT_EQ(head_of({{1, 8, 12, 66}, {1, 4, 6, 66}, {1, 2, 3, 66}}, labelled(2), input), "yolov8");
  EXPECT_EQ(head_of({{1, 8, 12, 66}, {1, 4, 6, 66}, {1, 2, 3, 66}}, labelled(17), input), "yolov5");
  EXPECT_EQ(head_of({{1, 2, 3, 7}, {1, 8, 12, 64}, {1, 2, 3, 64}, {1, 4, 6, 64}, {1, 4, 6, 7}, {1, 8, 12, 7}},
                    {}, input),
            "yolov8");
  EXPECT_EQ(head_of({{1, 2, 3, 7}, {1, 8, 12, 64}, {1, 2, 3, 64}, {1, 4, 6, 64}, {1, 4, 6, 6}, {1, 8, 12, 7}},
                    {}, input),
            "none");
}

TEST(ChooseHead, Others) {
  EXPECT_EQ(head_of({{1, 1001}}), "classification");
  EXPECT_EQ(head_of({{1, 1, 1, 10}}, labelled(10)), "classification");
  EXPECT_EQ(head_of({{1, 1118, 4}, {1, 1118, 2}}), "ssd");
  EXPECT_EQ(head_of({{1, 1118, 2}, {1, 1118, 4}}), "ssd");
  EXPECT_EQ(head_of({{1, 1118, 4}, {1, 1117, 2}}), "none");
  EXPECT_EQ(head_of({{1, 10, 4}, {1, 10}, {1, 10}, {1}}), "ssd-postprocess");
  EXPECT_EQ(head_of({{1, 10}, {1, 10, 4}, {1}, {1, 10}}), "ssd-postprocess");
  EXPECT_EQ(head_of({{1, 10, 4}, {1, 10}, {1, 9}, {1}}), "none");
  EXPECT_EQ(head_of({{1, 56, 8400}}), "pose");
  EXPECT_EQ(head_of({{1, 56, 8400}}, labelled(1)), "pose");
  EXPECT_EQ(head_of({{1, 56, 8400}}, labelled(52)), "yolov8-decoded");
  EXPECT_EQ(head_of({{1, 1, 17, 3}}), "pose");
  EXPECT_EQ(head_of({{1, 116, 8400}, {1, 160, 160, 32}}), "segmentation");
  EXPECT_EQ(head_of({{1, 640, 640, 21}}), "segmentation");
  EXPECT_EQ(head_of({}), "none");
  EXPECT_EQ(head_of({{}}), "none");
  EXPECT_EQ(head_of({{1, 7, 7, 10}}), "none");
  EXPECT_EQ(head_of({{1}, {1}, {1}, {1}}), "none");
}

TEST(ChooseHead, RefusesWhatCannotBeToldAndNamesTheCandidates) {
  EXPECT_THAT(head_of({{1, 8, 8400}}),
              AllOf(StartsWith("refused"), HasSubstr("[1, 8, 8400]"), HasSubstr("yolox (3 classes)"),
                    HasSubstr("yolov8-decoded (4 classes)"), HasSubstr("--head"), HasSubstr("labels")));
  EXPECT_THAT(head_of({{1, 40, 40, 255}, {1, 20, 20, 255}}),
              AllOf(StartsWith("refused"), HasSubstr("yolov3-tiny"), HasSubstr("yolo-fastest"),
                    testing::Not(HasSubstr("labels"))));
  EXPECT_THAT(
      head_of({{1, 80, 80, 66}, {1, 40, 40, 66}, {1, 20, 20, 66}}),
      AllOf(StartsWith("refused"), HasSubstr("yolov5 (17 classes)"), HasSubstr("yolov8 (2 classes)")));
}

TEST(ChooseHead, ObeysLabelsTaskAndHead) {
  ModelInfo info = labelled(2);
  EXPECT_EQ(head_of({{1, 6300, 85}}, info), "none");
  EXPECT_EQ(head_of({{1, 25200, 7}}, info), "yolov5-decoded");
  EXPECT_EQ(head_of({{1, 80, 80, 21}, {1, 40, 40, 21}, {1, 20, 20, 21}}, info), "yolov5");
  info.head = "none";
  EXPECT_EQ(head_of({{1, 25200, 7}}, info), "none");
  info.head = "yolov5";
  EXPECT_THAT(head_of({{1, 6300, 7}}, info),
              AllOf(StartsWith("refused: head 'yolov5'"), HasSubstr("[1, 6300, 7]"), HasSubstr("2 labels"),
                    HasSubstr("anchors x (5 + classes)")));
  info.head = "yolo";
  EXPECT_THAT(head_of({{1, 6300, 7}}, info), AllOf(HasSubstr("'yolo'"), HasSubstr("yolov5-decoded, yolov3")));
  info.head = "";
  info.task = "classify";
  EXPECT_EQ(head_of({{1, 6300, 7}}, info), "none");
  EXPECT_EQ(head_of({{1, 10}}, info), "classification");
  info.task = "detect";
  EXPECT_EQ(head_of({{1, 10}}, info), "none");
}

// A shape alone is no reason to draw boxes: grids or rows must be those of the strides, and something must
// speak for the number of classes.
TEST(ChooseHead, NothingIsDecodedWithoutEvidence) {
  const auto refused_as = [](const char* head) {
    return AllOf(StartsWith("refused"), HasSubstr(fmt::format("head {} (", head)),
                 HasSubstr(fmt::format("--head {}", head)));
  };
  // One class, no labels: with anchors of another network boxes would be nonsense.
  EXPECT_THAT(head_of({{1, 80, 80, 18}, {1, 40, 40, 18}, {1, 20, 20, 18}}), refused_as("yolov5"));
  EXPECT_THAT(head_of({{1, 80, 80, 18}, {1, 40, 40, 18}, {1, 20, 20, 18}}), HasSubstr("or give the labels"));
  EXPECT_EQ(head_of({{1, 80, 80, 18}, {1, 40, 40, 18}, {1, 20, 20, 18}}, labelled(1)), "yolov5");
  ModelInfo anchors;
  anchors.anchors_stated = true;
  EXPECT_EQ(head_of({{1, 80, 80, 18}, {1, 40, 40, 18}, {1, 20, 20, 18}}, anchors), "yolov5");
  EXPECT_EQ(head_of({{1, 60, 60, 255}, {1, 30, 30, 255}, {1, 15, 15, 255}}), "none");
  // The features that other networks put out.
  EXPECT_THAT(head_of({{1, 80, 80, 128}, {1, 40, 40, 128}, {1, 20, 20, 128}}), refused_as("yolov8"));
  // Boxes that went through a suppression, an embedding, a sequence.
  EXPECT_THAT(head_of({{1, 300, 6}}), refused_as("yolov5-decoded"));
  EXPECT_THAT(head_of({{1, 300, 6}}, labelled(1)), refused_as("yolov5-decoded"));
  EXPECT_THAT(head_of({{1, 300, 85}}), refused_as("yolov5-decoded"));
  EXPECT_THAT(head_of({{1, 128}}), refused_as("classification"));
  EXPECT_THAT(head_of({{1, 128}}, labelled(127)), refused_as("classification"));
  EXPECT_EQ(head_of({{1, 128}}, labelled(128)), "classification");
  // A single class leaves nothing to mistake.
  EXPECT_EQ(head_of({{1, 25200, 6}}), "yolov5-decoded");
  EXPECT_THAT(head_of({{1, 25200, 16}}), refused_as("yolov5-decoded"));
}

std::vector<std::string> assumed_of(const std::vector<OutputTensor>& outputs, const ModelInfo& info = {}) {
  const InputGeometry input = {640, 640, {}};
  const auto choice = choose_head({outputs, info, input});
  EXPECT_TRUE(choice) << choice.error().text();
  return choice ? choice->assumed : std::vector<std::string>{};
}

TEST(ChooseHead, SaysWhatItAssumes) {
  const std::vector<OutputTensor> yolov5 = {{{1, 80, 80, 255}, "int8", 1, 0, {}},
                                            {{1, 40, 40, 255}, "int8", 1, 0, {}},
                                            {{1, 20, 20, 255}, "int8", 1, 0, {}}};
  EXPECT_THAT(assumed_of(yolov5), testing::ElementsAre(AllOf(HasSubstr("'yolov5'"), HasSubstr("COCO")),
                                                       AllOf(HasSubstr("anchors of YOLOv5 for COCO"),
                                                             HasSubstr("10x13"), HasSubstr("373x326")),
                                                       HasSubstr("--head yolov3")));
  ModelInfo info;
  info.head = "yolov5";
  EXPECT_THAT(assumed_of(yolov5, info), testing::ElementsAre(HasSubstr("anchors of YOLOv5 for COCO")));
  info.anchors_stated = true;
  EXPECT_THAT(assumed_of(yolov5, info), testing::IsEmpty());
  info.head = "yolov3";
  info.anchors_stated = false;
  EXPECT_THAT(assumed_of(yolov5, info), testing::ElementsAre(HasSubstr("anchors of YOLOv3 for COCO")));
  const std::vector<OutputTensor> two = {{{1, 40, 40, 255}, "int8", 1, 0, {}},
                                         {{1, 20, 20, 255}, "int8", 1, 0, {}}};
  info.head = "yolo-fastest";
  EXPECT_THAT(assumed_of(two, info),
              testing::ElementsAre(AllOf(HasSubstr("Yolo-Fastest 1.1"), HasSubstr("12x18"))));
  info.head = "yolov3-tiny";
  EXPECT_THAT(assumed_of(two, info),
              testing::ElementsAre(AllOf(HasSubstr("YOLOv3-tiny"), HasSubstr("10x14"))));
  info.head = "ssd";
  EXPECT_THAT(assumed_of({{{1, 10, 4}, "int8", 1, 0, {}}, {{1, 10, 2}, "int8", 1, 0, {}}}, info),
              testing::ElementsAre(HasSubstr("variances 0.1"),
                                   HasSubstr("column 0 of the scores is the background")));
  info.variances_stated = true;
  info.background = false;
  EXPECT_THAT(assumed_of({{{1, 10, 4}, "int8", 1, 0, {}}, {{1, 10, 2}, "int8", 1, 0, {}}}, info),
              testing::IsEmpty());
}

TEST(ChooseHead, ListsOfScoresThatShowWhatTheyAre) {
  const auto head = [](const OutputTensor& output) {
    const InputGeometry input = {64, 64, {}};
    const ModelInfo info;
    const auto choice = choose_head({{&output, 1}, info, input});
    return choice && choice->head != nullptr ? std::string(choice->head->name) : "none";
  };
  EXPECT_EQ(head({{1, 3}, "int8", 1.0f / 256, -128, {}}), "classification");
  EXPECT_EQ(head({{1, 3}, "uint8", 1.0f / 256, 0, {}}), "classification");
  EXPECT_EQ(head({{1, 3}, "int16", 1.0f / 32768, 0, {}}), "classification");
  EXPECT_EQ(head({{1, 3}, "int8", 1.0f / 256, 0, {}}), "none");
  EXPECT_EQ(head(Tensor<float>{{1, 3}, {0.25f, 0.25f, 0.5f}, "float32"}.view()), "classification");
  EXPECT_EQ(head(Tensor<float>{{1, 3}, {0.25f, 0.25f, 0.25f}, "float32"}.view()), "none");
  EXPECT_EQ(head(Tensor<float>{{1, 3}, {1.5f, -1, 0.5f}, "float32"}.view()), "none");
  EXPECT_EQ(head({{1, 1000}, "int8", 1, 0, {}}), "classification");
}

// What the exporter's metadata says leaves fewer heads than the shapes do: with 4 names 9 columns are 4 + 5
// of oriented boxes, not YOLOX's 5 + 4.
TEST(ChooseHead, ObeysTheMetadata) {
  ModelInfo info = labelled(4);
  EXPECT_EQ(head_of({{1, 9, 8400}}, info), "yolox");
  info.candidates = std::vector<std::string>{};
  EXPECT_EQ(head_of({{1, 9, 8400}}, info), "none");
  info.candidates = std::vector<std::string>{"yolov8", "yolov8-decoded"};
  EXPECT_EQ(head_of({{1, 9, 8400}}, info), "none");
  EXPECT_EQ(head_of({{1, 8, 8400}}, info), "yolov8-decoded");
  // Without labels it decides what is else refused.
  info.set_labels({});
  EXPECT_EQ(head_of({{1, 8, 8400}}, info), "yolov8-decoded");
}

// Every head, named, on shapes that are none: refused by its name, never a crash.
TEST(ChooseHead, HostileShapesAreRefusedByEveryHead) {
  constexpr int64_t kHuge = int64_t{1} << 62;
  const std::vector<std::vector<std::vector<int64_t>>> hostile = {
      {},
      {{}},
      {{0}},
      {{1, 0, 85}},
      {{1, -1, 85}},
      {{-1, -1, -1}},
      {{0, 0, 0, 0}},
      {{1, 2, 3, -255}, {1, 1, 1, -255}},
      {{kHuge, kHuge, kHuge}},
      {{0, kHuge, 85}},
      {{1, 10, 4}, {1, 0}, {1}, {1}},
      {{1, 0, 4}, {1, 0, 2}},
      {{1, 10, 4}, {1, 10, 0}},
      {{1, 2, 3, 4, 5}},
  };
  for (const Head* head : heads()) {
    ModelInfo info;
    info.head = head->name;
    for (const InputGeometry& input :
         {InputGeometry{640, 640, {}}, InputGeometry{0, -5, {}}, InputGeometry{2147483647, 2147483647, {}}})
      for (const auto& shapes : hostile)
        EXPECT_THAT(head_of(shapes, info, input), HasSubstr(fmt::format("'{}'", head->name)));
  }
}

TEST(ChooseHead, NamesAreUnique) {
  const std::vector<std::string> names = head_names();
  EXPECT_EQ(names.size(), heads().size() + 1);
  EXPECT_EQ(names.back(), "none");
  for (size_t i = 0; i < names.size(); ++i)
    for (size_t k = 0; k < i; ++k) EXPECT_NE(names[i], names[k]);
  for (const Head* head : heads()) {
    EXPECT_EQ(find_head(head->name), head);
    EXPECT_FALSE(head->outputs.empty());
    EXPECT_EQ(head->decode != nullptr, head->task == HeadTask::Detect) << head->name;
  }
}

TEST(ChooseHead, TheManualNamesEveryHead) {
  const auto bytes = base::read_file(PERAXIS_SOURCE_DIR "/docs/model-info.md");
  ASSERT_TRUE(bytes) << bytes.error().text();
  const std::string text(bytes->begin(), bytes->end());
  for (const std::string& name : head_names()) EXPECT_THAT(text, HasSubstr(fmt::format("`{}`", name)));
}

}  // namespace
}  // namespace peraxis::vision
