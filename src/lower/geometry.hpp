// The spatial facts of a convolution-like operator, with the chip's view of it: FULLY_CONNECTED is a 1x1
// convolution over a map of one column and `batch` rows (npu/hardware.md 16).
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "ir/graph.hpp"

namespace peraxis::lower {

struct Geometry {
  bool depthwise = false;
  int64_t in_h = 0, in_w = 0, in_c = 0;
  int64_t out_h = 0, out_w = 0, out_c = 0;
  int64_t kernel_h = 1, kernel_w = 1;
  int64_t stride_h = 1, stride_w = 1;
  int64_t pad_top = 0, pad_left = 0;

  int64_t macs() const { return out_h * out_w * out_c * kernel_h * kernel_w * (depthwise ? 1 : in_c); }
};

// The operator must be convolution-like and verified.
Geometry geometry(const ir::Graph& graph, size_t op);

// Why the operator cannot run on the NPU, as a sentence; empty when nothing in its shape or type forbids it.
// Each constraint is a predicate and its sentence, in one list (constraints.cpp).
std::string npu_refusal(const ir::Graph& graph, size_t op);

}  // namespace peraxis::lower
