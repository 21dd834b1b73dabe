#include "lower/device_op.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "lower/pad.hpp"
#include "lower/table.hpp"
#include "requant/fused_sum.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::lower {
namespace {

constexpr std::array kDeviceOps = {&kMaxPool,    &kConcatenation, &kResizeNearest, &kSplit,   &kSplitV,
                                   &kSlice,      &kStridedSlice,  &kAdd,           &kRelu,    &kLeakyRelu,
                                   &kSub,        &kQuantize,      &kAveragePool,   &kMean,    &kMul,
                                   &kMaximum,    &kMinimum,       &kPrelu,         &kReshape, &kSqueeze,
                                   &kExpandDims, &kPad,           &kPadV2};

const DeviceOp* find(ir::OpKind kind) {
  for (const DeviceOp* op : kDeviceOps)
    if (op->kind == kind) return op;
  return nullptr;
}

constexpr int64_t kWidestRow = rk3588::kMaxLookUpWidth;  // of pixels in rows that may be cut anywhere

constexpr int64_t kMostImages = 256;

// Operators whose tasks look at one image, as if there were no other.
constexpr std::array kImageByImage = {&kMaxPool, &kAveragePool, &kMean, &kResizeNearest, &kPad, &kPadV2};

// Names of an image's own maps while no image has been chosen.
constexpr int32_t kInput = -2, kOutput = -3;

// The same tasks for every image, with the same constants and scratch memory; images lie one behind the other
// in each surface.
Result<std::vector<rk3588::Task>> lower_images(const DeviceOp& device, const ir::Graph& graph, size_t index,
                                               const DeviceForm& form, const DevicePlaces& places,
                                               int64_t images) {
  const ir::Op& op = graph.ops[index];
  const auto pixels = [&](int32_t t) {
    return graph.tensor(t).elements() / graph.tensor(t).shape.back() / images;
  };
  // Input and output may be parts of one allocation: names of their own tell which is which.
  DevicePlaces any{places.inputs, places.output, places.memory, places.first_slots, places.layouts};
  any.inputs[0].address = {kInput, 0};
  any.output.address = {kOutput, 0};
  const std::vector<rk3588::Task> one = PERAXIS_TRY(device.lower(graph, index, form, any));
  std::vector<rk3588::Task> tasks;
  for (int64_t i = 0; i < images; ++i) {
    const auto place = [&](rk3588::SymbolicAddress& at) {
      if (at.allocation != kInput && at.allocation != kOutput) return;
      const bool input = at.allocation == kInput;
      const rk3588::SymbolicAddress& base = input ? places.inputs[0].address : places.output.address;
      const int64_t image = i * pixels(input ? op.inputs[0] : op.outputs[0]) * rk3588::kAtomBytes;
      at = {base.allocation, base.offset + image + at.offset};
    };
    for (rk3588::Task task : one) {
      for_addresses(task, place);
      tasks.push_back(std::move(task));
    }
  }
  return tasks;
}

constexpr DeviceText kConvolutionText{"by strategy and size",
                                      "by strategy: each layer has its certificate; `exact`: equal", nullptr};

// plan/fused_sums.hpp
static_assert(requant::kMostSumDifference == 2);
constexpr DeviceText kFusedSumText{
    "none: the convolution before it writes the sum",
    "at most 2 from the two operators one after the other, stated for each layer, counted over all "
    "accumulators and operands; not with `exact`",
    [] {
      return std::string(
          "under `fast` and hw-multiply: a direct convolution whose output nothing else reads, in one set of "
          "channels; both operands of the output's shape; activation none or RELU; not with --no-fused-add");
    }};

}  // namespace

std::vector<DeviceText> device_texts(ir::OpKind kind) {
  if (ir::is_convolution_like(kind)) return {kConvolutionText};
  std::vector<DeviceText> out;
  if (const DeviceOp* device = find(kind)) out.push_back(device->text);
  if (kind == ir::OpKind::Add) out.push_back(kFusedSumText);
  if (is_table_operator(kind)) out.push_back(table_text());
  return out;
}

std::string map_conditions() {
  return fmt::format(
      "activations are int8 or uint8 with one scale a tensor, have four dimensions and up to {} rows and "
      "columns, {} channels and {} images, with tasks for each; element-wise operators, tables, "
      "concatenation, "
      "reshape and parts take any batch and one to four dimensions as well, as pixels in up to {} rows of up "
      "to {}",
      rk3588::kMaxCubeExtent, rk3588::kMaxCubeChannels, kMostImages, rk3588::kMaxCubeExtent, kWidestRow);
}

namespace {

std::string values_refusal(const ir::Tensor& t) {
  if (t.is_constant) return fmt::format("'{}' is a constant", t.name);
  if (t.type != ir::DataType::Int8 && t.type != ir::DataType::UInt8)
    return fmt::format("'{}' is {}, not int8 or uint8", t.name, ir::data_type_name(t.type));
  if (t.quant.scale.size() != 1) return fmt::format("'{}' has {} scales", t.name, t.quant.scale.size());
  return {};
}

}  // namespace

