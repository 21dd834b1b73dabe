#include "emit/convolution.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "target/rk3588/registers.hpp"

namespace peraxis::emit {
namespace {

using namespace rk3588;

// The convolution of docs/hardware/worked-convolution.md: 3x3, 32x32, 32 -> 64 channels.
ConvTask worked_example() {
  ConvTask t;
  t.in_width = t.in_height = 32;
  t.in_plane = 1024;
  t.in_channels = t.in_channels_real = 32;
  t.input = {0, 0x100};
  t.pad_left = t.pad_top = 1;
  t.pad_value = -3;
  t.kernel_width = t.kernel_height = 3;
  t.kernels = 64;
  t.weight_bytes_per_kernel = 288;
  t.weight_bytes = 18432;
  t.weights = {1, 0};
  t.out_width = t.out_height = 32;
  t.out_plane = 1024;
  t.out_channels = t.out_channels_real = 64;
  t.output = {2, 0};
  t.operands = {1, 0x4800};
  t.data_banks = 10;
  t.weight_banks = 2;
  t.dpu.out_scale = 20000;
  t.dpu.out_shift = 22;
  t.dpu.out_offset = -5;
  t.dpu.ties_away = false;
  return t;
}

std::map<uint16_t, uint32_t> registers_of(const Program& program) {
  std::map<uint16_t, uint32_t> values;
  for (const uint64_t word : program.words)
    values[static_cast<uint16_t>(word)] = static_cast<uint32_t>(word >> 16);
  return values;
}

// As Mesa writes a convolution with a fused ADD (capture u8_resda_14x14x32_s0244231, its last task): the
// operand at 0x10111000, its odd surfaces 196 atoms on, both readers' strides to the next surface but one.
TEST(Convolution, ReadsAnAddedTensorAsTheCaptureDoes) {
  ConvTask t = worked_example();
  t.out_width = t.out_height = 14;
  t.out_plane = 196;
  t.out_channels = t.out_channels_real = t.kernels = 32;
  t.dpu = {};
  t.added = AddedTensor{{3, 0x1000}, 196, 1, 0, 0, 0x7222, false, 0x74DE, 23, 2};
  Result<Program> program = convolution(t);
  ASSERT_TRUE(program) << program.error().text();
  auto r = registers_of(*program);
  EXPECT_EQ(r[0x4040], 0x20150U);
  EXPECT_EQ(r[0x4070], 0x904202C0U);
  EXPECT_EQ(r[0x4074], 0U);
  EXPECT_EQ(r[0x4078], 0x7222U);  // the capture shifts by 7 as well: ours is all in the factor
  EXPECT_EQ(r[0x4080], 2U);
  EXPECT_EQ(r[0x4084], 0x74DEU);
  EXPECT_EQ(r[0x4088], 0x40000017U);  // ties away from zero, as our ADD rounds; the capture has 0x17
  EXPECT_EQ(r[0x501C], 0x2U);
  EXPECT_EQ(r[0x5034], 0x40000004U);
  EXPECT_EQ(r[0x5040], 0xC40U);
  EXPECT_EQ(r[0x5044], 0x7D00U);
  EXPECT_EQ(r[0x504C], 0xC40U);
  EXPECT_EQ(r[0x506C], 0xC40U);
  std::map<uint16_t, SymbolicAddress> addresses;
  for (const AddressWord& a : program->addresses)
    addresses[static_cast<uint16_t>(program->words[static_cast<size_t>(a.word)])] = a.address;
  EXPECT_EQ(addresses[0x5018].allocation, 3);
  EXPECT_EQ(addresses[0x5018].offset, 0x1000);
  EXPECT_EQ(addresses[0x5038].allocation, 3);
  EXPECT_EQ(addresses[0x5038].offset, 0x1C40);
}

// Tiles keep the operand's plane in EW_SURF_STRIDE; the notches lead from a tile's end to the surface after
// next. As two tasks of Mesa's whole_mobilenet_v2 have it (16 and 17: 40 and 16 rows of 56) and, with a plane
// that is larger than the map, a vendor block for 5 x 5 pixels (docs/hardware/dpu_rdma.md#fused-addition).
TEST(Convolution, AddsATensorThatIsLargerThanTheTask) {
  struct Case {
    int64_t width, rows, plane;
    uint32_t stride, notch;
  };
  for (const Case& c : {Case{56, 40, 3136, 0xC400, 0xFC00}, Case{56, 16, 3136, 0xC400, 0x15000},
                        Case{5, 5, 28, 28 << 4, 31 << 4}}) {
    ConvTask t = worked_example();
    t.out_width = c.width;
    t.out_height = c.rows;
    t.out_plane = c.plane;
    t.added = AddedTensor{{3, 0x1000}, c.plane, 1, 0, 0, 0x7222, false, 0x74DE, 23, 2};
    const Result<Program> program = convolution(t);
    ASSERT_TRUE(program) << program.error().text();
    auto r = registers_of(*program);
    EXPECT_EQ(r[0x5040], c.stride);
    EXPECT_EQ(r[0x504C], c.notch);
    EXPECT_EQ(r[0x506C], c.notch);
  }
}

// BS keeps the convolution to its range, BN scales it for the sum: the vendor's ReLU6 bits (0x92) in BS, and
// BN multiplying and adding as in its SiLU (fx_conv3x3_silu: BN_CFG 0x20040).
TEST(Convolution, ClampsInBsAndScalesInBnForASum) {
  ConvTask t = worked_example();
  t.dpu = {};
  t.dpu.multiply = true;
  t.dpu.bs_shift = 24;
  t.dpu.relu = t.dpu.relux = true;
  t.dpu.relux_compare = 255;
  t.dpu.out_offset = -128;
  t.added = AddedTensor{{3, 0}, 1024, 20000, -2400000, 5, 16384, true, 30000, 29, -7};
  const Result<Program> program = convolution(t);
  ASSERT_TRUE(program) << program.error().text();
  auto r = registers_of(*program);
  EXPECT_EQ(r[0x4040], 0x20180U);  // 0x20140 without the bypass of ReLU, with its bound
  EXPECT_EQ(r[0x404C], 255U);
  EXPECT_EQ(r[0x4060], 0x20040U);
  EXPECT_EQ(r[0x4064], static_cast<uint32_t>(-2400000));
  EXPECT_EQ(r[0x4068], 20000U << 16);
  EXPECT_EQ(r[0x406C], 0U);
  EXPECT_EQ(r[0x4070], 0x904200C0U);  // with ReLU
  EXPECT_EQ(r[0x4074], 5U);
  EXPECT_EQ(r[0x4080], static_cast<uint32_t>(-7));
  EXPECT_EQ(r[0x4084], 30000U);
  EXPECT_EQ(r[0x4010], 24U << 4);
}

TEST(Convolution, ReproducesTheWorkedExample) {
  const Result<Program> program = convolution(worked_example());
  ASSERT_TRUE(program) << program.error().text();
  auto r = registers_of(*program);
  EXPECT_EQ(r[0x100C], 0U);
  EXPECT_EQ(r[0x1014], 0x9U);
  EXPECT_EQ(r[0x1020], 0x00200020U);
  EXPECT_EQ(r[0x1024], 0x001F0020U);
  EXPECT_EQ(r[0x1028], 32U);
  EXPECT_EQ(r[0x102C], 1024U);
  EXPECT_EQ(r[0x1030], 18432U);
  EXPECT_EQ(r[0x1034], 288U);
  EXPECT_EQ(r[0x1038], 0x03030040U);
  EXPECT_EQ(r[0x1040], 0x2AU);
  EXPECT_EQ(r[0x1044], 16U);
  EXPECT_EQ(r[0x104C], 0xBU);
  for (uint16_t offset = 0x1050; offset <= 0x105C; offset = static_cast<uint16_t>(offset + 4))
    EXPECT_EQ(r[offset], 0x00010000U);
  EXPECT_EQ(r[0x1068], 0x11U);
  EXPECT_EQ(r[0x1078], 0x000F000FU);
  EXPECT_EQ(r[0x107C], 128U);
  EXPECT_EQ(r[0x1080], 896U);
  EXPECT_EQ(r[0x1084], 0x00200020U);
  EXPECT_EQ(r[0x1088], 32U);
  EXPECT_EQ(r[0x1184], 0xFDFDFDFDU);
  EXPECT_EQ(r[0x3010], 1U);
  EXPECT_EQ(r[0x3014], 0x001F001FU);
  EXPECT_EQ(r[0x3018], 63U);
  EXPECT_EQ(r[0x400C], 0x1E4U);
  EXPECT_EQ(r[0x4024], 1024U << 4);
  EXPECT_EQ(r[0x4030], 31U);
  EXPECT_EQ(r[0x4034], 31U);
  EXPECT_EQ(r[0x403C], 63U << 16 | 63U);
  EXPECT_EQ(r[0x4040], 0x20150U);
  EXPECT_EQ(r[0x4050], 0x124U);
  EXPECT_EQ(r[0x4058], 63U);
  EXPECT_EQ(r[0x405C], 31U << 16 | 31U);
  EXPECT_EQ(r[0x4060], 0x53U);
  EXPECT_EQ(r[0x4070], 0x383U);
  EXPECT_EQ(r[0x4080], 0xFFFFFFFBU);
  EXPECT_EQ(r[0x4084], 20000U);
  EXPECT_EQ(r[0x4088], 22U);
  EXPECT_EQ(r[0x40C0], 2048U << 4);
  EXPECT_EQ(r[0x500C], 31U);
  EXPECT_EQ(r[0x5014], 63U);
  EXPECT_EQ(r[0x501C], 0x02U);
  EXPECT_EQ(r[0x5034], 1U);
  EXPECT_EQ(r[0x5044], 0x7810U);
  EXPECT_EQ(r[0x5068], 0x01010101U);
}

TEST(Convolution, PerChannelMultiplyIsTheVendorsWay) {
  ConvTask t = worked_example();
  t.dpu.multiply = true;
  t.dpu.bs_shift = 14;
  t.dpu.relu = true;
  const Result<Program> program = convolution(t);
  ASSERT_TRUE(program);
  auto r = registers_of(*program);
  EXPECT_EQ(r[0x4010], 0xE0U);
  EXPECT_EQ(r[0x4040], 0x20140U);
  EXPECT_EQ(r[0x4048], 0x0E01U);
  EXPECT_EQ(r[0x4050], 0x125U);
  EXPECT_EQ(r[0x501C], 0x0EU);
  EXPECT_EQ(r[0x4060], 0x12U);
}

TEST(Convolution, Int32OutputAndDepthwise) {
  ConvTask t = worked_example();
  t.dpu.int32_output = true;
  auto r = registers_of(*convolution(t));
  EXPECT_EQ(r[0x4010], 0x80000000U);
  EXPECT_EQ(r[0x3010], 0U);
  EXPECT_EQ(r[0x4040], 0x53U);
  EXPECT_EQ(r[0x4050], 0x7FEU);
  EXPECT_EQ(r[0x40C0], (8U * 1024U) << 4);
  EXPECT_EQ(r[0x501C], 0U);
  t = worked_example();
  t.depthwise = true;
  t.kernels = 1;
  r = registers_of(*convolution(t));
  EXPECT_EQ(r[0x100C], 3U);
  EXPECT_EQ(r[0x3010], 3U);
  EXPECT_EQ(r[0x400C], 0x1FCU);
  EXPECT_EQ(r[0x4050], 0x36CU);
  EXPECT_EQ(r[0x5044], 0x7816U);
}

TEST(Convolution, WritesEveryRegisterOnceAndEndsInTheTail) {
  const Result<Program> program = convolution(worked_example());
  ASSERT_TRUE(program);
  ASSERT_EQ(program->words.size() % 2, 0U);
  const size_t n = program->words.size();
  EXPECT_EQ(program->next_address_word, static_cast<int32_t>(n - 4));
  EXPECT_EQ(program->next_amount_word, static_cast<int32_t>(n - 3));
  EXPECT_EQ(program->words[n - 2], uint64_t{0x0041} << 48);
  EXPECT_EQ(program->words[n - 1], uint64_t{0x0081} << 48 | uint64_t{0x1D} << 16 | 0x0008);
  std::set<uint16_t> seen;
  for (size_t i = 0; i + 4 < n; ++i) {
    const uint64_t word = program->words[i];
    if (word == 0) continue;  // the filler that makes the count even
    const auto target = static_cast<uint16_t>(word >> 48);
    EXPECT_NE(find_register(static_cast<Block>(target & ~1), static_cast<uint16_t>(word)), nullptr);
    EXPECT_TRUE(seen.insert(static_cast<uint16_t>(word)).second) << std::hex << static_cast<uint16_t>(word);
  }
  EXPECT_EQ(seen.size(), 122U);
}

TEST(Convolution, SurfaceStrideIsNegativeForMapsBelowFourRows) {
  ConvTask t = worked_example();
  t.in_width = t.in_height = t.in_plane = 1;
  EXPECT_EQ(registers_of(*convolution(t))[0x1080], 0x0FFFFFFDU);
  t.in_width = t.in_height = 2;
  t.in_plane = 4;
  EXPECT_EQ(registers_of(*convolution(t))[0x1080], 0x0FFFFFFCU);
}

TEST(Convolution, AValueThatDoesNotFitNamesItsField) {
  ConvTask t = worked_example();
  t.stride_x = 8;
  const Result<Program> program = convolution(t);
  ASSERT_FALSE(program);
  EXPECT_NE(program.error().message.find("CNA.CONV_CON3.CONV_X_STRIDE: value 8"), std::string::npos);
}

TEST(RegisterTable, FieldsOfARegisterDoNotOverlap) {
  EXPECT_TRUE(register_table_is_consistent());
}

TEST(NextAmount, CountsPairsOfWords) {
  // Odd lengths round up: 73 words need 37 pairs (docs/hardware/pc.md#the-tail-of-a-program).
  EXPECT_EQ(static_cast<uint32_t>(*next_amount(130) >> 16), 64U);
  EXPECT_EQ(static_cast<uint32_t>(*next_amount(73) >> 16), 36U);
}

// The vendor compiler's stream for a transposed convolution (vendor cases, fx_deconv4x4): 5x5 to 10x10,
// kernel 4x4, stride 2. What is left out differs by choice: bank split, grains, kernels rounded to a group.
TEST(Convolution, TransposedAsTheVendorsStream) {
  ConvTask t = worked_example();
  t.in_width = t.in_height = 5;
  t.in_plane = 28;  // the vendor rounds planes of internal tensors up to 4 pixels
  t.in_channels = t.in_channels_real = 16;
  t.pad_left = t.pad_top = 2;
  t.pad_value = 3;
  t.kernel_width = t.kernel_height = 4;
  t.insert_x = t.insert_y = 2;
  t.weight_bytes_per_kernel = 256;
  t.out_width = t.out_height = 10;
  t.out_plane = 100;
  t.out_channels = t.kernels = 32;
  t.weight_bytes = 32 * 256;
  const Result<Program> program = convolution(t);
  ASSERT_TRUE(program) << program.error().text();
  auto r = registers_of(*program);
  EXPECT_EQ(r[0x100C], 0x00010000U);
  EXPECT_EQ(r[0x1014], 0x00000909U);
  EXPECT_EQ(r[0x1020], 0x00050005U);
  EXPECT_EQ(r[0x1024], 0x000F0010U);
  EXPECT_EQ(r[0x1028], 10U);
  EXPECT_EQ(r[0x102C], 100U);
  EXPECT_EQ(r[0x1034], 0x100U);
  EXPECT_EQ(r[0x1038] & 0xFFFF0000U, 0x04040000U);
  EXPECT_EQ(r[0x1044], 2U);
  EXPECT_EQ(r[0x1068], 0x22U);
  EXPECT_EQ(r[0x107C], 0x14U);
  EXPECT_EQ(r[0x1080], 8U);
  EXPECT_EQ(r[0x1084], 0x00050005U);
  EXPECT_EQ(r[0x1088], 0x10U);
  EXPECT_EQ(r[0x1184] & 0xFFU, 3U);  // direct convolution reads one byte
}

// The vendor compiler's stream for a first layer over int8 pixels (vendor cases, fx_first6x6): 16x16x3,
// kernel 6x6, stride 2, padding 2. What is left out differs by choice: bank split, kernels rounded to a
// group.
TEST(Convolution, PackedAsTheVendorsStream) {
  ConvTask t = worked_example();
  t.packed = 3;
  t.in_width = t.in_height = 16;
  t.line = 16;
  t.in_plane = 256;
  t.in_channels = 16;
  t.in_channels_real = 3;
  t.input = {0, 0};
  t.pad_left = t.pad_top = 2;
  t.pad_value = -128;
  t.kernel_width = t.kernel_height = 6;
  t.stride_x = t.stride_y = 2;
  t.weight_bytes_per_kernel = 576;
  t.out_width = t.out_height = 8;
  t.out_plane = 64;
  t.out_channels = t.kernels = 32;
  t.weight_bytes = 32 * 576;
  const Result<Program> program = convolution(t);
  ASSERT_TRUE(program) << program.error().text();
  auto r = registers_of(*program);
  EXPECT_EQ(r[0x100C], 0x6000A000U);
  EXPECT_GE(r[0x1010] >> 4, 16U) << "all rows must be there; the vendor says 24";
  EXPECT_EQ(r[0x1014], 0x12U);
  EXPECT_EQ(r[0x1020], 0x00100010U);
  EXPECT_EQ(r[0x1024], 0x00020010U);
  EXPECT_EQ(r[0x1028], 8U);
  EXPECT_EQ(r[0x102C], 0x40U);
  EXPECT_EQ(r[0x1034], 0x240U);
  EXPECT_EQ(r[0x1038] & 0xFFFF0000U, 0x06060000U);
  EXPECT_EQ(r[0x1044], 0x100U);
  EXPECT_EQ(r[0x104C], 0xBU);
  for (uint16_t offset = 0x1050; offset <= 0x105C; offset = static_cast<uint16_t>(offset + 4))
    EXPECT_EQ(r[offset], 0x00010000U);
  EXPECT_EQ(r[0x1060], 0U);
  EXPECT_EQ(r[0x1064], 0U);
  EXPECT_EQ(r[0x1068], 0x22U);
  EXPECT_EQ(r[0x1074], 0U);
  EXPECT_EQ(r[0x1078], 0x000F000FU);
  EXPECT_EQ(r[0x107C], 0x10U);
  EXPECT_EQ(r[0x1080], 0xF0U);
  EXPECT_EQ(r[0x1084], 0x00100010U);
  EXPECT_EQ(r[0x1088], 0x10U);
  EXPECT_EQ(r[0x1180], 0U);
  EXPECT_EQ(r[0x1184] & 0xFFU, 0x80U);  // direct convolution reads one byte
}

// A row tile of a larger picture (vendor tiling.csv, 640x640x3, second task): entries and grains of the tile,
// jump of the whole picture. Other channel counts are other modes (docs/hardware/cna.md#packed-pixels).
TEST(Convolution, PackedTilesAndChannels) {
  ConvTask t = worked_example();
  t.packed = 3;
  t.in_width = t.line = 640;
  t.in_height = 35;
  t.in_plane = 640 * 640;
  t.in_channels = 16;
  auto r = registers_of(*convolution(t));
  EXPECT_EQ(r[0x1010], 0x230U);
  EXPECT_EQ(r[0x1044], 22400U);
  EXPECT_EQ(r[0x107C], 640U);
  EXPECT_EQ(r[0x1080], 408960U);
  for (int64_t channels = 1; channels <= 4; ++channels) {
    t.packed = channels;
    EXPECT_EQ(registers_of(*convolution(t))[0x100C],
              0x60008000U + static_cast<uint32_t>(channels - 1) * 0x1000U);
  }
}

// docs/hardware/cna.md#limits: the dilation fields hold d - 1; a window must be there before the MACs start.
TEST(Convolution, Dilation) {
  ConvTask t = worked_example();
  t.dilation_x = 2;
  t.dilation_y = 32;
  auto r = registers_of(*convolution(t));
  EXPECT_EQ(r[0x1014], 1U << 16 | 31U << 21 | 0x9U);
  EXPECT_GE(r[0x1010] >> 4, 1U + 65U);
  t.dilation_y = 33;
  EXPECT_FALSE(convolution(t));
}

// docs/hardware/cna.md#feature-addresses, line mode: the step between lines, and from a line's end to the
// next surface.
TEST(Convolution, LinesOneByOne) {
  ConvTask t = worked_example();
  t.line = 96;
  auto r = registers_of(*convolution(t));
  EXPECT_EQ(r[0x100C], 1U << 29);
  EXPECT_EQ(r[0x107C], 96U);
  EXPECT_EQ(r[0x1080], 1024U - 32U);
}

}  // namespace
}  // namespace peraxis::emit
