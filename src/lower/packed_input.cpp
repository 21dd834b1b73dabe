#include "lower/packed_input.hpp"

#include "lower/parts.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::lower {

using namespace rk3588;

int64_t packed_pitch(int64_t width) {
  return round_up(width, kPackedRowPixels);
}

int64_t packed_bytes(const Geometry& g) {
  return g.in_rows() * packed_pitch(g.in_w) * g.in_c;
}

bool takes_packed_input(const ir::Graph& graph, size_t op) {
  const Geometry g = geometry(graph, op);
  if (g.depthwise || g.groups > 1 || g.in_c > kMaxPackedChannels || !cuts_into_images(g)) return false;
  // A fully connected layer's input is no picture, and maps of few columns are smaller as atoms.
  if (graph.ops[op].kind == ir::OpKind::FullyConnected ||
      packed_bytes(g) >= g.in_rows() * g.in_w * kAtomBytes)
    return false;
  // Further kernels change nothing about what fits: a task may compute one group.
  return cut({g, kAtomBytes, kKernelGroup, false, false, g.in_c}, {}).has_value();
}

}  // namespace peraxis::lower
