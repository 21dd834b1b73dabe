// CORE, fast: the tile is unpacked once into rows that carry their padding, in blocks of 32 channels (64 in
// depthwise), so that a tap of a window is a constant offset. Weight blocks that are all zero (dummy
// kernels, the off-diagonal of a block-diagonal convolution) are left out.
#include <algorithm>
#include <cstring>

#include "machine/fast.hpp"
#include "machine/mac_kernels.hpp"

namespace peraxis::machine {
namespace {

// 255 * 128 products of this many terms stay below 2^31.
constexpr int64_t kMaxTerms = 65536;
constexpr int64_t kMaxTileBytes = int64_t{1} << 28;
// Up to so many kernels that are not all zero are multiplied one by one: on every instruction set that costs
// no more than 32 together.
constexpr size_t kMaxAlone = 16;

int64_t tap_offset(const CnaConfig& c, const Tile& tile, int64_t tap) {
  return (tap / c.kernel_w * c.dilation_y * tile.columns + tap % c.kernel_w * c.dilation_x) * tile.block;
}

// Channels beyond the last are never multiplied by anything but 0.
struct BlockAt {
  int64_t channel, y, x;
};
void unpack_pixel(const Features& features, const BlockAt& at, int64_t block, uint8_t bias, uint8_t* to) {
  const int64_t groups = std::min(block, features.channels - at.channel) / kAtom;
  for (int64_t g = 0; g < groups; ++g) {
    const int8_t* atom = features.atom(at.channel / kAtom + g, at.y, at.x);
    for (int64_t i = 0; i < kAtom; ++i) to[g * kAtom + i] = static_cast<uint8_t>(atom[i] + bias);
  }
  std::memset(to + groups * kAtom, bias, static_cast<size_t>(block - groups * kAtom));
}

void unpack(const CnaConfig& c, const Features& features, PadLanes lanes, Tile& tile) {
  const uint8_t bias = c.depthwise ? 0 : 128;
  const int64_t blocks = (c.channels + tile.block - 1) / tile.block;
  tile.bytes.resize(static_cast<size_t>(blocks * tile.block_bytes()));
  std::vector<uint8_t> pad(static_cast<size_t>(tile.block));
  for (int64_t b = 0; b < blocks; ++b) {
    for (int64_t i = 0; i < tile.block; ++i)
      pad[static_cast<size_t>(i)] = static_cast<uint8_t>(pad_byte(c, lanes, b * tile.block + i) + bias);
    uint8_t* to = tile.bytes.data() + b * tile.block_bytes();
    for (int64_t y = 0; y < tile.rows; ++y)
      for (int64_t x = 0; x < tile.columns; ++x, to += tile.block) {
        const int64_t iy = y - c.pad_top, ix = x - c.pad_left;
        if (iy < 0 || ix < 0 || iy >= c.height || ix >= c.width)
          std::memcpy(to, pad.data(), pad.size());
        else
          unpack_pixel(features, {b * tile.block, iy, ix}, tile.block, bias, to);
      }
  }
}

void sum_windows(const ConvTask& task, Tile& tile) {
  const CnaConfig& c = task.cna;
  std::vector<int64_t> column(static_cast<size_t>(tile.rows * tile.columns));
  const int64_t blocks = (c.channels + kIcBlock - 1) / kIcBlock;
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t wide = std::min(kIcBlock, c.channels - b * kIcBlock);
    const uint8_t* from = tile.bytes.data() + b * tile.block_bytes();
    for (size_t i = 0; i < column.size(); ++i, from += kIcBlock)
      for (int64_t ch = 0; ch < wide; ++ch) column[i] += from[ch] - 128;
  }
  tile.window_sums.assign(static_cast<size_t>(task.pixels()), 0);
  for (int64_t y = 0; y < task.core.height; ++y)
    for (int64_t x = 0; x < task.core.width; ++x)
      for (int64_t tap = 0; tap < c.taps(); ++tap)
        tile.window_sums[static_cast<size_t>(y * task.core.width + x)] += column[static_cast<size_t>(
            y * c.stride_y * tile.columns + x * c.stride_x + tap_offset(c, tile, tap) / kIcBlock)];
}

// The rows and columns all windows of the task reach, padding included.
Tile reach(const ConvTask& task) {
  const CnaConfig& c = task.cna;
  Tile tile;
  tile.rows = (task.core.height - 1) * c.stride_y + c.span_y();
  tile.columns = (task.core.width - 1) * c.stride_x + c.span_x();
  tile.block = c.depthwise ? kDepthwiseGroup : kIcBlock;
  return tile;
}

std::shared_ptr<const Tile> make_tile(const ConvTask& task, const Features& features, PadLanes lanes) {
  auto tile = std::make_shared<Tile>(reach(task));
  unpack(task.cna, features, lanes, *tile);
  if (needs_window_sum(task) && !task.cna.depthwise) sum_windows(task, *tile);
  return tile;
}

bool all_zero(const int8_t* bytes, int64_t count) {
  int8_t any = 0;
  for (int64_t i = 0; i < count; ++i) any |= bytes[i];
  return any == 0;
}

}  // namespace

