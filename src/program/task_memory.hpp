// Which memory a task touches: every address, and where its maps are read or written up to.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "target/rk3588/tasks.hpp"

namespace peraxis::program {

using rk3588::Reach;
// Of the task's maps.
inline std::vector<Reach> reach_of(const rk3588::Task& task) {
  return std::visit([](const auto& t) { return reach(t); }, task);
}

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
