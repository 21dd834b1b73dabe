// Limits of the RK3588 NPU as a compiler needs them. Sources: sections of the hardware document
// (docs/hardware/) in brackets.
#pragma once

#include <cstdint>

namespace peraxis::rk3588 {

inline constexpr int64_t kAtomBytes = 16;       // one feature atom: 16 int8 channels [4.1]
inline constexpr int64_t kKernelGroup = 32;     // output channels a direct int8 task computes together [7.2]
inline constexpr int64_t kDepthwiseGroup = 64;  // channels a depthwise int8 task computes together [7.3]
inline constexpr int64_t kWeightBlockChannels = 32;  // input channels of one weight block [7.2]
inline constexpr int64_t kCbufBanks = 12;            // per core [6.1]
inline constexpr int64_t kCbufBankBytes = 32768;     // [6.1]
inline constexpr int64_t kCbufEntryBytes = 64;       // unit of DATA_ENTRIES [6.2]
inline constexpr int64_t kSpareDataBanks = 1;  // maps one pixel wide: int8 over-reads one bank when the last
                                               // is nearly full [6.6]; vendor programs leave none spare else
inline constexpr int64_t kMaxInputExtent = 2047;     // DATAIN_WIDTH, DATAIN_HEIGHT: 11 bits [4.6]
inline constexpr int64_t kMaxOutputWidth = 2047;     // DATAOUT_WIDTH: 11 bits [registers]
inline constexpr int64_t kMaxCubeChannels = 8190;    // DPU cubes: 13 bits, all ones misbehaves [4.6]
inline constexpr int64_t kMaxInputChannels = 16384;  // DATAIN_CHANNEL_REAL: 14 bits [registers]
inline constexpr int64_t kMaxKernel = 31;            // [4.6]
inline constexpr int64_t kMaxStride = 7;             // CONV_*_STRIDE: 3 bits [5.1]
inline constexpr int64_t kMaxPad = 15;               // PAD_TOP, PAD_LEFT: 4 bits [4.6]
inline constexpr int64_t kMaxDilation = 32;          // ATROUS_*_DILATION: 5 bits, minus one [5.1]
inline constexpr int64_t kMaxInsertingPad = 11;      // of a transposed convolution; 12 to 15 misbehave [5.5]
inline constexpr int64_t kMaxMapExtent = 8190;       // DPU cubes: 13 bits, all ones misbehaves [4.6]
inline constexpr int64_t kMaxPackedChannels =
    4;  // of pixels read as they lie in a picture: ARGB_IN 8..11 [5.3]
inline constexpr int64_t kMaxPackedRows = 1023;  // of a tile: all are FEATURE_GRAINS, 10 bits [4.6]
inline constexpr int64_t kPackedRowPixels = 16;  // unit of their rows in memory: every width in vendor
                                                 // streams is a multiple, mainline takes at least one [5.3]
// Distances of samples in a transposed convolution: the field acts as 0, 1, 3 or 7 alone [5.5].
constexpr bool inserts_samples(int64_t distance) {
  return distance == 1 || distance == 2 || distance == 4 || distance == 8;
}
inline constexpr int64_t kWordBytes = 8;      // one register command [3.1]
inline constexpr int64_t kCommandAlign = 64;  // start of a command stream [3.2]
inline constexpr int64_t kBufferAlign = 64;
inline constexpr int32_t kMaxChainTasks = 4095;   // PC TASK_NUMBER: 12 bits [registers]
inline constexpr int64_t kMaxLookUpWidth = 4096;  // tasks with a look-up table: clean at 32768 values of 8 a
                                                  // column, wrong at 8191 columns [12]
inline constexpr int64_t kOperandRecordChannels =
    8;  // BRDMA record: 8 x int32 A, 8 x int16 B, 8 x int16 C [10.2]
inline constexpr int64_t kOperandRecordBytes = 64;

}  // namespace peraxis::rk3588
