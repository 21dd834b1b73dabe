// The vector step from accumulators to stored values, and the operators that are little else, against the
// plain ones: every shift, every sign, and values that wrap.
#include "base/rng.hpp"
#include "graphs.hpp"
#include "kernels/fast/requantize.hpp"

namespace peraxis::kernels {
namespace {

using ir::OpKind;

TEST(RequantizeRow, EqualsOneByOne) {
  base::Rng rng(3);
  for (int round = 0; round < 3000; ++round) {
    const int64_t count = rng.uniform(1, 37);
    Requantize requantize;
    requantize.zero_point = static_cast<int32_t>(rng.uniform(-128, 255));
    requantize.range = rng.one_in(2) ? ir::StoredRange{-128, 127} : ir::StoredRange{0, 255};
    if (rng.one_in(4)) requantize.range.low = requantize.range.high - static_cast<int32_t>(rng.uniform(0, 9));
    requantize.reference = rng.one_in(6) ? Reference::SingleRounding : Reference::LitertRef;
    std::vector<int32_t> sums;
    for (int64_t i = 0; i < count; ++i) {
      const auto exponent = static_cast<int>(rng.uniform(-31, rng.one_in(5) ? 31 : 1));
      const bool zero = rng.one_in(20);
      requantize.multipliers.push_back(
          {zero ? 0 : static_cast<int32_t>(rng.uniform(int64_t{1} << 30, INT32_MAX)), zero ? 0 : exponent});
      // Multiples of large powers of two, too: ties of the second rounding.
      const int64_t wide =
          rng.one_in(3) ? rng.uniform(-64, 64) << rng.uniform(0, 25) : rng.uniform(INT32_MIN, INT32_MAX);
      sums.push_back(rng.one_in(30) ? INT32_MIN : static_cast<int32_t>(wide));
    }
    requantize.multipliers.insert(requantize.multipliers.begin(), {1 << 30, 0});  // an offset of one channel
    std::vector<uint8_t> row(static_cast<size_t>(count), 77);
    fast::requantize_row(requantize, sums.data(), 1, count, row.data());
    for (size_t i = 0; i < row.size(); ++i) {
      ASSERT_EQ(row[i], requantize(sums[i], i + 1))
          << "round " << round << ", sum " << sums[i] << ", mantissa "
          << requantize.multipliers[i + 1].mantissa << ", exponent "
          << requantize.multipliers[i + 1].exponent;
    }
  }
}

// Every shift with ties: mantissa 1/2, sums around every power of two.
TEST(RequantizeRow, Ties) {
  for (int exponent = -31; exponent <= 2; ++exponent) {
    Requantize requantize;
    requantize.range = {-128, 127};
    std::vector<int32_t> sums;
    for (int bit = 0; bit < 31; ++bit) {
      for (const int64_t near : {-1, 0, 1}) {
        for (const int64_t sign : {-1, 1})
          sums.push_back(static_cast<int32_t>(sign * ((int64_t{1} << bit) + near)));
      }
    }
    requantize.multipliers.assign(sums.size(), {1 << 30, exponent});
    std::vector<uint8_t> row(sums.size());
    fast::requantize_row(requantize, sums.data(), 0, static_cast<int64_t>(sums.size()), row.data());
    for (size_t i = 0; i < row.size(); ++i) {
      ASSERT_EQ(row[i], requantize(sums[i], i)) << "sum " << sums[i] << ", exponent " << exponent;
    }
  }
}

TEST(FastEqualsReference, Elementwise) {
  const std::vector<std::vector<int32_t>> shapes[] = {{{1, 3, 5, 33}, {1, 3, 5, 33}},
                                                      {{2, 4, 3, 17}, {17}},
                                                      {{2, 3, 1, 9}, {1, 4, 1}},
                                                      {{70}, {}},
                                                      {{1, 1, 1, 70}, {2, 3, 4, 1}},
                                                      {{2, 1, 3, 1, 8}, {5, 1}},
                                                      {{}, {}},
                                                      {{3}, {3}},
                                                      {{2, 3, 1}, {2, 1, 4}},
                                                      {{1, 7, 9, 130}, {9, 130}}};
  base::Rng rng(5);
  for (int round = 0; round < 1500; ++round) {
    const auto& pair = shapes[rng.uniform(0, static_cast<int64_t>(std::size(shapes)) - 1)];
    const OpKind kind =
        std::array{OpKind::Add, OpKind::Sub, OpKind::Mul}[static_cast<size_t>(rng.uniform(0, 2))];
    const ir::DataType type = rng.one_in(3) ? ir::DataType::UInt8 : ir::DataType::Int8;
    const auto operand = [&](std::vector<int32_t> shape) {
      const int64_t zero = (rng.one_in(3) ? rng.uniform(0, 1) * 255 : rng.uniform(0, 255)) -
                           (type == ir::DataType::Int8 ? 128 : 0);
      const double scale =
          rng.one_in(3) ? 1.0 / static_cast<double>(1 << rng.uniform(0, 12)) : rng.uniform_real(0.001, 0.5);
      return tensor(type, std::move(shape), static_cast<float>(scale), zero);
    };
    const auto shape = ir::broadcast_shape(pair[0], pair[1]);
    ASSERT_TRUE(shape);
    ir::BinaryAttributes attributes;
    attributes.activation = static_cast<ir::Activation>(rng.uniform(0, 3));
    ir::Tensor output = operand(*shape);
    if (kind == OpKind::Mul && rng.one_in(10)) output.quant.scale = {1e-9F};  // products that wrap
    const bool swap = rng.one_in(2);
    const ir::Graph graph =
        one_op(kind, attributes, {operand(pair[swap ? 1 : 0]), operand(pair[swap ? 0 : 1]), output});
    std::vector<std::vector<uint8_t>> inputs;
    for (const int32_t index : graph.inputs) {
      inputs.emplace_back(static_cast<size_t>(graph.tensor(index).bytes()));
      for (uint8_t& byte : inputs.back()) byte = static_cast<uint8_t>(rng.uniform(0, 255));
    }
    const auto expected = run(graph, inputs, {Path::Reference, Reference::LitertRef, 1});
    const auto fast = run(graph, inputs, {Path::Fast, Reference::LitertRef, 1});
    ASSERT_EQ(expected.has_value(), fast.has_value()) << "round " << round;
    if (expected) {
      ASSERT_EQ(*fast, *expected) << "round " << round << ", " << ir::op_name(kind);
    } else {
      EXPECT_EQ(fast.error().text(), expected.error().text());
    }
  }
}

}  // namespace
}  // namespace peraxis::kernels
