// WDMA: 16-byte atoms, a surface of one atom a pixel every DST_SURF_STRIDE atoms; a row follows the row
// before it without a gap. int8: 16 channels an atom; int32: 4. All CHANNEL + 1 channels are written, the
// dummy ones too.
#include <algorithm>

#include "machine/task.hpp"

namespace peraxis::machine {
namespace {

Range surface_range(const ConvTask& task, int64_t surface) {
  const int64_t begin = task.dpu.dst_address + surface * task.dpu.dst_stride * kAtom;
  return {begin, begin + task.pixels() * kAtom};
}

}  // namespace

int64_t channels_per_atom(const ConvTask& task) {
  return task.dpu.int32_output ? 4 : 16;
}

std::vector<Range> output_ranges(const ConvTask& task) {
  std::vector<Range> ranges;
  const int64_t surfaces = task.dpu.channels / channels_per_atom(task);
  for (int64_t s = 0; s < surfaces; ++s) ranges.push_back(surface_range(task, s));
  return ranges;
}

Result<uint8_t*> claim_surface(const ConvTask& task, int64_t channel, Context& context) {
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

Status write_output(const ConvTask& task, int64_t first, const Accumulators& values, Context& context) {
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
