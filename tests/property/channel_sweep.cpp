#include "channel_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/rng.hpp"
#include "runtime/layout.hpp"

namespace peraxis::property {
namespace {

using requant::ChannelParams;
using rk3588::DpuParams;

bool same_way(const DpuParams& a, const ChannelParams& p, const DpuParams& b, const ChannelParams& q) {
  const auto fields = [](const DpuParams& d, const ChannelParams& c) {
    return std::tuple(d.int32_output, d.multiply, d.scalar_factor, d.bs_shift, d.relu, d.bn_addend, d.relux,
                      d.relux_compare, d.out_scale, d.out_shift, d.ties_away, d.out_offset, c.drop_weights,
                      c.a, d.records() ? c.c : int16_t{0});
  };
  return fields(a, p) == fields(b, q);
}

std::string text(const DpuParams& d, const ChannelParams& c) {
  return fmt::format("a {}, c {}, {}shift {}, scale {} / 2^{}, offset {}{}", c.a, requant::factor_of(d, c),
                     c.drop_weights ? "no weights, " : "", d.bs_shift, d.out_scale, d.out_shift, d.out_offset,
                     d.int32_output ? ", int32" : "");
}

// All 16 bytes of the atom are `value`.
bool is_all(const int8_t* atom, int8_t value) {
  return std::all_of(atom, atom + 16, [value](int8_t v) { return v == value; });
}

// The runtime's step for a layer of int32 sums, as the compiler writes it.
exe::HostStep host_step(const requant::Layer& layer) {
  exe::HostStep out;
  out.rounding = static_cast<exe::Rounding>(layer.rounding);
  out.zero_point = layer.z_out;
  out.low = layer.low;
  out.high = layer.high;
  return out;
}

}  // namespace

Count count_differences(const Line& observed, const Table& table, const Line& reference) {
  Count out;
  const std::vector<Run>& a = observed.runs();
  const std::vector<Run>& b = reference.runs();
  int64_t before = 0;
  int32_t value_before = 0, reference_before = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const int64_t first = std::max(a[i].first, b[j].first), last = std::min(a[i].last, b[j].last);
    const int32_t value = table[static_cast<size_t>(a[i].value + 128)], wanted = b[j].value;
    const int32_t difference = std::abs(value - wanted);
    out.max = std::max(out.max, difference);
    out.tried += last - first + 1;
    if (difference != 0) out.differing += last - first + 1;
    if (i + j > 0 && first > before + 1) {
      if (value != value_before || wanted != reference_before)
        ++out.undetermined;
      else if (difference != 0)
        out.differing += first - before - 1;
    }
    before = last;
    value_before = value;
    reference_before = wanted;
    const bool next_a = a[i].last == last, next_b = b[j].last == last;
    if (next_a) ++i;
    if (next_b) ++j;
  }
  return out;
}

ChannelSweep::ChannelSweep(const std::array<requant::Layer, kReferences>& layers, size_t channel)
    : layers_(layers),
      index_(channel),
      first_(layers[0].channels[channel].raw_min),
      last_(layers[0].channels[channel].raw_max) {}

size_t ChannelSweep::add(const DpuParams& dpu, const ChannelParams& params) {
  for (size_t i = 0; i < ways_.size(); ++i)
    if (same_way(ways_[i].dpu, ways_[i].params, dpu, params)) return i;
  ways_.push_back({dpu, params, {}});
  return ways_.size() - 1;
}

