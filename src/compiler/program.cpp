#include "compiler/program.hpp"

#include <algorithm>
#include <cstring>

#include "emit/task.hpp"
#include "lower/tiling.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::compiler {
namespace {

using program::Program;
using rk3588::kWordBytes;
constexpr int64_t kWordsPerAlign = rk3588::kCommandAlign / kWordBytes;

// The two enums of each pair list the same names in the same order.
static_assert(static_cast<int>(exe::StepKind::Correct) == static_cast<int>(program::StepKind::Correct));
static_assert(static_cast<int>(exe::Rounding::Double) == static_cast<int>(program::HostRounding::Double));

class Assembler {
 public:
  Assembler(const ir::Graph& graph, const Program& program) : graph_(graph), program_(program) {}

  Result<exe::Executable> run(std::vector<uint8_t> constants) {
    PERAXIS_TRY(emit_tasks());
    PERAXIS_TRY(link_jobs());
    add_buffers(std::move(constants));
    for (const program::DeviceTensor& tensor : program_.tensors) out_.placements.push_back(placement(tensor));
    for (const program::HostWork& work : program_.host_works) out_.host_steps.push_back(host_step(work));
    for (const program::Step& step : program_.steps) out_.steps.push_back(exe_step(step));
    return std::move(out_);
  }

 private:
  int64_t offset(const rk3588::SymbolicAddress& address) const {
    return program_.allocations[static_cast<size_t>(address.allocation)].offset + address.offset;
  }

  // Every task's words, each program aligned.
  Status emit_tasks() {
    for (const program::Task& task : program_.tasks) {
      emit::Program emitted = PERAXIS_TRY(emit::program(task.task));
      words_.resize(
          static_cast<size_t>(lower::round_up(static_cast<int64_t>(words_.size()), kWordsPerAlign)));
      exe::Task info;
      info.first_word = static_cast<int64_t>(words_.size());
      info.words = static_cast<int32_t>(emitted.words.size());
      info.op = task.op;
      info.kind = static_cast<exe::TaskKind>(task.kind);
      info.first_row = task.first_row;
      info.rows = task.rows;
      info.real_input_channels = task.real_input_channels;
      info.real_output_channels = task.real_output_channels;
      info.set = task.set;
      out_.tasks.push_back(info);
      words_.insert(words_.end(), emitted.words.begin(), emitted.words.end());
      for (const emit::AddressWord& word : emitted.addresses) {
        const bool constant = program_.allocations[static_cast<size_t>(word.address.allocation)].constant;
        out_.relocations.push_back({info.first_word + word.word,
                                    constant ? kConstantBuffer : kActivationBuffer, offset(word.address)});
      }
      emitted.words.clear();
      emitted_.push_back(std::move(emitted));
    }
    return {};
  }

  // Chains the tasks of each job.
  Status link_jobs() {
    for (const program::Step& step : program_.steps) {
      if (step.kind != program::StepKind::Job) continue;
      for (int32_t t = step.first_task; t + 1 < step.first_task + step.task_count; ++t) {
        const exe::Task& now = out_.tasks[static_cast<size_t>(t)];
        const exe::Task& next = out_.tasks[static_cast<size_t>(t) + 1];
        const emit::Program& emitted = emitted_[static_cast<size_t>(t)];
        const int64_t address_word = now.first_word + emitted.next_address_word;
        words_[static_cast<size_t>(address_word)] = emit::next_address();
        out_.relocations.push_back({address_word, kCommandBuffer, next.first_word * kWordBytes});
        words_[static_cast<size_t>(now.first_word + emitted.next_amount_word)] =
            PERAXIS_TRY(emit::next_amount(next.words));
      }
    }
    return {};
  }

  void add_buffers(std::vector<uint8_t> packed) {
    exe::Buffer commands{"commands", exe::BufferKind::Commands, 0, {}};
    words_.resize(static_cast<size_t>(std::max<int64_t>(
        kWordsPerAlign, lower::round_up(static_cast<int64_t>(words_.size()), kWordsPerAlign))));
    commands.data.resize(words_.size() * kWordBytes);
    std::memcpy(commands.data.data(), words_.data(), commands.data.size());
    commands.size = static_cast<int64_t>(commands.data.size());
    exe::Buffer constants{"constants", exe::BufferKind::Constants, 0, std::move(packed)};
    constants.data.resize(static_cast<size_t>(
        std::max<int64_t>(rk3588::kBufferAlign, static_cast<int64_t>(constants.data.size()))));
    constants.size = static_cast<int64_t>(constants.data.size());
    exe::Buffer activations{"activations",
                            exe::BufferKind::Activations,
                            std::max<int64_t>(rk3588::kBufferAlign, program_.activation_bytes),
                            {}};
    out_.buffers = {std::move(commands), std::move(constants), std::move(activations)};
  }

  exe::Placement placement(const program::DeviceTensor& tensor) const {
    const ir::Tensor& t = graph_.tensor(tensor.tensor);
    exe::Placement out;
    out.tensor = tensor.tensor;
    out.cube = {kActivationBuffer, offset(tensor.address), tensor.map.h, tensor.map.w, tensor.slots, 1};
    out.c = tensor.map.c;
    out.is_uint8 = t.type == ir::DataType::UInt8;
    out.zero_point = static_cast<int32_t>(t.quant.zero_point[0]) - (out.is_uint8 ? 128 : 0);
    out.slot_of = tensor.layout.slot_of;
    out.pitch = tensor.pitch;
    return out;
  }

  exe::HostStep host_step(const program::HostWork& work) const {
    exe::HostStep out;
    out.op = work.op;
    for (const program::Region& region : work.regions)
      out.regions.push_back({kActivationBuffer, offset({region.allocation, region.offset}), region.h,
                             region.w, region.slots, region.element_bytes});
    for (const program::HostChannel& c : work.channels)
      out.channels.push_back(
          {c.region, c.slot, c.addend, c.sum_slot, c.sum_factor, c.mantissa, c.exponent, c.multiplier});
    out.rounding = static_cast<exe::Rounding>(work.rounding);
    out.zero_point = work.zero_point;
    out.low = work.low;
    out.high = work.high;
    return out;
  }

  static exe::Step exe_step(const program::Step& step) {
    exe::Step out;
    out.kind = static_cast<exe::StepKind>(step.kind);
    out.op = step.op;
    out.placement = step.tensor;
    out.first_task = step.first_task;
    out.task_count = step.task_count;
    out.host_step = step.host_work;
    out.inputs = step.inputs;
    out.outputs = step.outputs;
    out.edges.after = step.after;
    out.edges.reads = step.reads;
    out.edges.writes = step.writes;
    for (const program::Completion& done : step.completes)
      out.edges.completes.push_back({done.tensor, done.task});
    out.edges.frees = step.frees;
    return out;
  }

  const ir::Graph& graph_;
  const Program& program_;
  exe::Executable out_;
  std::vector<uint64_t> words_;
  std::vector<emit::Program> emitted_;  // by task, without words
};

}  // namespace

Result<exe::Executable> assemble(const ir::Graph& graph, const Program& program,
                                 std::vector<uint8_t> constants) {
  return Assembler(graph, program).run(std::move(constants));
}

}  // namespace peraxis::compiler
