// The placed program: everything that is decided about a model on this chip, after planning and before a
// single command word. The planner makes it (plan/place_program.hpp), `compile` turns it into words and a
// file, `compile --print-program` prints it. What it holds:
//
// - operators: for each operator of the graph the variant that the planner took, what is proved and the cost;
// - tensors: for each tensor in device memory where it lies, in which slots, and for how long;
// - tasks: the chip's tasks, in the order in which they run;
// - steps: what a run walks (uploads, jobs, work of the host), and which of them wait for which;
// - allocations: the memory of all that.
//
// Everything refers to everything else by index, so that the whole can be printed (text.hpp), read back and
// checked (verify.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "program/cost.hpp"
#include "program/layout.hpp"
#include "program/task_memory.hpp"
#include "target/rk3588/tasks.hpp"

namespace peraxis::program {

// How an operator is computed.
enum class Variant : uint8_t {
  Convolution,  // tasks of a convolution, with an addition behind it when an operator says Sum
  Tasks,        // tasks without a convolution's weights; none when all parts of a concatenation are in place
  View,         // nothing: its outputs are its input where that is
  Part,         // the tasks of operator `by` compute it too; its own output is nowhere
  Sum,          // the tasks of convolution `by` do it too; they write its output
  Cpu,          // the host
  Unused,       // nothing reads it
};

// What is proved of one output channel of a convolution, against the reference.
struct ChannelCertificate {
  int64_t acc_min = 0, acc_max = 0;  // reachable accumulators, from weights, bias and zero points
  int64_t differing = 0;             // of those, with another output
  int32_t max = 0;                   // largest difference, LSB
  double expected = 0;               // share of outputs expected to differ
  bool operator==(const ChannelCertificate&) const = default;
};

// What is proved of an operator on the NPU, both operators where it does a sum.
struct Certificate {
  int32_t max = 0;                           // largest difference from the reference, LSB
  double expected = 0;                       // share of outputs expected to differ, 0..1
  bool every_reading = true;                 // no open reading of the chip's tie rules changes a count
  std::vector<ChannelCertificate> channels;  // of a convolution
  bool operator==(const Certificate&) const = default;
};

struct Operator {
  Variant variant = Variant::Unused;
  int32_t by = -1;       // of Part and Sum
  std::string strategy;  // of a convolution: how its scales are applied
  std::string reason;    // why it is on the CPU, or why the strategy is not the one asked for
  Certificate certificate;
  Cost cost;
  bool operator==(const Operator&) const = default;
};

// Bytes that lie together. Constants are filled by the compiler; activations share one arena, an allocation
// may lie where another did whose last use is before its first.
struct Allocation {
  bool constant = false;
  int64_t offset = 0, bytes = 0;  // in its buffer
  int32_t first = -1, last = -1;  // places in Program::order that use it; of constants -1
  uint64_t hash = 0;              // of a constant's bytes
  bool operator==(const Allocation&) const = default;
};

// A logical map. A surface keeps its pixels one behind the other, so rows and columns may be cut in any way.
struct Map {
  int64_t h = 0, w = 0, c = 0;
  bool same_as(const Map& other) const { return h * w == other.h * other.w && c == other.c; }
  bool operator==(const Map&) const = default;
};

// A tensor in device memory: a cube [slots/16][h][w][16], or a picture as its rows lie.
struct DeviceTensor {
  int32_t tensor = -1;              // of the graph
  rk3588::SymbolicAddress address;  // its first byte
  Map map;                          // as those that read it see it
  Layout layout;                    // where its channels are
  int64_t slots = 0;                // that its memory holds: dummy channels of the last group too
  int64_t pitch = 0;                // of a picture: pixels from one row to the next; 0: a cube
  int32_t owner = -1;               // the tensor of the graph in whose memory it lies; -1: memory of its own
  int32_t first = -1, last = -1;    // places in Program::order that write or read it
  bool operator==(const DeviceTensor&) const = default;