KernelGroup make_kernel_group(const Weights& weights, int64_t index) {
  KernelGroup out;
  const int64_t first = index * kDirectGroup;
  const int64_t kernels = std::clamp<int64_t>(weights.kernels - first, 0, kDirectGroup);
  const int64_t blocks = (weights.channels + kIcBlock - 1) / kIcBlock;
  struct Piece {  // the 32 channels of one kernel at one place
    int64_t kernel, place;
    const int8_t* from;
    int64_t wide;
  };
  std::vector<Piece> pieces;  // those that are not all zero, by place
  std::array<bool, kDirectGroup> live{};
  for (int64_t b = 0; b < blocks; ++b)
    for (int64_t tap = 0; tap < weights.taps; ++tap)
      for (int64_t k = 0; k < kernels; ++k) {
        const int64_t wide = std::min(kIcBlock, weights.channels - b * kIcBlock);
        const int8_t* from = weights.bytes.data() + weights.position(first + k, tap, b * kIcBlock);
        if (all_zero(from, wide)) continue;
        pieces.push_back({k, b * weights.taps + tap, from, wide});
        live[static_cast<size_t>(k)] = true;
        int32_t sum = 0;
        for (int64_t i = 0; i < wide; ++i) sum += from[i];
        out.start[static_cast<size_t>(k)] -= 128 * sum;
      }
  for (int64_t k = 0; k < kernels; ++k)
    if (live[static_cast<size_t>(k)]) out.live.push_back(k);

  if (out.live.size() <= kMaxAlone) {
    std::array<KernelGroup::Kernel, kDirectGroup> alone;
    for (const Piece& piece : pieces) {
      KernelGroup::Kernel& kernel = alone[static_cast<size_t>(piece.kernel)];
      kernel.places.push_back(piece.place);
      kernel.weights.insert(kernel.weights.end(), piece.from, piece.from + piece.wide);
      kernel.weights.resize(kernel.places.size() * kIcBlock);
    }
    for (const int64_t k : out.live) out.alone.push_back(std::move(alone[static_cast<size_t>(k)]));
    return out;
  }
  const MacKernels& mac = best_mac();
  int8_t block[kDirectGroup * kIcBlock];
  for (size_t i = 0; i < pieces.size();) {
    const int64_t place = pieces[i].place;
    std::memset(block, 0, sizeof block);
    for (; i < pieces.size() && pieces[i].place == place; ++i)
      std::memcpy(block + pieces[i].kernel * kIcBlock, pieces[i].from, static_cast<size_t>(pieces[i].wide));
    out.places.push_back(place);
    out.packed.resize(out.packed.size() + static_cast<size_t>(mac.block_bytes));
    mac.pack(block, out.packed.data() + out.packed.size() - mac.block_bytes);
  }
  return out;
}

std::unique_ptr<FastCore> FastCore::make(const ConvTask& task, const Cbuf& cbuf, PadLanes lanes,
                                         JobCache& cache) {
  const CnaConfig& c = task.cna;
  const Tile tile = reach(task);
  if (!c.depthwise && c.taps() * c.channels > kMaxTerms) return nullptr;
  if (tile.rows * tile.columns > kMaxTileBytes / (c.channels + kDepthwiseGroup)) return nullptr;
  return std::unique_ptr<FastCore>(new FastCore(task, cbuf, lanes, cache));
}

FastCore::FastCore(const ConvTask& task, const Cbuf& cbuf, PadLanes lanes, JobCache& cache)
    : task_(task), weights_(cbuf.weights), cache_(cache) {
  tile_ = cache.find_tile(task, *cbuf.features, lanes);
  if (tile_ != nullptr) return;
  tile_ = make_tile(task, *cbuf.features, lanes);
  cache.keep_tile(task, cbuf.features, lanes, tile_);
}

void FastCore::group(int64_t first, Accumulators& out) const {
  out.columns.clear();
  out.sums.clear();
  if (task_.cna.depthwise)
    depthwise(first, out);
  else
    direct(first, out);
}

std::vector<int64_t> FastCore::offsets(const std::vector<int64_t>& places) const {
  const int64_t taps = task_.cna.taps();
  std::vector<int64_t> out;
  out.reserve(places.size());
  for (const int64_t place : places)
    out.push_back(place / taps * tile_->block_bytes() + tap_offset(task_.cna, *tile_, place % taps));
  return out;
}

