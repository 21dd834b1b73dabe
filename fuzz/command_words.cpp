// Command words from the fuzzer, run on a small memory image. Whatever they say, the machine answers with a
// result or an error: no crash, no endless loop, no large allocation. The first byte chooses how the rest is
// used: as raw words, or as changes (register offset, value) to a program that runs.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "machine/machine.hpp"
#include "target/rk3588/registers.hpp"

namespace {

using peraxis::rk3588::command_word;

struct Write {
  uint16_t target, offset;
  uint32_t value;
};

constexpr uint32_t kCommands = 0x10000, kFeatures = 0x20000, kWeights = 0x40000, kOperands = 0x60000,
                   kOutput = 0x80000;

// A 3x3 convolution of 5 x 6 x 32 to 32 channels.
constexpr Write kProgram[] = {
    {0x0201, 0x1040, 0x66},     {0x0201, 0x1100, 0},         {0x0201, 0x1104, 0},
    {0x0201, 0x100C, 0},        {0x1001, 0x4004, 0xE},       {0x2001, 0x5004, 0xE},
    {0x0201, 0x1010, 0x340},    {0x0201, 0x1014, 9},         {0x0201, 0x1020, 0x60005},
    {0x0201, 0x1024, 0x1F0020}, {0x0201, 0x1028, 6},         {0x0201, 0x102C, 30},
    {0x0201, 0x1030, 9216},     {0x0201, 0x1034, 288},       {0x0201, 0x1038, 0x3030020},
    {0x0201, 0x1044, 3},        {0x0201, 0x104C, 0xB},       {0x0201, 0x1060, 0},
    {0x0201, 0x1068, 0x11},     {0x0201, 0x1070, kFeatures}, {0x0201, 0x107C, 24},
    {0x0201, 0x1080, 6},        {0x0201, 0x1084, 0x60005},   {0x0201, 0x1088, 32},
    {0x0201, 0x1110, kWeights}, {0x0201, 0x1140, 0},         {0x0201, 0x1144, 0},
    {0x0201, 0x1148, 0},        {0x0201, 0x114C, 0},         {0x0201, 0x1150, 0},
    {0x0201, 0x1154, 0},        {0x0201, 0x1158, 0},         {0x0201, 0x115C, 0},
    {0x0201, 0x1160, 0},        {0x0201, 0x1164, 0},         {0x0201, 0x1168, 0},
    {0x0201, 0x116C, 0},        {0x0201, 0x1170, 0},         {0x0201, 0x1174, 0},
    {0x0201, 0x1178, 0},        {0x0201, 0x117C, 0},         {0x0201, 0x1184, 0x3030303},
    {0x0801, 0x3010, 1},        {0x0801, 0x3014, 0x40005},   {0x0801, 0x3018, 31},
    {0x0801, 0x301C, 0},        {0x1001, 0x400C, 0x1E4},     {0x1001, 0x4010, 0xE0},
    {0x1001, 0x4014, 0},        {0x1001, 0x4020, kOutput},   {0x1001, 0x4024, 30 << 4},
    {0x1001, 0x4030, 5},        {0x1001, 0x4034, 4},         {0x1001, 0x4038, 0},
    {0x1001, 0x403C, 0x1F001F}, {0x1001, 0x4040, 0x20140},   {0x1001, 0x4044, 0},
    {0x1001, 0x4048, 0xE01},    {0x1001, 0x404C, 0},         {0x1001, 0x4050, 0x125},
    {0x1001, 0x4054, 0},        {0x1001, 0x4058, 31},        {0x1001, 0x405C, 0x40005},
    {0x1001, 0x4060, 0x12},     {0x1001, 0x4064, 0},         {0x1001, 0x4068, 0},
    {0x1001, 0x406C, 0},        {0x1001, 0x4070, 0x383},     {0x1001, 0x4078, 1},
    {0x1001, 0x407C, 0},        {0x1001, 0x4080, 3},         {0x1001, 0x4084, 20000},
    {0x1001, 0x4088, 25},       {0x1001, 0x4090, 0},         {0x1001, 0x4094, 0},
    {0x1001, 0x4098, 0},        {0x1001, 0x409C, 0},         {0x1001, 0x40A0, 0},
    {0x1001, 0x40A4, 0},        {0x1001, 0x40A8, 0},         {0x1001, 0x40AC, 0},
    {0x1001, 0x40C0, 60 << 4},  {0x1001, 0x40C4, 0},         {0x1001, 0x4100, 0},
    {0x1001, 0x4104, 0},        {0x2001, 0x500C, 5},         {0x2001, 0x5010, 4},
    {0x2001, 0x5014, 31},       {0x2001, 0x501C, 0xE},       {0x2001, 0x5020, kOperands},
    {0x2001, 0x5028, 0},        {0x2001, 0x5034, 1},         {0x2001, 0x5044, 0x7810},
    {0x2001, 0x5048, 0}};

std::vector<uint64_t> changed_program(const uint8_t* data, size_t size) {
  std::vector<Write> writes(std::begin(kProgram), std::end(kProgram));
  for (; size >= 5; data += 5, size -= 5) {  // index of a register, 32-bit value to XOR in
    Write& w = writes[data[0] % writes.size()];
    uint32_t bits = 0;
    std::memcpy(&bits, data + 1, 4);
    w.value ^= bits;
  }
  std::vector<uint64_t> words;
  for (const Write& w : writes) words.push_back(command_word(w.target, w.value, w.offset));
  words.push_back(command_word(0x0101, kCommands, 0x0010));  // chained to itself
  words.push_back(command_word(0x0101, 60, 0x0014));
  words.push_back(command_word(0x0041, 0, 0));
  words.push_back(command_word(0x0081, 0x1D, 0x0008));
  return words;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2 || size > 1 << 16) return 0;
  std::vector<uint64_t> words;
  if (data[0] % 4 == 0) {
    words.resize((size - 2) / 8);
    if (!words.empty()) std::memcpy(words.data(), data + 2, words.size() * 8);
  } else {
    words = changed_program(data + 2, size - 2);
  }
  if (words.empty()) return 0;
  peraxis::machine::Options options;
  options.max_task_macs = 20'000'000;
  options.plain = data[1] % 16 == 15;
  options.switches.refuse_partial_groups = data[1] % 4 < 2;
  options.switches.drop_dummy_output = data[1] % 8 < 4;
  peraxis::machine::Machine machine(options);
  std::vector<uint8_t> commands(words.size() * 8), features(0x4000, 0x11), weights(0x8000, 0x22),
      operands(0x1000, 0x01), output(0x8000);
  std::memcpy(commands.data(), words.data(), commands.size());
  const auto map = [&](uint32_t address, std::vector<uint8_t>& bytes, bool written) {
    if (machine.memory().map(address, bytes, "fuzz") && written)
      (void)machine.memory().mark_written(address, static_cast<int64_t>(bytes.size()));
  };
  map(kCommands, commands, true);
  map(kFeatures, features, true);
  map(kWeights, weights, true);
  map(kOperands, operands, true);
  map(kOutput, output, false);
  (void)machine.run({kCommands, static_cast<uint32_t>(words.size()), 1 + data[1] % 3, 0});
  return 0;
}