std::string map_refusal(const ir::Graph& graph, int32_t index) {
  const ir::Tensor& t = graph.tensor(index);
  if (std::string why = values_refusal(t); !why.empty()) return why;
  if (t.shape.size() != 4) return fmt::format("'{}' has {} dimensions, not 4", t.name, t.shape.size());
  const ir::Nhwc map = ir::nhwc(t);
  if (map.n > kMostImages)
    return fmt::format("'{}' has a batch of {}, tasks for up to {} are made", t.name, map.n, kMostImages);
  if (std::max(map.h, map.w) > rk3588::kMaxCubeExtent || map.c > rk3588::kMaxCubeChannels ||
      map.elements() == 0)
    return fmt::format("'{}' is {}x{}x{}, a cube has 1 to {} rows and columns and {} channels", t.name, map.h,
                       map.w, map.c, rk3588::kMaxCubeExtent, rk3588::kMaxCubeChannels);
  return {};
}

std::string pixels_refusal(const ir::Graph& graph, int32_t index) {
  const ir::Tensor& t = graph.tensor(index);
  if (std::string why = values_refusal(t); !why.empty()) return why;
  if (t.shape.empty() || t.shape.size() > 4)
    return fmt::format("'{}' has {} dimensions, not 1 to 4", t.name, t.shape.size());
  if (t.elements() == 0) return fmt::format("'{}' is empty", t.name);
  const ir::Nhwc map = pixel_map(t);
  if (std::max(map.h, map.w) > rk3588::kMaxCubeExtent || map.c > rk3588::kMaxCubeChannels)
    return fmt::format("'{}' is {}x{}x{}, a cube has 1 to {} rows and columns and {} channels", t.name, map.h,
                       map.w, map.c, rk3588::kMaxCubeExtent, rk3588::kMaxCubeChannels);
  return {};
}

ir::Nhwc pixel_map(const ir::Tensor& tensor) {
  const ir::Nhwc own = ir::nhwc(tensor);
  const int64_t pixels = own.n * own.h * own.w;
  if (own.n * own.h <= rk3588::kMaxCubeExtent && own.w <= kWidestRow) return {1, own.n * own.h, own.w, own.c};
  for (int64_t w = std::min(pixels, kWidestRow); w > 0 && pixels / w <= rk3588::kMaxCubeExtent; --w)
    if (pixels % w == 0) return {1, pixels / w, w, own.c};
  return {1, own.n * own.h, own.w, own.c};
}

Layout stacked_layout(std::span<const Layout> layouts, int64_t channels) {
  for (const Layout& layout : layouts)
    if (layout != layouts.front()) return plain_layout(channels);
  return layouts.empty() ? plain_layout(channels) : layouts.front();
}

std::string moved_pixels_refusal(const ir::Graph& graph, size_t index, int32_t input) {
  if (std::string why = pixels_refusal(graph, input); !why.empty()) return why;
  for (const int32_t t : graph.ops[index].outputs) {
    if (std::string why = pixels_refusal(graph, t); !why.empty()) return why;
    if (!same_quantization(graph.tensor(input), graph.tensor(t)))
      return fmt::format("'{}' has another scale than the input", graph.tensor(t).name);
  }
  return {};
}

bool same_quantization(const ir::Tensor& a, const ir::Tensor& b) {
  return a.type == b.type && a.quant.scale == b.quant.scale && a.quant.zero_point == b.quant.zero_point;
}

std::string difference_refusal(int64_t differing, int64_t inputs, int32_t max, bool exact) {
  const int32_t allowed = exact ? 0 : 1;
  if (max <= allowed) return {};
  return fmt::format(
      "{} of {} inputs would give another value than the reference, by up to {}; {} is allowed", differing,
      inputs, max, allowed);
}

std::string moved_refusal(const ir::Graph& graph, size_t index) {
  const int32_t input = graph.ops[index].inputs[0], output = graph.ops[index].outputs[0];
  for (const int32_t t : {input, output})
    if (std::string why = map_refusal(graph, t); !why.empty()) return why;
  return same_quantization(graph.tensor(input), graph.tensor(output))
             ? std::string()
             : "input and output have different scales";
}

Result<DeviceForm> refused(Error error) {
  if (!is_refusal(error.code)) return tl::make_unexpected(std::move(error));
  return DeviceForm{std::move(error.message), {}};
}

