#include "lower/window_sums.hpp"

#include <algorithm>
#include <cstring>

#include "lower/tiling.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::lower {
namespace {

using namespace rk3588;

// What CBUF must hold for output rows of the windows: `rows` rows of the view make `out_rows` of them.
TilingProblem tiling_problem(const Windows& w, int64_t channels, int64_t rows, int64_t out_rows) {
  TilingProblem p;
  p.g.depthwise = true;
  p.g.in_h = rows;
  p.g.in_w = w.view_w;
  p.g.in_c = p.g.out_c = channels;
  p.g.out_h = out_rows;
  p.g.out_w = w.out_w;
  p.g.kernel_h = w.kernel_h;
  p.g.kernel_w = w.kernel_w;
  p.g.stride_h = w.stride_h;
  p.g.stride_w = w.stride_w;
  p.g.pad_top = w.pad_top;
  p.g.pad_left = w.pad_left;
  p.in_channels = round_up(channels, kAtomBytes);
  p.out_channels = round_up(channels, kDepthwiseGroup);
  p.depthwise = true;
  return p;
}

// Rows of the plane from `first` on, and the output rows they make.
struct Band {
  int64_t first, rows, out_first, out_rows;
};

struct Constants {
  int32_t weights, addends;
};

// What all bands have in common.
struct Pass {
  const WindowSums& sums;
  const CubeAt &in, &out;
  Constants constants;
};

void add_band(const Pass& pass, const Band& band, const Tiling& tiling, std::vector<Task>& tasks) {
  const Windows& w = pass.sums.windows;
  const CubeAt &in = pass.in, &out = pass.out;
  const int64_t channels = pass.sums.channels;
  const int64_t in_channels = round_up(channels, kAtomBytes), slots = round_up(channels, kDepthwiseGroup);
  for (int64_t first = 0; first < slots; first += tiling.channels_per_task)
    for (const RowTile& rows : tiling.rows) {
      ConvTask task;
      task.depthwise = true;
      task.in_width = w.view_w;
      task.in_height = rows.in_rows;
      task.in_plane = in.plane;
      task.out_channels = std::min(tiling.channels_per_task, slots - first);
      task.out_channels_real = std::clamp<int64_t>(channels - first, 1, task.out_channels);
      task.in_channels = std::min(task.out_channels, in_channels - first);
      task.in_channels_real = std::clamp<int64_t>(channels - first, 1, task.in_channels);
      task.input = {in.address.allocation, in.address.offset + (first / kAtomBytes * in.plane +
                                                                (band.first + rows.in_first) * w.view_w) *
                                                                   kAtomBytes};
      task.pad_top = rows.pad_top;
      task.pad_left = w.pad_left;
      task.pad_value = pass.sums.pad;
      task.kernel_width = w.kernel_w;
      task.kernel_height = w.kernel_h;
      task.stride_x = w.stride_w;
      task.stride_y = w.stride_h;
      task.kernels = 1;
      task.weight_bytes_per_kernel = task.weight_bytes = w.taps() * task.in_channels;
      task.weights = {pass.constants.weights, 0};  // all equal: those of the first channels serve the others
      task.out_width = w.out_w;
      task.out_height = rows.rows;
      task.out_plane = out.plane;
      task.output = {out.address.allocation, out.address.offset + (first / kAtomBytes * out.plane +
                                                                   (band.out_first + rows.first) * w.out_w) *
                                                                      kAtomBytes};
      task.operands = {pass.constants.addends, 4 * first};
      task.data_banks = tiling.data_banks;
      task.weight_banks = tiling.weight_banks;
      task.weight_reuse = tiling.weights_resident && &rows != &tiling.rows.front();
      task.dpu = pass.sums.params.dpu;
      tasks.emplace_back(task);
    }
}

bool fits_kernel(int64_t size) {
  return size >= 1 && size <= kMaxKernel;
}

}  // namespace

std::string windows_refusal(const Windows& w, int64_t channels) {
  if (w.kernel_h > kMaxKernel || w.kernel_w > kMaxKernel)
    return fmt::format("window {}x{} exceeds the {}x{} of a convolution's kernel", w.kernel_h, w.kernel_w,
                       kMaxKernel, kMaxKernel);
  if (w.stride_h > kMaxStride || w.stride_w > kMaxStride)
    return fmt::format("stride {}x{} exceeds a convolution's {}", w.stride_h, w.stride_w, kMaxStride);
  if (w.pad_top > kMaxPad || w.pad_left > kMaxPad)
    return fmt::format("padding {} above, {} left exceeds {}", w.pad_top, w.pad_left, kMaxPad);
  if (w.view_w > kMaxInputExtent || w.out_w > kMaxOutputWidth)
    return fmt::format("a map {} wide exceeds {} columns", w.view_w, kMaxInputExtent);
  if (round_up(channels, kDepthwiseGroup) > kMaxCubeChannels)
    return fmt::format("{} channels exceed {}", channels, kMaxCubeChannels);
  Windows row = w;
  row.pad_top = 0;
  const auto tiling = tile(tiling_problem(row, channels, std::min(w.kernel_h, w.view_h), 1), {});
  return tiling ? std::string() : tiling.error().message;
}

