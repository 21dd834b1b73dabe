#include "random_moves.hpp"

#include "graph_builder.hpp"

namespace peraxis::property {
namespace {

int32_t convolution(Builder& b, int32_t from, int32_t outputs) {
  Layer l;
  l.kind = ir::OpKind::Conv2D;
  l.outputs = outputs;
  random_quantization(b, l);
  l.gain = 1;
  l.kernel_h = l.kernel_w = b.pick({1, 1, 3});
  l.attributes.padding = ir::Padding::Same;
  return b.layer(from, l);
}

// A tensor with the scale of another.
int32_t alike(Builder& b, int32_t from, std::vector<int32_t> shape) {
  const ir::QuantParams quant = b.graph().tensor(from).quant;
  return b.add_tensor(std::move(shape), quant.scale[0], quant.zero_point[0]);
}

int32_t resize(Builder& b, int32_t from) {
  std::vector<int32_t> shape = b.shape(from);
  const int32_t rows = b.pick({1, 2, 3, 4, 5, 6, 7, 8, 9, 12});
  const int32_t columns = b.rng().one_in(2) ? rows : b.pick({1, 2, 3, 4, 7, 8, 10});
  shape[1] *= rows;
  shape[2] *= columns;
  return b.op(ir::OpKind::ResizeNearestNeighbor, {from, b.constant({2}, {shape[1], shape[2]})},
              alike(b, from, shape), ir::ResizeAttributes{false, b.rng().one_in(2)});
}

int32_t moved(Builder& b, Move move, int32_t from) {
  switch (move) {
    case Move::Resize:
      return resize(b, from);
  }
  return from;
}

}  // namespace

const char* move_name(Move move) {
  switch (move) {
    case Move::Resize:
      return "Resize";
  }
  return "";
}

MoveCase random_move(uint64_t seed, Move move) {
  base::Rng choice(seed);
  Builder b(choice.next(), choice.one_in(3));
  MoveCase out;
  set_tiles(b, out.test);
  const std::vector<int32_t> shape{1, static_cast<int32_t>(b.rng().uniform(1, 6)),
                                   static_cast<int32_t>(b.rng().uniform(1, 7)), b.pick({1, 3, 16})};
  int32_t x = convolution(b, b.input(shape), b.pick({1, 2, 12, 16, 24, 33, 40}));
  const size_t first = b.graph().ops.size();
  x = moved(b, move, x);
  for (size_t op = first; op < b.graph().ops.size(); ++op) out.moves.push_back(op);
  b.graph().outputs.push_back(x);
  if (b.shape(x).size() == 4 && !b.rng().one_in(3)) {
    const std::vector<int32_t> made = b.shape(x);
    if (int64_t{made[0]} * made[1] * made[2] * made[3] < 20'000)
      b.graph().outputs.push_back(convolution(b, x, b.pick({4, 32})));
  }
  out.test = finish(b, seed, std::move(out.test));
  return out;
}

}  // namespace peraxis::property
