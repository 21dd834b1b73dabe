// RESIZE_NEAREST_NEIGHBOR to a whole multiple of the size: un-pooling, one task a surface of 16 channels for
// each step. The form that was captured is 2 x 2, so powers of two are steps of it; other factors take one
// step with other numbers in the same fields.
#include <algorithm>
#include <optional>

#include "lower/device_op.hpp"
#include "lower/element_task.hpp"
#include "num/nearest.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::lower {
namespace {

using rk3588::kAtomBytes;

constexpr int64_t kWidestRow = 8191;  // of the output; its notch has 13 bits
constexpr int64_t kMostCopies = 8;    // of a pixel along an axis; the fields have 3 bits

struct Step {
  int64_t rows, columns;
};

// The largest number of copies a step can make of what is left of a factor; 1 when there is none.
int64_t largest_part(int64_t factor) {
  for (int64_t n = std::min(factor, kMostCopies); n > 1; --n)
    if (factor % n == 0) return n;
  return 1;
}

// None when a factor has a prime above 8.
std::optional<std::vector<Step>> steps_of(int64_t rows, int64_t columns) {
  std::vector<Step> steps;
  while (rows > 1 || columns > 1) {
    const bool even = rows % 2 == 0 && columns % 2 == 0;
    const Step step = even ? Step{2, 2} : Step{largest_part(rows), largest_part(columns)};
    if ((rows > 1 && step.rows == 1) || (columns > 1 && step.columns == 1)) return std::nullopt;
    steps.push_back(step);
    rows /= step.rows;
    columns /= step.columns;
  }
  return steps;
}

bool repeats(int64_t in, int64_t out, const ir::ResizeAttributes& a) {
  for (int64_t i = 0; i < out; ++i)
    if (num::nearest_index(i, in, out, a.align_corners, a.half_pixel_centers) != i / (out / in)) return false;
  return true;
}

std::string refusal(const ir::Graph& graph, size_t index) {
  if (std::string why = moved_refusal(graph, index); !why.empty()) return why;
  const ir::Op& op = graph.ops[index];
  const ir::Nhwc in = ir::nhwc(graph.tensor(op.inputs[0])), out = ir::nhwc(graph.tensor(op.outputs[0]));
  const auto* attributes = std::get_if<ir::ResizeAttributes>(&op.attributes);
  if (out.h % in.h != 0 || out.w % in.w != 0)
    return fmt::format("{}x{} becomes {}x{}: no whole multiple", in.h, in.w, out.h, out.w);
  const auto steps = steps_of(out.h / in.h, out.w / in.w);
  if (!steps)
    return fmt::format("{}x{} becomes {}x{}: a factor has a prime above {}", in.h, in.w, out.h, out.w,
                       kMostCopies);
  if (!repeats(in.h, out.h, *attributes) || !repeats(in.w, out.w, *attributes))
    return attributes->align_corners ? "align_corners: pixels are not repeated evenly"
                                     : "float32 positions do not repeat its pixels evenly";
  int64_t width = in.w;
  for (const Step& step : *steps) {
    width *= step.columns;
    const int64_t notch = width * std::max<int64_t>(1, step.rows - 1);
    if (notch > kWidestRow)
      return fmt::format("rows of {} pixels in {} copies: a step of {} rows has up to {} pixels", width,
                         step.rows, step.rows, kWidestRow / std::max<int64_t>(1, step.rows - 1));
  }
  return {};
}

void add_step(const Step& step, int64_t width, int64_t height, const CubeAt& from, const CubeAt& to,
              std::vector<rk3588::Task>& tasks) {
  for (int64_t s = 0; s < from.slots / kAtomBytes; ++s) {
    rk3588::UpsampleTask task;
    task.width = width;
    task.height = height;
    task.rows = step.rows;
    task.columns = step.columns;
    task.input = {from.address.allocation, from.address.offset + s * from.plane * kAtomBytes};
    task.output = {to.address.allocation, to.address.offset + s * to.plane * kAtomBytes};
    tasks.emplace_back(task);
  }
}

Result<std::vector<rk3588::Task>> lower(const ir::Graph& graph, size_t index, const DeviceForm&,
                                        const DevicePlaces& places) {
  const ir::Op& op = graph.ops[index];
  const ir::Nhwc in = ir::nhwc(graph.tensor(op.inputs[0])), out = ir::nhwc(graph.tensor(op.outputs[0]));
  const auto steps = steps_of(out.h / in.h, out.w / in.w);
  CubeAt from = places.inputs[0];
  std::vector<rk3588::Task> tasks;
  if (steps->empty()) {  // the size it has
    rk3588::ElementTask copy = element_task({}, in, from, places.output, {});
    copy.channels = from.slots;
    return std::vector<rk3588::Task>{copy};
  }
  int64_t width = in.w, height = in.h;
  for (const Step& step : *steps) {
    CubeAt to = places.output;
    const int64_t plane = width * step.columns * height * step.rows;
    if (&step != &steps->back())
      to = {{places.memory.add_activation(plane * from.slots), 0}, plane, from.slots};
    add_step(step, width, height, from, to, tasks);
    width *= step.columns;
    height *= step.rows;
    from = {to.address, to.plane, from.slots};
  }
  return tasks;
}

}  // namespace

const DeviceOp kResizeNearest{
    ir::OpKind::ResizeNearestNeighbor,
    refusal,
    lower,
    nullptr,
    nullptr,
    {"one for 16 channels, for powers of two as many times as there are twos", "equal",
     [] {
       return fmt::format(
           "to whole multiples without a prime factor above {} that repeat pixels evenly; rows of up to {} "
           "pixels, fewer where a step makes more than 2 copies of a row",
           kMostCopies, kWidestRow);
     }},
    ChannelOrder::Kept};

}  // namespace peraxis::lower
