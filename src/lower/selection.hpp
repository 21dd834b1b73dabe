// Values moved by convolutions: every output takes one value of its window, by a weight of 1 among zeros, or
// a constant. No value is changed: one product, no scale. For what a task of the DPU alone cannot do, because
// channels change their place in an atom or rows are not read whole.
#pragma once

#include <functional>
#include <vector>

#include "lower/device_op.hpp"

namespace peraxis::lower {

// Lines of pixels, made from as many lines of another map.
struct Selection {
  int64_t lines = 1;
  int64_t in_w = 1, out_w = 1;  // pixels of a line
  int64_t line = 0;             // atoms from one line of the input to the next; 0: one behind the other
  // The window that output pixel x takes from: pixels [x * stride_w - pad_left, ... + kernel_w).
  int64_t kernel_w = 1, stride_w = 1, pad_left = 0;
  int64_t in_slots = 0;  // multiple of 16
  int64_t channels = 0;  // of the output, in their order
  // The input's slot that output channel `channel` takes from pixel `tap` of its window; -1: nothing. Of at
  // most one tap.
  std::function<int64_t(int64_t channel, int64_t tap)> slot;
  int32_t fill = 0;  // what channels that take nothing hold, as stored on the device
};

// Sets lines and pixels of a line to cut `pixels` neighbours, of a selection that takes each from itself
// alone, so that a line fits the chip.
void cut_lines(int64_t pixels, Selection& selection);

// Why the chip cannot, as a sentence; empty when it can.
std::string selection_refusal(const Selection& selection);

// Direct convolutions. They write whole groups of 32 channels from `output` on.
Status add_selection(const Selection& selection, const CubeAt& input, const CubeAt& output,
                     MemoryPlan& memory, std::vector<rk3588::Task>& tasks);

// The slot of a channel.
int64_t slot_of(const Layout& layout, int64_t channel);

}  // namespace peraxis::lower
