// The session against a device written for this test: its memory is apart from the host's, so a missing
// synchronization shows, and its "programs" are five words that say where to read, where to write and what to
// add. What a run should give is computed here on dense arrays, without cubes.
#include "runtime/session.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <random>

#include "device/synchronous.hpp"
#include "runtime/program.hpp"

namespace peraxis::runtime {
namespace {

constexpr int32_t kProgramWords = 6;  // source, target, bytes, addend, mode, pixels
constexpr uint32_t kFirstAddress = 0x10000;
enum Mode : uint32_t { kAdd = 0, kTimesHundredToInt32 = 1 };

class FakeDevice final : public device::SynchronousDevice {
 public:
  std::string name() const override { return "fake"; }

  Result<device::Buffer> allocate(int64_t bytes, const std::string& name) override {
    allocated.push_back(name);
    auto memory = std::make_unique<Memory>();
    memory->address = next_;
    memory->host.resize(static_cast<size_t>(bytes));
    memory->chip.resize(static_cast<size_t>(bytes), 0xEE);
    next_ += static_cast<uint32_t>(bytes + 0xFFF) / 0x1000 * 0x1000 + 0x1000;
    memories_.push_back(std::move(memory));
    return device::Buffer{memories_.back()->address, memories_.back()->host};
  }
  Status end_cpu_access(const device::Buffer& buffer, int64_t offset, int64_t bytes) override {
    Memory& m = at(buffer.address);
    std::memcpy(m.chip.data() + offset, m.host.data() + offset, static_cast<size_t>(bytes));
    return {};
  }
  Status begin_cpu_access(const device::Buffer& buffer, int64_t offset, int64_t bytes) override {
    Memory& m = at(buffer.address);
    std::memcpy(m.host.data() + offset, m.chip.data() + offset, static_cast<size_t>(bytes));
    return {};
  }
  Status run(std::span<const device::TaskEntry> tasks, std::vector<device::TaskCounters>& counters) override {
    chains.push_back(tasks.size());
    for (const device::TaskEntry& task : tasks) {
      if (fail_next) return fail(ErrorCode::Device, "the fake device was told to fail");
      const auto value = [&](uint32_t word) {
        uint64_t bits = 0;
        std::memcpy(&bits, chip(task.address + word * 8), 8);
        return static_cast<uint32_t>(bits >> 16);
      };
      execute(value);
      counters.push_back({value(5), 9, 64, 32, false});
    }
    return {};
  }

  std::optional<device::AddressSpace> address_space() const override {
    return device::AddressSpace{int64_t{1} << 32, used};
  }

  std::vector<std::string> allocated;
  int64_t used = 0;            // of the address space, as others would have it
  std::vector<size_t> chains;  // tasks of every job
  bool fail_next = false;

 private:
  struct Memory {
    uint32_t address = 0;
    std::vector<uint8_t> host, chip;
  };
  Memory& at(uint32_t address) {
    for (auto& m : memories_)
      if (address >= m->address && address < m->address + m->chip.size()) return *m;
    ADD_FAILURE() << "address " << address << " is in no buffer";
    return *memories_.front();
  }
  uint8_t* chip(uint32_t address) {
    Memory& m = at(address);
    return m.chip.data() + (address - m.address);
  }
  template <class Value>
  void execute(const Value& value) {
    const uint8_t* from = chip(value(0));
    uint8_t* to = chip(value(1));
    const uint32_t bytes = value(2), pixels = value(5);
    if (value(4) == kAdd) {
      for (uint32_t i = 0; i < bytes; ++i) to[i] = static_cast<uint8_t>(from[i] + value(3));
      return;
    }
    for (uint32_t i = 0; i < bytes; ++i) {  // channel and pixel of the int8 cube, then the int32 cube's place
      const uint32_t channel = i / (pixels * 16) * 16 + i % 16, pixel = i / 16 % pixels;
      const int32_t raw = static_cast<int8_t>(from[i]) * 100;
      std::memcpy(to + ((channel / 4 * pixels + pixel) * 4 + channel % 4) * 4, &raw, 4);
    }
  }

