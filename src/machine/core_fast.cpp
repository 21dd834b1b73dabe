// CORE, fast: the tile is unpacked once into rows that carry their padding, in blocks of 32 channels (64 in
// depthwise), so that a tap of a window is a constant offset. Weight blocks that are all zero (dummy
// kernels, the off-diagonal of a block-diagonal convolution) are left out.
#include <algorithm>
#include <cstring>

#include "machine/mac_kernels.hpp"
#include "machine/task.hpp"

namespace peraxis::machine {
namespace {

// 255 * 128 products of this many terms stay below 2^31.
constexpr int64_t kMaxTerms = 65536;
constexpr int64_t kMaxTileBytes = int64_t{1} << 28;

struct Tile {
  int64_t rows = 0, columns = 0;
};

// The rows and columns all windows of the task reach, padding included.
Tile reach(const ConvTask& task) {
  const CnaConfig& c = task.cna;
  return {(task.core.height - 1) * c.stride_y + c.span_y(), (task.core.width - 1) * c.stride_x + c.span_x()};
}

class FastCore final : public Core {
 public:
  FastCore(const ConvTask& task, const Cbuf& cbuf, PadLanes lanes)
      : task_(task), features_(*cbuf.features), weights_(*cbuf.weights), lanes_(lanes), mac_(best_mac()) {
    tile_ = reach(task);
    block_ = task.cna.depthwise ? kDepthwiseGroup : kIcBlock;
    unpack();
    if (needs_window_sum(task) && !task.cna.depthwise) sum_windows();
  }

  void group(int64_t first, Accumulators& out) override {
    out.channels = task_.group();
    out.values.resize(static_cast<size_t>(task_.pixels() * out.channels));
    out.sums.clear();
    if (!task_.cna.depthwise) {
      direct(first, out);
      out.sums = window_sums_;
      return;
    }
    std::vector<int16_t> weights(static_cast<size_t>(task_.cna.taps() * kDepthwiseGroup));
    for (int64_t t = 0; t < task_.cna.taps(); ++t)
      for (int64_t c = 0; c < kDepthwiseGroup; ++c)
        weights[static_cast<size_t>(t * kDepthwiseGroup + c)] = weights_.at(first + c, t, first + c);
    depthwise(first, weights, out.values);
    if (!needs_window_sum(task_)) return;
    for (int64_t t = 0; t < task_.cna.taps(); ++t)
      for (int64_t c = 0; c < kDepthwiseGroup; ++c)
        weights[static_cast<size_t>(t * kDepthwiseGroup + c)] = first + c < task_.cna.channels ? 1 : 0;
    out.sums.resize(out.values.size());
    depthwise(first, weights, out.sums);
  }

 private:
  int64_t block_bytes() const { return tile_.rows * tile_.columns * block_; }

  // Direct: [channel block][rows][columns][32], byte + 128. Depthwise: [channel block][rows][columns][64],
  // signed bytes.
  void unpack() {
    const CnaConfig& c = task_.cna;
    const uint8_t bias = c.depthwise ? 0 : 128;
    const int64_t blocks = (c.channels + block_ - 1) / block_;
    bytes_.resize(static_cast<size_t>(blocks * block_bytes()));
    std::vector<uint8_t> pad(static_cast<size_t>(block_));
    for (int64_t b = 0; b < blocks; ++b) {
      for (int64_t i = 0; i < block_; ++i)
        pad[static_cast<size_t>(i)] = static_cast<uint8_t>(pad_byte(c, lanes_, b * block_ + i) + bias);
      uint8_t* to = bytes_.data() + b * block_bytes();
      for (int64_t y = 0; y < tile_.rows; ++y)
        for (int64_t x = 0; x < tile_.columns; ++x, to += block_) {
          const int64_t iy = y - c.pad_top, ix = x - c.pad_left;
          if (iy < 0 || ix < 0 || iy >= c.height || ix >= c.width)
            std::memcpy(to, pad.data(), pad.size());
          else
            unpack_pixel(b, iy, ix, bias, to);
        }
    }
  }

  // Channels beyond the last are never multiplied by anything but 0.
  void unpack_pixel(int64_t block, int64_t y, int64_t x, uint8_t bias, uint8_t* to) const {
    const int64_t groups = std::min(block_, task_.cna.channels - block * block_) / kAtom;
    for (int64_t g = 0; g < groups; ++g) {
      const int8_t* atom = features_.atom(block * block_ / kAtom + g, y, x);
      for (int64_t i = 0; i < kAtom; ++i) to[g * kAtom + i] = static_cast<uint8_t>(atom[i] + bias);
    }
    std::memset(to + groups * kAtom, bias, static_cast<size_t>(block_ - groups * kAtom));
  }

  int64_t tap_offset(int64_t tap) const {
    const CnaConfig& c = task_.cna;
    return (tap / c.kernel_w * c.dilation_y * tile_.columns + tap % c.kernel_w * c.dilation_x) * block_;
  }

