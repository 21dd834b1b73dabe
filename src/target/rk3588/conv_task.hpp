// One convolution task in the chip's own terms, between lowering (which decides the numbers) and emission
// (which turns them into command words). Sizes are real sizes; "minus one" is the register table's affair.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/fields.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::rk3588 {

// Bytes of an allocation that a task reads or writes: none before `begin`, at `end` or behind it. Of the
// task's maps, in the terms of its own fields; weights and operands of channels are constants. Whole groups
// of channels are written whatever the layer has (docs/hardware/wdma.md#dummy-channels), so this is more than
// the tensors that the task is made for.
struct Reach {
  int32_t allocation = -1;
  int64_t begin = 0, end = 0;
  bool written = false;
};

// A device address before memory is planned: an allocation of the compiler and a byte offset in it.
struct SymbolicAddress {
  int32_t allocation = -1;
  int64_t offset = 0;
  bool operator==(const SymbolicAddress&) const = default;
};

// `surfaces` of `atoms` each, `plane` atoms apart.
inline Reach maps(const SymbolicAddress& from, int64_t surfaces, int64_t plane, int64_t atoms) {
  return {from.allocation, from.offset, from.offset + ((surfaces - 1) * plane + atoms) * kAtomBytes};
}
inline Reach written(Reach reach) {
  reach.written = true;
  return reach;
}

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
template <class Visit, base::Is<DpuParams> T>
void visit_fields(Visit&& visit, T& x) {
  visit("int32_output", x.int32_output);
  visit("multiply", x.multiply);
  visit("scalar_factor", x.scalar_factor);
  visit("bs_shift", x.bs_shift);
  visit("relu", x.relu);
  visit("bn_addend", x.bn_addend);
  visit("relux", x.relux);
  visit("relux_compare", x.relux_compare);
  visit("out_scale", x.out_scale);
  visit("out_shift", x.out_shift);
  visit("ties_away", x.ties_away);
  visit("out_offset", x.out_offset);
}

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
template <class Visit, base::Is<AddedTensor> T>
void visit_fields(Visit&& visit, T& x) {
  visit("address", x.address);
  visit("plane", x.plane);
  visit("factor", x.factor);
  visit("constant", x.constant);
  visit("offset", x.offset);
  visit("operand_factor", x.operand_factor);
  visit("relu", x.relu);
  visit("out_scale", x.out_scale);
  visit("out_shift", x.out_shift);
  visit("out_offset", x.out_offset);
}

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
template <class Visit, base::Is<ConvTask> T>
void visit_fields(Visit&& visit, T& x) {
  visit("depthwise", x.depthwise);
  visit("in_width", x.in_width);
  visit("in_height", x.in_height);
  visit("packed", x.packed);
  visit("in_plane", x.in_plane);
  visit("line", x.line);
  visit("in_channels", x.in_channels);
  visit("in_channels_real", x.in_channels_real);
  visit("input", x.input);
  visit("pad_left", x.pad_left);
  visit("pad_top", x.pad_top);
  visit("pad_value", x.pad_value);
  visit("kernel_width", x.kernel_width);
  visit("kernel_height", x.kernel_height);
  visit("stride_x", x.stride_x);
  visit("stride_y", x.stride_y);
  visit("dilation_x", x.dilation_x);
  visit("dilation_y", x.dilation_y);
  visit("insert_x", x.insert_x);
  visit("insert_y", x.insert_y);
  visit("kernels", x.kernels);
  visit("weight_bytes_per_kernel", x.weight_bytes_per_kernel);
  visit("weight_bytes", x.weight_bytes);
  visit("weights", x.weights);
  visit("weight_zero_point", x.weight_zero_point);
  visit("out_width", x.out_width);
  visit("out_height", x.out_height);
  visit("out_plane", x.out_plane);
  visit("out_channels", x.out_channels);
  visit("out_channels_real", x.out_channels_real);
  visit("output", x.output);
  visit("operands", x.operands);
  visit("data_banks", x.data_banks);
  visit("weight_banks", x.weight_banks);
  visit("weight_reuse", x.weight_reuse);
  visit("dpu", x.dpu);
  visit("added", x.added);
}
inline Reach input_of(const ConvTask& t) {
  const int64_t line = t.line > 0 ? t.line : t.in_width;
  const int64_t pixels = (t.in_height - 1) * line + t.in_width;
  if (t.packed > 0) return {t.input.allocation, t.input.offset, t.input.offset + pixels * t.packed};
  return maps(t.input, t.in_channels / kAtomBytes, t.in_plane, pixels);
}

inline std::vector<Reach> reach(const ConvTask& t) {
  const int64_t pixels = t.out_width * t.out_height;
  const int64_t per_atom = t.dpu.int32_output ? 4 : kAtomBytes;
  std::vector<Reach> out{input_of(t),
                         written(maps(t.output, t.out_channels / per_atom, t.out_plane, pixels))};
  // Dummy channels are read as well.
  if (t.added) out.push_back(maps(t.added->address, t.out_channels / kAtomBytes, t.added->plane, pixels));
  return out;
}

}  // namespace peraxis::rk3588