  std::vector<std::unique_ptr<Memory>> memories_;
  uint32_t next_ = kFirstAddress;
};

constexpr int32_t kH = 3, kW = 5, kC = 19, kSlots = 32;
constexpr int64_t kCubeBytes = int64_t{kH} * kW * kSlots;

ir::Tensor activation(const std::string& name, std::vector<int32_t> shape) {
  ir::Tensor t;
  t.name = name;
  t.shape = std::move(shape);
  t.quant = {{0.5F}, {-3}, 0};
  return t;
}

// `convolutions` 1x1 convolutions in a row, then a 2x2 max pool: tensors 0..n are the maps, n+1 the pool's.
ir::Graph chain_graph(int32_t convolutions) {
  ir::Graph g;
  g.name = "chain";
  for (int32_t i = 0; i <= convolutions; ++i)
    g.tensors.push_back(activation("map" + std::to_string(i), {1, kH, kW, kC}));
  g.tensors.push_back(activation("pooled", {1, 1, 2, kC}));
  for (int32_t i = 0; i < convolutions; ++i) {
    const auto weights = static_cast<int32_t>(g.tensors.size());
    ir::Tensor w;
    w.name = "weights" + std::to_string(i);
    w.shape = {kC, 1, 1, kC};
    w.quant = {{0.25F}, {0}, 0};
    w.is_constant = true;
    w.data.assign(static_cast<size_t>(kC) * kC, 1);
    g.tensors.push_back(w);
    ir::Tensor b;
    b.name = "bias" + std::to_string(i);
    b.type = ir::DataType::Int32;
    b.shape = {kC};
    b.quant = {{0.125F}, {0}, 0};
    b.is_constant = true;
    b.data.assign(static_cast<size_t>(kC) * 4, 0);
    g.tensors.push_back(b);
    g.ops.push_back({ir::OpKind::Conv2D, {i, weights, weights + 1}, {i + 1}, ir::ConvAttributes{}});
  }
  ir::PoolAttributes pool;
  pool.stride_h = pool.stride_w = pool.filter_h = pool.filter_w = 2;
  g.ops.push_back({ir::OpKind::MaxPool2D, {convolutions}, {convolutions + 1}, pool});
  g.inputs = {0};
  g.outputs = {convolutions + 1};
  return g;
}

exe::Cube cube_at(int64_t offset) {
  return {1, offset, kH, kW, kSlots, 1};
}

exe::Placement place(int32_t tensor, int64_t offset) {
  return {tensor, cube_at(offset), kC, false, -3, {}};
}

// Adds a program to the executable: copies `bytes` from `from` to `to` (offsets in buffer 1), adding
// `addend`.
void add_task(exe::Executable& e, int32_t op, int64_t from, int64_t to, uint32_t addend, Mode mode = kAdd) {
  std::vector<uint8_t>& words = e.buffers[0].data;
  const auto first = static_cast<int64_t>(words.size() / 8);
  const uint32_t values[kProgramWords] = {0, 0, kCubeBytes, addend, mode, kH * kW};
  for (const uint32_t value : values) {
    const uint64_t word = 0xABCD000000001234ULL | (uint64_t{value} << 16);
    const auto* bytes = reinterpret_cast<const uint8_t*>(&word);
    words.insert(words.end(), bytes, bytes + 8);
  }
  e.buffers[0].size = static_cast<int64_t>(words.size());
  e.relocations.push_back({first, 1, from});
  e.relocations.push_back({first + 1, 1, to});
  exe::Task task;
  task.first_word = first;
  task.words = kProgramWords;
  task.op = op;
  task.rows = kH;
  task.real_input_channels = kC;
  task.real_output_channels = kC;
  e.tasks.push_back(task);
}

// Cubes A and B take turns, so every map but the last two is overwritten within the one job.
exe::Executable chain_executable(int32_t convolutions) {
  exe::Executable e;
  e.graph = ir::print(chain_graph(convolutions));
  e.buffers = {{"words", exe::BufferKind::Commands, 0, {}},
               {"maps", exe::BufferKind::Activations, 3 * kCubeBytes, {}}};
  e.placements.push_back(place(0, 0));
  for (int32_t i = 0; i < convolutions; ++i) {
    const int64_t from = i % 2 * kCubeBytes, to = (i + 1) % 2 * kCubeBytes;
    add_task(e, i, from, to, static_cast<uint32_t>(10 + i));
    e.placements.push_back(place(i + 1, to));
  }
  e.steps = {{exe::StepKind::Upload, -1, 0, 0, 0, -1},
             {exe::StepKind::Job, -1, -1, 0, convolutions, -1},
             {exe::StepKind::Download, -1, convolutions, 0, 0, -1},
             {exe::StepKind::Cpu, convolutions, -1, 0, 0, -1}};
  for (int32_t i = 0; i < convolutions; ++i) e.steps[1].edges.completes.push_back({i + 1, i});
  return e;
}

std::vector<uint8_t> random_map(uint32_t seed) {
  std::mt19937 rng(seed);
  std::vector<uint8_t> out(static_cast<size_t>(kH) * kW * kC);
  for (uint8_t& byte : out) byte = static_cast<uint8_t>(rng());
  return out;
}

std::vector<uint8_t> plus(std::vector<uint8_t> map, int addend) {
  for (uint8_t& byte : map) byte = static_cast<uint8_t>(byte + addend);
  return map;
}

std::vector<uint8_t> pooled(const std::vector<uint8_t>& map) {
  std::vector<uint8_t> out;
  for (int x = 0; x < 2; ++x)
    for (int c = 0; c < kC; ++c) {
      int best = -128;
      for (int dy = 0; dy < 2; ++dy)
        for (int dx = 0; dx < 2; ++dx)
          best = std::max<int>(
              best, static_cast<int8_t>(map[static_cast<size_t>((dy * kW + 2 * x + dx) * kC + c)]));
      out.push_back(static_cast<uint8_t>(best));
    }
  return out;
}

Result<std::vector<std::vector<uint8_t>>> run_one(Session& session, const std::vector<uint8_t>& input) {
  const std::span<const uint8_t> inputs[] = {input};
  return session.run(inputs);
}

TEST(Session, UploadsRunsDownloadsAndCallsTheCpu) {
  FakeDevice device;
  const auto session = Session::create(chain_executable(1), device);
  ASSERT_TRUE(session) << session.error().text();
  for (uint32_t seed = 1; seed <= 3; ++seed) {  // a session runs more than once
    const std::vector<uint8_t> input = random_map(seed);
    const auto outputs = run_one(**session, input);
    ASSERT_TRUE(outputs) << outputs.error().text();
    ASSERT_EQ(outputs->size(), 1U);
    EXPECT_EQ((*outputs)[0], pooled(plus(input, 10)));
  }
}

// The pool reads the convolution's cube and writes one, which is downloaded: no array in between.
exe::Executable pool_on_cubes() {
  exe::Executable e = chain_executable(1);
  e.placements.push_back({2, {1, 2 * kCubeBytes, 1, 2, kSlots, 1}, kC, false, -3, {}});
  e.steps = {{exe::StepKind::Upload, -1, 0},
             {exe::StepKind::Job, -1, -1, 0, 1},
             {exe::StepKind::Cpu, 1, -1, 0, 0, -1, {1}, {2}},
             {exe::StepKind::Download, -1, 2}};
  e.steps[1].edges.completes = {{1, 0}};
  e.steps[2].edges.completes = {{2, -1}};
  return e;
}

TEST(Session, CpuOperatorsReadAndWriteCubes) {
  for (const bool observed : {false, true}) {
    FakeDevice device;
    std::map<int32_t, std::vector<uint8_t>> seen;
    std::map<int32_t, int> times;
    SessionOptions options;
    if (observed)
      options.observer = [&](int32_t tensor, std::span<const uint8_t> values) {
        seen[tensor].assign(values.begin(), values.end());
        ++times[tensor];
      };
    const auto session = Session::create(pool_on_cubes(), device, options);
    ASSERT_TRUE(session) << session.error().text();
    for (uint32_t seed = 1; seed <= 3; ++seed) {
      const std::vector<uint8_t> input = random_map(seed);
      const auto outputs = run_one(**session, input);
      ASSERT_TRUE(outputs) << outputs.error().text();
      EXPECT_EQ((*outputs)[0], pooled(plus(input, 10)));
      if (!observed) continue;
      EXPECT_EQ(seen[1], plus(input, 10));
      EXPECT_EQ(seen[2], pooled(plus(input, 10)));
      EXPECT_EQ(times[2], static_cast<int>(seed)) << "once a run";
    }
  }
}

// The next operator on the device reads what the CPU wrote there.
TEST(Session, TheDeviceSeesWhatACpuOperatorWrote) {
  exe::Executable e = chain_executable(1);
  ir::Graph g = chain_graph(1);
  g.ops[1] = {ir::OpKind::Relu, {1}, {2}, ir::NoAttributes{}};
  g.tensors[2].shape = g.tensors[1].shape;
  ir::Op second = g.ops[0];
  second.inputs[0] = 2;
  second.outputs[0] = static_cast<int32_t>(g.tensors.size());
  g.tensors.push_back(activation("last", {1, kH, kW, kC}));
  g.ops.push_back(second);
  g.outputs = second.outputs;
  e.graph = ir::print(g);
  e.placements.push_back(place(2, 2 * kCubeBytes));
  e.placements.push_back(place(g.outputs[0], 0));
  add_task(e, 2, 2 * kCubeBytes, 0, 5);
  e.steps = {{exe::StepKind::Upload, -1, 0},
             {exe::StepKind::Job, -1, -1, 0, 1},
             {exe::StepKind::Cpu, 1, -1, 0, 0, -1, {1}, {2}},
             {exe::StepKind::Job, -1, -1, 1, 1},
             {exe::StepKind::Download, -1, 3}};
  FakeDevice device;
  const auto session = Session::create(e, device);
  ASSERT_TRUE(session) << session.error().text();
  const std::vector<uint8_t> input = random_map(9);
  const auto outputs = run_one(**session, input);
  ASSERT_TRUE(outputs) << outputs.error().text();
  std::vector<uint8_t> want = plus(input, 10);
  for (uint8_t& byte : want) byte = static_cast<uint8_t>(std::max<int>(static_cast<int8_t>(byte), -3));
  EXPECT_EQ((*outputs)[0], plus(want, 5));
}

// Each change breaks a rule of operands on the device that the container alone cannot check.
TEST(Session, BrokenOperandsAreRefused) {
  using Change = void (*)(exe::Executable&);
  const std::tuple<const char*, const char*, Change> changes[] = {
      {"count of inputs", "lists 2 inputs", [](exe::Executable& e) { e.steps[2].inputs = {1, -1}; }},
      {"count of outputs", "lists 0 outputs", [](exe::Executable& e) { e.steps[2].outputs = {}; }},
      {"tensor of an input", "placement 0 is of tensor 0",
       [](exe::Executable& e) { e.steps[2].inputs = {0}; }},
      {"host array that nobody wrote", "no earlier step",
       [](exe::Executable& e) { e.steps[2].inputs = {-1}; }},
      {"array that an earlier step freed", "or which one has freed",
       [](exe::Executable& e) {
         e.steps[0].edges.frees = {0};
         e.steps.push_back({exe::StepKind::Upload, -1, 0});
       }},
      {"array that is freed and not there", "frees tensor 1, which is not on the host",
       [](exe::Executable& e) { e.steps[1].edges.frees = {1}; }},
      {"array that no tensor has", "frees tensor 99",
       [](exe::Executable& e) { e.steps[1].edges.frees = {99}; }},
      {"output that is freed", "or which one has freed",
       [](exe::Executable& e) { e.steps.back().edges.frees = {2}; }},
      {"output that stays on the device", "no earlier step", [](exe::Executable& e) { e.steps.pop_back(); }},
      {"another view", "does not run on cubes",
       [](exe::Executable& e) {
         e.placements[1].cube = {1, kCubeBytes, 1, 1, 288, 1};
         e.placements[1].c = kH * kW * kC;
         e.buffers[1].size += kCubeBytes;
       }},
      {"operator that runs on arrays only", "does not run on cubes",
       [](exe::Executable& e) {
         e.steps.insert(e.steps.begin() + 1, {exe::StepKind::Cpu, 0, -1, 0, 0, -1, {0, -1, -1}, {1}});
       }},
  };
  for (const auto& [what, message, change] : changes) {
    exe::Executable e = pool_on_cubes();
    change(e);
    FakeDevice device;
    const auto session = Session::create(e, device);
    ASSERT_FALSE(session) << what;
    EXPECT_EQ(session.error().code, ErrorCode::InvalidModel) << what << ": " << session.error().text();
    EXPECT_NE(session.error().text().find(message), std::string::npos)
        << what << ": " << session.error().text();
  }
}

// An executable whose constants are read by nobody: what counts is how often they are on the device.
TEST(Session, SessionsOfAProgramShareConstants) {
  exe::Executable e = chain_executable(1);
  e.buffers.push_back({"weights", exe::BufferKind::Constants, 4096, std::vector<uint8_t>(4096, 7)});
  FakeDevice device;
  const auto program = load(e, device);
  ASSERT_TRUE(program) << program.error().text();
  EXPECT_EQ(device.allocated, (std::vector<std::string>{"weights"}));
  std::vector<std::unique_ptr<Session>> sessions;
  for (int i = 0; i < 3; ++i) {
    auto session = Session::create(*program);
    ASSERT_TRUE(session) << session.error().text();
    sessions.push_back(std::move(*session));
  }
  EXPECT_EQ(device.allocated,
            (std::vector<std::string>{"weights", "words", "maps", "words", "maps", "words", "maps"}));
  // In turns, each on activations of its own.
  for (uint32_t seed = 1; seed <= 6; ++seed) {
    const std::vector<uint8_t> input = random_map(seed);
    const auto outputs = run_one(*sessions[seed % 3], input);
    ASSERT_TRUE(outputs) << outputs.error().text();
    EXPECT_EQ((*outputs)[0], pooled(plus(input, 10)));
  }
}

TEST(Session, AnAddressSpaceThatIsFullIsAnError) {
  exe::Executable e = chain_executable(1);
  e.model = "net";
  e.buffers.push_back({"weights", exe::BufferKind::Constants, 4096, std::vector<uint8_t>(4096, 7)});
  const int64_t session_bytes = e.buffers[0].size + e.buffers[1].size;
  FakeDevice device;
  device.used = (int64_t{1} << 32) - session_bytes - 4095;
  const auto none = load(e, device);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::OutOfMemory);
  EXPECT_EQ(
      none.error().message,
      fmt::format("'net' needs {} bytes on device 'fake' ('words' {}, 'maps' {}, 'weights' 4096), of its "
                  "4294967296 bytes of addresses {} are taken",
                  session_bytes + 4096, e.buffers[0].size, e.buffers[1].size, device.used));
  EXPECT_TRUE(device.allocated.empty()) << "nothing is taken before all of it fits";
  device.used -= 1;
  const auto program = load(e, device);
  ASSERT_TRUE(program) << program.error().text();
  device.used += 4096;  // the constants are there
  EXPECT_TRUE(Session::create(*program));
  device.used += 1;
  const auto second = Session::create(*program);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::OutOfMemory);
  EXPECT_NE(second.error().message.find(fmt::format("needs {} bytes", session_bytes)), std::string::npos)
      << second.error().text();
}