Result<DeviceForm> device_form(const ir::Graph& graph, size_t index, const FormRequest& request) {
  const ir::OpKind kind = graph.ops[index].kind;
  const DeviceOp* device = find(kind);
  DeviceForm form;
  if (device == nullptr)
    form.refusal = fmt::format("{} has no form on the NPU in this version", ir::op_name(kind));
  else
    form.refusal = device->refusal(graph, index);
  if (form.refusal.empty() && device->form != nullptr)
    form = PERAXIS_TRY(device->form(graph, index, request));
  if (form.refusal.empty() && form.ppu && !request.blocks.ppu)
    form.refusal = "its task is one of the PPU, which is left out";
  if (form.refusal.empty() || !is_table_operator(kind)) return form;
  const bool one = graph.ops[index].inputs.size() == 1;
  if (!request.blocks.tables) {
    if (one) form.refusal += "; look-up tables were not to be used";
    return form;
  }
  DeviceForm table = PERAXIS_TRY(table_form(graph, index));
  // Where there is another way, or a second operand, that way's refusal says more.
  return table.refusal.empty() || (device == nullptr && one) ? table : form;
}

std::vector<int32_t> device_inputs(const ir::Graph& graph, size_t index, const DeviceForm& form) {
  if (form.table != nullptr) return {form.table_input};
  std::vector<int32_t> inputs;
  for (const int32_t t : graph.ops[index].inputs)
    if (t != ir::kAbsent && !graph.tensor(t).is_constant) inputs.push_back(t);
  return inputs;
}

Result<std::vector<rk3588::Task>> lower_device_op(const ir::Graph& graph, size_t index,
                                                  const DeviceForm& form, const DevicePlaces& places) {
  if (form.table != nullptr) return look_up_task(graph, index, form, places);
  const DeviceOp* device = find(graph.ops[index].kind);
  if (device == nullptr) return fail(ErrorCode::Internal, "{} has no form on the NPU", graph.op_label(index));
  const ChannelOrder order = channel_order(graph, index, form);
  if (order == ChannelOrder::Parts || order == ChannelOrder::Flat) return std::vector<rk3588::Task>();
  const int64_t images = ir::nhwc(graph.tensor(graph.ops[index].inputs[0])).n;
  if (images > 1 && std::ranges::find(kImageByImage, device) != kImageByImage.end())
    return lower_images(*device, graph, index, form, places, images);
  return device->lower(graph, index, form, places);
}

ChannelOrder channel_order(const ir::Graph& graph, size_t index, const DeviceForm& form) {
  if (form.table != nullptr) return ChannelOrder::Kept;
  const DeviceOp* device = find(graph.ops[index].kind);
  if (device == nullptr) return ChannelOrder::Plain;
  if (form.ordered) return ChannelOrder::Ordered;
  if (device->views != nullptr && !device->views(graph, index).empty()) return ChannelOrder::Parts;
  return device->order_of != nullptr ? device->order_of(graph, index) : device->order;
}

std::string misaligned(const ir::Graph& graph, size_t index, const DeviceForm& form) {
  using rk3588::kAtomBytes;
  const ir::Op& op = graph.ops[index];
  switch (channel_order(graph, index, form)) {
    case ChannelOrder::Plain:
    case ChannelOrder::Kept:
    case ChannelOrder::Stacked:
    case ChannelOrder::Ordered:
      return {};
    case ChannelOrder::Flat: {
      const ir::Tensor& in = graph.tensor(op.inputs[0]);
      if (in.shape.back() == kAtomBytes) return {};
      return fmt::format("the {} channels of a pixel of '{}' do not follow those of the one before",
                         in.shape.back(), in.name);
    }
    case ChannelOrder::Parts: {
      const std::vector<int64_t> views = device_views(graph, index);
      for (size_t i = 0; i < views.size(); ++i)
        if (views[i] % kAtomBytes != 0)
          return fmt::format("'{}' begins at channel {}: no multiple of {}", graph.tensor(op.outputs[i]).name,
                             views[i], kAtomBytes);
      return {};
    }
    case ChannelOrder::Joined:
      for (size_t i = 0; i + 1 < op.inputs.size(); ++i) {
        const ir::Tensor& in = graph.tensor(op.inputs[i]);
        if (const int64_t c = in.shape.back(); c % kAtomBytes != 0)
          return fmt::format("'{}' has {} channels and others follow: no multiple of {}", in.name, c,
                             kAtomBytes);
      }
      return {};
  }
  return {};
}

bool order_by_tasks(const ir::Graph& graph, size_t index, DeviceForm& form) {
  const DeviceOp* device = find(graph.ops[index].kind);
  if (device == nullptr || device->ordered_refusal == nullptr ||
      !device->ordered_refusal(graph, index).empty())
    return false;
  form.ordered = true;
  form.slot_group = rk3588::kKernelGroup;
  return true;
}

std::vector<int64_t> device_views(const ir::Graph& graph, size_t index) {
  const DeviceOp* device = find(graph.ops[index].kind);
  return device == nullptr || device->views == nullptr ? std::vector<int64_t>() : device->views(graph, index);
}

}  // namespace peraxis::lower
