// Memory of activations against what the machine model touches. Every activation gets memory of its own with
// a wide gap behind it. Reading a byte nobody wrote is a fault of the machine, so a reservation that is too
// small for what is read shows by itself; one that is too small for what is written shows as a gap with bytes
// in it, one that is too large as a gap that is too wide.
#include <gtest/gtest.h>

#include <deque>

#include "device/synchronous.hpp"
#include "random_tangles.hpp"
#include "runtime/session.hpp"

namespace peraxis::property {
namespace {

constexpr int64_t kGap = int64_t{1} << 20;
constexpr int64_t kAlign = 64;

// A machine model whose memory can be looked into.
class OpenDevice final : public device::SynchronousDevice {
 public:
  std::string name() const override { return "open"; }
  Result<device::Buffer> allocate(int64_t bytes, const std::string& name) override {
    std::vector<uint8_t>& storage = storage_.emplace_back(static_cast<size_t>(bytes));
    const device::Buffer buffer{next_, storage};
    PERAXIS_TRY(machine_.memory().map(buffer.address, buffer.bytes, name));
    next_ += static_cast<uint32_t>(bytes + 8191) / 4096 * 4096;
    if (name == "activations") activations = buffer;
    return buffer;
  }
  Status end_cpu_access(const device::Buffer& buffer, int64_t offset, int64_t bytes) override {
    return machine_.memory().mark_written(buffer.address + offset, bytes);
  }
  Status begin_cpu_access(const device::Buffer&, int64_t, int64_t) override { return {}; }
  Status run(std::span<const device::TaskEntry> tasks, std::vector<device::TaskCounters>&) override {
    PERAXIS_TRY(machine_.run({tasks[0].address, tasks[0].words, static_cast<int32_t>(tasks.size()), 0}));
    return {};
  }
  bool written(int64_t offset) { return machine_.memory().written(activations.address + offset, 1); }

  device::Buffer activations;

 private:
  machine::Machine machine_{machine::Options{}};
  std::deque<std::vector<uint8_t>> storage_;
  uint32_t next_ = 0x10000;
};

struct Gaps {
  int64_t count = 0, narrowest = INT64_MAX, widest = 0;
};

// Stretches of bytes that nobody wrote; short ones are slots inside a cube that no task needs.
Gaps gaps_of(OpenDevice& device) {
  Gaps out;
  int64_t begin = -1;
  const auto size = static_cast<int64_t>(device.activations.bytes.size());
  for (int64_t at = 0; at <= size; ++at) {
    const bool written = at < size && device.written(at);
    if (!written && begin < 0) begin = at;
    if ((!written && at < size) || begin < 0) continue;
    const int64_t stretch = at - begin;
    begin = -1;
    if (at == size) {  // behind the last activation nothing is reserved
      out.widest = std::max(out.widest, kGap + stretch);
    } else if (stretch >= kGap / 2) {
      ++out.count;
      out.narrowest = std::min(out.narrowest, stretch);
      out.widest = std::max(out.widest, stretch);
    }
  }
  return out;
}

Case graph_of(uint64_t i) {
  const uint64_t seed = first_seed(2'600'000 + i);
  switch (i % 6) {
    case 0:
      return random_tangle(seed);
    case 1:
      return random_body(seed);
    case 2:
      return random_network(seed);
    case 3:
      return form_network(seed);
    case 4:
      return random_form(seed, kForms[i / 6 % std::size(kForms)]);
    default:
      return random_layer(seed);
  }
}

TEST(ReservedMemory, IsWhatTasksTouch) {
  const std::vector<std::string> strategies = compiler::strategy_names();
  int64_t gaps = 0;
  for (uint64_t i = 0; i < 150 && !HasFailure(); ++i) {
    const Case test = graph_of(i);
    const std::string strategy = i % 2 == 0 ? "auto" : strategies[i / 2 % strategies.size()];
    SCOPED_TRACE(test.text() + "\nstrategy " + strategy);
    compiler::Options options = test.options(strategy, num::Reference::LitertRef);
    // What is added reads dummy channels that nobody has written: reserved, but not seen here.
    options.fused_adds = i % 4 == 0;
    options.convolutions_only = i % 5 == 0;
    options.memory_gap = kGap;
    const auto executable = compiler::compile(test.graph, options);
    ASSERT_TRUE(executable) << executable.error().text();
    OpenDevice device;
    const auto session = runtime::Session::create(*executable, device);
    ASSERT_TRUE(session) << session.error().text();
    const std::vector<std::span<const uint8_t>> views(test.inputs.begin(), test.inputs.end());
    const auto outputs = (*session)->run(views);
    ASSERT_TRUE(outputs) << outputs.error().text();
    const Gaps found = gaps_of(device);
    gaps += found.count;
    EXPECT_GE(found.narrowest, kGap) << "something is written behind its activation";
    EXPECT_LT(options.fused_adds ? 0 : found.widest, kGap + kAlign)
        << "memory is reserved that nothing touches";
    // In memory that is used again: the same outputs.
    options.memory_gap = 0;
    const auto dense = compiler::compile(test.graph, options);
    ASSERT_TRUE(dense) << dense.error().text();
    EXPECT_EQ(*run_on_machine(*dense, test.inputs), *outputs);
  }
  EXPECT_GT(gaps, 300);
}

}  // namespace
}  // namespace peraxis::property
