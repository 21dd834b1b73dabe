// A task from its full CBUF to its output, without working out what is the same again and again.
#include <algorithm>
#include <cstring>

#include "machine/fast.hpp"

namespace peraxis::machine {
namespace {

// The output values of one channel: value of pixel p at values[p * stride].
struct Lane {
  const int64_t* values = nullptr;
  int64_t stride = 0;  // 0: the same for every pixel
};

// What the DPU makes of a raw sum of 0, for channels with the same operands.
struct Idle {
  std::vector<int64_t> channels;
  Accumulators acc;
};

bool same_operands(const ConvTask& task, const Operands& operands, int64_t x, int64_t y) {
  const auto equal = [&](const auto& values) {
    return values.empty() || values[static_cast<size_t>(x)] == values[static_cast<size_t>(y)];
  };
  return equal(operands.a) && equal(operands.b) && equal(operands.c) &&
         task.dpu.ew_operand[x % 8] == task.dpu.ew_operand[y % 8];
}

// The channels of the group that are not among `live.columns`, through the DPU. Only the window sum of a
// direct convolution makes their pixels differ.
std::vector<Idle> run_idle(const ConvTask& task, const Operands& operands, int64_t first,
                           const std::vector<int64_t>& live, const std::vector<int64_t>& sums,
                           Context& context) {
  std::vector<Idle> out;
  for (int64_t c = first; c < first + task.group(); ++c) {
    if (std::binary_search(live.begin(), live.end(), c)) continue;
    const auto same = std::find_if(out.begin(), out.end(), [&](const Idle& idle) {
      return same_operands(task, operands, idle.channels.front(), c);
    });
    if (same != out.end())
      same->channels.push_back(c);
    else
      out.push_back({{c}, {}});
  }
  for (Idle& idle : out) {
    const auto pixels = sums.empty() ? int64_t{1} : task.pixels();
    idle.acc.columns = {idle.channels.front()};
    idle.acc.values.assign(static_cast<size_t>(pixels), 0);
    idle.acc.sums = sums;
    TaskReport report;
    run_dpu(task, operands, context.options.switches, idle.acc, report);
    context.report.saturations +=
        report.saturations * static_cast<int64_t>(idle.channels.size()) * (task.pixels() / pixels);
  }
  return out;
}

// One surface: `lanes` are its channels, each `bytes` bytes of an atom.
void write_surface(const Lane* lanes, int64_t bytes, int64_t pixels, uint8_t* to) {
  uint8_t atom[kAtom];
  struct Changing {
    Lane lane;
    int64_t at;
  };
  Changing changing[kAtom];
  int64_t count = 0;
  for (int64_t at = 0; at < kAtom; at += bytes) {
    const Lane& lane = lanes[at / bytes];
    const auto value = static_cast<int32_t>(*lane.values);  // little-endian in memory
    for (int64_t i = 0; i < bytes; ++i) atom[at + i] = static_cast<uint8_t>(value >> (8 * i));
    if (lane.stride != 0) changing[count++] = {lane, at};
  }
  for (int64_t p = 0; p < pixels; ++p, to += kAtom) {
    std::memcpy(to, atom, kAtom);
    for (int64_t i = 0; i < count; ++i) {
      const auto value = static_cast<int32_t>(changing[i].lane.values[p * changing[i].lane.stride]);
      for (int64_t b = 0; b < bytes; ++b) to[changing[i].at + b] = static_cast<uint8_t>(value >> (8 * b));
    }
  }
}

}  // namespace

Status run_fast(const ConvTask& task, const Operands& operands, const FastCore& core, Context& context) {
  const int64_t per_atom = channels_per_atom(task);
  Accumulators live;
  for (int64_t first = 0; first < task.core.channels; first += task.group()) {
    core.group(first, live);
    const std::vector<Idle> idle = run_idle(task, operands, first, live.columns, live.sums, context);
    if (!live.columns.empty()) run_dpu(task, operands, context.options.switches, live, context.report);
    std::array<Lane, kDepthwiseGroup> lanes;
    for (int64_t i = 0; i < live.width(); ++i)
      lanes[static_cast<size_t>(live.columns[static_cast<size_t>(i)] - first)] = {live.values.data() + i,
                                                                                  live.width()};
    for (const Idle& same : idle)
      for (const int64_t c : same.channels)
        lanes[static_cast<size_t>(c - first)] = {same.acc.values.data(), same.acc.sums.empty() ? 0 : 1};
    const int64_t last = std::min(first + task.group(), task.dpu.channels);
    for (int64_t c = first; c < last; c += per_atom) {
      uint8_t* to = PERAXIS_TRY(claim_surface(task, c, context));
      if (to != nullptr) write_surface(lanes.data() + (c - first), kAtom / per_atom, task.pixels(), to);
    }
  }
  return {};
}

}  // namespace peraxis::machine
