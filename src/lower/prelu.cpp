// PRELU with constant slopes: one task of the DPU alone, or two when there are several (requant/prelu.hpp).
#include "requant/prelu.hpp"

#include "lower/device_op.hpp"
#include "lower/element_task.hpp"
#include "lower/repeat.hpp"
#include "lower/tiling.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::lower {
namespace {

std::string refusal(const ir::Graph& graph, size_t index) {
  const ir::Op& op = graph.ops[index];
  const ir::Tensor& slopes = graph.tensor(op.inputs[1]);
  for (const int32_t t : {op.inputs[0], op.outputs[0]})
    if (std::string why = pixels_refusal(graph, t); !why.empty()) return why;
  if (!slopes.is_constant) return fmt::format("the slopes '{}' are computed at run time", slopes.name);
  if (slopes.type != graph.tensor(op.inputs[0]).type)
    return fmt::format("the slopes '{}' are {}, the input {}", slopes.name, ir::data_type_name(slopes.type),
                       ir::data_type_name(graph.tensor(op.inputs[0]).type));
  if (slopes.quant.scale.size() != 1)
    return fmt::format("the slopes '{}' have {} scales", slopes.name, slopes.quant.scale.size());
  if (slopes.shape.size() > 4)
    return fmt::format("the slopes '{}' have {} dimensions, at most 4", slopes.name, slopes.shape.size());
  return {};
}

Result<DeviceForm> form(const ir::Graph& graph, size_t index, const FormRequest& request) {
  DeviceForm out;
  auto params = requant::prelu_parameters(graph, index);
  if (!params) return refused(std::move(params).error());
  out.refusal = difference_refusal(params->differing, params->inputs, params->max, request.exact);
  out.prelu = params->tasks;
  out.certificate = PERAXIS_TRY(requant::certify_prelu(graph, index, out.prelu, request.seen));
  if (out.refusal.empty() && out.prelu.size() > 1)
    out.refusal = constant_cube_refusal(ir::nhwc(graph.tensor(graph.ops[index].outputs[0])));
  return out;
}

Result<std::vector<rk3588::Task>> lower(const ir::Graph& graph, size_t index, const DeviceForm& form,
                                        const DevicePlaces& places) {
  const ir::Op& op = graph.ops[index];
  const ir::Nhwc map = pixel_map(graph.tensor(op.outputs[0]));
  const CubeAt& in = places.inputs[0];
  if (form.prelu.size() == 1)
    return std::vector<rk3588::Task>{element_task(form.prelu[0], map, in, places.output, {})};
  const CubeAt slopes =
      constant_cube(graph.tensor(op.inputs[1]), ir::nhwc(graph.tensor(op.outputs[0])), places.memory);
  const int64_t pixels = map.h * map.w;
  const CubeAt below{{places.memory.add_activation(pixels * round_up(map.c, rk3588::kAtomBytes)), 0}, pixels};
  return std::vector<rk3588::Task>{element_task(form.prelu[0], map, in, below, slopes),
                                   element_task(form.prelu[1], map, in, places.output, below)};
}

constexpr DeviceText kText{
    "one of the DPU for a single slope, else two: one for what is negative, one adds what is not",
    kCountedAccuracy, [] { return std::string("constant slopes"); }};

}  // namespace

const DeviceOp kPrelu{ir::OpKind::Prelu, refusal, lower, nullptr, form, kText};

}  // namespace peraxis::lower
