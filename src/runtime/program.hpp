// From a checked executable to what a session keeps: the graph with its constants, the filled and patched
// buffers on the device, and the count of useful multiplications.
#pragma once

#include <optional>
#include <vector>

#include "base/result.hpp"
#include "device/device.hpp"
#include "exe/executable.hpp"
#include "ir/graph.hpp"
#include "num/reference.hpp"

namespace peraxis::runtime {

// The graph of the text, with the constants the executable carries. It has passed ir::verify.
Result<ir::Graph> load_graph(const exe::Executable& executable);

// Index of the buffer with the command words; none when the executable has no tasks.
std::optional<size_t> commands_buffer(const exe::Executable& executable);

// Allocates every buffer, copies data, patches the relocations and hands all of it to the device.
Result<std::vector<device::Buffer>> load_buffers(const exe::Executable& executable, device::Device& device);

// Multiply-accumulates of real channels: what the registers say, never more channels than the layer has.
int64_t real_macs(const exe::Task& task, const device::TaskCounters& counters);

num::Reference reference_of(const exe::Executable& executable);

}  // namespace peraxis::runtime
