#include "requant/parameters.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "num/rounding.hpp"

namespace peraxis::requant {
namespace {

using num::int128;

template <class T>
T ceil_div(T a, int64_t b) {
  if (b == 1) return a;
  return a >= 0 ? (a + b - 1) / b : -(-a / b);
}

// The smallest v with round(v * scale / 2^shift) >= j.
int128 out_cvt_threshold(const rk3588::DpuParams& dpu, int32_t j, const TieReading& ties = {}) {
  if (dpu.out_shift == 0) return ceil_div(int64_t{j}, dpu.out_scale);
  const int32_t decided = ties.offset_inside ? j + dpu.out_offset : j;  // the value whose tie is broken
  const bool tie_reaches = dpu.ties_away && !ties.out_even ? decided > 0 : (decided & 1) == 0;
  if (dpu.out_shift <= 48 && j > -(1 << 12) && j < (1 << 12)) {  // in 64 bits: ten times faster
    const int64_t boundary =
        (2 * int64_t{j} - 1) * (int64_t{1} << (dpu.out_shift - 1)) + (tie_reaches ? 0 : 1);
    return ceil_div(boundary, dpu.out_scale);
  }
  int128 boundary = (static_cast<int128>(2 * int64_t{j} - 1)) << (dpu.out_shift - 1);
  if (!tie_reaches) boundary += 1;
  return ceil_div(boundary, dpu.out_scale);
}

// The smallest x with shift_ties_even(x * c, s) >= v.
int128 multiply_threshold(int128 v, int32_t c, int32_t s, bool ties_up) {
  if (s > 0 && s <= 28 && v > -(int128{1} << 33) && v < (int128{1} << 33)) {  // in 64 bits: ten times faster
    const auto small = static_cast<int64_t>(v);
    const int64_t boundary = ((2 * small - 1) * (int64_t{1} << (s - 1))) + (ties_up ? 0 : small & 1);
    return ceil_div(boundary, c);
  }
  int128 boundary = v;
  if (s > 0) {
    boundary = (2 * v - 1) << (s - 1);
    if (!ties_up && (v & 1) != 0) boundary += 1;
  }
  return ceil_div(boundary, c);
}

int64_t clip(int128 x, int64_t low, int64_t high) {
  return x < low ? low : (x > high ? high : static_cast<int64_t>(x));
}

}  // namespace

int32_t hardware_output(const rk3588::DpuParams& dpu, const ChannelParams& params, int64_t raw,
                        const TieReading& ties) {
  const int64_t sum = num::saturate_int32(int64_t{num::saturate_int32(raw)} + params.a);
  int64_t v = sum;
  if (dpu.multiply) {
    const int64_t product = sum * factor_of(dpu, params);
    v = num::saturate_int32(ties.bs_up ? num::shift_ties_up(product, dpu.bs_shift)
                                       : num::shift_ties_even(product, dpu.bs_shift));
  }
  if (dpu.relu) {
    v = num::saturate_int32(v + dpu.bn_addend);
    v = std::max<int64_t>(v, 0);
    if (dpu.relux) v = std::min<int64_t>(v, dpu.relux_compare);
  }
  return converted(v * dpu.out_scale, dpu.out_shift, dpu.out_offset, dpu.ties_away, ties);
}

int32_t converted(int64_t product, int32_t shift, int32_t offset, bool ties_away, const TieReading& ties) {
  const bool away = ties_away && !ties.out_even;
  // The zero point shifted into the product's domain, or added after the rounding.
  if (ties.offset_inside) return num::saturate_int8(num::shift_with_offset(product, shift, offset, away));
  return num::saturate_int8(
      (away ? num::shift_ties_away(product, shift) : num::shift_ties_even(product, shift)) + offset);
}

std::vector<int64_t> hardware_thresholds(const rk3588::DpuParams& dpu, int32_t c, int32_t low, int32_t high,
                                         const TieReading& ties) {
  std::vector<int64_t> thresholds(static_cast<size_t>(high - low));
  for (size_t i = 0; i < thresholds.size(); ++i) {
    const int32_t q = low + 1 + static_cast<int32_t>(i);
    int128 v = out_cvt_threshold(dpu, q - dpu.out_offset, ties);
    if (dpu.relu) v -= dpu.bn_addend;
    // Values this far out are reached by no sum of 32 bits; a shift by 62 of what is left fits.
    v = std::clamp<int128>(v, -(int128{1} << 62), int128{1} << 62);
    if (dpu.multiply) v = multiply_threshold(v, c, dpu.bs_shift, ties.bs_up);
    thresholds[i] = clip(v, std::numeric_limits<int64_t>::min() / 4, std::numeric_limits<int64_t>::max() / 4);
  }
  return thresholds;
}

Certificate compare_thresholds(const std::vector<int64_t>& reference, const std::vector<int64_t>& hardware,
                               int64_t acc_min, int64_t acc_max) {
  Certificate certificate;
  certificate.values = acc_max - acc_min + 1;
  const size_t n = reference.size();
  size_t r = 0, h = 0;
  int64_t at = acc_min;
  // Walk the accumulators from threshold to threshold; r and h count thresholds already passed.
  while (r < n && reference[r] <= at) ++r;
  while (h < n && hardware[h] <= at) ++h;
  while (at <= acc_max) {
    const int64_t next_r = r < n ? reference[r] : acc_max + 1;
    const int64_t next_h = h < n ? hardware[h] : acc_max + 1;
    const int64_t next = std::min({next_r, next_h, acc_max + 1});
    const int32_t difference = std::abs(static_cast<int32_t>(r) - static_cast<int32_t>(h));
    if (difference != 0) certificate.differing += next - at;
    certificate.max = std::max(certificate.max, difference);
    at = next;
    while (r < n && reference[r] <= at) ++r;
    while (h < n && hardware[h] <= at) ++h;
  }
  return certificate;
}

Certificate certify(const Layer& layer, const Channel& channel, const rk3588::DpuParams& dpu,
                    const ChannelParams& params) {
  return certify(layer, channel, reference_thresholds(layer, channel), dpu, params);
}

std::vector<int64_t> channel_thresholds(const Layer& layer, const Channel& channel,
                                        const rk3588::DpuParams& dpu, const ChannelParams& params,
                                        const TieReading& ties) {
  if (params.drop_weights || (dpu.multiply && factor_of(dpu, params) <= 0)) {
    // Constant: every threshold at or below the value is passed everywhere, the others nowhere.
    const int32_t value = hardware_output(dpu, params, 0, ties);
    std::vector<int64_t> thresholds(static_cast<size_t>(layer.high - layer.low), channel.acc_max() + 1);
    for (size_t i = 0; i < thresholds.size(); ++i)
      if (layer.low + 1 + static_cast<int32_t>(i) <= value) thresholds[i] = channel.acc_min();
    return thresholds;
  }
  std::vector<int64_t> thresholds =
      hardware_thresholds(dpu, factor_of(dpu, params), layer.low, layer.high, ties);
  for (int64_t& t : thresholds) t += channel.addend - params.a;
  return thresholds;
}

Certificate certify(const Layer& layer, const Channel& channel, const std::vector<int64_t>& reference,
                    const rk3588::DpuParams& dpu, const ChannelParams& params) {
  return compare_thresholds(reference, channel_thresholds(layer, channel, dpu, params), channel.acc_min(),
                            channel.acc_max());
}

bool set_activation(const Layer& layer, rk3588::DpuParams& dpu) {
  dpu.relu = dpu.relux = false;
  dpu.bn_addend = 0;
  dpu.out_offset = layer.z_out;
  const bool lower = layer.low > -128, upper = layer.high < 127;
  if (!lower && !upper) return true;
  dpu.relu = true;
  if (layer.low != layer.z_out && lower) {
    // The bound is not at v = 0: move it there. Exact when it falls on a whole OUT_CVT step.
    const int128 steps = static_cast<int128>(layer.z_out - layer.low) << dpu.out_shift;
    if (steps % dpu.out_scale != 0) return false;
    const int128 addend = steps / dpu.out_scale;
    if (addend > std::numeric_limits<int32_t>::max() || addend < std::numeric_limits<int32_t>::min())
      return false;
    dpu.bn_addend = static_cast<int32_t>(addend);
    dpu.out_offset = layer.low;
  } else if (!lower && layer.z_out > -128) {
    // An upper bound alone needs the ReLU to pass everything the type can hold.
    const int128 steps = static_cast<int128>(layer.z_out + 128) << dpu.out_shift;
    const int128 addend = ceil_div(steps, dpu.out_scale);
    if (steps % dpu.out_scale != 0 || addend > std::numeric_limits<int32_t>::max()) return false;
    dpu.bn_addend = static_cast<int32_t>(addend);
    dpu.out_offset = -128;
  }
  if (upper) {
    const int128 compare = out_cvt_threshold(dpu, layer.high + 1 - dpu.out_offset) - 1;
    if (compare > std::numeric_limits<int32_t>::max()) return true;  // never reached: v is int32
    // A gain above 1 has no v for every output: the bound itself must be one it can produce.
    if (out_cvt_threshold(dpu, layer.high - dpu.out_offset) > compare) return false;
    dpu.relux = true;
    dpu.relux_compare = static_cast<int32_t>(std::max<int128>(compare, 0));
  }
  return true;
}

namespace {

struct Item {
  int64_t difference = 0;
  double weight = 0;
};

// The smallest difference at which half of `total` is reached. Like sorting, but only the part that holds it.
int64_t weighted_median(std::span<Item> items, double total) {
  double below = 0;  // weight of what is smaller than all of `items`
  for (;;) {
    const int64_t a = items.front().difference, b = items[items.size() / 2].difference,
                  c = items.back().difference;
    const int64_t pivot = std::max(std::min(a, b), std::min(std::max(a, b), c));
    const auto smaller =
        std::partition(items.begin(), items.end(), [&](const Item& item) { return item.difference < pivot; });
    const auto equal =
        std::partition(smaller, items.end(), [&](const Item& item) { return item.difference == pivot; });
    double less = below;
    for (auto item = items.begin(); item != smaller; ++item) less += item->weight;
    if (smaller != items.begin() && less * 2 >= total) {
      items = {items.begin(), smaller};
      continue;
    }
    below = less;
    for (auto item = smaller; item != equal; ++item) below += item->weight;
    if (equal == items.end() || below * 2 >= total) return pivot;
    items = {equal, items.end()};
  }
}

}  // namespace

bool choose_addend(const Layer& layer, const Channel& channel, const std::vector<int64_t>& reference,
                   const rk3588::DpuParams& dpu, ChannelParams& params, double* cost) {
  const std::vector<int64_t> hardware = hardware_thresholds(dpu, params.c, layer.low, layer.high);
  const OutputDensity density(layer, channel);
  // x = raw + a passes hardware[i] when acc passes hardware[i] + addend - a: the best a - addend is the
  // weighted median of hardware[i] - reference[i].
  std::array<Item, 256> items;
  size_t count = 0;
  double total = 0;
  for (size_t i = 0; i < reference.size(); ++i) {
    if (reference[i] <= channel.acc_min() || reference[i] > channel.acc_max()) continue;
    const int32_t q = layer.low + 1 + static_cast<int32_t>(i);
    const double weight = density.at_step(q);
    items[count++] = {hardware[i] - reference[i], weight};
    total += weight;
  }
  const int64_t correction = count > 0 ? weighted_median(std::span(items).first(count), total) : 0;
  if (cost != nullptr) {
    // An accumulator between the two thresholds differs; accumulators lie `multiplier` outputs apart.
    *cost = 0;
    for (size_t i = 0; i < count; ++i)
      *cost += items[i].weight * static_cast<double>(std::abs(items[i].difference - correction)) *
               channel.multiplier;
  }
  const int64_t a = channel.addend + correction;
  if (a < std::numeric_limits<int32_t>::min() || a > std::numeric_limits<int32_t>::max()) return false;
  params.a = static_cast<int32_t>(a);
  return true;
}

bool constant_params(int32_t value, const rk3588::DpuParams& dpu, ChannelParams& params) {
  params.drop_weights = true;
  // Factors from small to large: `a` must be whole and fit int32.
  for (int32_t factor = 1; factor <= (dpu.records() ? 1 << 14 : 1); factor *= 2) {
    params.c = static_cast<int16_t>(dpu.scalar_factor != 0 ? dpu.scalar_factor : factor);
    const double v = std::ldexp(static_cast<double>(value - dpu.out_offset) / dpu.out_scale, dpu.out_shift) -
                     (dpu.relu ? dpu.bn_addend : 0);
    const double a = std::round(dpu.multiply ? std::ldexp(v, dpu.bs_shift) / params.c : v);
    if (std::abs(a) > 2147483000.0) continue;
    params.a = static_cast<int32_t>(a);
    if (hardware_output(dpu, params, 0) == value) return true;
  }
  return false;
}

OutCvt nearest_out_cvt(double gain) {
  if (!(gain > 0)) return {1, 62};
  gain = std::min(gain, 32767.0);  // as much as OUT_CVT can do
  int exponent = 0;
  std::frexp(gain, &exponent);  // gain = f * 2^exponent, f in [0.5, 1)
  int shift = 15 - exponent;
  int64_t scale = std::llround(std::ldexp(gain, shift));
  if (scale > 32767) {
    --shift;
    scale = std::llround(std::ldexp(gain, shift));
  }
  if (shift < 0) {
    shift = 0;
    scale = std::llround(gain);
  }
  if (shift > 62) {
    scale = std::llround(std::ldexp(gain, 62));
    shift = 62;
  }
  return {static_cast<int32_t>(std::clamp<int64_t>(scale, 1, 32767)), shift};
}

}  // namespace peraxis::requant
