// RESIZE_BILINEAR: int8 and int16 in 10-bit fixed point, uint8 and float32 in float32, each in LiteRT's order
// of operations.
#include <algorithm>
#include <cmath>

#include "kernels/elements.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {
namespace {

// Two neighbours along one axis and how far the second counts.
template <class Fraction>
struct Position {
  int64_t first, second;
  Fraction fraction;
};

// In units of 1/1024; the fraction may be negative at the border.
std::vector<Position<int64_t>> fixed_positions(int64_t in, int64_t out, const ir::ResizeAttributes& a) {
  const bool align = a.align_corners && out > 1;
  const int64_t step = align ? (1024 * (in - 1) + (out - 1) / 2) / (out - 1) : (1024 * in + out / 2) / out;
  std::vector<Position<int64_t>> positions;
  for (int64_t i = 0; i < out; ++i) {
    const int64_t at = i * step + (a.half_pixel_centers ? step / 2 - 512 : 0);
    const int64_t first = std::max<int64_t>(at / 1024, 0);
    const int64_t second = std::min((at + 1023) / 1024, in - 1);
    positions.push_back({std::min(first, in - 1), second, at - 1024 * first});
  }
  return positions;
}

std::vector<Position<float>> float_positions(int64_t in, int64_t out, const ir::ResizeAttributes& a) {
  const bool align = a.align_corners && out > 1;
  const float step = align ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                           : static_cast<float>(in) / static_cast<float>(out);
  std::vector<Position<float>> positions;
  for (int64_t i = 0; i < out; ++i) {
    const auto index = static_cast<float>(i);
    const float scaled = (a.half_pixel_centers ? index + 0.5F : index) * step;
    const float at = a.half_pixel_centers ? scaled - 0.5F : scaled;
    const auto first = std::max<int64_t>(static_cast<int64_t>(std::floor(at)), 0);
    const auto second = std::min<int64_t>(static_cast<int64_t>(std::ceil(at)), in - 1);
    positions.push_back({std::min(first, in - 1), second, at - static_cast<float>(first)});
  }
  return positions;
}

int64_t blend(const int64_t (&corner)[4], int64_t dy, int64_t dx) {
  const int64_t sum = corner[0] * (1024 - dy) * (1024 - dx) + corner[1] * dy * (1024 - dx) +
                      corner[2] * (1024 - dy) * dx + corner[3] * dy * dx;
  constexpr int64_t kOne = int64_t{1} << 20;
  return (sum + (sum > 0 ? kOne / 2 : -kOne / 2)) / kOne;
}

float blend(const float (&corner)[4], float dy, float dx) {
  return ((corner[0] * (1 - dy)) * (1 - dx) + (corner[1] * dy) * (1 - dx)) + (corner[2] * (1 - dy)) * dx +
         (corner[3] * dy) * dx;
}

template <class T, class Number>
void resize(const Context& context, const std::vector<Position<Number>>& rows,
            const std::vector<Position<Number>>& cols) {
  const ir::Nhwc in = ir::nhwc(context.input(0));
  const Reader<T> source(context.inputs[0]);
  const Writer<T> out(context.outputs[0]);
  int64_t at = 0;
  for (int64_t n = 0; n < in.n; ++n) {
    for (const Position<Number>& row : rows) {
      for (const Position<Number>& col : cols) {
        for (int64_t c = 0; c < in.c; ++c) {
          const auto value = [&](int64_t y, int64_t x) {
            return static_cast<Number>(source[((n * in.h + y) * in.w + x) * in.c + c]);
          };
          const Number corner[4] = {value(row.first, col.first), value(row.second, col.first),
                                    value(row.first, col.second), value(row.second, col.second)};
          const Number blended = blend(corner, row.fraction, col.fraction);
          if constexpr (std::is_same_v<T, uint8_t>) {
            out.set(at++, static_cast<uint8_t>(blended + 0.5F));
          } else {
            out.set(at++, static_cast<T>(blended));
          }
        }
      }
    }
  }
}

}  // namespace

Status resize_bilinear(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const auto* a = PERAXIS_TRY(attributes<ir::ResizeAttributes>(context));
  const ir::Nhwc in = ir::nhwc(context.input(0));
  const ir::Nhwc out = ir::nhwc(context.output());
  return with_type<float, uint8_t, int8_t, int16_t>(
      context, context.output(), [&]<class T>(std::type_identity<T>) -> Status {
        if constexpr (std::is_same_v<T, float> || std::is_same_v<T, uint8_t>) {
          resize<T, float>(context, float_positions(in.h, out.h, *a), float_positions(in.w, out.w, *a));
        } else {
          resize<T, int64_t>(context, fixed_positions(in.h, out.h, *a), fixed_positions(in.w, out.w, *a));
        }
        return {};
      });
}

}  // namespace peraxis::kernels::reference
