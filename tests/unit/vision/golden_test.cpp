// The demo network's recorded tensors (LiteRT reference kernels) against the recorded boxes. The tensors are
// not part of the repository: PERAXIS_SHARED, or ../shared beside it, holds them.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "base/npy.hpp"
#include "vision/embedded_info.hpp"
#include "vision/heads.hpp"
#include "vision/quantize.hpp"

namespace peraxis::vision {
namespace {

namespace fs = std::filesystem;

fs::path shared_models() {
  const char* shared = std::getenv("PERAXIS_SHARED");
  return (shared ? fs::path(shared) : fs::path(PERAXIS_SOURCE_DIR) / ".." / "shared") / "models";
}

std::string text_of(const fs::path& path) {
  auto bytes = base::read_file(path);
  EXPECT_TRUE(bytes) << bytes.error().text();
  return bytes ? std::string(bytes->begin(), bytes->end()) : std::string();
}

struct Expected {
  std::string label;
  double score;
  double x1, y1, x2, y2;
};

std::vector<Expected> expected_detections(const fs::path& folder, const char* picture) {
  std::vector<Expected> out;
  const auto file = nlohmann::json::parse(text_of(folder / "expected_detections.json"));
  for (const auto& item : file[picture]["int8_raw"]) {
    const double cx = item["cxcywh"][0], cy = item["cxcywh"][1], w = item["cxcywh"][2], h = item["cxcywh"][3];
    out.push_back({item["class"], item["score"], cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2});
  }
  return out;
}

double iou(const Detection& a, const Expected& b) {
  const double x1 = a.box[0], y1 = a.box[1], x2 = a.box[2], y2 = a.box[3];
  const double shared = std::max(0.0, std::min(x2, b.x2) - std::max(x1, b.x1)) *
                        std::max(0.0, std::min(y2, b.y2) - std::max(y1, b.y1));
  return shared / ((x2 - x1) * (y2 - y1) + (b.x2 - b.x1) * (b.y2 - b.y1) - shared);
}

// The shipped pictures; the check sums are of the pixels as Pillow decodes them.
TEST(DemoFiles, PicturesAndModelInfo) {
  const fs::path folder = fs::path(PERAXIS_SOURCE_DIR) / "examples" / "demo";
  const uint32_t sums[12] = {0x3ddc72d4, 0xf444b04c, 0xc5018940, 0x2e477319, 0x3f9057f1, 0x710abed7,
                             0x49463ed3, 0xf5aab5f6, 0x48d0de76, 0x4c65a8f6, 0x876775e0, 0xeb8b9884};
  for (int i = 0; i < 12; ++i) {
    const std::string name = fmt::format("test_{:02}.png", i);
    auto bytes = base::read_file(folder / name);
    ASSERT_TRUE(bytes) << bytes.error().text();
    auto image = decode_image(*bytes, name);
    ASSERT_TRUE(image) << image.error().text();
    EXPECT_EQ(image->width, 160);
    EXPECT_EQ(image->height, 160);
    EXPECT_EQ(crc32(0, image->rgb.data(), static_cast<uInt>(image->rgb.size())), sums[i]) << name;
  }
  auto info = parse_model_info(text_of(folder / "shapes_yolo_raw_int8.json"), "shapes_yolo_raw_int8.json");
  ASSERT_TRUE(info) << info.error().text();
  EXPECT_EQ(info->labels.size(), 4u);
  EXPECT_EQ(info->strides, (std::vector{8, 16}));
  EXPECT_EQ(info->anchors[1][2], (Anchor{90, 90}));
}

// Files as Ultralytics' exporter writes them; the names are those of the data it was trained on.
TEST(ExporterFiles, NamesAndTasks) {
  const fs::path folder = shared_models() / "exporters";
  if (!fs::exists(folder / "yolo11n_int8.tflite"))
    GTEST_SKIP()
        << "exported models are not here; set PERAXIS_SHARED to the folder that holds models/exporters";
  using Names = std::vector<std::string>;
  const Names drawn = {"circle", "square", "triangle", "star"};
  struct Case {
    const char* file;
    Names names, candidates;
  };
  for (const Case& c :
       {Case{"yolo11n_int8", drawn, {"yolov8", "yolov8-decoded"}},
        Case{"yolo26n_int8", drawn, {"yolov8", "yolov8-decoded"}}, Case{"yolov8n-pose_int8", drawn, {"pose"}},
        Case{"yolo11n-obb_int8", drawn, {}},
        Case{"yolo11n-cls_int8", {"circle", "square", "star", "triangle"}, {"classification"}}}) {
    const auto bytes = base::read_file(folder / (std::string(c.file) + ".tflite"));
    ASSERT_TRUE(bytes) << bytes.error().text();
    const EmbeddedInfo info = read_embedded_info(*bytes);
    ASSERT_TRUE(info.labels) << c.file;
    EXPECT_EQ(info.labels->names, c.names) << c.file;
    ASSERT_TRUE(info.candidates) << c.file;
    EXPECT_EQ(*info.candidates, c.candidates) << c.file;
    EXPECT_TRUE(info.warnings.empty()) << c.file;
  }
}

class DemoGolden : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = shared_models() / "demo";
    if (!fs::exists(folder_ / "shapes_yolo_raw_int8.npz"))
      GTEST_SKIP()
          << "recorded tensors are not here; set PERAXIS_SHARED to the folder that holds models/demo";
  }

