#include "lower/element_task.hpp"

#include "lower/tiling.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::lower {
namespace {

rk3588::ElementTask::Operand::Combine combine_of(requant::ElementParams::Combine combine) {
  using From = requant::ElementParams::Combine;
  using To = rk3588::ElementTask::Operand::Combine;
  switch (combine) {
    case From::Multiply:
      return To::Multiply;
    case From::Maximum:
      return To::Maximum;
    case From::Minimum:
      return To::Minimum;
    default:
      return To::Add;
  }
}

}  // namespace

rk3588::ElementTask element_task(const requant::ElementParams& params, const ir::Nhwc& map,
                                 const CubeAt& input, const CubeAt& output, const CubeAt& operand) {
  rk3588::ElementTask task;
  task.width = map.w;
  task.height = map.h;
  task.channels = round_up(map.c, rk3588::kAtomBytes);
  task.input = input.address;
  task.in_plane = input.plane;
  task.output = output.address;
  task.out_plane = output.plane;
  task.addend = params.addend;
  task.factor = params.factor;
  task.constant = params.constant;
  task.relu_first = params.relu_first;
  if (params.operand_factor != 0)
    task.operand = {operand.address, operand.plane, params.operand_offset, params.operand_factor,
                    combine_of(params.combine)};
  task.prelu_factor = params.prelu_factor;
  task.prelu_shift = params.prelu_shift;
  task.relu = params.relu;
  task.out_scale = params.scale;
  task.out_shift = params.shift;
  task.out_offset = params.offset;
  return task;
}

}  // namespace peraxis::lower
