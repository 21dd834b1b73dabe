// Programs and sessions of the runtime: order of destruction, memory that comes back, threads.
#include <thread>

#include "../tiny_programs.hpp"
#include "backends.hpp"
#include "exe/executable.hpp"
#include "ir/graph.hpp"
#include "runtime/session.hpp"

namespace peraxis::device::test {
namespace {

using Sessions = Conformance;
PERAXIS_ON_EVERY_BACKEND(Sessions);

using Bytes = std::vector<uint8_t>;
constexpr int32_t kChannels = static_cast<int32_t>(kLanes);
constexpr int8_t kAdd = 9;

ir::Tensor tensor(const char* name, ir::DataType type, std::vector<int32_t> shape) {
  ir::Tensor out;
  out.name = name;
  out.type = type;
  out.shape = std::move(shape);
  out.quant = {{1.0F}, {0}, 0};
  return out;
}

// A convolution of one pixel; its words are written by hand and add kAdd to each channel.
exe::Executable one_convolution() {
  ir::Graph g;
  g.name = "one";
  g.tensors = {tensor("in", ir::DataType::Int8, {1, 1, 1, kChannels}),
               tensor("out", ir::DataType::Int8, {1, 1, 1, kChannels}),
               tensor("weights", ir::DataType::Int8, {kChannels, 1, 1, kChannels}),
               tensor("bias", ir::DataType::Int32, {kChannels})};
  for (const size_t constant : {2, 3}) {
    g.tensors[constant].is_constant = true;
    g.tensors[constant].data.assign(static_cast<size_t>(g.tensors[constant].bytes()), 0);
  }
  g.ops.push_back({ir::OpKind::Conv2D, {0, 2, 3}, {1}, ir::ConvAttributes{}});
  g.inputs = {0};
  g.outputs = {1};

  const std::vector<uint64_t> words = words_of({{0, 0, 0, kAdd, 0, 0}}, 0);
  Bytes word_bytes(words.size() * 8), weights(static_cast<size_t>(kWeightBytes));
  std::copy_n(reinterpret_cast<const uint8_t*>(words.data()), word_bytes.size(), word_bytes.begin());
  for (size_t k = 0; k < static_cast<size_t>(kLanes); ++k) weights[k * static_cast<size_t>(kLanes) + k] = 1;
  exe::Executable e;
  e.model = "one";
  e.graph = ir::print(g);
  e.buffers = {{"words", exe::BufferKind::Commands, static_cast<int64_t>(word_bytes.size()), word_bytes},
               {"maps", exe::BufferKind::Activations, 2 * kMapBytes, {}},
               {"weights", exe::BufferKind::Constants, kWeightBytes, weights}};
  e.placements = {{0, {1, 0, 1, 1, 16, 1}, kChannels, false, 0, {}},
                  {1, {1, kMapBytes, 1, 1, 32, 1}, kChannels, false, 0, {}}};
  for (size_t i = 0; i < words.size(); ++i) {
    const auto word = static_cast<int64_t>(i);
    if ((words[i] & 0xFFFF) == 0x1070) e.relocations.push_back({word, 1, 0});
    if ((words[i] & 0xFFFF) == 0x4020) e.relocations.push_back({word, 1, kMapBytes});
    if ((words[i] & 0xFFFF) == 0x1110) e.relocations.push_back({word, 2, 0});
  }
  exe::Task task;
  task.words = kProgramWords;
  task.rows = 1;
  task.real_input_channels = task.real_output_channels = kChannels;
  e.tasks = {task};
  e.steps = {
      {exe::StepKind::Upload, -1, 0}, {exe::StepKind::Job, -1, -1, 0, 1}, {exe::StepKind::Download, -1, 1}};
  return e;
}

Status check(runtime::Session& session, uint8_t value) {
  const Bytes input(static_cast<size_t>(kChannels), value);
  const std::span<const uint8_t> views[] = {input};
  const std::vector<Bytes> outputs = PERAXIS_TRY(session.run(views));
  if (outputs[0] != Bytes(static_cast<size_t>(kChannels), static_cast<uint8_t>(value + kAdd)))
    return fail(ErrorCode::Internal, "{} became {}", value, outputs[0][0]);
  return {};
}

TEST_P(Sessions, TheProgramsHandleMayGoFirst) {
  const auto device = open();
  auto program = runtime::load(one_convolution(), *device);
  ASSERT_TRUE(program) << program.error().text();
  auto a = runtime::Session::create(*program), b = runtime::Session::create(*program);
  ASSERT_TRUE(a && b);
  program->reset();
  for (uint8_t value = 0; value < 5; ++value) {
    const Status done = check(**a, value);
    ASSERT_TRUE(done) << done.error().text();
    ASSERT_TRUE(check(**b, static_cast<uint8_t>(value + 50)));
  }
  a->reset();
  EXPECT_TRUE(check(**b, 7));
  if ((*b)->counters().macs) {
    EXPECT_EQ(*(*b)->counters().macs, int64_t{kChannels} * kChannels);
  }
}

TEST_P(Sessions, EachCoreOfTheDevice) {
  const auto device = open();
  for (int32_t core = kAnyCore; core < device->cores(); ++core) {
    runtime::SessionOptions options;
    options.core = core;
    const auto session = runtime::Session::create(one_convolution(), *device, options);
    ASSERT_TRUE(session) << session.error().text();
    const Status done = check(**session, 3);
    EXPECT_TRUE(done) << done.error().text();
  }
  runtime::SessionOptions options;
  options.core = device->cores();
  const auto session = runtime::Session::create(one_convolution(), *device, options);
  ASSERT_TRUE(session) << session.error().text();
  const Status none = check(**session, 3);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::InvalidArgument);
  EXPECT_NE(none.error().text().find("while running tasks 0 to 0"), std::string::npos) << none.error().text();
}

TEST_P(Sessions, TenThousandAtFlatMemory) {
  // Of an address space that would be full after some hundreds.
  const auto device = open(int64_t{8} << 20);
  const exe::Executable executable = one_convolution();
  const auto lasting = runtime::Session::create(executable, *device);
  ASSERT_TRUE(lasting) << lasting.error().text();
  const auto used = device->address_space();
  for (int i = 0; i < 10'000; ++i) {
    auto program = runtime::load(executable, *device);
    ASSERT_TRUE(program) << i << ": " << program.error().text();
    auto session = runtime::Session::create(*program);
    ASSERT_TRUE(session) << i << ": " << session.error().text();
    if (i % 2 == 0) program->reset();
    if (i % 20 == 0) {
      ASSERT_TRUE(check(**session, static_cast<uint8_t>(i % 100))) << i;
    }
  }
  if (used) {
    EXPECT_EQ(device->address_space()->used, used->used);
  }
  EXPECT_TRUE(check(**lasting, 1));
}

TEST_P(Sessions, NoRoomForASessionNamesTheSizes) {
  const auto device = open(int64_t{1} << 18);
  const auto program = runtime::load(one_convolution(), *device);
  ASSERT_TRUE(program) << program.error().text();
  std::vector<std::unique_ptr<runtime::Session>> sessions;
  for (int i = 0; i < 1000; ++i) {
    auto session = runtime::Session::create(*program);
    if (session) {
      sessions.push_back(std::move(*session));
      continue;
    }
    EXPECT_EQ(session.error().code, ErrorCode::OutOfMemory) << session.error().text();
    for (const char* word : {" bytes", "262144"})
      EXPECT_NE(session.error().text().find(word), std::string::npos) << session.error().text();
    EXPECT_GT(sessions.size(), 3U);
    EXPECT_TRUE(check(*sessions.front(), 1)) << "the others go on";
    sessions.pop_back();
    EXPECT_TRUE(runtime::Session::create(*program)) << "and there is room again";
    return;
  }
  FAIL() << "1000 sessions in 256 KiB";
}

TEST_P(Sessions, ComeAndGoInThreads) {
  const auto device = open();
  const auto used = device->address_space();
  {
    const auto program = runtime::load(one_convolution(), *device);
    ASSERT_TRUE(program) << program.error().text();
    std::vector<std::thread> threads;
    for (int t = 0; t < 6; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 60; ++i) {
          const auto session = runtime::Session::create(*program);
          ASSERT_TRUE(session) << session.error().text();
          for (int run = 0; run < 3; ++run) {
            const Status done = check(**session, static_cast<uint8_t>(10 * t + run));
            ASSERT_TRUE(done) << done.error().text();
          }
        }
      });
    for (std::thread& thread : threads) thread.join();
  }
  if (used) {
    EXPECT_EQ(device->address_space()->used, used->used);
  }
}

}  // namespace
}  // namespace peraxis::device::test