TEST(Session, AChainIsOneJobWithoutAnObserver) {
  FakeDevice device;
  const auto session = Session::create(chain_executable(3), device);
  ASSERT_TRUE(session) << session.error().text();
  const std::vector<uint8_t> input = random_map(4);
  const auto outputs = run_one(**session, input);
  ASSERT_TRUE(outputs) << outputs.error().text();
  EXPECT_EQ((*outputs)[0], pooled(plus(input, 10 + 11 + 12)));
  EXPECT_EQ(device.chains, std::vector<size_t>{3});
}

TEST(Session, TheObserverSeesMapsThatTheChainOverwrites) {
  FakeDevice device;
  std::map<int32_t, std::vector<uint8_t>> seen;
  std::map<int32_t, int> times;
  SessionOptions options;
  options.observer = [&](int32_t tensor, std::span<const uint8_t> values) {
    seen[tensor].assign(values.begin(), values.end());
    ++times[tensor];
  };
  const auto session = Session::create(chain_executable(3), device, options);
  ASSERT_TRUE(session) << session.error().text();
  const std::vector<uint8_t> input = random_map(5);
  const auto outputs = run_one(**session, input);
  ASSERT_TRUE(outputs) << outputs.error().text();
  EXPECT_EQ(seen[0], input);
  EXPECT_EQ(seen[1], plus(input, 10));
  EXPECT_EQ(seen[2], plus(input, 21));
  EXPECT_EQ(seen[3], plus(input, 33));
  EXPECT_EQ(seen[4], pooled(plus(input, 33)));
  for (const auto& [tensor, count] : times) EXPECT_EQ(count, 1) << tensor;
}

