// CORE: the MAC array in its obvious form. One sum over taps and channels a kernel and pixel, in 64 bits,
// straight from the CBUF contents; core_fast.cpp must give the same numbers.
#include <numeric>

#include "machine/task.hpp"

namespace peraxis::machine {

using namespace rk3588;

CoreConfig decode_core(Registers& r) {
  CoreConfig c;
  r.not_modelled(CORE::MISC_CFG::PROC_PRECISION, 0, "types other than int8");
  r.require(CORE::MISC_CFG::SOFT_GATING, 0, "accumulator gating");
  c.window_sum = r.flag(CORE::MISC_CFG::QD_EN);
  c.width = r.get(CORE::DATAOUT_SIZE_0::DATAOUT_WIDTH);
  c.height = r.get(CORE::DATAOUT_SIZE_0::DATAOUT_HEIGHT);
  c.channels = r.get(CORE::DATAOUT_SIZE_1::DATAOUT_CHANNEL);
  c.truncate = static_cast<int>(r.get(CORE::CLIP_TRUNCATE::CLIP_TRUNCATE));
  c.truncate_round = r.flag(CORE::CLIP_TRUNCATE::ROUND_TYPE);
  r.require(CORE::UNNAMED_3030::VALUE, 0, "every stream writes 0, others have no known effect");
  return c;
}

namespace {

class PlainCore {
 public:
  PlainCore(const ConvTask& task, const Cbuf& cbuf, PadLanes lanes)
      : task_(task), features_(*cbuf.features), weights_(*cbuf.weights), lanes_(lanes) {}

  void group(int64_t first, Accumulators& out) const {
    const bool sums = needs_window_sum(task_);
    const bool depthwise = task_.cna.depthwise;
    const int64_t channels = task_.group();
    out.columns.resize(static_cast<size_t>(channels));
    std::iota(out.columns.begin(), out.columns.end(), first);
    out.values.assign(static_cast<size_t>(task_.pixels() * channels), 0);
    out.sums.assign(sums ? static_cast<size_t>(task_.pixels() * (depthwise ? channels : 1)) : 0, 0);
    for (int64_t y = 0; y < task_.core.height; ++y)
      for (int64_t x = 0; x < task_.core.width; ++x) {
        const int64_t pixel = y * task_.core.width + x;
        for (int64_t i = 0; i < channels; ++i)
          out.values[static_cast<size_t>(pixel * channels + i)] = accumulate(first + i, y, x);
        if (!sums) continue;
        if (!depthwise) {
          for (int64_t ic = 0; ic < task_.cna.channels; ++ic)
            out.sums[static_cast<size_t>(pixel)] += window(ic, y, x);
          continue;
        }
        for (int64_t i = 0; i < channels; ++i)
          out.sums[static_cast<size_t>(pixel * channels + i)] = window(first + i, y, x);
      }
  }

 private:
  int64_t input(int64_t channel, int64_t y, int64_t x, int64_t tap) const {
    const CnaConfig& c = task_.cna;
    const int64_t iy = y * c.stride_y + tap / c.kernel_w * c.dilation_y - c.pad_top;
    const int64_t ix = x * c.stride_x + tap % c.kernel_w * c.dilation_x - c.pad_left;
    if (iy < 0 || ix < 0 || iy >= c.height || ix >= c.width) return pad_byte(c, lanes_, channel);
    return features_.atom(channel / kAtom, iy, ix)[channel % kAtom];
  }

  int64_t window(int64_t channel, int64_t y, int64_t x) const {
    int64_t sum = 0;
    if (channel >= task_.cna.channels) return 0;
    for (int64_t tap = 0; tap < task_.cna.taps(); ++tap) sum += input(channel, y, x, tap);
    return sum;
  }

  int64_t accumulate(int64_t oc, int64_t y, int64_t x) const {
    const CnaConfig& c = task_.cna;
    int64_t acc = 0;
    if (c.depthwise) {
      if (oc >= c.channels) return 0;
      for (int64_t tap = 0; tap < c.taps(); ++tap) acc += input(oc, y, x, tap) * weights_.at(oc, tap, oc);
      return acc;
    }
    for (int64_t tap = 0; tap < c.taps(); ++tap)
      for (int64_t ic = 0; ic < c.channels; ++ic) acc += input(ic, y, x, tap) * weights_.at(oc, tap, ic);
    return acc;
  }

  const ConvTask& task_;
  const Features& features_;
  const Weights& weights_;
  PadLanes lanes_;
};

}  // namespace

void run_core(const ConvTask& task, const Cbuf& cbuf, PadLanes lanes, int64_t first, Accumulators& out) {
  PlainCore(task, cbuf, lanes).group(first, out);
}

}  // namespace peraxis::machine
