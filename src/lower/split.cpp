// SPLIT of channels: every output is a range of whole surfaces of the input and needs no task.
#include "lower/device_op.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::lower {
namespace {

using rk3588::kAtomBytes;

std::string refusal(const ir::Graph& graph, size_t index) {
  const ir::Op& op = graph.ops[index];
  const int32_t input = op.inputs.back();  // the first is the dimension
  if (std::string why = map_refusal(graph, input); !why.empty()) return why;
  const ir::Nhwc in = ir::nhwc(graph.tensor(input));
  int64_t first = 0;
  for (const int32_t t : op.outputs) {
    if (std::string why = map_refusal(graph, t); !why.empty()) return why;
    const ir::Nhwc out = ir::nhwc(graph.tensor(t));
    if (out.h != in.h || out.w != in.w) return "it splits rows or columns, not channels";
    if (!same_quantization(graph.tensor(input), graph.tensor(t)))
      return fmt::format("'{}' has another scale than the input", graph.tensor(t).name);
    if (first % kAtomBytes != 0)
      return fmt::format("'{}' begins at channel {}: no multiple of {}", graph.tensor(t).name, first,
                         kAtomBytes);
    first += out.c;
  }
  return first == in.c ? std::string()
                       : fmt::format("its outputs have {} channels, the input {}", first, in.c);
}

std::vector<int64_t> first_channels(const ir::Graph& graph, size_t index) {
  std::vector<int64_t> out{0};
  for (const int32_t t : graph.ops[index].outputs) out.push_back(out.back() + ir::nhwc(graph.tensor(t)).c);
  out.pop_back();
  return out;
}

}  // namespace

const DeviceOp kSplit{
    ir::OpKind::Split,
    refusal,
    nullptr,
    first_channels,
    nullptr,
    {"none: outputs are parts of the input", "equal", [] {
       return fmt::format("along channels; scales equal the input's; every part begins at a multiple of {}",
                          kAtomBytes);
     }}};

}  // namespace peraxis::lower