TEST(Session, CountsOnlyRealChannels) {
  FakeDevice device;  // reports 15 pixels, 9 taps, 64 input and 32 output channels for every task
  const auto session = Session::create(chain_executable(2), device);
  ASSERT_TRUE(session) << session.error().text();
  ASSERT_TRUE(run_one(**session, random_map(6)));
  EXPECT_EQ((*session)->counters().tasks, 2);
  EXPECT_EQ((*session)->counters().macs, 2 * 15 * 9 * 19 * 19);
}

TEST(RealMacs, NeverMoreThanTheRegistersSay) {
  exe::Task task;
  task.real_input_channels = 100;
  task.real_output_channels = 50;
  EXPECT_EQ(real_macs(task, {6, 9, 20, 30, false}), 6 * 9 * 20 * 30);
  EXPECT_EQ(real_macs(task, {6, 9, 128, 64, false}), 6 * 9 * 100 * 50);
  task.kind = exe::TaskKind::Depthwise;
  EXPECT_EQ(real_macs(task, {6, 9, 128, 64, true}), 6 * 9 * 50);
  // Of the input channels a block reads, every kernel has those of its group: 1 when it was depthwise.
  task.kind = exe::TaskKind::BlockDiagonal;
  task.real_input_channels = 1;
  EXPECT_EQ(real_macs(task, {6, 9, 64, 64, false}), 6 * 9 * 50);
  task.real_input_channels = 4;
  EXPECT_EQ(real_macs(task, {6, 9, 64, 64, false}), 6 * 9 * 50 * 4);
}

