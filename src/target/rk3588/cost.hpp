// What a task costs, as far as it can be said without a board: multiply cycles, bytes moved, and the
// constants that turn them into time. Every time computed from this is an estimate.
#pragma once

#include <algorithm>
#include <cstdint>

#include "target/rk3588/conv_task.hpp"
#include "target/rk3588/limits.hpp"
#include "target/rk3588/tasks.hpp"

namespace peraxis::rk3588 {

// All settable (`peraxis plan --clock-ghz ...`) and printed with every estimate.
struct CostConstants {
  double clock_ghz = 1.0;       // top NPU clock of RK3588 boards
  double bandwidth_gbs = 23.6;  // DRAM, shared by all cores; the vendor compiler's own model
  double task_us = 50.0;        // one interrupt a task on the mainline driver; about 0 inside a vendor chain
  // Host work on one big core. No board was measured: round figures for NEON code at about 10 GB/s.
  double host_step_us = 500;  // the chain stops for the host: submit, wait, caches (a MobileNetV1 job on a
                              // mainline board: 0.5 ms)
  double host_copy_ns = 0.2;  // an int8 value copied between layouts
  double host_requantize_ns = 1.0;  // an int32 sum requantized, or an int8 value rescaled
  double host_element_ns = 2.0;     // an output element of an operator that runs on the CPU
  double host_gmacs = 10.0;         // 10^9 multiply-accumulates a second of a convolution on the CPU
};

// Multiply cycles of a task, as the vendor's compiler counts them: 16 pixels and 32 kernels at a time over
// blocks of 32 input channels, at least four steps each; depthwise 16 pixels and 64 channels at a time
// (vendor streams' own per-layer figures).
inline int64_t mac_cycles(const ConvTask& task) {
  const auto up = [](int64_t x, int64_t unit) { return (x + unit - 1) / unit; };
  const int64_t pixels = up(task.out_width * task.out_height, 16) * 16;
  const int64_t taps = task.kernel_width * task.kernel_height;
  if (task.depthwise) return pixels * taps * up(task.out_channels, kDepthwiseGroup);
  return pixels * up(task.kernels, kKernelGroup) *
         std::max<int64_t>(4, taps * up(task.in_channels, kWeightBlockChannels));
}

// Bytes between memory and the chip: the input tile, weights unless they are still in CBUF, operands, a
// tensor that is added, the output, and `words` command words.
inline int64_t bytes_moved(const ConvTask& task, int64_t words) {
  const int64_t operands = task.dpu.int32_output ? 0
                           : task.dpu.records()
                               ? task.out_channels * kOperandRecordBytes / kOperandRecordChannels
                               : task.out_channels * 4;
  const int64_t added = task.added ? task.out_height * task.out_width * task.out_channels : 0;
  return task.in_height * task.in_width * (task.packed > 0 ? task.packed : task.in_channels) +
         (task.weight_reuse ? 0 : task.weight_bytes) + operands + added +
         task.out_height * task.out_width * task.out_channels * (task.dpu.int32_output ? 4 : 1) +
         words * kWordBytes;
}

// The same for a task of any kind; of others than convolutions: tasks.hpp.
inline constexpr int64_t kConvWords = 126;  // as emit/ writes them
inline int64_t bytes_moved(const ConvTask& task) {
  return bytes_moved(task, kConvWords);
}
inline int64_t bytes_moved(const Task& task) {
  return std::visit([](const auto& t) { return bytes_moved(t); }, task);
}

// Estimated time of a task: the longer of working and moving, and what every task costs.
inline double estimated_ms(int64_t cycles, int64_t bytes, const CostConstants& constants) {
  const double working = static_cast<double>(cycles) / constants.clock_ghz;    // ns
  const double moving = static_cast<double>(bytes) / constants.bandwidth_gbs;  // ns
  return std::max(working, moving) * 1e-6 + constants.task_us * 1e-3;
}

}  // namespace peraxis::rk3588