  void direct(int64_t first, Accumulators& out) {
    const CnaConfig& c = task_.cna;
    int32_t start[kDirectGroup] = {};
    std::vector<int64_t> offsets;
    std::vector<uint8_t> packed;
    pack_group(first, offsets, packed, start);
    std::vector<int32_t> row(static_cast<size_t>(task_.core.width * kDirectGroup));
    for (int64_t y = 0; y < task_.core.height; ++y) {
      const uint8_t* origin = bytes_.data() + y * c.stride_y * tile_.columns * kIcBlock;
      mac_.row(origin, c.stride_x * kIcBlock, task_.core.width, offsets.data(), packed.data(),
               static_cast<int64_t>(offsets.size()), start, row.data());
      std::copy(row.begin(), row.end(), out.values.begin() + y * task_.core.width * kDirectGroup);
    }
  }

  // The weight blocks of kernels [first, first + 32) that hold anything, and what the 128 added to every
  // input costs each kernel.
  void pack_group(int64_t first, std::vector<int64_t>& offsets, std::vector<uint8_t>& packed,
                  int32_t* start) const {
    const CnaConfig& c = task_.cna;
    const int64_t kernels = std::clamp<int64_t>(weights_.kernels - first, 0, kDirectGroup);
    int8_t block[kDirectGroup * kIcBlock];
    for (int64_t b = 0; b * kIcBlock < c.channels; ++b)
      for (int64_t tap = 0; tap < c.taps(); ++tap) {
        std::memset(block, 0, sizeof block);
        const size_t wide = static_cast<size_t>(std::min(kIcBlock, c.channels - b * kIcBlock));
        bool used = false;
        for (int64_t oc = 0; oc < kernels; ++oc) {
          const int8_t* from = weights_.bytes.data() + weights_.position(first + oc, tap, b * kIcBlock);
          std::memcpy(block + oc * kIcBlock, from, wide);
          int32_t sum = 0;
          for (size_t i = 0; i < wide; ++i) {
            sum += from[i];
            used |= from[i] != 0;
          }
          start[oc] -= 128 * sum;
        }
        if (!used) continue;
        offsets.push_back(b * block_bytes() + tap_offset(tap));
        packed.resize(packed.size() + static_cast<size_t>(mac_.block_bytes));
        mac_.pack(block, packed.data() + packed.size() - mac_.block_bytes);
      }
  }

  void depthwise(int64_t first, const std::vector<int16_t>& weights, std::vector<int64_t>& out) const {
    const CnaConfig& c = task_.cna;
    if (first >= c.channels) {
      std::fill(out.begin(), out.end(), 0);
      return;
    }
    std::vector<int64_t> offsets;
    for (int64_t t = 0; t < c.taps(); ++t) offsets.push_back(tap_offset(t));
    std::vector<int32_t> row(static_cast<size_t>(task_.core.width * kDepthwiseGroup));
    const int8_t* tile =
        reinterpret_cast<const int8_t*>(bytes_.data()) + first / kDepthwiseGroup * block_bytes();
    for (int64_t y = 0; y < task_.core.height; ++y) {
      mac_.depthwise_row(tile + y * c.stride_y * tile_.columns * kDepthwiseGroup,
                         c.stride_x * kDepthwiseGroup, task_.core.width, offsets.data(), weights.data(),
                         c.taps(), row.data());
      std::copy(row.begin(), row.end(), out.begin() + y * task_.core.width * kDepthwiseGroup);
    }
  }

  void sum_windows() {
    const CnaConfig& c = task_.cna;
    std::vector<int64_t> column(static_cast<size_t>(tile_.rows * tile_.columns));
    const int64_t blocks = (c.channels + kIcBlock - 1) / kIcBlock;
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t wide = std::min(kIcBlock, c.channels - b * kIcBlock);
      const uint8_t* from = bytes_.data() + b * block_bytes();
      for (size_t i = 0; i < column.size(); ++i, from += kIcBlock)
        for (int64_t ch = 0; ch < wide; ++ch) column[i] += from[ch] - 128;
    }
    window_sums_.assign(static_cast<size_t>(task_.pixels()), 0);
    for (int64_t y = 0; y < task_.core.height; ++y)
      for (int64_t x = 0; x < task_.core.width; ++x)
        for (int64_t tap = 0; tap < c.taps(); ++tap)
          window_sums_[static_cast<size_t>(y * task_.core.width + x)] += column[static_cast<size_t>(
              y * c.stride_y * tile_.columns + x * c.stride_x + tap_offset(tap) / kIcBlock)];
  }

  const ConvTask& task_;
  const Features& features_;
  const Weights& weights_;
  PadLanes lanes_;
  const MacKernels& mac_;
  Tile tile_;
  int64_t block_ = 0;
  std::vector<uint8_t> bytes_;
  std::vector<int64_t> window_sums_;
};

}  // namespace

std::unique_ptr<Core> make_fast_core(const ConvTask& task, const Cbuf& cbuf, PadLanes lanes) {
  const CnaConfig& c = task.cna;
  const Tile tile = reach(task);
  if (!c.depthwise && c.taps() * c.channels > kMaxTerms) return nullptr;
  if (tile.rows * tile.columns > kMaxTileBytes / (c.channels + kDepthwiseGroup)) return nullptr;
  return std::make_unique<FastCore>(task, cbuf, lanes);
}

}  // namespace peraxis::machine
