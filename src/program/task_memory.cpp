#include "program/task_memory.hpp"

#include "target/rk3588/limits.hpp"

namespace peraxis::program {
namespace {

using namespace rk3588;

// `surfaces` of `atoms` each, `plane` atoms apart.
Reach maps(const SymbolicAddress& from, int64_t surfaces, int64_t plane, int64_t atoms) {
  return {from.allocation, from.offset, from.offset + ((surfaces - 1) * plane + atoms) * kAtomBytes};
}
Reach written(Reach reach) {
  reach.written = true;
  return reach;
}

Reach input_of(const ConvTask& t) {
  const int64_t line = t.line > 0 ? t.line : t.in_width;
  const int64_t pixels = (t.in_height - 1) * line + t.in_width;
  if (t.packed > 0) return {t.input.allocation, t.input.offset, t.input.offset + pixels * t.packed};
  return maps(t.input, t.in_channels / kAtomBytes, t.in_plane, pixels);
}

std::vector<Reach> reach(const ConvTask& t) {
  const int64_t pixels = t.out_width * t.out_height;
  const int64_t per_atom = t.dpu.int32_output ? 4 : kAtomBytes;
  std::vector<Reach> out{input_of(t),
                         written(maps(t.output, t.out_channels / per_atom, t.out_plane, pixels))};
  // Dummy channels are read as well.
  if (t.added) out.push_back(maps(t.added->address, t.out_channels / kAtomBytes, t.added->plane, pixels));
  return out;
}

std::vector<Reach> reach(const PoolTask& t) {
  const int64_t surfaces = t.channels / kAtomBytes;
  return {maps(t.input, surfaces, t.in_plane, t.in_width * t.in_height),
          written(maps(t.output, surfaces, t.out_plane, t.out_width * t.out_height))};
}

std::vector<Reach> reach(const ElementTask& t) {
  const int64_t surfaces = t.channels / kAtomBytes, pixels = t.width * t.height;
  std::vector<Reach> out{maps(t.input, surfaces, t.in_plane, pixels),
                         written(maps(t.output, surfaces, t.out_plane, pixels))};
  if (t.operand) out.push_back(maps(t.operand->address, surfaces, t.operand->plane, pixels));
  return out;
}

std::vector<Reach> reach(const UpsampleTask& t) {
  const int64_t pixels = t.width * t.height;
  return {maps(t.input, 1, 0, pixels), written(maps(t.output, 1, 0, pixels * t.rows * t.columns))};
}

std::vector<Reach> reach(const TableTask& t) {
  return {maps(t.input, 1, 0, 1), written(maps(t.output, 1, 0, 1))};
}

}  // namespace

std::vector<Reach> reach_of(const Task& task) {
  return std::visit([](const auto& t) { return reach(t); }, task);
}

}  // namespace peraxis::program