  int64_t bytes() const { return map.h * (pitch > 0 ? pitch : map.w) * slots; }
};

// A cube that tasks write and the host finishes.
struct Region {
  int32_t allocation = -1;
  int64_t offset = 0;  // bytes
  int64_t h = 0, w = 0, slots = 0;
  int32_t element_bytes = 1;
  int64_t bytes() const { return h * w * slots * element_bytes; }
  bool operator==(const Region&) const = default;
};

enum class HostRounding : uint8_t { Two, Once, Double };  // exe::Rounding says what they mean

// Where output channel c is found in the regions, and what the host does with it.
struct HostChannel {
  int32_t region = 0, slot = 0;
  int64_t addend = 0;
  int32_t sum_slot = -1;  // of the window sum in the same region, -1: none
  int32_t sum_factor = 0;
  int32_t mantissa = 0, exponent = 0;
  double multiplier = 0;
  bool operator==(const HostChannel&) const = default;
};

// Work of the host on what tasks have left.
struct HostWork {
  int32_t op = -1;
  std::vector<Region> regions;
  std::vector<HostChannel> channels;
  HostRounding rounding = HostRounding::Two;
  int32_t zero_point = 0;
  int32_t low = -128, high = 127;
  bool operator==(const HostWork&) const = default;
};

using rk3588::TaskKind;

// A task and whose it is.
struct Task {
  int32_t op = -1;
  TaskKind kind = TaskKind::Direct;
  int32_t first_row = 0, rows = 0;   // of its outputs
  int32_t real_input_channels = 0;   // that an output is a sum of
  int32_t real_output_channels = 0;  // dummies and kernels of window sums not counted
  int32_t set = 0;                   // of the layer's channel sets
  rk3588::Task task;
  bool operator==(const Task& other) const;
};

enum class StepKind : uint8_t {
  Cpu,         // operator `op` by the CPU kernels
  Upload,      // host array -> device tensor `tensor`
  Download,    // device tensor `tensor` -> host array
  Job,         // tasks [first_task, first_task + task_count), one behind the other
  Gather,      // host work `host_work`: int8 regions of channel sets -> device tensor `tensor`
  Requantize,  // host work `host_work`: int32 regions, by the reference arithmetic
  Correct,     // host work `host_work`: int8 regions, rescaled
};

// A device tensor that has all its values once task `task` of a job has run; -1: once the step has.
struct Completion {
  int32_t tensor = -1;
  int32_t task = -1;
  bool operator==(const Completion&) const = default;
};

struct Step {
  StepKind kind = StepKind::Cpu;
  int32_t op = -1;
  int32_t tensor = -1;
  int32_t first_task = 0, task_count = 0;
  int32_t host_work = -1;
  // Cpu: one an operand, the device tensor it reads or writes, -1: a host array. Both empty: host arrays
  // only.
  std::vector<int32_t> inputs = {}, outputs = {};

  // The edges. Steps in the order of the list are always right; two steps of which neither waits for the
  // other, not through others either, may run side by side.
  std::vector<int32_t> after = {};                         // steps it waits for, each an earlier one
  std::vector<int32_t> reads = {}, writes = {};            // device tensors
  std::vector<int32_t> host_reads = {}, host_writes = {};  // tensors as host arrays
  std::vector<Completion> completes = {};
  // Host arrays that neither this step's followers nor the model's outputs need: free once it and all steps
  // before it in the list are done.
  std::vector<int32_t> frees = {};
  bool operator==(const Step&) const = default;
};

struct Program {
  std::string model;
  std::vector<Operator> operators;  // by operator of the graph
  std::vector<int32_t> order;       // operators as they are executed
  std::vector<DeviceTensor> tensors;
  std::vector<Step> steps;
  std::vector<HostWork> host_works;
  std::vector<Task> tasks;
  std::vector<Allocation> allocations;
  std::vector<int32_t> host_constants;  // constants of the graph that the host reads
  int64_t activation_bytes = 0;         // of the arena
  int64_t largest_live_bytes = 0;       // of activations alive at once: the floor of any memory plan
  bool operator==(const Program&) const = default;
};

// Bytes of the arena of activations that a step reads or writes.
struct Access {
  int64_t begin = 0, end = 0;
  bool written = false;
};
std::vector<Access> accesses(const Program& program, const Step& step);

// fn(allocation, end) for all that tasks, tensors and the host's work need of an allocation: tasks reach
// beyond a cube, with the dummy channels of their last group.
template <class Fn>
void for_reaches(const Program& program, const Fn& fn) {
  for (const Task& task : program.tasks)
    for (const Reach& reach : reach_of(task.task)) fn(reach.allocation, reach.end);
  for (const DeviceTensor& tensor : program.tensors)
    fn(tensor.address.allocation, tensor.address.offset + tensor.bytes());
  for (const HostWork& work : program.host_works)
    for (const Region& region : work.regions) fn(region.allocation, region.offset + region.bytes());
}

}  // namespace peraxis::program
