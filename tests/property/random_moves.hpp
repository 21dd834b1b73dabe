// Small networks around one operator that moves values: a convolution, the operator, and mostly something
// that reads its output.
#pragma once

#include "random_graphs.hpp"

namespace peraxis::property {

enum class Move : uint8_t {
  Resize,   // resize_nearest_neighbor by factors of 1 to 12, different in rows and columns
  Recut,    // reshapes that keep channels, element-wise operators on what they make
  Flatten,  // all pixels as one, before a fully connected layer
  Regroup,  // a pixel becomes several, or several one
  Stack,    // concatenation of pixels
  Pad,      // pad and padv2 of rows, columns and channels
  Window,   // strided slices in any dimensions
  Batch,    // several images: pools, averages and all of the above
};
inline constexpr Move kMoves[] = {Move::Resize, Move::Recut, Move::Flatten, Move::Regroup,
                                  Move::Stack,  Move::Pad,   Move::Window,  Move::Batch};
const char* move_name(Move move);

struct MoveCase {
  Case test;
  std::vector<size_t> moves;  // operators that must run on the NPU
};
MoveCase random_move(uint64_t seed, Move move);

}  // namespace peraxis::property
