// Data behind the tables, named by offset and size: what exporters write from some hundred KiB of weights on.
// What is read and refused is what LiteRT 2.3.0 did with such files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "import/import.hpp"
#include "model_file.hpp"

namespace peraxis::import {
namespace {

using test::ModelSpec;
using testing::ElementsAre;
using testing::HasSubstr;

void expect_constants(const Result<ir::Graph>& graph) {
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_TRUE(ir::verify(*graph));
  EXPECT_TRUE(graph->tensors[1].is_constant);
  EXPECT_THAT(graph->tensors[1].data, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(graph->tensors[2].data, ElementsAre(1, 0, 0, 0, 2, 0, 0, 0, 255, 255, 255, 255));
  EXPECT_FALSE(graph->tensors[0].is_constant);
}

TEST(DataBehind, IsRead) {
  expect_constants(import_tflite(test::build_data_behind(test::conv_model()), "behind"));
}

TEST(DataBehind, AtAnyByte) {
  for (size_t shift = 1; shift < 16; ++shift)
    expect_constants(import_tflite(test::build_data_behind(test::conv_model(), shift), "moved"));
}

TEST(DataBehind, AnArchiveMayFollow) {
  std::vector<uint8_t> bytes = test::build_data_behind(test::conv_model());
  const std::string more = "PK\3\4 metadata";
  bytes.insert(bytes.end(), more.begin(), more.end());
  expect_constants(import_tflite(bytes, "zip"));
}

TEST(DataBehind, SomeInsideSomeBehind) {
  ModelSpec model = test::conv_model();
  const std::vector<uint8_t> bias = std::exchange(model.buffers[2].data, {});
  std::vector<uint8_t> bytes = test::build_data_behind(model);
  model.buffers[1] = {{}, 1000000, 6};
  model.buffers[2].data = bias;
  const size_t tables = test::build(model).size();
  model.buffers[1].offset = tables;
  bytes = test::build(model);
  for (uint8_t i = 1; i <= 6; ++i) bytes.push_back(i);
  expect_constants(import_tflite(bytes, "mixed"));
}

// A writer that states the offsets last leaves 0 or 1 at buffers that have none, and at ones inside.
TEST(DataBehind, OffsetsZeroAndOneMeanNothing) {
  for (const uint64_t offset : {0, 1}) {
    for (const uint64_t size : {0, 1, 77}) {
      ModelSpec model = test::conv_model();
      for (test::BufferSpec& buffer : model.buffers) {
        buffer.offset = offset;
        buffer.size = size;
      }
      expect_constants(import_tflite(test::build(model), "placeholder"));
      model.buffers[1].data.clear();
      const auto graph = import_tflite(test::build(model), "empty");
      ASSERT_TRUE(graph) << graph.error().text();
      EXPECT_FALSE(graph->tensors[1].is_constant);
    }
  }
}

TEST(DataBehind, DataInsideCountBeforeAnOffset) {
  ModelSpec model = test::conv_model();
  model.buffers[1].offset = 4;
  model.buffers[1].size = 8;
  expect_constants(import_tflite(test::build(model), "both"));
}

TEST(DataBehind, EveryCutIsRefused) {
  const std::vector<uint8_t> bytes = test::build_data_behind(test::conv_model());
  for (size_t cut = 1; cut <= 12; ++cut) {
    // A copy of exactly this length: a read behind it is seen by the address sanitizer.
    const std::vector<uint8_t> shorter(bytes.begin(), bytes.end() - static_cast<std::ptrdiff_t>(cut));
    const auto graph = import_tflite(shorter, "cut");
    ASSERT_FALSE(graph) << cut;
    EXPECT_THAT(graph.error().text(),
                HasSubstr(fmt::format("buffer 2: 12 bytes at offset {}, but the file has {} bytes",
                                      bytes.size() - 12, shorter.size())));
  }
}

TEST(DataBehind, AWrongSizeIsRefused) {
  ModelSpec model = test::conv_model();
  model.buffers[1].data.push_back(7);
  const auto graph = import_tflite(test::build_data_behind(model), "size");
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().text(), HasSubstr("buffer 1 has 7 bytes, int8 of shape [3,1,1,2] needs 6"));
}

TEST(DataBehind, NoDataWithinTheTables) {
  ModelSpec model = test::conv_model();
  const size_t tables = test::build_data_behind(model).size() - 32 + 4;  // 6 and 12 bytes at multiples of 16
  model.buffers[1] = {{}, tables - 40, 6};
  const auto graph = import_tflite(test::build(model), "overlap");
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().text(), HasSubstr("inside the file's own tables"));
}

TEST(DataBehind, OptionsOfACustomOperator) {
  ModelSpec model = test::conv_model();
  model.codes = {{32, 32, "TFLite_Detection_PostProcess"}};
  model.ops[0].options_type = tfl::BuiltinOptions::NONE;
  model.ops[0].options = nullptr;
  model.ops[0].large_options_offset = 100000;
  model.ops[0].large_options_size = 44;
  const auto outside = import_tflite(test::build(model), "options");
  ASSERT_FALSE(outside);
  EXPECT_THAT(outside.error().text(), HasSubstr("its options: 44 bytes at offset 100000, but the file has"));
  std::vector<uint8_t> bytes = test::build(model);
  model.ops[0].large_options_offset = bytes.size();
  bytes = test::build(model);
  bytes.resize(bytes.size() + 44, 0xff);
  const auto nonsense = import_tflite(bytes, "options");
  ASSERT_FALSE(nonsense);
  EXPECT_THAT(nonsense.error().text(), HasSubstr("its options (44 bytes) are damaged"));
  model.ops[0].large_options_offset = 8;
  const auto overlap = import_tflite(test::build(model), "options");
  ASSERT_FALSE(overlap);
  EXPECT_THAT(overlap.error().text(), HasSubstr("the custom options of operator 0: 44 bytes at offset 8, "
                                                "inside the file's own tables"));
}

}  // namespace
}  // namespace peraxis::import
