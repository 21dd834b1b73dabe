// The spatial facts of a convolution-like operator, with the chip's view of it: FULLY_CONNECTED is a 1x1
// convolution over a map of one column and `batch` rows (docs/hardware/core.md#matrices), TRANSPOSE_CONV a
// convolution over a plane in which the input's pixels lie apart.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "ir/graph.hpp"

namespace peraxis::lower {

struct Geometry {
  bool depthwise = false;  // one kernel a channel, the chip's depthwise mode
  int64_t groups = 1;      // else: of channels; a kernel sees the input channels of its own group
  int64_t batch = 1;       // images, one below the other in a cube of in_rows() rows
  int64_t in_h = 0, in_w = 0, in_c = 0;  // of one image
  int64_t out_h = 0, out_w = 0, out_c = 0;
  int64_t kernel_h = 1, kernel_w = 1;
  int64_t stride_h = 1, stride_w = 1;
  int64_t dilation_h = 1, dilation_w = 1;
  // Transposed convolutions: how far apart the input's pixels lie in the plane that the kernel moves over.
  int64_t insert_h = 1, insert_w = 1;
  int64_t pad_top = 0, pad_left = 0;

  int64_t in_rows() const { return batch * in_h; }
  int64_t out_rows() const { return batch * out_h; }
  int64_t outputs() const { return out_rows() * out_w * out_c; }
  // Rows and columns a window covers, and those of the plane it moves over.
  int64_t span_h() const { return (kernel_h - 1) * dilation_h + 1; }
  int64_t span_w() const { return (kernel_w - 1) * dilation_w + 1; }
  int64_t plane_h() const { return (in_h - 1) * insert_h + 1; }
  int64_t plane_w() const { return (in_w - 1) * insert_w + 1; }
  bool inserts() const { return insert_h > 1 || insert_w > 1; }
  // Padding and what a transposed convolution inserts are multiplied like pixels.
  int64_t macs() const { return outputs() * kernel_h * kernel_w * (depthwise ? 1 : in_c / groups); }
};

// The operator must be convolution-like and verified.
Geometry geometry(const ir::Graph& graph, size_t op);

// Why the operator cannot run on the NPU, as a sentence; empty when nothing in its shape or type forbids it.
// The constraints are rows of one list (constraints.cpp).
std::string npu_refusal(const ir::Graph& graph, size_t op);
// That list in the order in which it is tried.
struct NpuRefusal {
  std::string sentence;  // with N for the operator's own numbers and types
  int64_t limit = 0;     // 0: none
  std::string field;  // "CNA.WEIGHT_SIZE2.WEIGHT_WIDTH": whose width or measured reach is the limit; or empty
};
std::vector<NpuRefusal> npu_refusals();

}  // namespace peraxis::lower