void ChannelSweep::choose_values(int64_t whole_limit, int64_t margin) {
  const int64_t count = (last_ - first_) / kSweepKernels + 1;
  whole_ = last_ - first_ < whole_limit;
  std::vector<int64_t> numbers{0, count - 1};
  const auto take = [&](int64_t from, int64_t to) {  // the blocks of these raw sums
    if (to < first_ || from > last_) return;
    for (int64_t n = (std::max(from, first_) - first_) / kSweepKernels;
         n <= (std::min(to, last_) - first_) / kSweepKernels; ++n)
      numbers.push_back(n);
  };
  if (whole_) {
    take(first_, last_);
  } else if (!channel().wraps) {
    for (size_t r = 0; r < kReferences; ++r)
      for (const int64_t t : requant::reference_thresholds(layers_[r], channel(r)))
        take(t - channel(r).addend - margin, t - channel(r).addend + margin);
    for (const Way& way : ways_) {
      const int32_t factor = requant::factor_of(way.dpu, way.params);
      if (way.dpu.int32_output || way.params.drop_weights || (way.dpu.multiply && factor <= 0)) continue;
      for (const int64_t t : requant::hardware_thresholds(way.dpu, factor, -128, 127))
        take(t - way.params.a - 1, t - way.params.a);
    }
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  blocks_.clear();
  for (const int64_t n : numbers) blocks_.push_back(first_ + n * kSweepKernels);
}

int32_t ChannelSweep::host_value(size_t r, int32_t raw) const {
  const requant::Layer& layer = layers_[r];
  const requant::Channel& c = channel(r);
  exe::HostChannel host;
  host.mantissa = c.fixed.mantissa;
  host.exponent = c.fixed.exponent;
  host.multiplier = c.multiplier;
  return runtime::requantize_value(host_step(layer), host, raw + c.addend, layer.stored_offset);
}

Status ChannelSweep::scan(AccumulatorSweep& machine, const Batch& batch, Way& way) {
  PERAXIS_TRY(machine.run(way.dpu, way.params));
  for (int64_t p = 0; p < batch.pixels(); ++p) {
    const int64_t first = batch.bases[static_cast<size_t>(p)];
    const int64_t count = std::min(kSweepKernels, last_ - first + 1);
    if (!way.dpu.int32_output) {
      const int8_t value = *machine.atom(p, 0);
      if (count == kSweepKernels && is_all(machine.atom(p, 0), value) && is_all(machine.atom(p, 1), value)) {
        way.seen[0].add(first, first + count - 1, value);
        continue;
      }
      for (int64_t k = 0; k < count; ++k) way.seen[0].add(first + k, first + k, machine.int8_at(p, k));
      continue;
    }
    for (int64_t k = 0; k < count; ++k) {
      const int32_t raw = machine.int32_at(p, k);
      if (raw != first + k)
        return fail(ErrorCode::Device, "raw sum {} leaves the machine as {}", first + k, raw);
      for (size_t r = 0; r < kReferences; ++r) way.seen[r].add(first + k, first + k, host_value(r, raw));
    }
  }
  return {};
}

Status ChannelSweep::sweep(AccumulatorSweep& machine) {
  for (Way& way : ways_)
    for (Line& line : way.seen) line.clear();
  const bool known = !reference_[0].runs().empty();
  const int64_t reach = std::max(std::abs(first_), std::abs(last_)) + kSweepKernels;
  const auto capacity = static_cast<size_t>(AccumulatorSweep::capacity(reach, kSweepKernels));
  if (capacity == 0) return fail(ErrorCode::Unsupported, "raw sums up to {} do not fit a task", reach);
  Batch batch = neighbours();
  for (size_t at = 0; at < blocks_.size(); at += capacity) {
    const size_t end = std::min(at + capacity, blocks_.size());
    batch.bases.assign(blocks_.begin() + static_cast<std::ptrdiff_t>(at),
                       blocks_.begin() + static_cast<std::ptrdiff_t>(end));
    for (size_t r = 0; r < kReferences && !known; ++r)
      for (const int64_t first : batch.bases)
        for (int64_t raw = first; raw < first + kSweepKernels && raw <= last_; ++raw)
          reference_[r].add(raw, raw,
                            requant::reference_output(layers_[r], channel(r), raw + channel(r).addend));
    PERAXIS_TRY(machine.load(batch));
    for (Way& way : ways_) PERAXIS_TRY(scan(machine, batch, way));
  }
  return {};
}

// Drawn sums ascend with the pixel for every kernel, so one pass over the line serves each.
template <class Value>
void ChannelSweep::compare_drawn(const Batch& batch, const Line& line, const std::string& what,
                                 Value&& value) {
  const std::vector<Run>& runs = line.runs();
  for (int64_t k = 0; k < kSweepKernels; ++k) {
    size_t at = 0;  // the last run that begins at or before the sum
    for (int64_t p = 0; p < batch.pixels(); ++p) {
      const int64_t raw = batch.value(p, k);
      if (raw > last_) continue;
      if (p == 0)
        at = static_cast<size_t>(std::upper_bound(runs.begin(), runs.end(), raw,
                                                  [](int64_t v, const Run& run) { return v < run.first; }) -
                                 runs.begin() - 1);
      while (at + 1 < runs.size() && runs[at + 1].first <= raw) ++at;
      const bool known = raw <= runs[at].last || runs[at + 1].value == runs[at].value;
      const int32_t is = value(p, k, raw);
      if (known && is != runs[at].value && drawn_disagreement_.empty())
        drawn_disagreement_ =
            fmt::format("{}: raw sum {} gives {}, those around it {}", what, raw, is, runs[at].value);
    }
  }
}

Status ChannelSweep::draw_way(AccumulatorSweep& machine, const Batch& batch, const Way& way) {
  PERAXIS_TRY(machine.run(way.dpu, way.params));
  const std::string what = text(way.dpu, way.params);
  if (!way.dpu.int32_output) {
    compare_drawn(batch, way.seen[0], what,
                  [&](int64_t p, int64_t k, int64_t) -> int32_t { return machine.int8_at(p, k); });
    return {};
  }
  for (size_t r = 0; r < kReferences; ++r)
    compare_drawn(batch, way.seen[r], what,
                  [&](int64_t p, int64_t k, int64_t) { return host_value(r, machine.int32_at(p, k)); });
  return {};
}

Status ChannelSweep::draw(AccumulatorSweep& machine, int64_t count, uint64_t seed) {
  if (whole_ || channel().wraps) return {};
  base::Rng rng(seed);
  const int64_t stretch = (last_ - first_) / kSweepKernels + 1;  // of each kernel
  const int64_t middle = first_ + kSweepKernels / 2 * stretch;
  std::vector<int64_t> bases;
  for (int64_t p = 0; p < count / kSweepKernels; ++p) bases.push_back(middle + rng.uniform(0, stretch - 1));
  std::sort(bases.begin(), bases.end());
  Batch batch;
  for (int64_t k = 0; k < kSweepKernels; ++k)
    batch.offsets[static_cast<size_t>(k)] = (k - kSweepKernels / 2) * stretch;
  const int64_t reach = std::max(std::abs(middle), std::abs(middle + stretch));
  const auto capacity = static_cast<size_t>(AccumulatorSweep::capacity(reach, kSweepKernels / 2 * stretch));
  if (capacity == 0) return fail(ErrorCode::Unsupported, "drawn sums do not fit a task");
  for (size_t at = 0; at < bases.size(); at += capacity) {
    const size_t end = std::min(at + capacity, bases.size());
    batch.bases.assign(bases.begin() + static_cast<std::ptrdiff_t>(at),
                       bases.begin() + static_cast<std::ptrdiff_t>(end));
    for (size_t r = 0; r < kReferences; ++r)
      compare_drawn(batch, reference_[r], "reference", [&](int64_t, int64_t, int64_t raw) {
        return requant::reference_output(layers_[r], channel(r), raw + channel(r).addend);
      });
    PERAXIS_TRY(machine.load(batch));
    for (const Way& way : ways_) PERAXIS_TRY(draw_way(machine, batch, way));
  }
  return {};
}

std::string ChannelSweep::disagreement() const {
  for (const Way& way : ways_) {
    if (way.dpu.int32_output) continue;
    for (const Run& run : way.seen[0].runs())
      for (const int64_t raw : {run.first, run.last}) {
        const int32_t says = requant::hardware_output(way.dpu, way.params, way.params.drop_weights ? 0 : raw);
        if (says != run.value)
          return fmt::format("{}: raw sum {} gives {}, hardware_output says {}", text(way.dpu, way.params),
                             raw, run.value, says);
      }
  }
  return drawn_disagreement_;
}

}  // namespace peraxis::property
