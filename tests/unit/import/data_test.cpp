// Constants below 8 bits, half floats and sparse ones, with values written out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "import/import.hpp"
#include "model_file.hpp"

namespace peraxis::import {
namespace {

using test::Builder;
using test::ModelSpec;
using testing::ElementsAre;
using testing::HasSubstr;

// A DENSIFY or DEQUANTIZE of one constant.
ModelSpec constant_model(int32_t code, tfl::TensorType type, std::vector<int32_t> shape,
                         std::vector<uint8_t> data) {
  ModelSpec model;
  model.codes = {{static_cast<int8_t>(std::min(code, 127)), code, ""}};
  model.add_constant({.name = "stored", .shape = shape, .type = type}, std::move(data));
  model.add({.name = "out", .shape = shape, .type = code == 6 ? tfl::TensorType::FLOAT32 : type});
  model.ops = {{0, {0}, {1}, tfl::BuiltinOptions::NONE, {}}};
  model.outputs = {1};
  return model;
}

std::vector<int> values_of(const Result<ir::Graph>& graph) {
  if (!graph) return {};
  std::vector<int> out;
  for (const uint8_t byte : graph->tensors[0].data)
    out.push_back(graph->tensors[0].type == ir::DataType::Int8 ? static_cast<int8_t>(byte) : byte);
  return out;
}

TEST(Packed, FourBitsTheLowOnesFirst) {
  const auto model = constant_model(6, tfl::TensorType::INT4, {7}, {0x10, 0x87, 0xF9, 0x03});
  const auto graph = import_tflite(test::build(model), "int4");
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_EQ(graph->tensors[0].type, ir::DataType::Int8);
  EXPECT_THAT(values_of(graph), ElementsAre(0, 1, 7, -8, -7, -1, 3));
  EXPECT_TRUE(ir::verify(*graph));
}

TEST(Packed, TwoBitsAndUnsignedOnes) {
  EXPECT_THAT(values_of(import_tflite(
                  test::build(constant_model(6, tfl::TensorType::INT2, {5}, {0b11100100, 0b10})), "int2")),
              ElementsAre(0, 1, -2, -1, -2));
  const auto graph =
      import_tflite(test::build(constant_model(6, tfl::TensorType::UINT4, {3}, {0xF1, 0x08})), "uint4");
  EXPECT_THAT(values_of(graph), ElementsAre(1, 15, 8));
  EXPECT_EQ(graph->tensors[0].type, ir::DataType::UInt8);
}

TEST(Packed, AWrongNumberOfBytesIsRefused) {
  for (const size_t bytes : {3U, 5U}) {
    const auto model = constant_model(6, tfl::TensorType::INT4, {7}, std::vector<uint8_t>(bytes));
    EXPECT_THAT(import_tflite(test::build(model), "int4").error().text(),
                HasSubstr(fmt::format("buffer 1 has {} bytes, INT4 of shape [7] needs 4", bytes)));
  }
}

struct LevelSpec {
  int32_t dense_size = 0;
  std::vector<int32_t> segments{}, indices{};  // none: dense
};
enum class Width : uint8_t { Bits32, Bits16, Bits8 };

std::pair<tfl::SparseIndexVector, flatbuffers::Offset<void>> index_table(Builder& b, Width width,
                                                                         const std::vector<int32_t>& values) {
  switch (width) {
    case Width::Bits32:
      return {tfl::SparseIndexVector::Int32Vector, tfl::CreateInt32VectorDirect(b, &values).Union()};
    case Width::Bits16: {
      const std::vector<uint16_t> narrow(values.begin(), values.end());
      return {tfl::SparseIndexVector::Uint16Vector, tfl::CreateUint16VectorDirect(b, &narrow).Union()};
    }
    default: {
      const std::vector<uint8_t> narrow(values.begin(), values.end());
      return {tfl::SparseIndexVector::Uint8Vector, tfl::CreateUint8VectorDirect(b, &narrow).Union()};
    }
  }
}

struct SparseSpec {
  std::vector<int32_t> order, blocks;
  std::vector<LevelSpec> levels;
  Width width = Width::Bits32;
};

std::vector<uint8_t> sparse_file(const SparseSpec& spec, std::vector<int32_t> shape,
                                 std::vector<uint8_t> data, int32_t code) {
  ModelSpec model = constant_model(code, tfl::TensorType::INT8, std::move(shape), std::move(data));
  model.tensors[0].sparsity = [&spec](Builder& b) {
    std::vector<flatbuffers::Offset<tfl::DimensionMetadata>> metadata;
    for (const LevelSpec& level : spec.levels) {
      if (level.segments.empty()) {
        metadata.push_back(tfl::CreateDimensionMetadata(b, tfl::DimensionType::DENSE, level.dense_size));
        continue;
      }
      const auto segments = index_table(b, spec.width, level.segments);
      const auto indices = index_table(b, spec.width, level.indices);
      metadata.push_back(tfl::CreateDimensionMetadata(b, tfl::DimensionType::SPARSE_CSR, 0, segments.first,
                                                      segments.second, indices.first, indices.second));
    }
    return tfl::CreateSparsityParametersDirect(b, &spec.order, &spec.blocks, &metadata);
  };
  return test::build(model);
}

Result<ir::Graph> sparse(const SparseSpec& spec, std::vector<int32_t> shape, std::vector<uint8_t> data,
                         int32_t code = 124) {
  return import_tflite(sparse_file(spec, std::move(shape), std::move(data), code), "sparse");
}

// [[1,0,2],[0,0,0],[0,3,0]] row by row.
SparseSpec rows() {
  return {{0, 1}, {}, {{3}, {0, {0, 2, 2, 3}, {0, 2, 1}}}};
}

TEST(Sparse, RowsOfColumns) {
  for (const Width width : {Width::Bits32, Width::Bits16, Width::Bits8}) {
    SparseSpec spec = rows();
    spec.width = width;
    const auto graph = sparse(spec, {3, 3}, {1, 2, 3});
    ASSERT_TRUE(graph) << graph.error().text();
    EXPECT_THAT(values_of(graph), ElementsAre(1, 0, 2, 0, 0, 0, 0, 3, 0));
    EXPECT_TRUE(ir::verify(*graph));
  }
}

// The same matrix column by column: dimension 1 outside.
TEST(Sparse, ColumnsOfRows) {
  const SparseSpec spec{{1, 0}, {}, {{3}, {0, {0, 1, 2, 3}, {0, 2, 0}}}};
  EXPECT_THAT(values_of(sparse(spec, {3, 3}, {1, 3, 2})), ElementsAre(1, 0, 2, 0, 0, 0, 0, 3, 0));
}

// 4x4 in blocks of 2x2: the block at the top right and the one at the bottom left.
TEST(Sparse, Blocks) {
  const SparseSpec spec{{0, 1, 2, 3}, {0, 1}, {{2}, {0, {0, 1, 2}, {1, 0}}, {2}, {2}}};
  EXPECT_THAT(values_of(sparse(spec, {4, 4}, {1, 2, 3, 4, 5, 6, 7, 8})),
              ElementsAre(0, 0, 1, 2, 0, 0, 3, 4, 5, 6, 0, 0, 7, 8, 0, 0));
}

TEST(Sparse, OnlyDensifyReadsIt) {
  const auto graph = sparse(rows(), {3, 3}, {1, 2, 3}, 6);
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().text(),
              HasSubstr("dequantize 0 'out' reads the sparse tensor 0 'stored' itself"));
}

TEST(Sparse, EveryFlippedByteIsSurvived) {
  const SparseSpec blocks{{0, 1, 2, 3}, {0, 1}, {{2}, {0, {0, 1, 2}, {1, 0}}, {2}, {2}}};
  const test::Survived survived =
      test::flip_every_byte(sparse_file(blocks, {4, 4}, {1, 2, 3, 4, 5, 6, 7, 8}, 124), 3);
  EXPECT_GT(survived.refused, 500);
  EXPECT_GT(survived.accepted, 100);
}

struct BrokenSparse {
  const char* what;
  std::function<void(SparseSpec&)> change;
  const char* text;
};
class SparseRefused : public testing::TestWithParam<BrokenSparse> {};

TEST_P(SparseRefused, WithItsSentence) {
  SparseSpec spec = rows();
  GetParam().change(spec);
  const auto graph = sparse(spec, {3, 3}, {1, 2, 3});
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().text(), HasSubstr(GetParam().text));
}

