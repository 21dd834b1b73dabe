// Bytes from where elements are in one operand to where they belong in another, for every pair of layouts. A
// move is a box of indices; each dimension lists what an index adds to the place of the element in its
// tensor. Places become addresses dimension by dimension: those that choose the channel of a cube are joined
// into one, after which every dimension adds a fixed number of bytes and the walk is plain additions.
#pragma once

#include "kernels/cube/call.hpp"

namespace peraxis::kernels::cube {

// Counted in elements, none negative.
struct Dimension {
  std::vector<int64_t> from, to;
};
Dimension strided(int64_t size, int64_t from_stride, int64_t to_stride);

struct Move {
  size_t input = 0, output = 0;  // operands of the operator
  std::vector<Dimension> dimensions;
  int64_t from = 0, to = 0;        // added to every place
  std::optional<ByteTable> table;  // stored value to stored value; none: as it is
};

// A move between two layouts, ready to run.
class Path {
 public:
  // None when the joined dimension would list too many places.
  static std::optional<Path> make(const Move& move, const Layout& from, const Layout& to);
  void run(const uint8_t* from, uint8_t* to, base::ThreadPool* pool) const;

 private:
  // Bytes, neighbours on both sides.
  struct Run {
    int64_t from = 0, to = 0, length = 1;
  };
  enum class Change { None, Flip, Table };

  void set_change(const Move& move, const Layout& from, const Layout& to);
  void choose_runs(std::vector<Dimension>& dimensions);
  void choose_inner(std::vector<Dimension>& dimensions);
  void run_piece(int64_t piece, const uint8_t* from, uint8_t* to) const;

  // A dimension in bytes: even steps, or a list of places.
  struct Loop {
    int64_t size = 1, from_step = 0, to_step = 0;
    Dimension places;  // empty: even steps
  };
  static Loop loop_of(Dimension&& d);

  int64_t from_ = 0, to_ = 0;
  std::vector<Loop> outer_;
  std::vector<Run> runs_;
  int64_t count_ = 1, from_step_ = 0, to_step_ = 0;  // the innermost dimension: repeats each run
  Change change_ = Change::None;
  ByteTable table_{};
};

// Before the channels are written: all of the last surface when it has slots without a channel, or all of the
// output, becomes one stored byte.
void fill_spare(const OutputView& view);
void fill_all(const OutputView& view, uint8_t stored);

}  // namespace peraxis::kernels::cube
