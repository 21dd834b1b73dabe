#include "kernels/cube/mover.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/cube/strided.hpp"
#include "kernels/fast/widen.hpp"

namespace peraxis::kernels::cube {
namespace {

constexpr uint8_t kTopBit = 0x80;
constexpr int64_t kMaxJoined = int64_t{1} << 20;  // places of the joined dimension: 16 bytes each
constexpr int64_t kWorthThreads = 65536;          // bytes
constexpr int64_t kChunk =
    256;  // pixels taken at a time for all runs, so that what they touch stays in cache

using Side = std::vector<int64_t> Dimension::*;
Dimension join(const Dimension& a, const Dimension& b) {
  Dimension out;
  for (const Side side : {&Dimension::from, &Dimension::to})
    for (const int64_t x : a.*side)
      for (const int64_t y : b.*side) (out.*side).push_back(x + y);
  return out;
}

// By dimension: whether its index changes the channel on `side`.
std::vector<bool> choosing(const std::vector<Dimension>& dimensions, Side side, const Layout& layout) {
  std::vector<bool> out;
  out.reserve(dimensions.size());
  for (const Dimension& d : dimensions)
    out.push_back(layout.cube() &&
                  std::ranges::any_of(d.*side, [&](int64_t place) { return place % layout.channels != 0; }));
  return out;
}

// The dimensions of `members` become one, which is put last. False when it is too large.
bool join_members(std::vector<Dimension>& dimensions, std::vector<bool>& members) {
  Dimension joined{{0}, {0}};
  std::vector<Dimension> rest;
  for (size_t i = 0; i < dimensions.size(); ++i) {
    if (!members[i]) {
      rest.push_back(std::move(dimensions[i]));
      continue;
    }
    if (static_cast<int64_t>(joined.from.size() * dimensions[i].from.size()) > kMaxJoined) return false;
    joined = join(joined, dimensions[i]);
  }
  rest.push_back(std::move(joined));
  dimensions = std::move(rest);
  return true;
}

int64_t channel_offset(const Layout& layout, int64_t channel) {
  const int64_t slot = layout.plain() ? channel : int64_t{layout.slot_of[static_cast<size_t>(channel)]};
  return slot_offset(slot, layout.pixels);
}

// Places become bytes, `base` is added; returns what is to be added once. Of a cube, `carrier` is the one
// dimension that chooses the channel; the others add whole pixels.
int64_t place_in_bytes(std::vector<Dimension>& dimensions, size_t carrier, Side side, const Layout& layout,
                       int64_t base) {
  if (!layout.cube()) return base;
  for (size_t i = 0; i < dimensions.size(); ++i)
    for (int64_t& place : dimensions[i].*side) {
      if (i == carrier) place += base;
      const int64_t pixel = place / layout.channels * kLanes;
      place = i == carrier ? pixel + channel_offset(layout, place % layout.channels) : pixel;
    }
  return 0;
}

// The step from one entry to the next, if it is the same everywhere.
std::optional<int64_t> step_of(const std::vector<int64_t>& places) {
  if (places.size() < 2) return 0;
  const int64_t step = places[1] - places[0];
  for (size_t i = 2; i < places.size(); ++i)
    if (places[i] - places[i - 1] != step) return std::nullopt;
  return step;
}

bool is_affine(const Dimension& d) {
  return step_of(d.from).has_value() && step_of(d.to).has_value();
}

struct Copy {
  uint8_t operator()(uint8_t byte) const { return byte; }
};
struct Flip {
  uint8_t operator()(uint8_t byte) const { return byte ^ kTopBit; }
};
struct LookUp {
  const ByteTable& table;
  uint8_t operator()(uint8_t byte) const { return table[byte]; }
};

template <int64_t kLength, class Change>
void copy_fixed(const Strided<const uint8_t>& from, const Strided<uint8_t>& to, int64_t count,
                Change change) {
  for (int64_t i = 0; i < count; ++i) {
    std::array<uint8_t, kLength> bytes;
    std::memcpy(bytes.data(), from.at(i), kLength);
    for (uint8_t& byte : bytes) byte = change(byte);
    std::memcpy(to.at(i), bytes.data(), kLength);
  }
}

template <class Change>
void copy_line(const uint8_t* from, uint8_t* to, int64_t length, Change change) {
  if constexpr (std::is_same_v<Change, Copy>) {
    std::memcpy(to, from, static_cast<size_t>(length));
  } else {
    for (int64_t i = 0; i < length; ++i) to[i] = change(from[i]);
  }
}

// `count` pieces of `length` bytes.
template <class Change>
void copy_pieces(const Strided<const uint8_t>& from, const Strided<uint8_t>& to, int64_t length,
                 int64_t count, Change change) {
  if (from.step == length && to.step == length) return copy_line(from.data, to.data, length * count, change);
  switch (length) {
    case 1:
      return copy_fixed<1>(from, to, count, change);
    case 2:
      return copy_fixed<2>(from, to, count, change);
    case 3:  // pictures
      return copy_fixed<3>(from, to, count, change);
    case 4:
      return copy_fixed<4>(from, to, count, change);
    case 8:
      return copy_fixed<8>(from, to, count, change);
    case kLanes:
      return copy_fixed<kLanes>(from, to, count, change);
    default:
      for (int64_t i = 0; i < count; ++i) copy_line(from.at(i), to.at(i), length, change);
  }
}

}  // namespace

Dimension strided(int64_t size, int64_t from_stride, int64_t to_stride) {
  Dimension out;
  for (int64_t i = 0; i < size; ++i) {
    out.from.push_back(i * from_stride);
    out.to.push_back(i * to_stride);
  }
  return out;
}

std::optional<Path> Path::make(const Move& move, const Layout& from, const Layout& to) {
  Path path;
  std::vector<Dimension> dimensions;
  for (const Dimension& d : move.dimensions)
    if (d.from.size() != 1 || d.from[0] != 0 || d.to[0] != 0) dimensions.push_back(d);
  std::vector<bool> of_from = choosing(dimensions, &Dimension::from, from);
  std::vector<bool> of_to = choosing(dimensions, &Dimension::to, to);
  bool shared = false;
  for (size_t i = 0; i < dimensions.size(); ++i) shared = shared || (of_from[i] && of_to[i]);
  if (shared)
    for (size_t i = 0; i < dimensions.size(); ++i) of_from[i] = of_to[i] = of_from[i] || of_to[i];
  // Carriers go last: first the source's, then, unless it is the same, the target's.
  std::vector<bool> others;  // of_to without the members of of_from
  for (size_t i = 0; i < dimensions.size(); ++i)
    if (!of_from[i]) others.push_back(of_to[i]);
  others.push_back(false);
  if (!join_members(dimensions, of_from)) return std::nullopt;
  size_t from_carrier = dimensions.size() - 1;
  if (!shared) {
    if (!join_members(dimensions, others)) return std::nullopt;
    from_carrier = dimensions.size() - 2;
  }
  path.from_ = place_in_bytes(dimensions, from_carrier, &Dimension::from, from, move.from);
  path.to_ = place_in_bytes(dimensions, dimensions.size() - 1, &Dimension::to, to, move.to);
  path.set_change(move, from, to);
  path.choose_runs(dimensions);
  path.choose_inner(dimensions);
  return path;
}

void Path::set_change(const Move& move, const Layout& from, const Layout& to) {
  const auto flip = [](const Layout& layout) {
    return layout.cube() && layout.flipped ? kTopBit : uint8_t{0};
  };
  const uint8_t before = flip(from), after = flip(to);
  if (!move.table) {
    change_ = before == after ? Change::None : Change::Flip;
    return;
  }
  change_ = Change::Table;
  for (size_t i = 0; i < table_.size(); ++i)
    table_[i] = static_cast<uint8_t>((*move.table)[i ^ before] ^ after);
}

// Takes out the dimension whose bytes lie together in the longest pieces.
void Path::choose_runs(std::vector<Dimension>& dimensions) {
  const auto pieces = [](const Dimension& d) {
    size_t count = 1;
    for (size_t i = 1; i < d.from.size(); ++i)
      if (d.from[i] != d.from[i - 1] + 1 || d.to[i] != d.to[i - 1] + 1) ++count;
    return count;
  };
  double longest = 1.0;
  auto best = dimensions.end();
  for (auto d = dimensions.begin(); d != dimensions.end(); ++d) {
    const double length = static_cast<double>(d->from.size()) / static_cast<double>(pieces(*d));
    if (length > longest || (longest == 1.0 && best == dimensions.end() && !is_affine(*d))) {
      longest = length;
      best = d;
    }
  }
  if (best == dimensions.end()) {
    runs_ = {{0, 0, 1}};
    return;
  }
  for (size_t i = 0; i < best->from.size(); ++i) {
    if (!runs_.empty() && best->from[i] == runs_.back().from + runs_.back().length &&
        best->to[i] == runs_.back().to + runs_.back().length)
      ++runs_.back().length;
    else
      runs_.push_back({best->from[i], best->to[i], 1});
  }
  dimensions.erase(best);
}

Path::Loop Path::loop_of(Dimension&& d) {
  Loop out{static_cast<int64_t>(d.from.size()), 0, 0, {}};
  const auto from_step = step_of(d.from), to_step = step_of(d.to);
  if (!from_step || !to_step || d.from[0] != 0 || d.to[0] != 0) {
    out.places = std::move(d);
    return out;
  }
  out.from_step = *from_step;
  out.to_step = *to_step;
  return out;
}

// Of what is left, the largest dimension of even steps, neighbours joined, is innermost.
void Path::choose_inner(std::vector<Dimension>& dimensions) {
  const auto even = [](const Loop& loop) { return loop.places.from.empty(); };
  for (Dimension& d : dimensions) {
    Loop next = loop_of(std::move(d));
    if (next.size == 1 && even(next)) continue;
    // All of a loop is one step of the loop before: they are one.
    if (!outer_.empty() && even(outer_.back()) && even(next) &&
        outer_.back().from_step == next.size * next.from_step &&
        outer_.back().to_step == next.size * next.to_step) {
      next.size *= outer_.back().size;
      outer_.back() = std::move(next);
    } else {
      outer_.push_back(std::move(next));
    }
  }
  auto inner = outer_.end();
  for (auto loop = outer_.begin(); loop != outer_.end(); ++loop)
    if (even(*loop) && (inner == outer_.end() || loop->size > inner->size)) inner = loop;
  if (inner == outer_.end()) return;
  count_ = inner->size;
  from_step_ = inner->from_step;
  to_step_ = inner->to_step;
  outer_.erase(inner);
}

void Path::run(const uint8_t* from, uint8_t* to, base::ThreadPool* pool) const {
  int64_t pieces = (count_ + kChunk - 1) / kChunk;
  for (const Loop& loop : outer_) pieces *= loop.size;
  int64_t bytes = 0;
  for (const Run& r : runs_) bytes += r.length;
  bytes *= pieces * std::min(count_, kChunk);
  fast::Rows(bytes < kWorthThreads ? nullptr : pool, pieces).run([&](int64_t first, int64_t last) {
    for (int64_t piece = first; piece < last; ++piece) run_piece(piece, from + from_, to + to_);
  });
}

void Path::run_piece(int64_t piece, const uint8_t* from, uint8_t* to) const {
  const int64_t chunks = (count_ + kChunk - 1) / kChunk;
  const int64_t first = piece % chunks * kChunk;
  const int64_t count = std::min(kChunk, count_ - first);
  int64_t rest = piece / chunks;
  for (size_t d = outer_.size(); d-- > 0;) {
    const Loop& loop = outer_[d];
    const int64_t index = rest % loop.size;
    rest /= loop.size;
    const bool even = loop.places.from.empty();
    from += even ? index * loop.from_step : loop.places.from[static_cast<size_t>(index)];
    to += even ? index * loop.to_step : loop.places.to[static_cast<size_t>(index)];
  }
  from += first * from_step_;
  to += first * to_step_;
  const auto all_runs = [&](auto change) {
    for (const Run& r : runs_)
      copy_pieces({from + r.from, from_step_}, {to + r.to, to_step_}, r.length, count, change);
  };
  if (change_ == Change::None)
    all_runs(Copy{});
  else if (change_ == Change::Flip)
    all_runs(Flip{});
  else
    all_runs(LookUp{table_});
}

void fill_spare(const OutputView& view) {
  const int64_t channels = view.layout.channels, pixels = view.layout.pixels;
  if (!view.layout.cube() || channels % kLanes == 0) return;
  std::memset(view.bytes.data() + slot_offset(channels / kLanes * kLanes, pixels), view.layout.spare,
              static_cast<size_t>(pixels * kLanes));
}

void fill_all(const OutputView& view, uint8_t stored) {
  const bool cube = view.layout.cube();
  const auto bytes = cube ? static_cast<size_t>(view.layout.bytes()) : view.bytes.size();
  std::memset(view.bytes.data(), cube && view.layout.flipped ? stored ^ kTopBit : stored, bytes);
}

}  // namespace peraxis::kernels::cube
