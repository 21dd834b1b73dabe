// Which memory a task touches, in the terms of its own fields: every address, and where it is read or written
// up to. Whole groups of channels are written whatever the layer has (docs/hardware/wdma.md#dummy-channels),
// so this is more than the tensors that the task is made for.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "target/rk3588/tasks.hpp"

namespace peraxis::program {

// Bytes of an allocation that a task reads or writes: none before `begin`, at `end` or behind it.
struct Reach {
  int32_t allocation = -1;
  int64_t begin = 0, end = 0;
  bool written = false;
};
// Of the task's maps; weights and operands of channels are constants.
std::vector<Reach> reach_of(const rk3588::Task& task);

// fn(address) for every address of the task that is in use, constants too.
template <class Fn>
void for_addresses(rk3588::Task& task, const Fn& fn) {
  std::visit(
      [&](auto& t) {
        using Type = std::remove_cvref_t<decltype(t)>;
        fn(t.input);
        fn(t.output);
        if constexpr (std::is_same_v<Type, rk3588::ConvTask>) {
          fn(t.weights);
          if (!t.dpu.int32_output) fn(t.operands);
          if (t.added) fn(t.added->address);
        } else if constexpr (std::is_same_v<Type, rk3588::ElementTask>) {
          if (t.operand) fn(t.operand->address);
        }
      },
      task);
}

}  // namespace peraxis::program
