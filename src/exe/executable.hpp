// The executable: everything a run needs, made once by `peraxis compile`. A container only: it knows
// nothing of layouts or registers. docs/executable.md describes the file.
//
// How a run uses it: allocate `buffers` on the device and copy their data in; apply `relocations` to the
// command words; then walk `steps` in order. Tensors live in two places: as dense NHWC arrays on the host
// and as NC1HWC2 cubes in device memory (`placements`). CPU operators read and write either.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/shared_text.hpp"

namespace peraxis::exe {

// The newest. A file has the lowest version that holds it: 2 with packed placements or when a Cpu step has
// operands on the device, else 1.
inline constexpr uint32_t kFormatVersion = 2;

enum class BufferKind : uint8_t {
  Commands,     // 64-bit command words, little-endian
  Constants,    // packed weights and per-channel operands
  Activations,  // no data: contents undefined before the first run
};
struct Buffer {
  std::string name;
  BufferKind kind = BufferKind::Activations;
  int64_t size = 0;           // bytes
  std::vector<uint8_t> data;  // `size` bytes, empty for Activations
  bool operator==(const Buffer&) const = default;
};

// The 32-bit value of command word `word` (of the Commands buffer) becomes address(buffer) + addend.
struct Relocation {
  int64_t word = 0;
  int32_t buffer = 0;
  int64_t addend = 0;
  bool operator==(const Relocation&) const = default;
};

enum class TaskKind : uint8_t {
  Direct,         // direct convolution (also fully connected)
  Depthwise,      // the hardware's depthwise mode
  BlockDiagonal,  // grouped or depthwise, run as a direct convolution without effect of other groups
#define PERAXIS_TASK(kind, type, name, word, emitter) kind,
#include "target/rk3588/task_kinds.def"
#undef PERAXIS_TASK
};
// One command program and where it came from.
struct Task {
  int64_t first_word = 0;  // in the Commands buffer
  int32_t words = 0;       // including the four-word tail
  int32_t op = 0;          // operator index in the graph
  TaskKind kind = TaskKind::Direct;
  int32_t first_row = 0, rows = 0;   // output rows it computes
  int32_t real_input_channels = 0;   // that an output is a sum of; depthwise: of the layer
  int32_t real_output_channels = 0;  // of this task; dummies and window-sum kernels not counted
  int32_t set = 0;                   // index of the channel set (strategies that split channels)
  bool operator==(const Task&) const = default;
};

// A cube in device memory: [ceil(channels/16)][h][w][16] bytes for int8, [channels/4][h][w][4] int32.
struct Cube {
  int32_t buffer = 0;
  int64_t offset = 0;  // bytes
  int64_t h = 0, w = 0;
  int64_t channels = 0;  // slots, a multiple of 16 (int8) or 4 (int32)
  int32_t element_bytes = 1;
  bool operator==(const Cube&) const = default;
};

// Where tensor `tensor` lives on the device, and how a host array turns into it. uint8 tensors are stored
// as stored-128. The logical map of the cube is [h][w][c]; host arrays are dense in that order. Slots
// beyond `c` are filled with `zero_point` on upload.
// A packed placement holds the map as it is on the host, rows of pixels of c bytes, h * pitch * c bytes in
// all: its `cube` says where, with c channels in place of slots, and no host step makes it.
struct Placement {
  int32_t tensor = 0;
  Cube cube;
  int64_t c = 0;  // logical channels
  bool is_uint8 = false;
  int32_t zero_point = 0;  // in the int8 domain
  // Slot of every channel, for the output of several channel sets that stays where its tasks wrote it
  // (download and consumers read it there; nothing uploads to it). Empty: channel c is in slot c.
  std::vector<int32_t> slot_of;
  int64_t pitch = 0;  // packed: pixels from one row to the next, at least w; 0: a cube