INSTANTIATE_TEST_SUITE_P(
    All, SparseRefused,
    testing::Values(
        BrokenSparse{"short_order", [](SparseSpec& s) { s.order = {0}; }, "has 1 dimensions in its order"},
        BrokenSparse{"twice", [](SparseSpec& s) { s.order = {1, 1}; }, "dimension 1 is out of its place"},
        BrokenSparse{"negative", [](SparseSpec& s) { s.order = {-1, 1}; },
                     "dimension -1 is out of its place"},
        BrokenSparse{"dense_size", [](SparseSpec& s) { s.levels[0].dense_size = 4; },
                     "4 steps of dimension 0 with 3"},
        BrokenSparse{"huge", [](SparseSpec& s) { s.levels[0].dense_size = 1 << 30; }, "steps of dimension 0"},
        BrokenSparse{"few_segments", [](SparseSpec& s) { s.levels[1].segments.pop_back(); },
                     "segment 2 of 3"},
        BrokenSparse{"few_indices", [](SparseSpec& s) { s.levels[1].indices.pop_back(); },
                     "index 2 of a sparse dimension with 2 entries"},
        BrokenSparse{"index_outside", [](SparseSpec& s) { s.levels[1].indices[1] = 3; },
                     "index 1 of a sparse"},
        BrokenSparse{"index_falls", [](SparseSpec& s) { s.levels[1].indices[1] = 0; }, "index 1 of a sparse"},
        BrokenSparse{"negative_segment", [](SparseSpec& s) { s.levels[1].segments[0] = -1; },
                     "index -1 of a sparse"},
        BrokenSparse{"few_values",
                     [](SparseSpec& s) {
                       s.levels[1].segments = {0, 2, 3, 4};
                       s.levels[1].indices = {0, 2, 0, 1};
                     },
                     "more values than its buffer's 3 bytes hold"},
        BrokenSparse{"many_values", [](SparseSpec& s) { s.levels[1].segments = {0, 2, 2, 2}; },
                     "places 2 values, its buffer has 3 bytes"},
        BrokenSparse{"block_of_nothing", [](SparseSpec& s) { s = {{0, 1, 2}, {7}, {{3}, {3}, {3}}}; },
                     "a block splits dimension 7 of 2"},
        BrokenSparse{"block_that_does_not_divide",
                     [](SparseSpec& s) { s = {{0, 1, 2}, {1}, {{3}, {1}, {2}}}; },
                     "2 steps of dimension 1 with 3"}),
    [](const testing::TestParamInfo<BrokenSparse>& broken) { return broken.param.what; });

}  // namespace
}  // namespace peraxis::import
