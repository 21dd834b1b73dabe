// Operators on operands where they are: dense host arrays, or cubes as the NPU keeps feature maps, so that a
// CPU operator between two NPU operators converts nothing. A cube is [slots/16][pixels][16] bytes: surfaces
// of 16 channels side by side (NC1HWC2, docs/hardware/cna.md#the-feature-cube), pixels in row order.
//
// Every operator gives the bytes the dense kernels give: what is computed is computed by them, on surfaces
// that are maps of 16 channels or on blocks of pixels; what only moves is moved by one walk (cube/mover.hpp).
// Not all operators run on cubes: takes_layouts() tells.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernels.hpp"

namespace peraxis::kernels {

inline constexpr int64_t kLanes = 16;  // channels of a pixel that are neighbours in a cube

// Where the elements of an 8-bit tensor are. Element i of the dense order is channel i % channels of pixel
// i / channels, whatever the rank: a flattened map is one pixel of all its elements.
struct Layout {
  int64_t pixels = 0;                // 0: dense, in shape order, of any type; the rest then means nothing
  int64_t channels = 0;              // pixels * channels elements
  std::span<const int32_t> slot_of;  // by channel, no slot twice; empty: channel c is in slot c
  bool flipped = false;              // uint8 values are stored as value - 128: the top bit is flipped
  uint8_t spare = 0;                 // for slots of the last surface that no channel has, as stored

  bool cube() const { return pixels > 0; }
  bool plain() const { return slot_of.empty(); }
  int64_t bytes() const;  // of a cube, up to the end of its last surface
};

// From the first byte of a cube to channel slot `slot` of the first pixel; the next pixel is 16 bytes on.
inline int64_t slot_offset(int64_t slot, int64_t pixels) {
  return slot / kLanes * pixels * kLanes + slot % kLanes;
}

struct InputView {
  Values bytes;
  Layout layout;
};
struct OutputView {
  std::span<uint8_t> bytes;
  Layout layout;  // channels in their order: slot_of is empty
};

// Whether run_op below takes operands that lie so: cubes of 8-bit tensors, one layout an operand. True when
// all are dense. Depends on the graph, its constants' data included, and not on values of activations.
bool takes_layouts(const ir::Graph& graph, size_t op_index, std::span<const Layout> inputs,
                   std::span<const Layout> outputs);

// run_op of kernels.hpp for such operands; Unsupported where takes_layouts() is false. The bytes of a cube
// may go on beyond Layout::bytes(). No output shares memory with another operand.
Status run_op(const ir::Graph& graph, size_t op_index, std::span<const InputView> inputs,
              std::span<const OutputView> outputs, const Options& options);

}  // namespace peraxis::kernels
