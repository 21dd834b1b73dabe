// The fast way through a task: the same bytes and the same report as core.cpp, dpu.cpp and wdma.cpp one after
// the other, with less work. What it leaves out:
//   - reading and unpacking a feature tile again that an earlier task of the job read, while its memory is as
//     it was (programs with one task a channel set read the same tile once a set);
//   - multiplying by weight blocks that are all zero;
//   - kernels that are all zero (dummies): their raw sum is 0, so the DPU runs once for all pixels and once
//     for all such channels with the same operands.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "machine/task.hpp"

namespace peraxis::machine {

// The tile in rows that carry their padding, so that a tap of a window is a constant offset. Direct: [channel
// block][rows][columns][32], byte + 128. Depthwise: [channel block][rows][columns][64], signed bytes.
struct Tile {
  int64_t rows = 0, columns = 0;  // what all windows of the task reach, padding included
  int64_t block = 0;              // channels of a channel block
  std::vector<uint8_t> bytes;
  std::vector<int64_t> window_sums;  // by output pixel; direct only, when a stage needs them
  int64_t block_bytes() const { return rows * columns * block; }
};

// One group of 32 kernels of a direct convolution, without what is zero. `places`: channel block * taps + tap
// of each weight block.
struct KernelGroup {
  struct Kernel {
    std::vector<int64_t> places;
    std::vector<int16_t> weights;  // [places][32 channels]
  };
  std::vector<int64_t> live;                  // kernels that are not all zero, from the group's first
  std::array<int32_t, kDirectGroup> start{};  // what the 128 added to every input costs each kernel
  std::vector<Kernel> alone;                  // one a live kernel, when there are few
  std::vector<int64_t> places;                // else all 32 together, as MacKernels::pack has them
  std::vector<uint8_t> packed;
};

// What tasks of one job share: it ends with the job, so nobody but the job's own tasks can write in between.
class JobCache {
 public:
  struct Reading {
    std::shared_ptr<const Features> features;
    std::vector<Range> ranges;  // where it lies in memory
    int64_t time = 0;           // Memory::now() when it was read
  };
  // The tile of these registers as an earlier task read it; null when there is none or memory has changed.
  const Reading* find_features(const CnaConfig& cna, const Memory& memory) const;
  void keep_features(const CnaConfig& cna, Reading reading);

  std::shared_ptr<const Tile> find_tile(const ConvTask& task, const Features& features, PadLanes lanes) const;
  void keep_tile(const ConvTask& task, std::shared_ptr<const Features> features, PadLanes lanes,
                 std::shared_ptr<const Tile> tile);

  // Group `index` of these weights, made on first use. Of the latest weights only.
  const KernelGroup& kernel_group(const std::shared_ptr<const Weights>& weights, int64_t index);

 private:
  using FeatureKey = std::array<int64_t, 8>;
  using TileKey = std::array<int64_t, 18>;
  struct KeptTile {
    std::shared_ptr<const Features> features;  // its address is part of the key
    std::shared_ptr<const Tile> tile;
  };
  static FeatureKey feature_key(const CnaConfig& cna);
  static TileKey tile_key(const ConvTask& task, const Features& features, PadLanes lanes);
  void make_room(size_t bytes);

  std::map<FeatureKey, Reading> readings_;
  std::map<TileKey, KeptTile> tiles_;
  size_t bytes_ = 0;
  std::shared_ptr<const Weights> weights_;
  std::vector<std::optional<KernelGroup>> kernel_groups_;
};

KernelGroup make_kernel_group(const Weights& weights, int64_t index);

// The MAC array. group() fills the columns of the kernels that are not all zero.
class FastCore {
 public:
  // Null when the task is outside what this code handles.
  static std::unique_ptr<FastCore> make(const ConvTask& task, const Cbuf& cbuf, PadLanes lanes,
                                        JobCache& cache);
  void group(int64_t first, Accumulators& out) const;

 private:
  FastCore(const ConvTask& task, const Cbuf& cbuf, PadLanes lanes, JobCache& cache);
  void direct(int64_t first, Accumulators& out) const;
  void depthwise(int64_t first, Accumulators& out) const;
  void depthwise_rows(int64_t first, const std::vector<int16_t>& weights, const std::vector<int64_t>& columns,
                      std::vector<int64_t>& out) const;
  std::vector<int64_t> offsets(const std::vector<int64_t>& places) const;

  const ConvTask& task_;
  std::shared_ptr<const Weights> weights_;
  JobCache& cache_;
  std::shared_ptr<const Tile> tile_;
};

// The rest of a task whose CBUF is filled: MAC array, DPU and writer.
Status run_fast(const ConvTask& task, const Operands& operands, const FastCore& core, Context& context);

}  // namespace peraxis::machine
