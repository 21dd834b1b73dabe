// WDMA: 16-byte atoms, a surface of one atom a pixel every DST_SURF_STRIDE atoms; a row follows the row
// before it without a gap. int8: 16 channels an atom; int32: 4. All CHANNEL + 1 channels are written, the
// dummy ones too.
#include <algorithm>

#include "machine/task.hpp"

namespace peraxis::machine {
namespace {

Range surface_range(const DpuTask& task, int64_t surface) {
  const int64_t begin = task.dpu.dst_address + surface * task.dpu.dst_stride * kAtom;
  return {begin, begin + task.pixels() * kAtom};
}

}  // namespace

void decode_writer(Registers& r, int64_t atoms, DpuTask& t) {
  using namespace rk3588;
  const int64_t size_e = atoms - 1;
  const char* why = "16-byte atoms of a kernel group - 1; other values hang the chip";
  r.require(DPU::BS_OW_CFG::SIZE_E_0, size_e, why);
  r.require(DPU::BS_OW_CFG::SIZE_E_1, size_e, why);
  r.require(DPU::BS_OW_CFG::SIZE_E_2, size_e, why);
  t.dpu.dst_address = r.get(DPU::DST_BASE_ADDR::DST_BASE_ADDR);
  t.dpu.dst_stride = r.get(DPU::DST_SURF_STRIDE::DST_SURF_STRIDE);
  r.require(DPU::SURFACE_ADD::SURF_ADD, atoms * t.dpu.dst_stride,
            "(SIZE_E + 1) * DST_SURF_STRIDE; other values hang the chip");
  if (t.dpu.dst_address % kAtom != 0)
    r.refuse("DPU.DST_BASE_ADDR is {:#x}, must be a multiple of 16", t.dpu.dst_address);
  if (t.dpu.dst_stride < t.pixels())
    r.refuse("DPU.DST_SURF_STRIDE is {} atoms, a surface of the task has {}: surfaces would overlap",
             t.dpu.dst_stride, t.pixels());
}

int64_t channels_per_atom(const DpuTask& task) {
  return task.dpu.int32_output ? 4 : 16;
}

std::vector<Range> output_ranges(const DpuTask& task) {
  std::vector<Range> ranges;
  const int64_t surfaces = task.dpu.channels / channels_per_atom(task);
  for (int64_t s = 0; s < surfaces; ++s) ranges.push_back(surface_range(task, s));
  return ranges;
}

Result<uint8_t*> claim_surface(const DpuTask& task, int64_t channel, Context& context) {
  const Range range = surface_range(task, channel / channels_per_atom(task));
  const int64_t bytes = range.end - range.begin;
  const bool dummy = channel >= task.dpu.orig_channels;
  if (dummy && context.options.switches.drop_dummy_output && !context.memory.mapped(range.begin, bytes)) {
    context.report.dropped_output_bytes += bytes;
    return nullptr;
  }
  const auto out = context.memory.write(range.begin, bytes, "WDMA");
  if (!out)
    return with_note(out.error(), fmt::format("task {}: output channels {}.. of {} (DPU.DST_BASE_ADDR {:#x})",
                                              task.index, channel, task.dpu.channels, task.dpu.dst_address));
  context.report.bytes_written += bytes;
  return out->data();
}

Status write_output(const DpuTask& task, int64_t first, const Accumulators& values, Context& context) {
  const int64_t per_atom = channels_per_atom(task);
  const int64_t last = std::min(first + values.width(), task.dpu.channels);
  for (int64_t c = first; c < last; c += per_atom) {
    uint8_t* to = PERAXIS_TRY(claim_surface(task, c, context));
    if (to == nullptr) continue;
    for (int64_t p = 0; p < task.pixels(); ++p) {
      const int64_t* from = values.values.data() + p * values.width() + (c - first);
      for (int64_t i = 0; i < per_atom; ++i) {
        const uint64_t v = static_cast<uint64_t>(from[i]);
        *to++ = static_cast<uint8_t>(v);
        if (!task.dpu.int32_output) continue;
        for (int byte = 1; byte < 4; ++byte) *to++ = static_cast<uint8_t>(v >> (8 * byte));
      }
    }
  }
  return {};
}

}  // namespace peraxis::machine
