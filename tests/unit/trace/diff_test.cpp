#include "trace/diff.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "streams.hpp"
#include "trace/input.hpp"

namespace peraxis::trace {
namespace {

using testing::HasSubstr;

std::string with(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}
Diff diff(const std::string& a, const std::string& b, const DiffOptions& options = {}) {
  return diff_streams({parse_one(a)}, {parse_one(b)}, options);
}

TEST(Diff, EqualStreams) {
  const Diff d = diff(kConvolution, kConvolution);
  EXPECT_TRUE(d.equal());
  EXPECT_EQ(d.pairs.size(), 1U);
}

TEST(Diff, OnlyDifferingFields) {
  const Diff d = diff(kConvolution, with(kConvolution, "=20001", "=20002"));
  ASSERT_EQ(d.pairs.size(), 1U);
  ASSERT_EQ(d.pairs[0].differences.size(), 1U);
  EXPECT_EQ(d.pairs[0].differences[0].where, "DPU.OUT_CVT_SCALE.OUT_CVT_SCALE");
  EXPECT_EQ(d.pairs[0].differences[0].a, "20001");
  EXPECT_THAT(diff_text(d, "a", "b"), HasSubstr("OUT_CVT_SCALE: 20001 -> 20002"));
}

TEST(Diff, MissingWritesAndReservedBits) {
  const Diff d = diff(with(kConvolution, "DPU_RDMA.NRDMA_CFG\n", ""),
                      with(kConvolution, "WEIGHT_BANK=11", "WEIGHT_BANK=11 reserved=0x80000000"));
  ASSERT_EQ(d.pairs[0].differences.size(), 2U);
  EXPECT_THAT(diff_text(d, "a", "b"), HasSubstr("DPU_RDMA.NRDMA_CFG: not written -> written with 0"));
  EXPECT_THAT(diff_text(d, "a", "b"), HasSubstr("reserved bits: 0x0 -> 0x80000000"));
}

TEST(Diff, InsertedAndDeletedTasks) {
  const std::string wide =
      with(kConvolution, "WIDTH=10\nDPU.DATA_CUBE_HEIGHT", "WIDTH=11\nDPU.DATA_CUBE_HEIGHT");
  const std::string pool = "PPU.DATA_CUBE_IN_WIDTH CUBE_IN_WIDTH=9\nseparator\nenable PPU PPU_RDMA\n";
  const std::string a = kConvolution + wide, b = kConvolution + pool + wide;
  const Diff d = diff(a, b);
  ASSERT_EQ(d.pairs.size(), 3U);
  EXPECT_TRUE(d.pairs[0].equal());
  EXPECT_FALSE(d.pairs[1].a.has_value());
  EXPECT_TRUE(d.pairs[2].equal());
  EXPECT_FALSE(d.equal());
  EXPECT_THAT(diff_text(d, "a", "b"), HasSubstr("+ task 1: "));
  EXPECT_THAT(diff_text(diff(b, a), "b", "a"), HasSubstr("- task 1: "));
}

TEST(Diff, AddressesAsPlaces) {
  const std::string other = with(kConvolution, "FEATURE_BASE_ADDR=0x10000", "FEATURE_BASE_ADDR=0x90000");
  EXPECT_FALSE(diff(kConvolution, other).equal());
  EXPECT_TRUE(diff(kConvolution, other, {false}).equal());
  Stream a = parse_one(kConvolution), b = parse_one(other);
  a.buffers = {{"x", 0x10000, 64}};
  b.buffers = {{"x", 0x90000, 64}};
  EXPECT_TRUE(diff_streams({a}, {b}).equal());
  b.buffers = {{"x", 0x8FFF0, 64}};
  EXPECT_THAT(diff_text(diff_streams({a}, {b}), "a", "b"), HasSubstr("x -> x+0x10"));
}

TEST(Diff, TablesOrderAndRest) {
  const std::string table =
      "DPU.LUT_ACCESS_CFG LUT_ACCESS_TYPE=1\nDPU.LUT_ACCESS_DATA LUT_ACCESS_DATA=1\n"
      "DPU.LUT_ACCESS_DATA LUT_ACCESS_DATA=2\nseparator\nenable DPU DPU_RDMA\n";
  EXPECT_THAT(diff_text(diff(table, with(table, "DATA=1\n", "DATA=5\n")), "a", "b"),
              HasSubstr("DPU.LUT_ACCESS_DATA (write 0 of 2, 1 differ)"));
  const std::string first = "CNA.FC_CON0\nCNA.FC_CON1\n", second = "CNA.FC_CON1\nCNA.FC_CON0\n";
  const Diff order = diff(first + kConvolution, second + kConvolution);
  EXPECT_TRUE(order.equal());
  EXPECT_TRUE(order.pairs[0].reordered);
  EXPECT_FALSE(diff(std::string(kConvolution) + "bytes 1\n", kConvolution).equal());
}

TEST(Input, FindsStreamsAtAnyPlace) {
  const std::vector<uint8_t> words = bytes_of_words(parse_one(kConvolution).words);
  for (size_t lead = 8; lead < 24; ++lead) {
    std::vector<uint8_t> bytes(lead, 0x5A);
    bytes[0] = 'R', bytes[1] = 'K', bytes[2] = 'N', bytes[3] = 'N';
    bytes.insert(bytes.end(), words.begin(), words.end());
    bytes.insert(bytes.end(), 777, 0xC3);
    bytes.insert(bytes.end(), words.begin(), words.end());
    const auto input = read_input("m", bytes);
    ASSERT_TRUE(input) << input.error().text();
    EXPECT_EQ(input->kind, InputKind::VendorModel);
    ASSERT_EQ(input->streams.size(), 2U) << lead;
    for (const Stream& stream : input->streams) EXPECT_EQ(stream.words, parse_one(kConvolution).words);
  }
}

TEST(Input, RefusesWhatHoldsNoCommand) {
  EXPECT_FALSE(read_input("x", std::vector<uint8_t>(64, 0)).has_value());
  EXPECT_FALSE(read_input("x", {}).has_value());
  std::vector<uint8_t> model(100, 0);
  model[0] = 'R', model[1] = 'K', model[2] = 'N', model[3] = 'N';
  EXPECT_THAT(read_input("x", model).error().message, HasSubstr("no command stream"));
}

}  // namespace
}  // namespace peraxis::trace
