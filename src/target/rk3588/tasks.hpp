// Tasks without a convolution, in the chip's own terms, and what a task can be (task_kinds.def). Beside each
// stand its fields by name, the memory it reaches and the bytes it moves. Sizes are real sizes; planes
// and pitches count atoms (16 bytes: one pixel of 16 channels).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>

#include "target/rk3588/conv_task.hpp"
#include "target/rk3588/look_up.hpp"

namespace peraxis::rk3588 {

// Command words of a task of the DPU alone, as emit/ writes it.
inline constexpr int64_t kFlyingWords = 74;

// PPU: every output is the maximum of a window, where padded positions never win
// (docs/hardware/ppu.md#maximum-and-minimum), or the average of a window without padding
// (docs/hardware/ppu.md#average).
struct PoolTask {
  bool average = false;
  int64_t in_width = 0, in_height = 0;
  int64_t out_width = 0, out_height = 0;
  int64_t channels = 0;                                                     // multiple of 16
  int64_t kernel_width = 1, kernel_height = 1, stride_x = 1, stride_y = 1;  // 1..16
  int64_t pad_left = 0, pad_top = 0, pad_right = 0, pad_bottom = 0;         // 0..7, less than the window
  SymbolicAddress input, output;
  int64_t in_plane = 0, out_plane = 0;  // from one surface to the next
  bool operator==(const PoolTask&) const = default;
};
template <class Visit, base::Is<PoolTask> T>
void visit_fields(Visit&& visit, T& x) {
  visit("average", x.average);
  visit("in_width", x.in_width);
  visit("in_height", x.in_height);
  visit("out_width", x.out_width);
  visit("out_height", x.out_height);
  visit("channels", x.channels);
  visit("kernel_width", x.kernel_width);
  visit("kernel_height", x.kernel_height);
  visit("stride_x", x.stride_x);
  visit("stride_y", x.stride_y);
  visit("pad_left", x.pad_left);
  visit("pad_top", x.pad_top);
  visit("pad_right", x.pad_right);
  visit("pad_bottom", x.pad_bottom);
  visit("input", x.input);
  visit("output", x.output);
  visit("in_plane", x.in_plane);
  visit("out_plane", x.out_plane);
}
inline std::vector<Reach> reach(const PoolTask& t) {
  const int64_t surfaces = t.channels / kAtomBytes;
  return {maps(t.input, surfaces, t.in_plane, t.in_width * t.in_height),
          written(maps(t.output, surfaces, t.out_plane, t.out_width * t.out_height))};
}
inline constexpr int64_t kPoolWords = 30;
inline int64_t bytes_moved(const PoolTask& t) {
  return (t.in_width * t.in_height + t.out_width * t.out_height) * t.channels + kPoolWords * kWordBytes;
}

// DPU alone: y = sat8(round((v + w) * out_scale / 2^out_shift) + out_offset) with
//   v = (a + addend) * factor + constant      a: the main tensor
//   w = (e + operand_offset) * operand_factor e: a second tensor of the same shape, when there is one
// or v * w, or the larger or smaller of both;
// where v, with a prelu_factor, becomes round_half_even(v * prelu_factor / 2^prelu_shift) when it is
// negative, and, with `relu`, negative sums become 0. Without scaling (factor 1, out_scale 1, ...) a copy.
// With a table (and then neither prelu_factor nor operand) v becomes the table at v * 128 + 64 (look_up.hpp).
struct ElementTask {
  struct Operand {
    SymbolicAddress address;
    int64_t plane = 0;
    int32_t offset = 0;
    int32_t factor = 1;  // -32768..32767; the converter does not shift
    enum class Combine : uint8_t { Add, Multiply, Maximum, Minimum } combine = Combine::Add;
    bool operator==(const Operand&) const = default;
  };

