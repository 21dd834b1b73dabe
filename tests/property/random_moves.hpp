// Small networks around one operator that moves values: a convolution, the operator, and mostly something
// that reads its output.
#pragma once

#include "random_graphs.hpp"

namespace peraxis::property {

enum class Move : uint8_t {
  Resize,  // resize_nearest_neighbor by factors of 1 to 9, different in rows and columns
};
inline constexpr Move kMoves[] = {Move::Resize};
const char* move_name(Move move);

struct MoveCase {
  Case test;
  std::vector<size_t> moves;  // operators that must run on the NPU
};
MoveCase random_move(uint64_t seed, Move move);

}  // namespace peraxis::property
