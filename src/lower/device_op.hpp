// Operators other than convolutions that the NPU runs. Each has a file of its own; this is their list.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "ir/graph.hpp"
#include "lower/cube_layout.hpp"
#include "lower/memory_plan.hpp"
#include "requant/average.hpp"
#include "requant/element.hpp"
#include "requant/operator_certificate.hpp"
#include "target/rk3588/limits.hpp"
#include "target/rk3588/tasks.hpp"

namespace peraxis::lower {

// A cube [slots / 16][plane][16] in device memory; slot s is byte s % 16 of surface s / 16.
struct CubeAt {
  rk3588::SymbolicAddress address;
  int64_t plane = 0;  // atoms from one surface to the next
  int64_t slots = 0;  // multiple of 16
};

// What an operator's lowering adds to: tasks, and the memory that they need.
struct TaskList {
  MemoryPlan& memory;
  std::vector<rk3588::Task>& tasks;
};

// Where an operator's tasks read and write, and where they may have more: constants, scratch activations.
struct DevicePlaces {
  std::vector<CubeAt> inputs;  // of device_inputs
  CubeAt output;
  MemoryPlan& memory;
  std::vector<int64_t> first_slots;  // of a concatenation: where each input begins in the output
  std::vector<Layout> layouts = {};  // of the inputs, for ChannelOrder::Ordered and Stacked; empty: plain
};

// How the NPU runs an operator: found once, by the planner.
struct DeviceForm {
  std::string refusal;             // why it cannot, as a sentence; empty when it can
  requant::ElementParams element;  // of the element-wise operators: takes thousands of trials to find
  requant::OperatorCertificate certificate = {};  // what its outputs differ by from the reference's
  // Instead: the function of one value that it is (lower/table.hpp), and the activation that holds the
  // values.
  std::shared_ptr<const rk3588::LookUpTable> table = nullptr;
  int32_t table_input = -1;
  int32_t part_of = -1;  // the operator whose tasks compute this one too: its own output is nowhere
  std::vector<requant::AverageParams> averages = {};  // of averages: one a stage
  std::vector<requant::ElementParams> prelu = {};     // of PRELU: its tasks
  int64_t slot_group = rk3588::kAtomBytes;            // the tasks write whole groups of so many channels
  bool ppu = false;                                   // its task is one of the PPU
  bool ordered = false;                               // parts are copied, for their channels' order
};

// Parts of the chip that operators may use.
struct ChipBlocks {
  bool tables = true;  // the look-up table of the DPU, for what arithmetic does not express
  bool ppu = true;     // pooling
};

// What is asked of a form.
struct FormRequest {
  bool exact = false;  // only what is proved to equal the reference for every input
  ChipBlocks blocks = {};
  requant::SeenOperands seen = {};  // calibration: how often the operands' values were seen
};

// A form or a refusal; an error is neither, but a fault of this program.
Result<DeviceForm> device_form(const ir::Graph& graph, size_t op, const FormRequest& request);

// True of errors that say that the chip cannot: the operator runs elsewhere, for that reason. Others end what
// is being done.
constexpr bool is_refusal(ErrorCode code) {
  return code == ErrorCode::Unsupported || code == ErrorCode::InvalidArgument ||
         code == ErrorCode::InvalidModel;
}
// A form that says why there is none.
Result<DeviceForm> refused(Error error);

// The activations that the operator's tasks read, in order.
std::vector<int32_t> device_inputs(const ir::Graph& graph, size_t op, const DeviceForm& form);

// What becomes of channels that lie in slots of their own (program/layout.hpp).
enum class ChannelOrder : uint8_t {
  Plain,    // inputs must have channel c in slot c
  Kept,     // the output has every channel in the slot it has in the one input
  Parts,    // outputs are parts of the input, where it is
  Joined,   // the output has the inputs' slots, one input behind the other
  Flat,     // the output is one pixel: the input's pixels, where they are (flat_layout)
  Stacked,  // pixels of one input behind those of another: the slots that all inputs have, else in order
  Ordered,  // inputs in any slots, the output's channel c in slot c
};
ChannelOrder channel_order(const ir::Graph& graph, size_t op, const DeviceForm& form);
// Why the channels of the output are not in their order even when the inputs' are; else empty.
std::string misaligned(const ir::Graph& graph, size_t op, const DeviceForm& form);

// Where an operator's outputs would be parts of its input: makes it copy them in order, if it can.
bool order_by_tasks(const ir::Graph& graph, size_t op, DeviceForm& form);

// The operator's tasks; `form` is its device_form.
Result<std::vector<rk3588::Task>> lower_device_op(const ir::Graph& graph, size_t op, const DeviceForm& form,
                                                  const DevicePlaces& places);

// The channel of the last input that each output begins with, when outputs are parts of it that need no task;
// else empty.
std::vector<int64_t> device_views(const ir::Graph& graph, size_t op);

// What reports and docs/operators.md say of an operator on the NPU; stated beside the code that refuses.
struct DeviceText {
  const char* tasks = "";                 // "one of the PPU"
  const char* accuracy = "";              // against the reference kernel: "equal"
  std::string (*conditions)() = nullptr;  // when it can, with the limits; null: none of its own
};
inline constexpr const char* kCountedAccuracy =
    "at most 1, counted over all values or pairs of them and stated; `exact` wants a count of 0, "
    "`--max-mismatch` counts it";

// One operator kind, for the list in device_op.cpp.
struct DeviceOp {
  ir::OpKind kind;
  std::string (*refusal)(const ir::Graph& graph, size_t op);
  Result<std::vector<rk3588::Task>> (*lower)(const ir::Graph& graph, size_t op, const DeviceForm& form,
                                             const DevicePlaces& places);
  // Operators whose outputs are parts of their input: the channel each output begins with; no tasks then.
  std::vector<int64_t> (*views)(const ir::Graph& graph, size_t op) = nullptr;
  // Operators with arithmetic: what else is refused, and the parameters.
  Result<DeviceForm> (*form)(const ir::Graph& graph, size_t op, const FormRequest& request) = nullptr;
  DeviceText text = {};
  ChannelOrder order = ChannelOrder::Plain;  // unless it has views
  // Operators whose order depends on their shapes.
  ChannelOrder (*order_of)(const ir::Graph& graph, size_t op) = nullptr;
  // Operators with views whose tasks can make the output in order instead: why not this one.
  std::string (*ordered_refusal)(const ir::Graph& graph, size_t op) = nullptr;
};
extern const DeviceOp kMaxPool, kConcatenation, kResizeNearest, kSplit, kSplitV, kSlice, kStridedSlice, kAdd,
    kSub, kRelu, kLeakyRelu, kQuantize;
extern const DeviceOp kAveragePool, kMean, kMul, kMaximum, kMinimum, kPrelu, kReshape, kSqueeze, kExpandDims;

// Of an operator kind, convolutions too: each way in which the NPU may run it; empty when there is none.
std::vector<DeviceText> device_texts(ir::OpKind kind);
// What map_refusal asks of every activation, as a sentence.
std::string map_conditions();

// The activation as a map of one image with up to 8191 rows and columns in 8-bit values, or why not.
std::string map_refusal(const ir::Graph& graph, int32_t tensor);
// For operators that look at each pixel alone: up to four dimensions and any batch, of which the last are the
// channels. The pixels are rows of up to 4096 wherever they can be cut so, whatever the other dimensions are.
std::string pixels_refusal(const ir::Graph& graph, int32_t tensor);
ir::Nhwc pixel_map(const ir::Tensor& tensor);
// The layout of pixels of several inputs behind each other.
Layout stacked_layout(std::span<const Layout> layouts, int64_t channels);
// Both have the same type, scale and zero point.
bool same_quantization(const ir::Tensor& a, const ir::Tensor& b);
// Why parameters that differ from the reference for `differing` of `inputs` inputs, by up to `max`, are not
// used: off by 1 is allowed, with `exact` nothing. Empty when they are.
std::string difference_refusal(int64_t differing, int64_t inputs, int32_t max, bool exact);
// The values of the input and of every output mean the same, and all are pixels; or why not.
std::string moved_pixels_refusal(const ir::Graph& graph, size_t op, int32_t input);
// The first input and the output are maps whose values mean the same, or why not.
std::string moved_refusal(const ir::Graph& graph, size_t op);

}  // namespace peraxis::lower
