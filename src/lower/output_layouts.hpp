// Where an operator that is no convolution leaves its channels when those of its inputs lie anywhere: the one
// place that says what a ChannelOrder means.
#pragma once

#include <span>
#include <vector>

#include "lower/device_op.hpp"

namespace peraxis::lower {

struct OutputLayout {
  Layout layout;
  int64_t first_slot = 0;  // of an output that is a part of the input: where in it the part begins
};

// One an output of the operator. `inputs` are the layouts of its device_inputs; `first_slots` says of a
// concatenation where each input begins, one behind the other when it is empty.
std::vector<OutputLayout> output_layouts(const ir::Graph& graph, size_t op, const DeviceForm& form,
                                         std::span<const Layout> inputs,
                                         std::span<const int64_t> first_slots = {});

}  // namespace peraxis::lower
