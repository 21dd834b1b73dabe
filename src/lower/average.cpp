// AVERAGE_POOL_2D and MEAN over rows and columns: sums of windows in a depthwise task, whose requantization
// divides (requant/average.hpp); where a convolution cannot have the window, the PPU's average.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "ir/shape.hpp"
#include "lower/border_counts.hpp"
#include "lower/device_op.hpp"
#include "lower/repeat.hpp"
#include "lower/tiling.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::lower {
namespace {

using requant::AverageGoal;
using requant::AverageParams;

constexpr int64_t kPpuLargest = 16;  // window and stride (docs/hardware/ppu.md#the-program)
constexpr size_t kMostCounts = 10;   // different numbers of pixels at a border: those of a 7x7 window

// What an operator averages.
struct Averages {
  Windows windows;
  bool whole = false;   // one output pixel from the whole plane, without padding
  BorderCounts border;  // of pools: how many pixels their windows hold
  int32_t pad = 0;      // what padding holds: 0 adds nothing to a sum, the zero point is counted
  int64_t channels = 0;
  AverageGoal goal;

  // A window reaches beyond the map.
  bool padded() const {
    return windows.pad_top > 0 || windows.pad_left > 0 ||
           (windows.out_h - 1) * windows.stride_h + windows.kernel_h > windows.view_h ||
           (windows.out_w - 1) * windows.stride_w + windows.kernel_w > windows.view_w;
  }
};

std::string result_refusal(const ir::Graph& graph, const ir::Op& op) {
  if (std::string why = map_refusal(graph, op.inputs[0]); !why.empty()) return why;
  const ir::Tensor& in = graph.tensor(op.inputs[0]);
  const ir::Tensor& out = graph.tensor(op.outputs[0]);
  if (out.type != in.type)
    return fmt::format("'{}' is {}, the input {}", out.name, ir::data_type_name(out.type),
                       ir::data_type_name(in.type));
  if (out.quant.scale.size() != 1) return fmt::format("'{}' has {} scales", out.name, out.quant.scale.size());
  return {};
}

const ir::PoolAttributes& pool_of(const ir::Graph& graph, size_t index) {
  return *std::get_if<ir::PoolAttributes>(&graph.ops[index].attributes);
}

std::string pool_refusal(const ir::Graph& graph, size_t index) {
  const ir::Op& op = graph.ops[index];
  if (std::string why = result_refusal(graph, op); !why.empty()) return why;
  if (std::string why = map_refusal(graph, op.outputs[0]); !why.empty()) return why;
  const ir::PoolAttributes& a = pool_of(graph, index);
  if (!a.counts_padding) return {};
  const ir::Nhwc in = ir::nhwc(graph.tensor(op.inputs[0])), out = ir::nhwc(graph.tensor(op.outputs[0]));
  if (a.pads.top >= a.filter_h || a.pads.left >= a.filter_w ||
      (out.h - 1) * a.stride_h - a.pads.top >= in.h || (out.w - 1) * a.stride_w - a.pads.left >= in.w)
    return fmt::format("some windows of its {}x{} outputs hold padding alone", out.h, out.w);
  return {};
}

Averages pool_averages(const ir::Graph& graph, size_t index) {
  const ir::Op& op = graph.ops[index];
  const ir::PoolAttributes& a = pool_of(graph, index);
  const ir::Nhwc in = ir::nhwc(graph.tensor(op.inputs[0])), out = ir::nhwc(graph.tensor(op.outputs[0]));
  Averages averages;
  averages.channels = in.c;
  const bool only_map = !a.counts_padding || a.pads == ir::Pads{};
  averages.whole = only_map && out.h == 1 && out.w == 1 && a.filter_h - a.pads.top >= in.h &&
                   a.filter_w - a.pads.left >= in.w;
  averages.windows = {in.h, in.w, in.h, in.w};
  if (!averages.whole)
    averages.windows = {
        in.h,  in.w,  a.filter_h, a.filter_w, out.h == 1 ? 1 : a.stride_h, out.w == 1 ? 1 : a.stride_w,
        out.h, out.w, a.pads.top, a.pads.left};
  averages.border = border_counts(averages.windows);
  if (!only_map) {
    const ir::Tensor& input = graph.tensor(op.inputs[0]);
    const int64_t stored = input.quant.first_zero_point();
    averages.border.counts = {averages.windows.taps()};
    averages.pad = static_cast<int32_t>(input.type == ir::DataType::UInt8 ? stored - 128 : stored);
  }
  averages.goal =
      requant::pool_goal(graph.tensor(op.outputs[0]), a.activation, averages.border.counts.front());
  return averages;
}

std::string mean_refusal(const ir::Graph& graph, size_t index) {
  const ir::Op& op = graph.ops[index];
  if (std::string why = result_refusal(graph, op); !why.empty()) return why;
  const auto axes = ir::reduce_axes(graph, op);
  if (!axes) return axes.error().message;
  for (const int64_t axis : *axes)
    if (axis != 1 && axis != 2)
      return fmt::format("it averages over dimension {}; rows (1) and columns (2) are possible", axis);
  return {};
}

Averages mean_averages(const ir::Graph& graph, size_t index) {
  const ir::Op& op = graph.ops[index];
  const ir::Nhwc in = ir::nhwc(graph.tensor(op.inputs[0]));
  const auto axes = ir::reduce_axes(graph, op);
  const bool rows = std::ranges::find(*axes, 1) != axes->end();
  const bool columns = std::ranges::find(*axes, 2) != axes->end();
  Averages averages;
  averages.channels = in.c;
  averages.whole = (rows || in.h == 1) && (columns || in.w == 1);
  averages.windows = {in.h, in.w, rows ? in.h : 1, columns ? in.w : 1,
                      1,    1,    rows ? 1 : in.h, columns ? 1 : in.w};
  averages.goal =
      requant::mean_goal(graph.tensor(op.inputs[0]), graph.tensor(op.outputs[0]), averages.windows.taps());
  return averages;
}

// How far the reference itself is from the rounded mean: its first rounding, and what its multiplier lost.
double reference_distance(const AverageGoal& goal) {
  const double lost = std::ldexp(1.0, -20);
  return goal.two_roundings ? std::ldexp(0.5, goal.two_roundings->exponent) + lost : lost;
}

// Both stages are proved to round to the nearest; the mean of rounded means is then within spread / 2 input
// units of the mean, and outputs whose real values are less than 1 apart differ by at most 1.
//
// What differs of it is not counted, an output being a function of all sums of the first stage: the means are
// off by up to half a step each, as good as evenly, their mean by a normal deviation that many of them make
// small, and a threshold lies in between as often as that is large in output steps.
requant::OperatorCertificate staged_certificate(const AverageGoal& goal, double gain, int64_t means) {
  requant::OperatorCertificate out;
  const double deviation = gain / std::sqrt(12.0 * static_cast<double>(means));
  out.max = out.max_any_reading = 1;
  out.expected = std::min(1.0, std::sqrt(2 / std::numbers::pi) * deviation + reference_distance(goal) / 2);
  out.counted = out.every_reading = false;
  return out;
}

DeviceForm staged_form(const Averages& a, DeviceForm form) {
  const int64_t pixels = a.windows.view_h * a.windows.view_w;
  const double gain = a.goal.gain * static_cast<double>(pixels);
  const double most = 2 * (0.999 - reference_distance(a.goal)) / gain;
  const auto stages = two_stages(a.windows.view_h, a.windows.view_w, a.channels, most);
  if (!stages)
    return {fmt::format("{} pixels become one, and a mean of means with output steps of {:.3g} input steps "
                        "could be off by more than 1",
                        pixels, 1 / gain),
            {}};
  const int64_t taps = stages->first.taps();
  const AverageGoal first =
      requant::nearest_goal(taps, 1.0 / static_cast<double>(taps), a.goal.zero, a.goal.zero, -128, 127);
  const AverageGoal second =
      requant::nearest_goal(stages->second.taps(), a.goal.gain * static_cast<double>(taps), a.goal.zero,
                            a.goal.offset, a.goal.low, a.goal.high);
  for (const AverageGoal* goal : {&first, &second}) {
    const auto params = requant::average_parameters(*goal);
    if (!params || params->certificate.differing != 0)
      return {fmt::format("a mean of {} means of {} pixels has no exact parameters", second.count, taps), {}};
    form.averages.push_back(*params);
  }
  form.certificate = staged_certificate(a.goal, gain, stages->second.taps());
  return form;
}

DeviceForm averages_form(const Averages& a, bool exact) {
  DeviceForm form;
  form.slot_group = rk3588::kDepthwiseGroup;
  const auto one = a.whole ? one_window(a.windows.view_h, a.windows.view_w) : std::optional(a.windows);
  if (!one && !exact) return staged_form(a, std::move(form));
  if (!one)
    return {fmt::format("{} pixels become one: more than a task sums, and sums of sums are rounded",
                        a.windows.view_h * a.windows.view_w),
            {}};
  form.refusal = windows_refusal(*one, a.channels);
  if (!form.refusal.empty()) return form;
  const auto params = requant::average_parameters(a.goal);
  if (!params) return {"its activation range falls between the steps of the output converter", {}};
  const requant::Certificate& proved = params->certificate;
  if (proved.max > (exact ? 0 : 1))
    return {
        fmt::format("{} of {} sums would give another value than the reference, by up to {}; {} is allowed",
                    proved.differing, proved.values, proved.max, exact ? 0 : 1),
        {}};
  form.averages = {*params};
  form.certificate = requant::certify_average(a.goal, *params);
  return form;
}

// Windows of one number of pixels, which are a share of all.
void add_windows(const requant::OperatorCertificate& some, double share, requant::OperatorCertificate& all) {
  all.values += some.values;
  all.differing += some.differing;
  all.max = std::max(all.max, some.max);
  all.expected += share * some.expected;
  all.every_reading = all.every_reading && some.every_reading;
  all.max_any_reading = std::max(all.max_any_reading, some.max_any_reading);
}

// The share of windows that hold so many pixels of the map.
double share_of(const BorderCounts& border, int64_t count) {
  int64_t windows = 0;
  for (const int64_t row : border.rows)
    for (const int64_t column : border.columns) windows += row * column == count ? 1 : 0;
  return static_cast<double>(windows) / static_cast<double>(border.rows.size() * border.columns.size());
}

// Windows of several sizes: parameters for each of them.
DeviceForm bordered_form(const ir::Graph& graph, size_t index, const Averages& a, bool exact) {
  DeviceForm form;
  if (a.border.counts.size() > kMostCounts)
    form.refusal =
        fmt::format("windows at the border hold {} different numbers of pixels; up to {} are joined",
                    a.border.counts.size(), kMostCounts);
  if (form.refusal.empty()) form.refusal = windows_refusal(a.windows, a.channels);
  if (form.refusal.empty())
    form.refusal = constant_cube_refusal({1, a.windows.out_h, a.windows.out_w, a.channels});
  for (const int64_t count : a.border.counts) {
    if (!form.refusal.empty()) return form;
    const AverageGoal goal = requant::pool_goal(graph.tensor(graph.ops[index].outputs[0]),
                                                pool_of(graph, index).activation, count);
    const auto params = requant::average_parameters(goal);
    if (!params || params->certificate.max > (exact ? 0 : 1))
      form.refusal = fmt::format("a mean of {} pixels differs from the reference by up to {}; {} is allowed",
                                 count, params ? params->certificate.max : 255, exact ? 0 : 1);
    else
      form.averages.push_back(*params);
    if (form.refusal.empty())
      add_windows(requant::certify_average(goal, *params), share_of(a.border, count), form.certificate);
  }
  return form;
}

Result<DeviceForm> pool_form(const ir::Graph& graph, size_t index, const FormRequest& request) {
  const bool exact = request.exact;
  const Averages a = pool_averages(graph, index);
  if (a.border.counts.size() > 1) return bordered_form(graph, index, a, exact);
  DeviceForm form = averages_form(a, exact);
  if (form.refusal.empty()) return form;
  const Windows& w = a.windows;
  if (std::max({w.kernel_h, w.kernel_w, w.stride_h, w.stride_w}) > kPpuLargest) return form;
  if (a.padded() || a.goal.count != w.taps() || a.goal.low > -128 || a.goal.high < 127) return form;
  const requant::OperatorCertificate proved = requant::ppu_average(a.goal, w.kernel_w, w.kernel_h);
  if (proved.max > 1 || (exact && proved.differing > 0)) return form;
  form = {};
  form.ppu = true;
  form.certificate = proved;
  return form;
}

Result<DeviceForm> mean_form(const ir::Graph& graph, size_t index, const FormRequest& request) {
  return averages_form(mean_averages(graph, index), request.exact);
}

Result<std::vector<rk3588::Task>> lower_averages(const Averages& a, const DeviceForm& form,
                                                 const DevicePlaces& places) {
  std::vector<rk3588::Task> tasks;
  const TaskList list{places.memory, tasks};
  const CubeAt& in = places.inputs[0];
  if (form.averages.size() == 1) {
    const auto one = a.whole ? one_window(a.windows.view_h, a.windows.view_w) : std::optional(a.windows);
    PERAXIS_TRY(add_window_sums({*one, false, a.channels, a.pad, form.averages[0]}, in, places.output, list));
    return tasks;
  }
  const double gain = a.goal.gain * static_cast<double>(a.windows.view_h * a.windows.view_w);
  const auto stages = two_stages(a.windows.view_h, a.windows.view_w, a.channels,
                                 2 * (0.999 - reference_distance(a.goal)) / gain);
  const int64_t parts = stages->second.taps();
  const CubeAt partial{
      {places.memory.add_activation(parts * round_up(a.channels, rk3588::kDepthwiseGroup)), 0}, parts};
  PERAXIS_TRY(add_window_sums({stages->first, stages->bands, a.channels, a.goal.zero, form.averages[0]}, in,
                              partial, list));
  PERAXIS_TRY(add_window_sums({stages->second, false, a.channels, a.goal.zero, form.averages[1]}, partial,
                              places.output, list));
  return tasks;
}

Result<std::vector<rk3588::Task>> lower_pool(const ir::Graph& graph, size_t index, const DeviceForm& form,
                                             const DevicePlaces& places) {
  const Averages a = pool_averages(graph, index);
  if (a.border.counts.size() > 1) {
    std::vector<rk3588::Task> tasks;
    PERAXIS_TRY(add_bordered({a.windows, a.border, a.channels, form.averages}, places.inputs[0],
                             places.output, {places.memory, tasks}));
    return tasks;
  }
  if (!form.ppu) return lower_averages(a, form, places);
  rk3588::PoolTask task;
  task.average = true;
  task.in_width = a.windows.view_w;
  task.in_height = a.windows.view_h;
  task.out_width = a.windows.out_w;
  task.out_height = a.windows.out_h;
  task.channels = places.inputs[0].slots;
  task.kernel_width = a.windows.kernel_w;
  task.kernel_height = a.windows.kernel_h;
  task.stride_x = a.windows.stride_w;
  task.stride_y = a.windows.stride_h;
  task.input = places.inputs[0].address;
  task.in_plane = places.inputs[0].plane;
  task.output = places.output.address;
  task.out_plane = places.output.plane;
  return std::vector<rk3588::Task>{task};
}

Result<std::vector<rk3588::Task>> lower_mean(const ir::Graph& graph, size_t index, const DeviceForm& form,
                                             const DevicePlaces& places) {
  return lower_averages(mean_averages(graph, index), form, places);
}

constexpr const char* kTasks =
    "depthwise convolutions with equal weights, for a larger plane two stages: bands or windows, then one "
    "window over their means";
constexpr const char* kAccuracy =
    "compared for every sum a window can have: at most 1, mostly equal; of two stages at most 1, by the "
    "sizes of the roundings; "
    "`exact` wants one stage without a difference, `--max-mismatch` counts it";

std::string plane_conditions() {
  return fmt::format(
      "in one stage up to {} rows and columns, or as many pixels as make a rectangle of that size; in two "
      "the whole plane, input steps "
      "less than about 2 output steps",
      rk3588::kMaxKernel);
}
constexpr DeviceText kPoolText{
    "as `mean`; where a convolution cannot have the window one of the PPU",
    "as `mean`; the PPU at most 1, `exact` wants it equal (no ties, hence odd windows)", [] {
      return fmt::format(
          "windows without padding up to {0}x{0} (PPU {1}x{1}), or the whole plane as `mean`; activation "
          "none, RELU or one whose bounds "
          "are steps of the converter",
          rk3588::kMaxKernel, kPpuLargest);
    }};
constexpr DeviceText kMeanText{kTasks, kAccuracy,
                               [] { return "of rows, columns or both: " + plane_conditions(); }};

}  // namespace

const DeviceOp kAveragePool{
    ir::OpKind::AveragePool2D, pool_refusal, lower_pool, nullptr, pool_form, kPoolText};
const DeviceOp kMean{ir::OpKind::Mean, mean_refusal, lower_mean, nullptr, mean_form, kMeanText};

}  // namespace peraxis::lower