  int64_t width = 0, height = 0, channels = 0;  // channels: multiple of 16
  SymbolicAddress input, output;
  int64_t in_plane = 0, out_plane = 0;
  int32_t addend = 0;
  int32_t factor = 1;       // -32768..32767
  int32_t constant = 0;     // not together with a prelu_factor
  bool relu_first = false;  // negative v become 0
  std::optional<Operand> operand;
  int32_t prelu_factor = 0, prelu_shift = 0;  // factor 0: none
  bool relu = false;
  // The chip must hold it: a TableTask of the same job has loaded it, and none another one since.
  std::shared_ptr<const LookUpTable> table;
  int32_t out_scale = 1, out_shift = 0, out_offset = 0;
  bool operator==(const ElementTask&) const = default;  // the same table object, not an equal one
};
template <class Visit, base::Is<ElementTask::Operand> T>
void visit_fields(Visit&& visit, T& x) {
  visit("address", x.address);
  visit("plane", x.plane);
  visit("offset", x.offset);
  visit("factor", x.factor);
  visit("combine", x.combine);
}
template <class Visit, base::Is<ElementTask> T>
void visit_fields(Visit&& visit, T& x) {
  visit("width", x.width);
  visit("height", x.height);
  visit("channels", x.channels);
  visit("input", x.input);
  visit("output", x.output);
  visit("in_plane", x.in_plane);
  visit("out_plane", x.out_plane);
  visit("addend", x.addend);
  visit("factor", x.factor);
  visit("constant", x.constant);
  visit("relu_first", x.relu_first);
  visit("operand", x.operand);
  visit("prelu_factor", x.prelu_factor);
  visit("prelu_shift", x.prelu_shift);
  visit("relu", x.relu);
  visit("table", x.table);
  visit("out_scale", x.out_scale);
  visit("out_shift", x.out_shift);
  visit("out_offset", x.out_offset);
}
inline std::vector<Reach> reach(const ElementTask& t) {
  const int64_t surfaces = t.channels / kAtomBytes, pixels = t.width * t.height;
  std::vector<Reach> out{maps(t.input, surfaces, t.in_plane, pixels),
                         written(maps(t.output, surfaces, t.out_plane, pixels))};
  if (t.operand) out.push_back(maps(t.operand->address, surfaces, t.operand->plane, pixels));
  return out;
}
inline int64_t bytes_moved(const ElementTask& t) {
  return t.width * t.height * t.channels * (t.operand ? 3 : 2) + kFlyingWords * kWordBytes;
}

// Loads the look-up table. As in vendor streams the task that carries the entries copies one atom; here from
// the input of the task that will use the table to where that one's output begins.
struct TableTask {
  std::shared_ptr<const LookUpTable> table;
  SymbolicAddress input, output;
  bool operator==(const TableTask&) const = default;
};
template <class Visit, base::Is<TableTask> T>
void visit_fields(Visit&& visit, T& x) {
  visit("table", x.table);
  visit("input", x.input);
  visit("output", x.output);
}
inline std::vector<Reach> reach(const TableTask& t) {
  return {maps(t.input, 1, 0, 1), written(maps(t.output, 1, 0, 1))};
}
inline constexpr int64_t kTableWords = kFlyingWords + 2 * (1 + kLookUpEntries);
inline int64_t bytes_moved(const TableTask&) {
  return 2 * kAtomBytes + kTableWords * kWordBytes;
}

// DPU alone, one surface: every pixel becomes `rows` x `columns`. Captured and replayed with 2 x 2
// (docs/hardware/dpu.md#enlarging-a-map); other numbers are other values of the same fields, of 3 bits each.
struct UpsampleTask {
  int64_t width = 0, height = 0;  // of the input
  int64_t rows = 2, columns = 2;  // 1..8
  SymbolicAddress input, output;
  bool operator==(const UpsampleTask&) const = default;
};
template <class Visit, base::Is<UpsampleTask> T>
void visit_fields(Visit&& visit, T& x) {
  visit("width", x.width);
  visit("height", x.height);
  visit("rows", x.rows);
  visit("columns", x.columns);
  visit("input", x.input);
  visit("output", x.output);
}
inline std::vector<Reach> reach(const UpsampleTask& t) {
  const int64_t pixels = t.width * t.height;
  return {maps(t.input, 1, 0, pixels), written(maps(t.output, 1, 0, pixels * t.rows * t.columns))};
}
inline int64_t bytes_moved(const UpsampleTask& t) {
  return t.width * t.height * (1 + t.rows * t.columns) * kAtomBytes + kFlyingWords * kWordBytes;
}

using Task = std::variant<ConvTask
#define PERAXIS_TASK(kind, type, name, word, emitter) , type
#include "target/rk3588/task_kinds.def"
#undef PERAXIS_TASK
                          >;

enum class TaskKind : uint8_t {
  Direct,
  Depthwise,
  BlockDiagonal,  // grouped or depthwise, run as a direct convolution; the task itself looks like Direct
#define PERAXIS_TASK(kind, type, name, word, emitter) kind,
#include "target/rk3588/task_kinds.def"
#undef PERAXIS_TASK
};
inline TaskKind kind_of(const ConvTask& task) {
  return task.depthwise ? TaskKind::Depthwise : TaskKind::Direct;
}
#define PERAXIS_TASK(kind, type, name, word, emitter) \
  inline TaskKind kind_of(const type&) {              \
    return TaskKind::kind;                            \
  }
#include "target/rk3588/task_kinds.def"
#undef PERAXIS_TASK
inline TaskKind kind_of(const Task& task) {
  return std::visit([](const auto& t) { return kind_of(t); }, task);
}

// The table a task looks up, or null.
inline const std::shared_ptr<const LookUpTable>& table_of(const Task& task) {
  static const std::shared_ptr<const LookUpTable> none;
  const auto* element = std::get_if<ElementTask>(&task);
  return element == nullptr ? none : element->table;
}

// The task counts on weights that the one before it left in CBUF.
inline bool reuses_weights(const Task& task) {
  const auto* conv = std::get_if<ConvTask>(&task);
  return conv != nullptr && conv->weight_reuse;
}

}  // namespace peraxis::rk3588
