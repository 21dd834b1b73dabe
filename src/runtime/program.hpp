// From a checked executable to what sessions keep: the graph with its constants, the filled and patched
// buffers on the device, and the count of useful multiplications.
#pragma once

#include <optional>
#include <vector>

#include "base/result.hpp"
#include "device/device.hpp"
#include "exe/executable.hpp"
#include "ir/graph.hpp"
#include "num/reference.hpp"
#include "runtime/session.hpp"

namespace peraxis::runtime {

// The graph of the text, with the constants the executable carries. It has passed ir::verify.
Result<ir::Graph> load_graph(const exe::Executable& executable);

// Index of the buffer with the command words; none when the executable has no tasks.
std::optional<size_t> commands_buffer(const exe::Executable& executable);

// What sessions share.
class Program {
 public:
  Program(exe::Executable executable, ir::Graph graph, device::Device& device)
      : executable_(std::move(executable)), graph_(std::move(graph)), device_(device) {}

  // Puts the constants on the device and lets go of their data.
  Status load_constants();
  // Those, and commands and activations of a new session: commands are patched and handed to the device.
  Result<std::vector<device::Buffer>> session_buffers() const;

  const exe::Executable& executable() const { return executable_; }
  const ir::Graph& graph() const { return graph_; }
  device::Device& device() const { return device_; }

 private:
  exe::Executable executable_;
  ir::Graph graph_;
  device::Device& device_;
  std::vector<device::Buffer>
      constants_;  // by buffer of the executable; no bytes where it is of another kind
};

// Multiply-accumulates of real channels: what the registers say, never more channels than the layer has.
int64_t real_macs(const exe::Task& task, const device::TaskCounters& counters);

num::Reference reference_of(const exe::Executable& executable);

}  // namespace peraxis::runtime