std::optional<Windows> one_window(int64_t h, int64_t w) {
  Windows out{h, w, h, w};
  if (fits_kernel(h) && fits_kernel(w)) return out;
  const int64_t pixels = h * w;
  for (int64_t rows = std::min(kMaxKernel, pixels); rows >= 1; --rows)
    if (pixels % rows == 0 && fits_kernel(pixels / rows))
      return Windows{rows, pixels / rows, rows, pixels / rows};
  return std::nullopt;
}

std::optional<TwoStages> two_stages(int64_t h, int64_t w, int64_t channels, double most) {
  const int64_t pixels = h * w;
  std::optional<TwoStages> best;
  int64_t best_tasks = 0;
  const auto consider = [&](int64_t view_w, int64_t kernel_w, int64_t kernel_h) {
    TwoStages s;
    s.first = {pixels / view_w, view_w, kernel_h, kernel_w, kernel_h, kernel_w};
    s.first.out_w = ceil_div(view_w, kernel_w);
    s.first.out_h = ceil_div(s.first.view_h, kernel_h);
    s.bands = kernel_h > kMaxStride;
    if (s.first.out_w == 1) s.first.stride_w = 1;
    if (s.bands || s.first.out_h == 1) s.first.stride_h = 1;
    s.spread =
        static_cast<double>(s.first.out_h * s.first.out_w * s.first.taps()) / static_cast<double>(pixels);
    const int64_t tasks = s.bands ? s.first.out_h : 1;
    if (s.spread > most || (best && std::pair(tasks, s.spread) >= std::pair(best_tasks, best->spread)))
      return;
    const auto second = one_window(s.first.out_h, s.first.out_w);
    if (!second || !windows_refusal(s.first, channels).empty() || !windows_refusal(*second, channels).empty())
      return;
    s.second = *second;
    best = s;
    best_tasks = tasks;
  };
  for (int64_t view_w = 1; view_w <= std::min(pixels, kMaxInputExtent); ++view_w) {
    if (pixels % view_w != 0) continue;
    for (int64_t kernel_h = 1; kernel_h <= kMaxKernel; ++kernel_h) {
      for (int64_t kernel_w = 1; kernel_w <= std::min(view_w, kMaxStride); ++kernel_w)
        consider(view_w, kernel_w, kernel_h);
      if (view_w > kMaxStride && view_w <= kMaxKernel) consider(view_w, view_w, kernel_h);
    }
  }
  return best;
}

Status add_window_sums(const WindowSums& sums, const CubeAt& in, const CubeAt& out, const TaskList& list) {
  const Windows& w = sums.windows;
  const int64_t slots = round_up(sums.channels, kDepthwiseGroup);
  std::vector<uint8_t> addends(static_cast<size_t>(slots) * sizeof(int32_t));
  for (size_t at = 0; at < addends.size(); at += sizeof(int32_t))
    std::memcpy(addends.data() + at, &sums.params.addend, sizeof(int32_t));
  const int64_t weights = w.taps() * std::min(round_up(sums.channels, kAtomBytes), slots);
  const Constants constants{list.memory.add_constant(std::vector<uint8_t>(
                                static_cast<size_t>(weights), static_cast<uint8_t>(sums.params.weight))),
                            list.memory.add_constant(std::move(addends))};
  const Pass pass{sums, in, out, constants};
  const int64_t count = sums.bands ? w.out_h : 1;
  for (int64_t i = 0; i < count; ++i) {
    Band band{0, w.view_h, 0, w.out_h};
    if (sums.bands) band = {i * w.kernel_h, std::min(w.kernel_h, w.view_h - i * w.kernel_h), i, 1};
    const Tiling tiling = PERAXIS_TRY(tile(tiling_problem(w, sums.channels, band.rows, band.out_rows), {}));
    add_band(pass, band, tiling, list.tasks);
  }
  return {};
}

}  // namespace peraxis::lower