  bool packed() const { return pitch != 0; }
  bool operator==(const Placement&) const = default;
};
inline constexpr int64_t kMaxPackedChannels = 4;

enum class StepKind : uint8_t {
  Cpu,         // run operator `op` with the CPU kernels, on host arrays and cubes of the device
  Upload,      // host array of placements[placement].tensor -> device cube
  Download,    // device cube -> host array (channels in their order)
  Job,         // tasks [first_task, first_task + task_count) as one chain
  Gather,      // host_steps[host_step]: int8 cubes of channel subsets -> placement's cube
  Requantize,  // host_steps[host_step]: int32 cubes -> placement's cube, by the reference arithmetic
  Correct,     // host_steps[host_step]: int8 cube rescaled per channel (max-scale)
};
// A placement that has all its values once task `task` of a job has run; -1: once the step has.
struct Completion {
  int32_t placement = -1, task = -1;
  bool operator==(const Completion&) const = default;
};

// What a step has to do with others. The steps in the order of the list are always right; two of which
// neither waits for the other, not through others either, may run side by side. Without edges, as in files of
// earlier compilers, steps run in order, host arrays stay to the end of a run, and nothing is said of
// completion.
struct Edges {
  std::vector<int32_t> after = {};               // steps that it waits for, each an earlier one
  std::vector<int32_t> reads = {}, writes = {};  // placements
  std::vector<Completion> completes = {};        // by task
  // Tensors whose host arrays nothing behind it needs: free once it and all before it in the list are done.
  std::vector<int32_t> frees = {};
  bool any() const {
    return !after.empty() || !reads.empty() || !writes.empty() || !completes.empty() || !frees.empty();
  }
  bool operator==(const Edges&) const = default;
};

struct Step {
  StepKind kind = StepKind::Cpu;
  int32_t op = -1;
  int32_t placement = -1;
  int32_t first_task = 0, task_count = 0;
  int32_t host_step = -1;
  // Cpu: the placement of each operand that the kernel reads or writes on the device, -1 for a host array;
  // one an operand of the operator. Both empty: host arrays only. Outputs have their channels in order and
  // share no memory with another operand.
  std::vector<int32_t> inputs = {}, outputs = {};
  Edges edges = {};
  bool operator==(const Step&) const = default;
};

enum class Rounding : uint8_t {
  Two,     // MultiplyByQuantizedMultiplier with two roundings (convolutions, litert-ref)
  Once,    // the Q31 product rounded once, ties up (single-rounding)
  Double,  // round(double(acc) * multiplier), half away (FULLY_CONNECTED, litert-ref)
};

// Where logical output channel c is found, and what the host does with it.
struct HostChannel {
  int32_t region = 0;      // index into HostStep::regions
  int32_t slot = 0;        // channel slot in that cube
  int64_t addend = 0;      // Requantize: added to the raw sum (bias and zero-point terms)
  int32_t sum_slot = -1;   // Requantize: slot of the window sum in the same region, -1 for none
  int32_t sum_factor = 0;  // Requantize: raw += sum_factor * window sum (minus the weight zero point)
  int32_t mantissa = 0, exponent = 0;  // Requantize: Q31 multiplier
  double multiplier = 0;               // Requantize with Rounding::Double; Correct: ratio to the task's scale
  bool operator==(const HostChannel&) const = default;
};
struct HostStep {
  int32_t op = 0;
  std::vector<Cube> regions;          // the source cubes
  std::vector<HostChannel> channels;  // one a logical output channel
  Rounding rounding = Rounding::Two;
  int32_t zero_point = 0;          // of the output, int8 domain
  int32_t low = -128, high = 127;  // activation range, int8 domain
  bool operator==(const HostStep&) const = default;
};

// What is proved of one output channel, against the reference the executable names.
struct ChannelCertificate {
  int64_t acc_min = 0, acc_max = 0;  // reachable accumulators
  int64_t differing = 0;             // of those, with another output
  int32_t max = 0;                   // largest difference, LSB
  bool operator==(const ChannelCertificate&) const = default;
};

// How each convolution-like operator is run, for reports; one record an operator. What may stand in `device`
// and `strategy` is in exe/names.hpp.
struct LayerPlan {
  int32_t op = 0;
  std::string device;       // "npu" or "cpu"
  std::string strategy;     // "hw-multiply", ...; empty on the CPU
  base::SharedText reason;  // why it is on the CPU, or why the strategy differs from the one asked for
  int32_t tasks = 0;
  int64_t macs = 0;
  bool every_reading = true;  // no open reading of the chip's tie rules changes the certificate
  std::vector<ChannelCertificate> certificate;  // one an output channel; empty on the CPU
  bool operator==(const LayerPlan&) const = default;
};

// Where every other operator runs, for reports; one record an operator.
struct OperatorPlan {
  int32_t op = 0;
  std::string device;       // "npu" or "cpu"
  base::SharedText reason;  // why it is on the CPU, or which operator's tasks compute it as well
  bool operator==(const OperatorPlan&) const = default;
};

struct Executable {
  std::string target = "rk3588";
  std::string compiler;                                                        // "peraxis 0.1.0"
  std::string model;                                                           // name of the source model
  uint64_t model_hash = 0;                                                     // xxh64 of the source file
  std::string accuracy = "fast", reference = "litert-ref", strategy = "auto";  // as asked for (exe/names.hpp)
  std::string graph;  // IR text (ir::print); constants in `constants`
  struct Constant {
    int32_t tensor = 0;
    std::vector<uint8_t> data;
    bool operator==(const Constant&) const = default;
  };
  std::vector<Constant> constants;  // those the CPU operators need
  std::vector<Buffer> buffers;
  std::vector<Relocation> relocations;
  std::vector<Task> tasks;
  std::vector<Placement> placements;
  std::vector<HostStep> host_steps;
  std::vector<Step> steps;
  std::vector<LayerPlan> layers;
  std::vector<OperatorPlan> operators;
  // Labels, head, anchors and what else tells what the outputs mean, as vision/model_info.hpp writes it; a
  // run on tensors does not look at it. Empty: nothing was known, or it was left out.
  std::string model_info;
  bool operator==(const Executable&) const = default;
};
inline constexpr int64_t kMaxModelInfoBytes = int64_t{1} << 26;

// Of the file that write() makes.
uint32_t format_version(const Executable& executable);

// Checks every index, range and size, and every word of a closed set. read() calls it; the machine and
// runtime may rely on it.
Status verify(const Executable& executable);

Result<std::vector<uint8_t>> write(const Executable& executable);
Result<Executable> read(std::span<const uint8_t> bytes);
// True when the bytes start like one of our files (they may still be broken).
bool looks_like_executable(std::span<const uint8_t> bytes);

}  // namespace peraxis::exe
