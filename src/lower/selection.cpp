#include "lower/selection.hpp"

#include <algorithm>
#include <cstring>

#include "lower/layouts.hpp"
#include "lower/tiling.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::lower {
namespace {

using namespace rk3588;

constexpr int64_t kLargestWeights = int64_t{1} << 24;  // bytes; almost all of them zeros

TilingProblem problem_of(const Selection& s) {
  TilingProblem p;
  p.g.in_h = p.g.out_h = s.lines;
  p.g.in_w = s.in_w;
  p.g.out_w = s.out_w;
  p.g.in_c = s.in_slots;
  p.g.out_c = s.channels;
  p.g.kernel_w = s.kernel_w;
  p.g.stride_w = s.stride_w;
  p.g.pad_left = s.pad_left;
  p.in_channels = s.in_slots;
  p.out_channels = round_up(s.channels, kKernelGroup);
  return p;
}

// Added to every value of a channel: nothing, or to the zeros of one that takes nothing the fill value.
std::vector<uint8_t> fills(const Selection& s, int64_t slots) {
  std::vector<uint8_t> packed(static_cast<size_t>(slots) * sizeof(int32_t));
  for (int64_t c = 0; c < s.channels && s.fill != 0; ++c) {
    bool taken = false;
    for (int64_t tap = 0; tap < s.kernel_w; ++tap) taken = taken || s.slot(c, tap) >= 0;
    if (!taken)
      std::memcpy(packed.data() + static_cast<size_t>(c) * sizeof(int32_t), &s.fill, sizeof(int32_t));
  }
  return packed;
}

}  // namespace

void cut_lines(int64_t pixels, Selection& s) {
  const int64_t widest = std::min(kMaxInputExtent, kCbufBanks / 2 * kCbufBankBytes / s.in_slots);
  int64_t w = std::clamp<int64_t>(widest, 1, pixels);
  while (pixels % w != 0) --w;
  s.in_w = s.out_w = w;
  s.lines = pixels / w;
}

std::string selection_refusal(const Selection& s) {
  if (s.kernel_w > kMaxKernel || s.pad_left > kMaxPad)
    return fmt::format("windows of {} pixels with {} before them: up to {} and {} are possible", s.kernel_w,
                       s.pad_left, kMaxKernel, kMaxPad);
  if (s.stride_w > kMaxStride)
    return fmt::format("every {}th column: a stride has up to {}", s.stride_w, kMaxStride);
  if (std::max(s.in_w, s.out_w) > kMaxInputExtent)
    return fmt::format("rows of {} pixels exceed {}", std::max(s.in_w, s.out_w), kMaxInputExtent);
  if (s.in_slots > kMaxInputChannels || round_up(s.channels, kKernelGroup) > kMaxCubeChannels)
    return fmt::format("{} channels from {}: up to {} from {} are possible", s.channels, s.in_slots,
                       kMaxCubeChannels / kKernelGroup * kKernelGroup, kMaxInputChannels);
  const int64_t weights = round_up(s.channels, kKernelGroup) * s.in_slots * s.kernel_w;
  if (weights > kLargestWeights)
    return fmt::format("{} channels from {} take {} bytes of weights, up to {} are given", s.channels,
                       s.in_slots * s.kernel_w, weights, kLargestWeights);
  const auto tiling = tile(problem_of(s), {});
  return tiling ? std::string() : tiling.error().message;
}

Status add_selection(const Selection& s, const CubeAt& input, const CubeAt& output, MemoryPlan& memory,
                     std::vector<Task>& tasks) {
  const Tiling tiling = PERAXIS_TRY(tile(problem_of(s), {}));
  const int64_t slots = round_up(s.channels, kKernelGroup), line = s.line > 0 ? s.line : s.in_w;
  const int32_t weights = memory.add_constant(pack_direct_weights(
      slots, s.in_slots, 1, s.kernel_w, [&s](int64_t out, int64_t, int64_t tap, int64_t in) -> int64_t {
        return out < s.channels && s.slot(out, tap) == in ? 1 : 0;
      }));
  const int32_t addends = memory.add_constant(fills(s, slots));
  for (int64_t first = 0; first < slots; first += tiling.channels_per_task)
    for (const RowTile& rows : tiling.rows) {
      ConvTask task;
      task.in_width = s.in_w;
      task.in_height = rows.in_rows;
      task.in_plane = input.plane;
      task.line = s.line;
      task.in_channels = task.in_channels_real = s.in_slots;
      task.input = {input.address.allocation, input.address.offset + rows.in_first * line * kAtomBytes};
      task.pad_left = s.pad_left;  // padded with 0, which weights of 0 or 1 keep
      task.kernel_height = 1;
      task.kernel_width = s.kernel_w;
      task.stride_x = s.stride_w;
      task.out_width = s.out_w;
      task.out_height = rows.rows;
      task.out_plane = output.plane;
      task.out_channels = task.kernels = std::min(tiling.channels_per_task, slots - first);
      task.out_channels_real = std::clamp<int64_t>(s.channels - first, 1, task.out_channels);
      task.weight_bytes_per_kernel = s.in_slots * s.kernel_w;
      task.weight_bytes = task.weight_bytes_per_kernel * task.kernels;
      task.weights = {weights, task.weight_bytes_per_kernel * first};
      task.operands = {addends, 4 * first};
      task.output = {
          output.address.allocation,
          output.address.offset + (first / kAtomBytes * output.plane + rows.first * s.out_w) * kAtomBytes};
      task.data_banks = tiling.data_banks;
      task.weight_banks = tiling.weight_banks;
      task.weight_reuse = tiling.weights_resident && &rows != &tiling.rows.front();
      tasks.emplace_back(task);
    }
  return {};
}

int64_t slot_of(const Layout& layout, int64_t channel) {
  return layout.plain() ? channel : layout.slot_of[static_cast<size_t>(channel)];
}

}  // namespace peraxis::lower
