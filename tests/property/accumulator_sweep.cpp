#include "accumulator_sweep.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "emit/convolution.hpp"
#include "lower/layouts.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::property {
namespace {

using namespace rk3588;

constexpr uint32_t kCommands = 0x10000, kFeatures = 0x100000, kWeights = 0x200000, kNoWeights = 0x300000,
                   kOperands = 0x400000, kOutput = 0x500000;
constexpr uint32_t kAddresses[] = {kFeatures, kWeights, kNoWeights, kOperands, kOutput};  // by allocation
enum Allocation : int32_t { Features, Weights, NoWeights, OperandRecords, Output };

constexpr int64_t kWidth = 32;  // pixels a row
constexpr int64_t kStep = 127;  // largest weight and input of either sign
constexpr int64_t kAreaBytes = kCbufBanks * kCbufBankBytes;

// v = kStep * steps + rest, |rest| <= kStep / 2.
int64_t steps_of(int64_t v) {
  const int64_t steps = (std::abs(v) + kStep / 2) / kStep;
  return v >= 0 ? steps : -steps;
}
// Input channels that carry `steps` in parts of at most kStep.
int64_t carriers(int64_t magnitude) {
  return (std::abs(steps_of(magnitude)) + kStep - 1) / kStep;
}
int64_t part(int64_t steps, int64_t carrier) {
  const int64_t left = std::max<int64_t>(0, std::abs(steps) - carrier * kStep);
  const int64_t size = std::min(left, kStep);
  return steps >= 0 ? size : -size;
}

int64_t channels_for(int64_t base, int64_t offset) {
  return (carriers(base) + carriers(offset) + 2 + kAtomBytes - 1) / kAtomBytes * kAtomBytes;
}
int64_t weight_banks(int64_t in_channels) {
  return (kSweepKernels * in_channels + kCbufBankBytes - 1) / kCbufBankBytes;
}

template <size_t N>
int64_t magnitude(const std::array<int64_t, N>& values) {
  int64_t largest = 0;
  for (const int64_t v : values) largest = std::max(largest, std::abs(v));
  return largest;
}

}  // namespace

Batch neighbours() {
  Batch out;
  for (size_t k = 0; k < out.offsets.size(); ++k) out.offsets[k] = static_cast<int64_t>(k);
  return out;
}

AccumulatorSweep::AccumulatorSweep(machine::Switches switches)
    : machine_(machine::Options{.switches = switches}),
      commands_(0x1000),
      features_(kAreaBytes),
      weights_(kAreaBytes),
      no_weights_(kAreaBytes),
      operands_(kSweepKernels / kOperandRecordChannels * kOperandRecordBytes),
      output_(kAreaBytes / kAtomBytes * kSweepKernels * 4) {
  const auto map = [&](uint32_t address, std::vector<uint8_t>& bytes, const char* name) {
    if (mapped_) mapped_ = machine_.memory().map(address, bytes, name);
  };
  map(kCommands, commands_, "commands");
  map(kFeatures, features_, "features");
  map(kWeights, weights_, "weights");
  map(kNoWeights, no_weights_, "no weights");
  map(kOperands, operands_, "operands");
  map(kOutput, output_, "output");
}

int64_t AccumulatorSweep::capacity(int64_t base, int64_t offset) {
  const int64_t in_channels = channels_for(base, offset);
  const int64_t banks = kCbufBanks - weight_banks(in_channels) - kSpareDataBanks;
  const int64_t rows = banks * kCbufBankBytes / (kWidth * in_channels);
  return std::clamp<int64_t>(rows, 0, kMaxInputExtent) * kWidth;
}