// One task to int32, requantized by the host: 100 x * 2^-7 with ties up, then away, plus the zero point.
TEST(Session, RequantizesIntCubesOnTheHost) {
  exe::Executable e;
  e.graph = ir::print(chain_graph(1));
  e.buffers = {{"words", exe::BufferKind::Commands, 0, {}},
               {"maps", exe::BufferKind::Activations, 6 * kCubeBytes, {}}};
  e.placements = {place(0, 0), place(1, kCubeBytes)};
  add_task(e, 0, 0, 2 * kCubeBytes, 0, kTimesHundredToInt32);
  exe::HostStep host;
  host.regions = {{1, 2 * kCubeBytes, kH, kW, kSlots, 4}};
  host.zero_point = -3;
  for (int32_t c = 0; c < kC; ++c) {
    exe::HostChannel channel;
    channel.slot = c;
    channel.addend = c;
    channel.mantissa = 1 << 30;
    channel.exponent = -6;
    host.channels.push_back(channel);
  }
  e.host_steps = {host};
  e.steps = {{exe::StepKind::Upload, -1, 0, 0, 0, -1},
             {exe::StepKind::Job, -1, -1, 0, 1, -1},
             {exe::StepKind::Requantize, 0, 1, 0, 0, 0},
             {exe::StepKind::Download, -1, 1, 0, 0, -1},
             {exe::StepKind::Cpu, 1, -1, 0, 0, -1}};
  FakeDevice device;
  std::map<int32_t, std::vector<uint8_t>> seen;
  SessionOptions options;
  options.observer = [&](int32_t tensor, std::span<const uint8_t> values) {
    seen[tensor].assign(values.begin(), values.end());
  };
  const auto session = Session::create(e, device, options);
  ASSERT_TRUE(session) << session.error().text();
  const std::vector<uint8_t> input = random_map(7);
  ASSERT_TRUE(run_one(**session, input));
  for (size_t i = 0; i < input.size(); ++i) {
    const double sum = static_cast<int8_t>(input[i]) * 100.0 + static_cast<double>(i % kC);
    const double value = std::round(std::floor(sum / 2 + 0.5) / 64) - 3;
    ASSERT_EQ(static_cast<int8_t>(seen[1][i]), static_cast<int>(std::clamp(value, -128.0, 127.0))) << i;
  }
}

