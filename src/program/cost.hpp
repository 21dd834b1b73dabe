// What a part of a program is estimated to cost; no board was measured.
#pragma once

#include <cstdint>

namespace peraxis::program {

struct Cost {
  int64_t tasks = 0;
  int64_t mac_cycles = 0;
  int64_t bytes = 0;        // moved by the NPU's tasks
  int64_t host_values = 0;  // copied, rescaled or requantized by the host after the tasks
  double npu_ms = 0;        // estimate: per task the longer of multiplying and moving, and the per-task cost
  double host_ms = 0;       // estimate

  double ms() const { return npu_ms + host_ms; }
  void add(const Cost& other) {
    tasks += other.tasks;
    mac_cycles += other.mac_cycles;
    bytes += other.bytes;
    host_values += other.host_values;
    npu_ms += other.npu_ms;
    host_ms += other.host_ms;
  }
  bool operator==(const Cost&) const = default;
};

}  // namespace peraxis::program