Status AccumulatorSweep::load(const Batch& batch) {
  PERAXIS_TRY(mapped_);
  int64_t base = 0;
  for (const int64_t v : batch.bases) base = std::max(base, std::abs(v));
  const int64_t offset = magnitude(batch.offsets);
  in_channels_ = channels_for(base, offset);
  padded_pixels_ = (batch.pixels() + kWidth - 1) / kWidth * kWidth;
  if (batch.bases.empty() || padded_pixels_ > capacity(base, offset))
    return fail(ErrorCode::InvalidArgument, "a sweep of {} pixels up to {} does not fit", batch.pixels(),
                base);

  // Channels: parts of the base, its rest, then constants that carry the offset and its rest.
  const int64_t of_base = carriers(base), of_offset = carriers(offset);
  const int64_t base_rest = of_base, first_constant = of_base + 1, offset_rest = first_constant + of_offset;
  const std::vector<uint8_t> packed = lower::pack_direct_weights(
      kSweepKernels, in_channels_, 1, 1, [&](int64_t kernel, int64_t, int64_t, int64_t in) -> int64_t {
        const int64_t wanted = batch.offsets[static_cast<size_t>(kernel)];
        if (in < of_base) return kStep;
        if (in == base_rest) return 1;
        if (in < offset_rest) return part(steps_of(wanted), in - first_constant);
        return in == offset_rest ? wanted - kStep * steps_of(wanted) : 0;
      });
  std::memcpy(weights_.data(), packed.data(), packed.size());

  const int64_t used = in_channels_ * padded_pixels_;
  std::memset(features_.data(), 0, static_cast<size_t>(used));
  for (int64_t p = 0; p < padded_pixels_; ++p) {
    const int64_t wanted = batch.bases[static_cast<size_t>(std::min(p, batch.pixels() - 1))];
    const int64_t steps = steps_of(wanted);
    for (int64_t in = 0; in <= offset_rest; ++in) {
      int64_t value = 0;
      if (in < of_base)
        value = part(steps, in);
      else if (in == base_rest)
        value = wanted - kStep * steps;
      else
        value = in == offset_rest ? 1 : kStep;
      features_[static_cast<size_t>((in / kAtomBytes * padded_pixels_ + p) * kAtomBytes + in % kAtomBytes)] =
          static_cast<uint8_t>(value);
    }
  }
  machine::Memory& memory = machine_.memory();
  PERAXIS_TRY(memory.mark_written(kWeights, static_cast<int64_t>(packed.size())));
  PERAXIS_TRY(memory.mark_written(kNoWeights, static_cast<int64_t>(packed.size())));
  return memory.mark_written(kFeatures, used);
}

Status AccumulatorSweep::run(const DpuParams& dpu, const requant::ChannelParams& params) {
  ConvTask task;
  task.in_width = task.out_width = kWidth;
  task.in_height = task.out_height = padded_pixels_ / kWidth;
  task.in_plane = task.out_plane = task.in_height * kWidth;
  task.in_channels = task.in_channels_real = in_channels_;
  task.kernel_width = task.kernel_height = 1;
  task.kernels = task.out_channels = task.out_channels_real = kSweepKernels;
  task.weight_bytes_per_kernel = in_channels_;
  task.weight_bytes = kSweepKernels * in_channels_;
  task.weight_banks = weight_banks(in_channels_);
  task.data_banks = kCbufBanks - task.weight_banks;
  task.input = {Features, 0};
  task.weights = {params.drop_weights ? NoWeights : Weights, 0};
  task.operands = {OperandRecords, 0};
  task.output = {Output, 0};
  task.dpu = dpu;
  emit::Program program = PERAXIS_TRY(emit::convolution(task));
  for (const emit::AddressWord& word : program.addresses)
    program.words[static_cast<size_t>(word.word)] |= uint64_t{kAddresses[word.address.allocation]} << 16;

  machine::Memory& memory = machine_.memory();
  const int64_t bytes = static_cast<int64_t>(program.words.size()) * 8;
  if (bytes > static_cast<int64_t>(commands_.size()))
    return fail(ErrorCode::Internal, "a program of {} bytes", bytes);
  std::memcpy(commands_.data(), program.words.data(), static_cast<size_t>(bytes));
  PERAXIS_TRY(memory.mark_written(kCommands, bytes));
  if (!dpu.int32_output) {
    const std::vector<uint8_t> records =
        lower::pack_operands(std::vector(static_cast<size_t>(kSweepKernels), &params), dpu.records(), 0);
    std::memcpy(operands_.data(), records.data(), records.size());
    PERAXIS_TRY(memory.mark_written(kOperands, static_cast<int64_t>(records.size())));
  }
  const int64_t written = padded_pixels_ * kSweepKernels * (dpu.int32_output ? 4 : 1);
  PERAXIS_TRY(memory.mark_unwritten(kOutput, written));
  PERAXIS_TRY(machine_.run({kCommands, static_cast<uint32_t>(program.words.size()), 1, 0}));
  if (!memory.written(kOutput, written)) return fail(ErrorCode::Device, "output bytes were not written");
  return {};
}

int32_t AccumulatorSweep::int32_at(int64_t pixel, int64_t kernel) const {
  int32_t value = 0;
  std::memcpy(&value, output_.data() + ((kernel / 4 * padded_pixels_ + pixel) * 4 + kernel % 4) * 4, 4);
  return value;
}

}  // namespace peraxis::property
