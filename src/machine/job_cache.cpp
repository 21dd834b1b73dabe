#include "machine/fast.hpp"

namespace peraxis::machine {
namespace {

// Beyond this everything is forgotten: a job may be a whole network, and its early tiles are of no use later.
constexpr size_t kMaxBytes = size_t{32} << 20;

}  // namespace

JobCache::FeatureKey JobCache::feature_key(const CnaConfig& c) {
  return {c.feature_address, c.width,       c.height,      c.channels,
          c.dma_width,       c.line_stride, c.surf_stride, c.line_mode ? 1 : 0};
}

JobCache::TileKey JobCache::tile_key(const ConvTask& task, const Features& features, PadLanes lanes) {
  const CnaConfig& c = task.cna;
  return {static_cast<int64_t>(reinterpret_cast<intptr_t>(&features)),
          c.depthwise ? 1 : 0,
          needs_window_sum(task) ? 1 : 0,
          static_cast<int64_t>(lanes),
          c.pad_top,
          c.pad_left,
          c.pad_value,
          c.stride_x,
          c.stride_y,
          c.dilation_x,
          c.dilation_y,
          c.kernel_w,
          c.kernel_h,
          task.core.width,
          task.core.height,
          c.width,
          c.height,
          c.channels};
}

void JobCache::make_room(size_t bytes) {
  if (bytes_ + bytes > kMaxBytes) {
    readings_.clear();
    tiles_.clear();
    bytes_ = 0;
  }
  bytes_ += bytes;
}

const JobCache::Reading* JobCache::find_features(const CnaConfig& cna, const Memory& memory) const {
  const auto found = readings_.find(feature_key(cna));
  if (found == readings_.end()) return nullptr;
  for (const Range& range : found->second.ranges)
    if (memory.changed_since(found->second.time, range.begin, range.end - range.begin)) return nullptr;
  return &found->second;
}

void JobCache::keep_features(const CnaConfig& cna, Reading reading) {
  make_room(reading.features->bytes.size());
  readings_[feature_key(cna)] = std::move(reading);
}

std::shared_ptr<const Tile> JobCache::find_tile(const ConvTask& task, const Features& features,
                                                PadLanes lanes) const {
  const auto found = tiles_.find(tile_key(task, features, lanes));
  return found == tiles_.end() ? nullptr : found->second.tile;
}

void JobCache::keep_tile(const ConvTask& task, std::shared_ptr<const Features> features, PadLanes lanes,
                         std::shared_ptr<const Tile> tile) {
  make_room(tile->bytes.size() + tile->window_sums.size() * sizeof(int64_t));
  const TileKey key = tile_key(task, *features, lanes);
  tiles_[key] = {std::move(features), std::move(tile)};
}

const KernelGroup& JobCache::kernel_group(const std::shared_ptr<const Weights>& weights, int64_t index) {
  if (weights_ != weights) {
    weights_ = weights;
    kernel_groups_.clear();
  }
  const auto i = static_cast<size_t>(index);
  if (i >= kernel_groups_.size()) kernel_groups_.resize(i + 1);
  if (!kernel_groups_[i]) kernel_groups_[i] = make_kernel_group(*weights, index);
  return *kernel_groups_[i];
}

}  // namespace peraxis::machine
