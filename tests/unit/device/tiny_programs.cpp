// See the header.
#include "tiny_programs.hpp"

#include <algorithm>
#include <cstring>

#include "target/rk3588/registers.hpp"

namespace peraxis::device::test {
namespace {

using rk3588::command_word;

std::vector<uint64_t> program(const Step& step, uint32_t next) {
  std::vector<uint64_t> words;
  const auto write = [&](uint16_t target, uint16_t offset, uint32_t value) {
    words.push_back(command_word(target, value, offset));
  };
  const auto ic_bytes = static_cast<uint32_t>(step.ic_bytes == 0 ? kLanes : step.ic_bytes);
  const std::pair<uint16_t, uint32_t> cna[] = {{0x1040, 0xB1},
                                               {0x1100, 0},
                                               {0x1104, 0},
                                               {0x100C, 0},
                                               {0x1010, 0x340},
                                               {0x1014, 9},
                                               {0x1020, 0x10001},
                                               {0x1024, 0xF0010},
                                               {0x1028, 1},
                                               {0x102C, 1},
                                               {0x1030, 512},
                                               {0x1034, ic_bytes},
                                               {0x1038, 0x01010020},
                                               {0x1044, 1},
                                               {0x104C, 0xB},
                                               {0x1060, 0},
                                               {0x1068, 0},
                                               {0x1070, step.from},
                                               {0x107C, 4},
                                               {0x1080, 0x0FFFFFFD},
                                               {0x1084, 0x10001},
                                               {0x1088, 16},
                                               {0x1110, step.weights},
                                               {0x1184, 0}};
  for (const auto& [offset, value] : cna) write(0x0201, offset, value);
  for (uint16_t i = 0; i < 16; ++i) write(0x0201, static_cast<uint16_t>(0x1140 + 4 * i), 0);
  const std::pair<uint16_t, uint32_t> core[] = {
      {0x3010, 1}, {0x3014, 0}, {0x3018, 31}, {0x301C, 0}, {0x3030, 0}};
  for (const auto& [offset, value] : core) write(0x0801, offset, value);
  const auto add = static_cast<uint32_t>(static_cast<int32_t>(step.add));
  const std::pair<uint16_t, uint32_t> dpu[] = {
      {0x4004, 0xE},   {0x400C, 0x1E4}, {0x4010, 0},    {0x4014, 0},        {0x4020, step.to}, {0x4024, 0x10},
      {0x4030, 0},     {0x4034, 0},     {0x4038, 0},    {0x403C, 0x1F001F}, {0x4040, 0x20050}, {0x4044, add},
      {0x4050, 0x126}, {0x4058, 31},    {0x405C, 0},    {0x4060, 0x53},     {0x4070, 0x383},   {0x4080, 0},
      {0x4084, 1},     {0x4088, 0},     {0x40C0, 0x20}, {0x40C4, 0},        {0x4100, 0},       {0x4104, 0}};
  for (const auto& [offset, value] : dpu) write(0x1001, offset, value);
  if (next != 0)
    write(0x0101, 0x0010, next);
  else
    words.push_back(0);
  const uint32_t barrier = step.barrier == 0 ? 0 : static_cast<uint32_t>(step.barrier - 1) << 16;
  write(0x0101, 0x0014, (next != 0 ? kProgramWords / 2 - 1 : 0) | barrier);
  words.push_back(command_word(rk3588::kSeparatorTarget, 0, 0));
  words.push_back(command_word(rk3588::kEnableTarget, 0x0D, rk3588::kEnableOffset));
  return words;
}

constexpr uint32_t kStrideBytes = kStrideWords * 8;

}  // namespace

std::vector<uint64_t> words_of(const std::vector<Step>& steps, uint32_t address) {
  std::vector<uint64_t> out;
  for (size_t i = 0; i < steps.size(); ++i) {
    address += kStrideBytes;
    const std::vector<uint64_t> one = program(steps[i], i + 1 < steps.size() ? address : 0);
    out.insert(out.end(), one.begin(), one.end());
    out.resize((i + 1) * static_cast<size_t>(kStrideWords));
  }
  return out;
}

Chain chain_of(size_t steps, uint32_t address, int32_t core) {
  Chain out{{}, core};
  for (size_t i = 0; i < steps; ++i)
    out.tasks.push_back({address + static_cast<uint32_t>(i) * kStrideBytes, kProgramWords});
  return out;
}

Status fill(Device& device, const Buffer& buffer, std::span<const uint8_t> bytes) {
  std::ranges::copy(bytes, buffer.bytes.begin());
  return device.end_cpu_access(buffer, 0, static_cast<int64_t>(bytes.size()));
}

Result<Buffer> identity_weights(Device& device) {
  const Buffer buffer = PERAXIS_TRY(device.allocate(kWeightBytes, "weights"));
  std::vector<uint8_t> bytes(static_cast<size_t>(kWeightBytes));
  for (size_t k = 0; k < static_cast<size_t>(kLanes); ++k) bytes[k * static_cast<size_t>(kLanes) + k] = 1;
  PERAXIS_TRY(fill(device, buffer, bytes));
  return buffer;
}

Status fill_words(Device& device, const Buffer& buffer, const std::vector<uint64_t>& words) {
  return fill(device, buffer, {reinterpret_cast<const uint8_t*>(words.data()), words.size() * 8});
}

Result<Adder> Adder::make(Device& device, size_t tasks, int8_t add) {
  Adder out;
  out.device_ = &device;
  out.tasks_ = tasks;
  out.add_ = add;
  out.weights_ = PERAXIS_TRY(identity_weights(device));
  out.maps_ = PERAXIS_TRY(device.allocate(2 * kMapBytes, "maps"));
  out.commands_ = PERAXIS_TRY(device.allocate(static_cast<int64_t>(tasks) * kStrideBytes, "commands"));
  std::vector<Step> steps;
  for (size_t i = 0; i < tasks; ++i) {
    const auto from = out.maps_.address + static_cast<uint32_t>(i % 2) * static_cast<uint32_t>(kMapBytes);
    const auto to = out.maps_.address + static_cast<uint32_t>((i + 1) % 2) * static_cast<uint32_t>(kMapBytes);
    steps.push_back({from, to, out.weights_.address, add, 0, 0});
  }
  PERAXIS_TRY(fill_words(device, out.commands_, words_of(steps, out.commands_.address)));
  return out;
}

Status Adder::set(uint8_t value) const {
  return fill(*device_, maps_, std::vector<uint8_t>(static_cast<size_t>(kLanes), value));
}

Job Adder::job(int32_t core) const {
  Job job;
  job.chains = {chain_of(tasks_, commands_.address, core)};
  job.reads = {commands_, weights_};
  job.writes = {maps_};
  return job;
}

Result<std::vector<uint8_t>> Adder::result() const {
  const auto at = static_cast<int64_t>(tasks_ % 2) * kMapBytes;
  PERAXIS_TRY(device_->begin_cpu_access(maps_, at, kLanes));
  const auto bytes = maps_.bytes.subspan(static_cast<size_t>(at), static_cast<size_t>(kLanes));
  return std::vector<uint8_t>(bytes.begin(), bytes.end());
}

std::vector<uint8_t> Adder::expected(uint8_t value) const {
  int32_t sum = static_cast<int8_t>(value);
  for (size_t i = 0; i < tasks_; ++i) sum = std::clamp(sum + add_, -128, 127);
  return std::vector<uint8_t>(static_cast<size_t>(kLanes), static_cast<uint8_t>(sum));
}

Status Adder::check(uint8_t value, int32_t core) const {
  PERAXIS_TRY(set(value));
  const FencePtr fence = PERAXIS_TRY(device_->submit(job(core)));
  PERAXIS_TRY(fence->wait());
  const std::vector<uint8_t> is = PERAXIS_TRY(result()), want = expected(value);
  for (size_t i = 0; i < is.size(); ++i)
    if (is[i] != want[i])
      return fail(ErrorCode::Internal, "byte {} is {}, {} was expected", i, is[i], want[i]);
  return {};
}

}  // namespace peraxis::device::test
