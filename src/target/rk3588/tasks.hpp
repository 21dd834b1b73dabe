// Tasks without a convolution, in the chip's own terms, and what a task can be. Sizes are real sizes; planes
// and pitches count atoms (16 bytes: one pixel of 16 channels).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>

#include "target/rk3588/conv_task.hpp"
#include "target/rk3588/look_up.hpp"

namespace peraxis::rk3588 {

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

// Loads the look-up table. As in vendor streams the task that carries the entries copies one atom; here from
// the input of the task that will use the table to where that one's output begins.
struct TableTask {
  std::shared_ptr<const LookUpTable> table;
  SymbolicAddress input, output;
  bool operator==(const TableTask&) const = default;
};

// DPU alone, one surface: every pixel becomes `rows` x `columns`. Captured and replayed with 2 x 2
// (docs/hardware/dpu.md#enlarging-a-map); other numbers are other values of the same fields, of 3 bits each.
struct UpsampleTask {
  int64_t width = 0, height = 0;  // of the input
  int64_t rows = 2, columns = 2;  // 1..8
  SymbolicAddress input, output;
  bool operator==(const UpsampleTask&) const = default;
};

using Task = std::variant<ConvTask, PoolTask, ElementTask, UpsampleTask, TableTask>;

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
