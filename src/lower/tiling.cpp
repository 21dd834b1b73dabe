#include "lower/tiling.hpp"

#include <algorithm>

#include "target/rk3588/limits.hpp"

namespace peraxis::lower {
namespace {

using namespace rk3588;

// What a row takes in CBUF. Entries of packed pixels are counted over the tile, not by rows.
int64_t row_bytes(const TilingProblem& p) {
  if (p.packed > 0) return p.g.in_w * kAtomBytes;
  return round_up(p.g.in_w * p.in_channels, kCbufEntryBytes);
}

// What is read of it.
int64_t row_bytes_moved(const TilingProblem& p) {
  return p.packed > 0 ? p.g.in_w * p.packed : row_bytes(p);
}

// The bank that maps one pixel wide need beyond their rows; wider ones may fill every bank.
int64_t spare_banks(const TilingProblem& p) {
  return p.narrow || p.g.in_w == 1 ? kSpareDataBanks : 0;
}

int64_t rows_in_banks(const TilingProblem& p, int64_t banks) {
  return std::min((banks - spare_banks(p)) * kCbufBankBytes / row_bytes(p),
                  p.packed > 0 ? kMaxPackedRows : kMaxInputExtent);
}

RowTile row_tile(const Geometry& g, int64_t first, int64_t rows) {
  RowTile tile{first, rows, 0, 0, 0};
  // Rows of the plane the kernel moves over; between the input's own lie insert_h - 1 others. What a window
  // has above the tile's first own row is padding, which is what inserted samples are.
  const int64_t top = first * g.stride_h - g.pad_top;
  const int64_t bottom = (first + rows - 1) * g.stride_h - g.pad_top + g.span_h();
  tile.in_first = std::clamp<int64_t>(ceil_div(std::max<int64_t>(top, 0), g.insert_h), 0, g.in_h - 1);
  tile.in_rows = std::max<int64_t>(1, std::min(ceil_div(bottom, g.insert_h), g.in_h) - tile.in_first);
  tile.pad_top = std::max<int64_t>(0, tile.in_first * g.insert_h - top);
  return tile;
}

// Rows cut greedily; empty when not even one output row fits.
std::vector<RowTile> cut_rows(const Geometry& g, int64_t capacity, int64_t max_rows) {
  std::vector<RowTile> tiles;
  for (int64_t first = 0; first < g.out_h;) {
    int64_t rows = std::min(g.out_h - first, max_rows > 0 ? max_rows : g.out_h);
    if (row_tile(g, first, rows).in_rows > capacity) {
      rows = std::min(rows, std::max<int64_t>(1, (capacity * g.insert_h + g.pad_top) / g.stride_h + 1));
      while (rows > 0 && row_tile(g, first, rows).in_rows > capacity) --rows;
      if (rows == 0) return {};
    }
    tiles.push_back(row_tile(g, first, rows));
    first += rows;
  }
  return tiles;
}

int64_t group_of(const TilingProblem& p) {
  return p.depthwise ? kDepthwiseGroup : kKernelGroup;
}

// Bytes of the weights of `channels` output channels.
int64_t weight_bytes(const TilingProblem& p, int64_t channels) {
  return p.g.kernel_h * p.g.kernel_w *
         (p.depthwise ? std::min(p.in_channels, channels) : p.in_channels * channels);
}

struct Candidate {
  Tiling tiling;
  int64_t bytes = 0;  // moved from memory
  int64_t tasks = 0;
};

bool consider(const TilingProblem& problem, int64_t channels, int64_t weight_banks, bool resident,
              int64_t max_rows, Candidate& best) {
  if (weight_banks < 1 || weight_banks > kCbufBanks - spare_banks(problem) - 1) return false;
  TilingProblem p = problem;
  if (p.depthwise) p.in_channels = std::min(p.in_channels, channels);
  const int64_t data_banks = kCbufBanks - weight_banks;
  std::vector<RowTile> rows = cut_rows(p.g, rows_in_banks(p, data_banks), max_rows);
  if (rows.empty()) return false;
  const int64_t chunks = ceil_div(problem.out_channels, channels);
  const int64_t tiles = static_cast<int64_t>(rows.size());
  int64_t in_rows = 0;
  for (const RowTile& row : rows) in_rows += row.in_rows;
  const int64_t features = in_rows * row_bytes_moved(p) * chunks;
  const int64_t weights = weight_bytes(problem, problem.out_channels) * (resident ? 1 : tiles);
  Candidate candidate{
      {data_banks, weight_banks, resident, channels, std::move(rows)}, features + weights, chunks * tiles};
  const bool better = best.tasks == 0 || candidate.tasks < best.tasks ||
                      (candidate.tasks == best.tasks && candidate.bytes < best.bytes);
  if (better) best = std::move(candidate);
  return true;
}

}  // namespace

Result<Tiling> tile(const TilingProblem& p, const TileLimits& limits) {
  const int64_t group = group_of(p);
  int64_t channels = round_up(p.out_channels, group);
  if (limits.max_channels > 0)
    channels = std::min(channels, std::max(group, limits.max_channels / group * group));
  Candidate best;
  // All channels of the task at once: whole weights, or two groups at a time.
  consider(p, channels, ceil_div(weight_bytes(p, channels), kCbufBankBytes), true, limits.max_rows, best);
  if (!p.depthwise && channels > 2 * group)
    consider(p, channels, ceil_div(weight_bytes(p, 2 * group), kCbufBankBytes), false, limits.max_rows, best);
  // Too deep for that: fewer channels a task, whole weights.
  for (int64_t part = round_up(channels / 2, group); best.tasks == 0 && part >= group; part -= group)
    consider(p, part, ceil_div(weight_bytes(p, part), kCbufBankBytes), true, limits.max_rows, best);
  if (best.tasks == 0)
    return fail(ErrorCode::Unsupported,
                "a row of {} bytes with a {}x{} kernel over {} channels does not fit {} CBUF banks",
                row_bytes(p), p.g.kernel_h, p.g.kernel_w, p.in_channels, kCbufBanks);
  return std::move(best.tiling);
}

int64_t block_input_channels(const Geometry& g, int64_t channels) {
  const int64_t groups = std::min(g.groups, ceil_div(channels, g.out_c / g.groups) + 1);
  // The first may begin anywhere in an atom.
  return std::min(round_up(g.in_c, kAtomBytes),
                  round_up(groups * (g.in_c / g.groups) + kAtomBytes - 1, kAtomBytes));
}

}  // namespace peraxis::lower
