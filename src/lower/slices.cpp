// SPLIT, SPLIT_V, SLICE and STRIDED_SLICE. Ranges of channels over the whole map are parts of the input where
// it is and need no task; a range of rows is copied. Ranges of columns stay on the CPU: the reader of a
// flying task takes whole rows.
#include "ir/shape.hpp"
#include "lower/device_op.hpp"
#include "lower/element_task.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::lower {
namespace {

using rk3588::kAtomBytes;

// The input of the operators here, whatever else they take.
int32_t map_input(const ir::Op& op) {
  return op.inputs[op.kind == ir::OpKind::Split ? 1 : 0];
}

std::string moved_map_refusal(const ir::Graph& graph, size_t index) {
  const ir::Op& op = graph.ops[index];
  const int32_t input = map_input(op);
  if (std::string why = map_refusal(graph, input); !why.empty()) return why;
  for (const int32_t t : op.outputs) {
    if (std::string why = map_refusal(graph, t); !why.empty()) return why;
    if (!same_quantization(graph.tensor(input), graph.tensor(t)))
      return fmt::format("'{}' has another scale than the input", graph.tensor(t).name);
  }
  return {};
}

std::string split_refusal(const ir::Graph& graph, size_t index) {
  if (std::string why = moved_map_refusal(graph, index); !why.empty()) return why;
  const ir::Op& op = graph.ops[index];
  const ir::Nhwc in = ir::nhwc(graph.tensor(map_input(op)));
  int64_t channels = 0;
  for (const int32_t t : op.outputs) {
    const ir::Nhwc out = ir::nhwc(graph.tensor(t));
    if (out.h != in.h || out.w != in.w) return "it splits rows or columns, not channels";
    channels += out.c;
  }
  return channels == in.c ? std::string()
                          : fmt::format("its outputs have {} channels, the input {}", channels, in.c);
}

std::vector<int64_t> split_views(const ir::Graph& graph, size_t index) {
  std::vector<int64_t> out{0};
  for (const int32_t t : graph.ops[index].outputs) out.push_back(out.back() + ir::nhwc(graph.tensor(t)).c);
  out.pop_back();
  return out;
}

// Begin of the slice in every dimension, and whether it is one of the form that is lowered: no stride but 1,
// and the output has the input's dimensions in their order.
struct Begin {
  std::vector<int64_t> at;
  bool dense = true, same_dimensions = true;
};
Result<Begin> begin_of(const ir::Graph& graph, const ir::Op& op) {
  Begin out;
  if (op.kind == ir::OpKind::Slice) {
    out.at = PERAXIS_TRY(ir::constant_integers(graph, op.inputs[1], "the begin input"));
    return out;
  }
  const ir::ResolvedSlice slice = PERAXIS_TRY(ir::resolve_strided_slice(graph, op));
  for (const ir::SliceAxis& axis : slice.axes) {
    out.at.push_back(axis.begin);
    out.dense = out.dense && (axis.stride == 1 || axis.size == 1);
    out.same_dimensions = out.same_dimensions && !axis.shrink;
  }
  return out;
}

std::string slice_refusal(const ir::Graph& graph, size_t index) {
  if (std::string why = moved_map_refusal(graph, index); !why.empty()) return why;
  const ir::Op& op = graph.ops[index];
  const auto begin = begin_of(graph, op);
  if (!begin) return begin.error().message;
  if (!begin->dense) return "it takes every second value, or fewer";
  // With none left out, an added one would be a fifth.
  if (!begin->same_dimensions) return "it leaves dimensions out and adds others";
  const ir::Nhwc in = ir::nhwc(graph.tensor(op.inputs[0])), out = ir::nhwc(graph.tensor(op.outputs[0]));
  if (out.w != in.w) return fmt::format("it takes {} of {} columns; tasks take whole rows", out.w, in.w);
  if (out.h != in.h && out.c != in.c)
    return fmt::format("it takes {} of {} rows and {} of {} channels: one of both is possible", out.h, in.h,
                       out.c, in.c);
  return {};
}

std::vector<int64_t> slice_views(const ir::Graph& graph, size_t index) {
  const ir::Op& op = graph.ops[index];
  const ir::Nhwc in = ir::nhwc(graph.tensor(op.inputs[0])), out = ir::nhwc(graph.tensor(op.outputs[0]));
  const auto begin = begin_of(graph, op);
  if (!begin || in.h != out.h) return {};
  return {begin->at[3]};
}

// Rows of the input, copied.
Result<std::vector<rk3588::Task>> lower_rows(const ir::Graph& graph, size_t index, const DeviceForm&,
                                             const DevicePlaces& places) {
  const ir::Op& op = graph.ops[index];
  const Begin begin = PERAXIS_TRY(begin_of(graph, op));
  const ir::Nhwc out = ir::nhwc(graph.tensor(op.outputs[0]));
  CubeAt input = places.inputs[0];
  input.address.offset += begin.at[1] * out.w * kAtomBytes;
  rk3588::ElementTask task = element_task({}, out, input, places.output, {});
  task.channels = input.slots;
  return std::vector<rk3588::Task>{task};
}

constexpr DeviceText kSplitText{"none: outputs are parts of the input", "equal",
                                [] { return std::string("along channels; scales equal the input's"); }};
constexpr DeviceText kSliceText{
    "none for channels: the output is a part of the input; a copy for rows", "equal",
    [] { return std::string("a range of channels, or of rows; all columns; no strides; equal scales"); }};

}  // namespace

const DeviceOp kSplit{ir::OpKind::Split, split_refusal, nullptr, split_views, nullptr, kSplitText};
const DeviceOp kSplitV{ir::OpKind::SplitV, split_refusal, nullptr, split_views, nullptr, kSplitText};
const DeviceOp kSlice{ir::OpKind::Slice, slice_refusal, lower_rows,        slice_views,
                      nullptr,           kSliceText,    ChannelOrder::Kept};
const DeviceOp kStridedSlice{
    ir::OpKind::StridedSlice, slice_refusal, lower_rows, slice_views, nullptr, kSliceText,
    ChannelOrder::Kept};

}  // namespace peraxis::lower