  Image picture(const char* name) {
    auto bytes = base::read_file(folder_ / name);
    EXPECT_TRUE(bytes) << bytes.error().text();
    auto image = decode_image(*bytes, name);
    EXPECT_TRUE(image) << image.error().text();
    return *image;
  }

  // The picture, letterboxed and quantized as the demo network takes it, must be the recorded input.
  void expect_input(const char* name, const base::Array& recorded) {
    auto boxed = letterbox(picture(name), 160, 160);
    ASSERT_TRUE(boxed);
    auto bytes = quantize_image(boxed->image, {"int8", 0.003921568859368563f, -128, 3});
    ASSERT_TRUE(bytes) << bytes.error().text();
    EXPECT_TRUE(*bytes == recorded.data);
  }

  fs::path folder_;
};

TEST_F(DemoGolden, RawHead) {
  auto arrays = base::read_npz(folder_ / "shapes_yolo_raw_int8.npz");
  ASSERT_TRUE(arrays) << arrays.error().text();
  expect_input("test_02.png", arrays->at("i0_0"));
  auto info = parse_model_info(text_of(folder_ / "shapes_yolo_raw_int8.json"), "shapes_yolo_raw_int8.json");
  ASSERT_TRUE(info) << info.error().text();
  const std::vector<OutputTensor> outputs = {
      {arrays->at("o0_0").shape, "int8", 0.18675577640533447f, 25, arrays->at("o0_0").data},
      {arrays->at("o0_1").shape, "int8", 0.15947876870632172f, 33, arrays->at("o0_1").data}};
  auto found = decode_detections({outputs, *info, {160, 160, {}}});
  ASSERT_TRUE(found) << found.error().text();
  const auto expected = expected_detections(folder_, "test_02.png");
  ASSERT_EQ(found->size(), expected.size());
  ASSERT_FALSE(expected.empty());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ((*found)[i].label, expected[i].label);
    EXPECT_NEAR((*found)[i].score, expected[i].score, 0.00006);  // the file has four digits
    EXPECT_NEAR((*found)[i].box[0], expected[i].x1, 0.011);      // centre and half size, two digits each
    EXPECT_NEAR((*found)[i].box[1], expected[i].y1, 0.011);
    EXPECT_NEAR((*found)[i].box[2], expected[i].x2, 0.011);
    EXPECT_NEAR((*found)[i].box[3], expected[i].y2, 0.011);
    EXPECT_GE(iou((*found)[i], expected[i]), 0.98);
  }
}

// Another network file with the same weights, so its boxes are near the raw one's, not equal.
TEST_F(DemoGolden, DecodedHead) {
  auto arrays = base::read_npz(folder_ / "shapes_yolo_decoded_int8.npz");
  ASSERT_TRUE(arrays) << arrays.error().text();
  expect_input("test_01.png", arrays->at("i0_0"));
  auto info =
      parse_model_info(text_of(folder_ / "shapes_yolo_decoded_int8.json"), "shapes_yolo_decoded_int8.json");
  ASSERT_TRUE(info) << info.error().text();
  const OutputTensor output = {arrays->at("o0_0").shape, "int8", 0.0040757302194833755f, -122,
                               arrays->at("o0_0").data};
  auto found = decode_detections({{&output, 1}, *info, {160, 160, {}}});
  ASSERT_TRUE(found) << found.error().text();
  const auto expected = expected_detections(folder_, "test_01.png");
  ASSERT_EQ(found->size(), expected.size());
  for (const Expected& want : expected) {
    double best = 0;
    for (const Detection& got : *found)
      if (got.label == want.label) best = std::max(best, iou(got, want));
    EXPECT_GE(best, 0.75) << want.label;
  }
}

}  // namespace
}  // namespace peraxis::vision