TEST(Session, WrongInputsAreErrors) {
  FakeDevice device;
  const auto session = Session::create(chain_executable(1), device);
  ASSERT_TRUE(session) << session.error().text();
  EXPECT_FALSE((*session)->run({}));
  const auto result = run_one(**session, std::vector<uint8_t>(7));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::InvalidArgument);
  EXPECT_NE(result.error().message.find("285"), std::string::npos) << result.error().message;
}

TEST(Session, ADeviceErrorNamesTheTasks) {
  FakeDevice device;
  const auto session = Session::create(chain_executable(2), device);
  ASSERT_TRUE(session) << session.error().text();
  device.fail_next = true;
  const auto result = run_one(**session, random_map(8));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::Device);
  EXPECT_NE(result.error().text().find("tasks 0 to 1"), std::string::npos) << result.error().text();
}

// Each change breaks one rule that the container alone cannot check.
TEST(Session, BrokenExecutablesAreRefused) {
  using Change = void (*)(exe::Executable&);
  const std::pair<const char*, Change> changes[] = {
      {"tensor of a placement", [](exe::Executable& e) { e.placements[1].tensor = 99; }},
      {"type of a placement", [](exe::Executable& e) { e.placements[1].is_uint8 = true; }},
      {"channels of a placement", [](exe::Executable& e) { e.placements[1].c = 18; }},
      {"size of a placement", [](exe::Executable& e) { e.placements[1].cube.h = 4; }},
      {"operator of a task", [](exe::Executable& e) { e.tasks[0].op = 7; }},
      {"operator of a CPU step", [](exe::Executable& e) { e.steps[3].op = 2; }},
      {"array that nobody wrote", [](exe::Executable& e) { e.steps.erase(e.steps.begin() + 2); }},
      {"output that nobody wrote", [](exe::Executable& e) { e.steps.pop_back(); }},
      {"weights on the CPU without data", [](exe::Executable& e) { e.steps[3].op = 0; }},
      {"constant of an activation", [](exe::Executable& e) { e.constants.push_back({0, {1, 2, 3}}); }},
      {"constant of the wrong size", [](exe::Executable& e) { e.constants.push_back({3, {1, 2, 3}}); }},
      {"graph text", [](exe::Executable& e) { e.graph += "nonsense(%0)\n"; }},
      {"relocation", [](exe::Executable& e) { e.relocations[0].word = 1000; }},
  };
  for (const auto& [what, change] : changes) {
    exe::Executable e = chain_executable(1);
    change(e);
    FakeDevice device;
    const auto session = Session::create(e, device);
    ASSERT_FALSE(session) << what;
    EXPECT_EQ(session.error().code, ErrorCode::InvalidModel) << what << ": " << session.error().text();
  }
}

}  // namespace
}  // namespace peraxis::runtime
