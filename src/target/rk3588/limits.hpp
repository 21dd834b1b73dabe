// Limits of the RK3588 NPU as a compiler needs them. Where no page is named the source is
// docs/hardware/cna.md#limits, or, for the width of a field, the register table.
#pragma once

#include <cstdint>

namespace peraxis::rk3588 {

// One feature atom: 16 int8 channels (docs/hardware/cna.md#the-feature-cube).
inline constexpr int64_t kAtomBytes = 16;
// Output channels that a task computes together, direct and depthwise int8 (docs/hardware/weights.md).
inline constexpr int64_t kKernelGroup = 32;
inline constexpr int64_t kDepthwiseGroup = 64;
inline constexpr int64_t kWeightBlockChannels = 32;  // input channels of one weight block
// CBUF of a core (docs/hardware/cbuf.md#banks), and the unit of DATA_ENTRIES
// (docs/hardware/cbuf.md#entries-of-a-row).
inline constexpr int64_t kCbufBanks = 12;
inline constexpr int64_t kCbufBankBytes = 32768;
inline constexpr int64_t kCbufEntryBytes = 64;
// Of maps one pixel wide: int8 over-reads one bank when the last is nearly full
// (docs/hardware/cbuf.md#the-nearly-full-bank).
inline constexpr int64_t kSpareDataBanks = 1;
inline constexpr int64_t kMaxInputExtent = 2047;  // DATAIN_WIDTH, DATAIN_HEIGHT: 11 bits
inline constexpr int64_t kMaxOutputWidth = 2047;  // DATAOUT_WIDTH: 11 bits
// Width, height and channels of a DPU cube: 13 bits, minus one, and all ones, a size of 8,192, misbehaves
// (docs/hardware/wdma.md#extents).
inline constexpr int64_t kMaxCubeExtent = 8191;
inline constexpr int64_t kMaxCubeChannels = kMaxCubeExtent / kAtomBytes * kAtomBytes;  // whole atoms
inline constexpr int64_t kMaxInputChannels = 16384;  // DATAIN_CHANNEL_REAL: 14 bits
inline constexpr int64_t kMaxKernel = 31;
inline constexpr int64_t kMaxStride = 7;     // CONV_*_STRIDE: 3 bits
inline constexpr int64_t kMaxPad = 15;       // PAD_TOP, PAD_LEFT: 4 bits
inline constexpr int64_t kMaxDilation = 32;  // ATROUS_*_DILATION: 5 bits, minus one
// Padding of a transposed convolution; 12 to 15 misbehave (docs/hardware/cna.md#transposed-convolution).
inline constexpr int64_t kMaxInsertingPad = 11;
// Pixels read as they lie in a picture: ARGB_IN 8..11 (docs/hardware/cna.md#packed-pixels).
inline constexpr int64_t kMaxPackedChannels = 4;
// All rows of their tile are FEATURE_GRAINS, 10 bits.
inline constexpr int64_t kMaxPackedRows = 1023;
// Unit of their rows in memory: every width in vendor streams is a multiple, mainline takes at least one.
inline constexpr int64_t kPackedRowPixels = 16;
// Distances of samples in a transposed convolution: the field acts as 0, 1, 3 or 7 alone.
constexpr bool inserts_samples(int64_t distance) {
  return distance == 1 || distance == 2 || distance == 4 || distance == 8;
}
inline constexpr int64_t kWordBytes = 8;  // one register command
// Start of a command stream (docs/hardware/pc.md#the-tail-of-a-program).
inline constexpr int64_t kCommandAlign = 64;
inline constexpr int64_t kBufferAlign = 64;
inline constexpr int32_t kMaxChainTasks = 4095;  // PC TASK_NUMBER: 12 bits
// Columns of a task with a look-up table: clean at 4,096 columns of 8 values, wrong at 8,191
// (docs/hardware/dpu.md#look-up-table).
inline constexpr int64_t kMaxLookUpWidth = 4096;
// BRDMA record: 8 x int32 A, 8 x int16 B, 8 x int16 C (docs/hardware/dpu_rdma.md#operand-records).
inline constexpr int64_t kOperandRecordChannels = 8;
inline constexpr int64_t kOperandRecordBytes = 64;

}  // namespace peraxis::rk3588
