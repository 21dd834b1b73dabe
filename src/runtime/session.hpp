// Runs an executable: buffers on a device, steps in order, CPU operators between jobs.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "device/device.hpp"
#include "exe/executable.hpp"
#include "ir/graph.hpp"

namespace peraxis::runtime {

struct RunCounters {
  int64_t tasks = 0;
  // Multiply-accumulates of real channels, from the registers of executed tasks; none: the device shows none.
  std::optional<int64_t> macs = 0;
  double cpu_ms = 0;         // CPU operators and host steps
  double device_ms = 0;      // jobs
  int64_t upload_bytes = 0;  // written for the device from host arrays
  double upload_ms = 0;      // the part of cpu_ms that took
};

struct SessionOptions {
  int threads = 1;  // of the CPU operators and host steps; results do not depend on it
  // Called with every activation once it is complete, as a dense host array (NHWC, stored type).
  std::function<void(int32_t tensor, std::span<const uint8_t>)> observer;
  int32_t core = device::kAnyCore;           // of all its jobs
  std::chrono::milliseconds job_timeout{0};  // device::Job::timeout of each
};

// An executable on a device, checked and read once, for any number of sessions. They share its constants
// (weights and operands), which are only read; command words hold addresses of activations, so both are each
// session's own. Any thread may make sessions of it; the device must outlive it.
class Program;
// What load() asks of an executable before it touches a device: exe::verify, the graph, and that both fit
// each other.
Status check_loadable(const exe::Executable& executable);
// Allocates the constants on `device` and copies them there. Errors: what check_loadable refuses;
// OutOfMemory when the device's 4 GiB of addresses have no room for the constants and one session.
Result<std::shared_ptr<const Program>> load(exe::Executable executable, device::Device& device);

class Session {
 public:
  // Allocates commands and activations, applies relocations. OutOfMemory as above.
  static Result<std::unique_ptr<Session>> create(std::shared_ptr<const Program> program,
                                                 SessionOptions options = {});
  // The only session of a program of its own.
  static Result<std::unique_ptr<Session>> create(exe::Executable executable, device::Device& device,
                                                 SessionOptions options = {});
  virtual ~Session() = default;

  virtual const ir::Graph& graph() const = 0;
  // inputs[i]: dense bytes of graph().inputs[i]. Returns the outputs in the model's order.
  // A model with states (ir::Graph::states) reads what the run before left and leaves its own; a run that
  // fails leaves them as they were. They are each session's own.
  virtual Result<std::vector<std::vector<uint8_t>>> run(std::span<const std::span<const uint8_t>> inputs) = 0;
  // The states of a session that has not run.
  virtual void reset_states() = 0;
  virtual const RunCounters& counters() const = 0;  // of the last run
};

}  // namespace peraxis::runtime
