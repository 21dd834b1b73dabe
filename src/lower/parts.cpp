#include "lower/parts.hpp"

#include <algorithm>

#include "target/rk3588/limits.hpp"

namespace peraxis::lower {
namespace {

using namespace rk3588;

bool fields_hold(const Geometry& g) {
  return std::max(g.stride_h, g.stride_w) <= kMaxStride && g.dilation_h <= kMaxDilation &&
         g.in_w <= kMaxInputExtent && g.out_w <= kMaxOutputWidth;
}

Result<Parts> cut_images(const TilingProblem& p, const TileLimits& limits) {
  TilingProblem one = p;
  one.g.batch = 1;
  Parts out{PERAXIS_TRY(tile(one, limits)), 0, p.g.in_rows() * p.g.in_w, p.g.out_rows() * p.g.out_w, {}};
  for (int64_t image = 0; image < p.g.batch; ++image)
    out.parts.push_back({one.g, image * p.g.in_h * p.g.in_w, image * p.g.out_h * p.g.out_w, image * p.g.out_h,
                         out.tiling.rows});
  return out;
}

// `columns` outputs of a row from input lines that are already apart by the dilation.
Geometry of_lines(const Geometry& g, int64_t lines, int64_t in_w, int64_t columns) {
  Geometry part = g;
  part.batch = 1;
  part.in_h = lines;
  part.in_w = in_w;
  part.out_h = 1;
  part.out_w = columns;
  part.stride_h = part.dilation_h = 1;
  if (columns == 1) part.stride_w = 1;
  part.pad_top = part.pad_left = 0;
  return part;
}

// Part of output row `y` of an image, columns [x, x + columns).
Part part_at(const Geometry& g, int64_t y, int64_t x, int64_t columns) {
  const int64_t top = y * g.stride_h - g.pad_top, left = x * g.stride_w - g.pad_left;
  // Taps [first, last) have a row of the input.
  const int64_t first = top >= 0 ? 0 : ceil_div(-top, g.dilation_h);
  const int64_t last = std::min(g.kernel_h, ceil_div(g.in_h - top, g.dilation_h));
  const int64_t begin = std::max<int64_t>(left, 0);
  const int64_t end = std::min(g.in_w, left + (columns - 1) * g.stride_w + g.span_w());
  Part part{of_lines(g, last - first, end - begin, columns),
            (top + first * g.dilation_h) * g.in_w + begin,
            y * g.out_w + x,
            y,
            {}};
  part.g.pad_top = first;
  part.g.pad_left = begin - left;
  part.rows = {{0, 1, 0, last - first, first}};
  return part;
}

// Rows of outputs, in `columns` at a time.
Result<Parts> cut_lines(const TilingProblem& p, const TileLimits& limits, int64_t columns) {
  const Geometry& g = p.g;
  TilingProblem largest = p;
  largest.g = of_lines(g, std::min(g.kernel_h, g.in_h),
                       std::min(g.in_w, (columns - 1) * g.stride_w + g.span_w()), columns);
  std::vector<Part> parts;
  for (int64_t image = 0; image < g.batch; ++image)
    for (int64_t y = 0; y < g.out_h; ++y)
      for (int64_t x = 0; x < g.out_w; x += columns) {
        Part part = part_at(g, y, x, std::min(columns, g.out_w - x));
        if (part.g.in_h < 1 || part.g.in_w < 1 || part.g.pad_top > kMaxPad)
          return fail(ErrorCode::Unsupported, "row {} of the output has a window of padding alone", y);
        largest.narrow = largest.narrow || part.g.in_w == 1;
        part.in_first += image * g.in_h * g.in_w;
        part.out_first += image * g.out_h * g.out_w;
        part.first_row += image * g.out_h;
        parts.push_back(std::move(part));
      }
  return Parts{PERAXIS_TRY(tile(largest, limits)), g.dilation_h * g.in_w, g.in_rows() * g.in_w,
               g.out_rows() * g.out_w, std::move(parts)};
}

// A convolution of one tap: copies by `shift` pixels, with the input's zero point before them.
Geometry shifted_copy(Geometry g, int64_t slots) {
  g.depthwise = true;
  g.groups = 1;
  g.in_c = g.out_c = slots;
  g.kernel_h = g.kernel_w = g.stride_h = g.stride_w = g.dilation_h = g.dilation_w = 1;
  g.insert_h = g.insert_w = 1;
  g.pad_top = g.pad_left = 0;
  g.out_h = g.in_h;
  g.out_w = g.in_w;
  return g;
}

}  // namespace

Result<Parts> cut(const TilingProblem& p, const TileLimits& limits) {
  if (p.packed > 0) return cut_images(p, limits);
  if (fields_hold(p.g) || p.g.inserts()) {
    Result<Parts> images = cut_images(p, limits);
    if (images || p.g.inserts()) return images;
  }
  // As many columns as fit.
  int64_t columns = p.g.stride_w > kMaxStride ? 1 : std::min(p.g.out_w, kMaxOutputWidth);
  while (columns > 1 && (columns - 1) * p.g.stride_w + p.g.span_w() > kMaxInputExtent)
    columns = ceil_div(columns, 2);
  for (;; columns = ceil_div(columns, 2)) {
    Result<Parts> lines = cut_lines(p, limits, columns);
    if (lines || columns == 1) return lines;
  }
}

bool cuts_into_windows(const Geometry& g, int64_t in_slots) {
  return g.stride_w > kMaxStride && in_slots == kAtomBytes && !g.depthwise && g.groups == 1 && !g.inserts() &&
         g.pad_top == 0 && g.pad_left == 0 && (g.out_h - 1) * g.stride_h + g.span_h() <= g.in_h &&
         (g.out_w - 1) * g.stride_w + g.span_w() <= g.in_w;
}

Result<Parts> cut_windows(const TilingProblem& p, const TileLimits& limits) {
  const Geometry& g = p.g;
  TilingProblem row = p;
  row.g = of_lines(g, g.out_w, g.span_w(), 1);
  row.g.out_h = g.out_w;
  row.g.kernel_h = 1;
  Parts out{PERAXIS_TRY(tile(row, limits)), g.stride_w, g.dilation_h * g.in_w, g.out_rows() * g.out_w, {}};
  for (int64_t image = 0; image < g.batch; ++image)
    for (int64_t y = 0; y < g.out_h; ++y)
      out.parts.push_back({row.g, (image * g.in_h + y * g.stride_h) * g.in_w, (image * g.out_h + y) * g.out_w,
                           image * g.out_h + y, out.tiling.rows});
  return out;
}

bool cuts_into_images(const Geometry& g) {
  return fields_hold(g) && !g.inserts() && !margin_of(g).any();
}

Margin margin_of(const Geometry& g) {
  const int64_t most = g.inserts() ? kMaxInsertingPad : kMaxPad;
  return {ceil_div(std::max<int64_t>(0, g.pad_top - most), g.insert_h),
          ceil_div(std::max<int64_t>(0, g.pad_left - most), g.insert_w)};
}

Geometry with_margin(const Geometry& geometry, const Margin& margin) {
  Geometry g = geometry;
  g.in_h += margin.top;
  g.in_w += margin.left;
  g.pad_top -= margin.top * g.insert_h;
  g.pad_left -= margin.left * g.insert_w;
  return g;
}

std::vector<Geometry> margin_copies(const Geometry& g, const Margin& margin, int64_t slots) {
  std::vector<Geometry> copies;
  Geometry copy = shifted_copy(g, slots);
  if (margin.left > 0) {
    copy.kernel_w = kMaxPad + 1;
    copy.pad_left = kMaxPad;
    copy.out_w += margin.left;
    copies.push_back(copy);
    copy = shifted_copy(copy, slots);
    copy.in_w = copy.out_w = g.in_w + margin.left;
  }
  if (margin.top > 0) {
    copy.kernel_h = kMaxPad + 1;
    copy.pad_top = kMaxPad;
    copy.out_h += margin.top;
    copies.push_back(copy);
  }
  return copies;
}

bool fits_cbuf(const Geometry& geometry) {
  const auto fits = [](const TilingProblem& problem) { return cut(problem, {}).has_value(); };
  const Margin margin = margin_of(geometry);
  const int64_t slots = round_up(geometry.in_c, kAtomBytes);
  for (const Geometry& copy : margin_copies(geometry, margin, slots))
    if (!fits({copy, slots, round_up(slots, kDepthwiseGroup), true})) return false;
  const Geometry g = with_margin(geometry, margin);
  if (g.groups > 1) return fits({g, block_input_channels(g, kKernelGroup), kKernelGroup, false});
  if (!g.depthwise) return fits({g, slots, round_up(g.out_c, kKernelGroup), false});
  // `exact` runs depthwise as direct convolutions of 32 channels.
  return fits({g, slots, round_up(g.out_c, kDepthwiseGroup), true}) &&
         fits({g, std::min(slots, kKernelGroup), 2 * kKernelGroup, false});
}

}  // namespace peraxis::lower
