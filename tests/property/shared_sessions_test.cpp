// Sessions of one program in several threads: constants on the device once, every run what a run alone gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <thread>

#include "base/thread_pool.hpp"
#include "device/machine/machine_device.hpp"
#include "random_graphs.hpp"
#include "runtime/session.hpp"

namespace peraxis::property {
namespace {

constexpr size_t kThreads = 3;
constexpr int kRuns = 4;

int64_t bytes_of(const exe::Executable& executable, bool constants) {
  int64_t bytes = 0;
  for (const exe::Buffer& buffer : executable.buffers)
    if ((buffer.kind == exe::BufferKind::Constants) == constants) bytes += buffer.size;
  return bytes;
}

// The inputs of the case, other bytes in each thread and run.
std::vector<Bytes> inputs_of(const Case& test, size_t thread, int run) {
  std::vector<Bytes> inputs = test.inputs;
  for (Bytes& input : inputs)
    for (size_t i = 0; i < input.size(); ++i)
      input[i] = static_cast<uint8_t>(input[i] + thread * 37 + static_cast<size_t>(run) * (i % 11));
  return inputs;
}

TEST(SharedSessions, ThreadsGetWhatARunAloneGives) {
  for (uint64_t i = 0; i < 6; ++i) {
    const Case test = random_body(first_seed(980'000 + i));
    SCOPED_TRACE(test.text());
    compiler::Options options = test.options(i % 2 == 0 ? "exact" : "auto", num::Reference::LitertRef);
    options.convolutions_only = i % 3 == 0;
    const auto executable = compiler::compile(test.graph, options);
    ASSERT_TRUE(executable) << executable.error().text();
    device::MachineDevice device;
    const int64_t empty = device.address_space()->used;
    const auto program = runtime::load(*executable, device);
    ASSERT_TRUE(program) << program.error().text();
    std::array<std::unique_ptr<runtime::Session>, kThreads> sessions;
    for (auto& session : sessions) session = std::move(*runtime::Session::create(*program));
    // Buffers lie in pages with one between them.
    const int64_t used = device.address_space()->used - empty;
    const int64_t own = static_cast<int64_t>(kThreads) * bytes_of(*executable, false);
    const int64_t gaps = 2 * 4096 * static_cast<int64_t>(1 + 2 * kThreads);
    EXPECT_GE(used, own + bytes_of(*executable, true));
    EXPECT_LE(used, own + bytes_of(*executable, true) + gaps);

    std::array<std::array<std::vector<Bytes>, kRuns>, kThreads> made;
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        for (int run = 0; run < kRuns; ++run) {
          const std::vector<Bytes> inputs = inputs_of(test, t, run);
          const std::vector<std::span<const uint8_t>> views(inputs.begin(), inputs.end());
          auto outputs = sessions[t]->run(views);
          if (outputs) made[t][static_cast<size_t>(run)] = std::move(*outputs);
        }
      });
    for (std::thread& thread : threads) thread.join();
    for (size_t t = 0; t < kThreads; ++t)
      for (int run = 0; run < kRuns; ++run) {
        const auto alone = run_on_machine(*executable, inputs_of(test, t, run));
        ASSERT_TRUE(alone) << alone.error().text();
        EXPECT_EQ(made[t][static_cast<size_t>(run)], *alone) << "thread " << t << ", run " << run;
      }
  }
}

TEST(SharedSessions, SessionsGoOnWithoutTheirHandleOfTheProgram) {
  const Case test = random_body(first_seed(990'000));
  const auto executable = compiler::compile(test.graph, test.options("auto", num::Reference::LitertRef));
  ASSERT_TRUE(executable) << executable.error().text();
  device::MachineDevice device;
  std::unique_ptr<runtime::Session> session;
  {
    auto program = runtime::load(*executable, device);
    ASSERT_TRUE(program) << program.error().text();
    session = std::move(*runtime::Session::create(*program));
    ASSERT_TRUE(runtime::Session::create(std::move(*program)));  // another one, gone at once
  }
  const std::vector<std::span<const uint8_t>> views(test.inputs.begin(), test.inputs.end());
  const auto outputs = session->run(views);
  ASSERT_TRUE(outputs) << outputs.error().text();
  EXPECT_EQ(*outputs, *run_on_machine(*executable, test.inputs));
}

// Operators of the CPU and host steps run on the threads that the session has from the start.
TEST(SharedSessions, ASessionKeepsItsThreads) {
  for (uint64_t i = 0; i < 6; ++i) {
    const Case test = random_body(first_seed(992'000 + i));
    SCOPED_TRACE(test.text());
    compiler::Options options = test.options(i % 2 == 0 ? "exact" : "groups", num::Reference::LitertRef);
    options.convolutions_only = true;
    const auto executable = compiler::compile(test.graph, options);
    ASSERT_TRUE(executable) << executable.error().text();
    EXPECT_GT(std::ranges::count(executable->steps, exe::StepKind::Cpu, &exe::Step::kind), 0);
    device::MachineDevice device;
    const std::vector<std::span<const uint8_t>> views(test.inputs.begin(), test.inputs.end());
    const int64_t before = base::ThreadPool::started();
    const auto session = runtime::Session::create(*executable, device, {4, {}});
    ASSERT_TRUE(session) << session.error().text();
    EXPECT_EQ(base::ThreadPool::started() - before, 3) << "and the caller's";
    for (int run = 0; run < 3; ++run) {
      const auto outputs = (*session)->run(views);
      ASSERT_TRUE(outputs) << outputs.error().text();
      EXPECT_EQ(*outputs, *run_on_machine(*executable, test.inputs));
    }
    EXPECT_EQ(base::ThreadPool::started() - before, 3);
  }
}

// Passes on to a machine model, but for one allocation, which fails.
class FailingDevice final : public device::Device {
 public:
  std::string name() const override { return "failing"; }
  std::optional<device::AddressSpace> address_space() const override { return machine_.address_space(); }
  Result<device::Buffer> allocate(int64_t bytes, const std::string& name) override {
    if (allocations++ == fail_at) return fail(ErrorCode::OutOfMemory, "'{}' was told to fail", name);
    return machine_.allocate(bytes, name);
  }
  Status end_cpu_access(const device::Buffer& buffer, int64_t offset, int64_t bytes) override {
    if (syncs++ == fail_sync_at) return fail(ErrorCode::Device, "the copy was told to fail");
    return machine_.end_cpu_access(buffer, offset, bytes);
  }
  Status begin_cpu_access(const device::Buffer& buffer, int64_t offset, int64_t bytes) override {
    return machine_.begin_cpu_access(buffer, offset, bytes);
  }
  Result<device::FencePtr> submit(device::Job job) override { return machine_.submit(std::move(job)); }

  int allocations = 0, syncs = 0, fail_at = -1, fail_sync_at = -1;

 private:
  device::MachineDevice machine_;
};

exe::Executable small_program(const Case& test) {
  auto executable = compiler::compile(test.graph, test.options("auto", num::Reference::LitertRef));
  EXPECT_TRUE(executable) << executable.error().text();
  return executable ? *executable : exe::Executable();
}

TEST(DeviceMemory, TenThousandProgramsAndSessionsLeaveNothing) {
  const Case test = random_layer(first_seed(991'000));
  SCOPED_TRACE(test.text());
  const exe::Executable executable = small_program(test);
  const std::vector<std::span<const uint8_t>> views(test.inputs.begin(), test.inputs.end());
  device::MachineDevice device;
  const int64_t empty = device.address_space()->used;
  // One lives through all of it, at its addresses.
  const auto first = runtime::Session::create(executable, device);
  ASSERT_TRUE(first) << first.error().text();
  const auto want = (*first)->run(views);
  ASSERT_TRUE(want) << want.error().text();
  const int64_t used = device.address_space()->used;
  EXPECT_GT(used, empty);
  for (int round = 0; round < 10'000 && !HasFailure(); ++round) {
    auto program = runtime::load(executable, device);
    ASSERT_TRUE(program) << round << ": " << program.error().text();
    auto a = runtime::Session::create(*program), b = runtime::Session::create(*program);
    ASSERT_TRUE(a && b) << round;
    // The program's handle may go before its sessions, one session before the other.
    if (round % 2 == 0) program->reset();
    if (round % 3 == 0) a->reset();
    if (round % 100 == 0) {
      const auto outputs = (*b)->run(views);
      ASSERT_TRUE(outputs) << outputs.error().text();
      EXPECT_EQ(*outputs, *want);
    }
  }
  EXPECT_EQ(device.address_space()->used, used);
  EXPECT_EQ(*(*first)->run(views), *want);
}

TEST(DeviceMemory, LoadsThatFailHalfWayLeaveNothing) {
  const Case test = random_layer(first_seed(991'000));
  const exe::Executable executable = small_program(test);
  FailingDevice counting;
  const int64_t empty = counting.address_space()->used;
  {
    ASSERT_TRUE(runtime::Session::create(executable, counting));
  }
  EXPECT_EQ(counting.address_space()->used, empty);
  EXPECT_GE(counting.allocations, 3);  // commands, constants, activations
  EXPECT_GE(counting.syncs, 2);
  for (const bool sync : {false, true})
    for (int at = 0; at < (sync ? counting.syncs : counting.allocations); ++at) {
      FailingDevice device;
      (sync ? device.fail_sync_at : device.fail_at) = at;
      const auto session = runtime::Session::create(executable, device);
      ASSERT_FALSE(session);
      EXPECT_NE(session.error().text().find("was told to fail"), std::string::npos) << session.error().text();
      EXPECT_EQ(device.address_space()->used, empty) << (sync ? "copy " : "allocation ") << at;
    }
}

TEST(DeviceMemory, SessionsComeAndGoInThreads) {
  const Case test = random_layer(first_seed(991'000));
  const exe::Executable executable = small_program(test);
  const std::vector<std::span<const uint8_t>> views(test.inputs.begin(), test.inputs.end());
  device::MachineDevice device;
  const int64_t empty = device.address_space()->used;
  const std::vector<Bytes> want = *run_on_machine(executable, test.inputs);
  {
    const auto program = runtime::load(executable, device);
    ASSERT_TRUE(program) << program.error().text();
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 40; ++i) {
          const auto session = runtime::Session::create(*program);
          ASSERT_TRUE(session);
          const auto outputs = (*session)->run(views);
          ASSERT_TRUE(outputs) << outputs.error().text();
          EXPECT_EQ(*outputs, want);
        }
      });
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(device.address_space()->used, empty);
}

}  // namespace
}  // namespace peraxis::property