void FastCore::direct(int64_t first, Accumulators& out) const {
  const CnaConfig& c = task_.cna;
  const KernelGroup& group = cache_.kernel_group(weights_, first / kDirectGroup);
  const int64_t width = task_.core.width, columns = static_cast<int64_t>(group.live.size());
  for (const int64_t k : group.live) out.columns.push_back(first + k);
  out.values.resize(static_cast<size_t>(task_.pixels() * columns));
  out.sums = tile_->window_sums;
  const MacKernels& mac = best_mac();
  const auto inputs = [&](int64_t y, const std::vector<int64_t>& at) -> PixelRow<uint8_t> {
    return {tile_->bytes.data() + y * c.stride_y * tile_->columns * kIcBlock, c.stride_x * kIcBlock, width,
            at.data(), static_cast<int64_t>(at.size())};
  };
  if (group.packed.empty()) {
    std::vector<int32_t> row(static_cast<size_t>(width));
    for (int64_t i = 0; i < columns; ++i) {
      const KernelGroup::Kernel& kernel = group.alone[static_cast<size_t>(i)];
      const std::vector<int64_t> at = offsets(kernel.places);
      const int32_t start = group.start[static_cast<size_t>(group.live[static_cast<size_t>(i)])];
      for (int64_t y = 0; y < task_.core.height; ++y) {
        mac.dot_row(inputs(y, at), kernel.weights.data(), start, row.data());
        int64_t* to = out.values.data() + y * width * columns + i;
        for (int64_t x = 0; x < width; ++x) to[x * columns] = row[static_cast<size_t>(x)];
      }
    }
    return;
  }
  const std::vector<int64_t> at = offsets(group.places);
  std::vector<int32_t> row(static_cast<size_t>(width * kDirectGroup));
  for (int64_t y = 0; y < task_.core.height; ++y) {
    mac.row(inputs(y, at), group.packed.data(), group.start.data(), row.data());
    int64_t* to = out.values.data() + y * width * columns;
    if (columns == kDirectGroup) {
      std::copy(row.begin(), row.end(), to);
      continue;
    }
    for (int64_t x = 0; x < width; ++x)
      for (const int64_t k : group.live) *to++ = row[static_cast<size_t>(x * kDirectGroup + k)];
  }
}

void FastCore::depthwise(int64_t first, Accumulators& out) const {
  const int64_t taps = task_.cna.taps();
  const bool sums = needs_window_sum(task_);
  std::vector<int16_t> weights(static_cast<size_t>(taps * kDepthwiseGroup));
  std::array<bool, kDepthwiseGroup> live{};
  for (int64_t t = 0; t < taps; ++t)
    for (int64_t c = 0; c < kDepthwiseGroup; ++c) {
      const int8_t weight = weights_->at(first + c, t, first + c);
      weights[static_cast<size_t>(t * kDepthwiseGroup + c)] = weight;
      live[static_cast<size_t>(c)] |= weight != 0;
    }
  // With window sums every channel has its own values.
  for (int64_t c = 0; c < kDepthwiseGroup; ++c)
    if (sums || live[static_cast<size_t>(c)]) out.columns.push_back(first + c);
  depthwise_rows(first, weights, out.columns, out.values);
  if (!sums) return;
  for (int64_t t = 0; t < taps; ++t)
    for (int64_t c = 0; c < kDepthwiseGroup; ++c)
      weights[static_cast<size_t>(t * kDepthwiseGroup + c)] = first + c < task_.cna.channels ? 1 : 0;
  depthwise_rows(first, weights, out.columns, out.sums);
}

void FastCore::depthwise_rows(int64_t first, const std::vector<int16_t>& weights,
                              const std::vector<int64_t>& columns, std::vector<int64_t>& out) const {
  const CnaConfig& c = task_.cna;
  const int64_t width = task_.core.width;
  out.assign(static_cast<size_t>(task_.pixels()) * columns.size(), 0);
  if (first >= c.channels || columns.empty()) return;
  std::vector<int64_t> at;
  for (int64_t t = 0; t < c.taps(); ++t) at.push_back(tap_offset(c, *tile_, t));
  std::vector<int32_t> row(static_cast<size_t>(width * kDepthwiseGroup));
  const int8_t* tile =
      reinterpret_cast<const int8_t*>(tile_->bytes.data()) + first / kDepthwiseGroup * tile_->block_bytes();
  int64_t* to = out.data();
  for (int64_t y = 0; y < task_.core.height; ++y) {
    const int8_t* origin = tile + y * c.stride_y * tile_->columns * kDepthwiseGroup;
    best_mac().depthwise_row({origin, c.stride_x * kDepthwiseGroup, width, at.data(), c.taps()},
                             weights.data(), row.data());
    for (int64_t x = 0; x < width; ++x)
      for (const int64_t channel : columns)
        *to++ = row[static_cast<size_t>(x * kDepthwiseGroup + channel - first)];
  }
}

}  // namespace peraxis::machine
