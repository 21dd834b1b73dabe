// One convolution task in the chip's own terms, between lowering (which decides the numbers) and emission
// (which turns them into command words). Sizes are real sizes; "minus one" is the register table's affair.
#pragma once

#include <cstdint>
#include <optional>

namespace peraxis::rk3588 {

// A device address before memory is planned: an allocation of the compiler and a byte offset in it.
struct SymbolicAddress {
  int32_t allocation = -1;
  int64_t offset = 0;
  bool operator==(const SymbolicAddress&) const = default;
};

// The DPU's arithmetic of one task (docs/hardware/dpu.md#order-of-the-stages). Per channel c:
//   v = sat32(shift_ties_even((sum + A[c]) * C[c], bs_shift))      multiply; else v = sum + A[c]
//   v = v + bn_addend; v = max(v, 0); v = min(v, relux)            relu
//   y = sat8(round(v * out_scale / 2^out_shift) + out_offset)      round: ties even or away
struct DpuParams {
  bool int32_output = false;  // the raw sum leaves as int32; nothing below applies
  bool multiply = false;      // by C[c] from BRDMA records, or by scalar_factor; else A alone
  int32_t scalar_factor = 0;  // not 0: one factor for all channels, from the register
  int32_t bs_shift = 0;
  bool relu = false;
  int32_t bn_addend = 0;  // moves a lower bound to 0 before the ReLU (RELU_N1_TO_1)
  bool relux = false;
  int32_t relux_compare = 0;
  int32_t out_scale = 1;   // 1..32767
  int32_t out_shift = 0;   // 0..63
  bool ties_away = true;   // CVT_ROUND
  int32_t out_offset = 0;  // the output zero point

  // The operands are 64-byte records {A, B, C}; else dense A.
  bool records() const { return multiply && scalar_factor == 0; }
  bool operator==(const DpuParams&) const = default;
};

// A second tensor of the output's shape that the task adds to what DpuParams makes. DpuParams then makes
// whole steps of the convolution's own output (out_scale 1, out_shift 0); BS keeps them to its range, not BN:
//   v = min(max(v, 0), relux)                     relu, relux; then
//   v = v * factor + constant                     BN
//   v = v + (e + offset) * operand_factor         e: the second tensor
//   v = max(v, 0)                                 relu of the sum
//   y = sat8(round_half_away(v * out_scale / 2^out_shift) + out_offset)
// MRDMA reads the even surfaces of 16 channels and ERDMA the odd ones
// (docs/hardware/dpu_rdma.md#fused-addition).
struct AddedTensor {
  SymbolicAddress address;  // the atom of the tile's first output
  int64_t plane = 0;        // atoms from one surface to the next
  int32_t factor = 1;       // -32768..32767
  int32_t constant = 0;
  int32_t offset = 0;          // minus its zero point
  int32_t operand_factor = 1;  // -32768..32767
  bool relu = false;
  int32_t out_scale = 1, out_shift = 0, out_offset = 0;
  bool operator==(const AddedTensor&) const = default;
};

struct ConvTask {
  bool depthwise = false;

  // Input tile: `in_height` rows of `in_width` pixels from `input` on.
  int64_t in_width = 0, in_height = 0;
  int64_t packed = 0;    // bytes of a pixel that lie side by side (1 to 4); 0: atoms of 16 channels
  int64_t in_plane = 0;  // atoms (packed: pixels) from one surface to the next
  int64_t line = 0;      // atoms (packed: pixels) from one row to the next; 0: one behind the other, fetched
                         // four at a time
  int64_t in_channels = 0;  // multiple of 16
  int64_t in_channels_real = 0;
  SymbolicAddress input;  // first atom (packed: pixel) of the tile's first row, a multiple of 16 bytes
  int64_t pad_left = 0, pad_top = 0;
  int32_t pad_value = 0;  // the input zero point

  int64_t kernel_width = 0, kernel_height = 0;
  int64_t stride_x = 1, stride_y = 1;
  int64_t dilation_x = 1, dilation_y = 1;
  int64_t insert_x = 1,
          insert_y = 1;  // distance of the input's pixels in the plane of a transposed convolution
  int64_t kernels = 0;   // programmed kernels (whole groups); 1 for depthwise
  int64_t weight_bytes_per_kernel = 0;
  int64_t weight_bytes = 0;
  SymbolicAddress weights;
  int32_t weight_zero_point = 0;

  int64_t out_width = 0, out_height = 0;
  int64_t out_plane = 0;     // as in_plane
  int64_t out_channels = 0;  // whole kernel groups
  int64_t out_channels_real = 0;
  SymbolicAddress output;    // first atom of the tile's first output row
  SymbolicAddress operands;  // BRDMA: dense int32 A, or 64-byte records; unused for int32 output

  int64_t data_banks = 0, weight_banks = 0;
  bool weight_reuse = false;  // the previous task of the chain left the same weights in the same banks

  DpuParams dpu;
  std::optional<AddedTensor> added;
  bool operator==(const ConvTask&) const = default;
};

}  // namespace peraxis::rk3588
