#include "lower/border_counts.hpp"

#include <algorithm>
#include <functional>

#include "lower/element_task.hpp"
#include "lower/repeat.hpp"
#include "lower/tiling.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::lower {
namespace {

constexpr int32_t kPadding = 0;  // adds nothing to a sum

// Pixels inside the map, by window.
std::vector<int64_t> along(int64_t in, int64_t kernel, int64_t stride, int64_t pad, int64_t out) {
  std::vector<int64_t> counts;
  for (int64_t i = 0; i < out; ++i) {
    const int64_t first = i * stride - pad;
    counts.push_back(std::min(first + kernel, in) - std::max<int64_t>(first, 0));
  }
  return counts;
}

std::vector<int64_t> different(std::vector<int64_t> numbers) {
  std::sort(numbers.begin(), numbers.end(), std::greater<>());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

// 127 for outputs of one number of pixels, -128 for others.
ir::Tensor mask(const BorderCounts& border, int64_t count) {
  ir::Tensor out;
  out.shape = {1, static_cast<int32_t>(border.rows.size()), static_cast<int32_t>(border.columns.size()), 1};
  for (const int64_t row : border.rows)
    for (const int64_t column : border.columns) out.data.push_back(row * column == count ? 0x7F : 0x80);
  return out;
}

}  // namespace

BorderCounts border_counts(const Windows& w) {
  BorderCounts out{along(w.view_h, w.kernel_h, w.stride_h, w.pad_top, w.out_h),
                   along(w.view_w, w.kernel_w, w.stride_w, w.pad_left, w.out_w),
                   {}};
  for (const int64_t row : different(out.rows))
    for (const int64_t column : different(out.columns)) out.counts.push_back(row * column);
  out.counts = different(std::move(out.counts));
  return out;
}

Status add_bordered(const BorderedAverage& average, const CubeAt& in, const CubeAt& out,
                    const TaskList& list) {
  const Windows& w = average.windows;
  const BorderCounts& counts = average.counts;
  const ir::Nhwc map{1, w.out_h, w.out_w, average.channels};
  const int64_t pixels = map.h * map.w;
  const auto scratch = [&](int64_t group) {
    return CubeAt{{list.memory.add_activation(pixels * round_up(map.c, group)), 0}, pixels};
  };
  requant::ElementParams minimum, maximum;
  minimum.combine = requant::ElementParams::Combine::Minimum;
  maximum.combine = requant::ElementParams::Combine::Maximum;
  minimum.operand_factor = maximum.operand_factor = 1;
  const CubeAt whole = scratch(rk3588::kDepthwiseGroup);
  CubeAt joined;
  for (size_t i = 0; i < counts.counts.size(); ++i) {
    PERAXIS_TRY(add_window_sums({w, false, map.c, kPadding, average.params[i]}, in, whole, list));
    const CubeAt masked = scratch(rk3588::kAtomBytes);
    list.tasks.emplace_back(element_task(minimum, map, whole, masked,
                                         constant_cube(mask(counts, counts.counts[i]), map, list.memory)));
    if (i == 0) {
      joined = masked;
      continue;
    }
    const CubeAt next = i + 1 == counts.counts.size() ? out : scratch(rk3588::kAtomBytes);
    list.tasks.emplace_back(element_task(maximum, map, joined, next, masked));
    joined = next;
  }
  return {};
}

}  // namespace peraxis::lower
