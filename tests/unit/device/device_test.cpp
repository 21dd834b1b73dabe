// The devices behind the interface: names, allocation, ranges, and a job on the machine model.
#include <gtest/gtest.h>

#include <array>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "base/rng.hpp"
#include "device/machine/machine_device.hpp"
#include "device/open.hpp"
#include "tiny_programs.hpp"

namespace peraxis::device {
namespace {

TEST(Devices, OpenByName) {
  for (const char* name : {"sim", "null"}) {
    auto device = open_device(name);
    ASSERT_TRUE(device) << name;
    EXPECT_EQ((*device)->name(), name);
  }
  const auto none = open_device("tpu");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::InvalidArgument);
}

TEST(NullDevice, RefusesEverythingByName) {
  auto device = *open_device("null");
  EXPECT_EQ(device->allocate(64, "x").error().code, ErrorCode::Unsupported);
  EXPECT_EQ(device->end_cpu_access({}, 0, 0).error().code, ErrorCode::Unsupported);
  EXPECT_EQ(device->begin_cpu_access({}, 0, 0).error().code, ErrorCode::Unsupported);
  EXPECT_EQ(device->allocate_exportable(64, "x").error().code, ErrorCode::Unsupported);
  EXPECT_EQ(device->export_buffer({}).error().code, ErrorCode::Unsupported);
  EXPECT_EQ(device->import_buffer(0, "x").error().code, ErrorCode::Unsupported);
  EXPECT_EQ(device->submit({}).error().code, ErrorCode::Unsupported);
  EXPECT_FALSE(device->address_space());
}

TEST(MachineDevice, BuffersArePageAlignedZeroedAndApart) {
  auto device = *open_device("sim");
  int64_t end = 0;
  std::vector<Buffer> kept;
  for (const int64_t size : {1, 4096, 5000, 64}) {
    const auto buffer = device->allocate(size, "b");
    ASSERT_TRUE(buffer);
    kept.push_back(*buffer);
    EXPECT_EQ(buffer->address % 4096, 0U);
    EXPECT_GE(buffer->address, 0x10000U);
    EXPECT_GT(buffer->address, end);
    EXPECT_EQ(static_cast<int64_t>(buffer->bytes.size()), size);
    for (const uint8_t v : buffer->bytes) ASSERT_EQ(v, 0);
    end = buffer->address + size;
  }
  EXPECT_FALSE(device->allocate(0, "empty"));
  EXPECT_FALSE(device->allocate(int64_t{1} << 33, "huge"));
}

TEST(MachineDevice, BuffersGiveTheirMemoryBack) {
  MachineDevice device;
  const int64_t empty = device.address_space()->used;
  {
    const Buffer a = *device.allocate(5000, "a");
    EXPECT_EQ(device.address_space()->used, empty + 3 * 4096)
        << "two pages, and one that keeps the next buffer apart";
    std::optional<Buffer> b = *device.allocate(100, "b");
    const Buffer c = *device.allocate(100, "c");
    const uint32_t address = b->address;
    b->bytes[7] = 1;
    ASSERT_TRUE(device.end_cpu_access(*b, 0, 100));
    const Buffer copy = *b;
    b.reset();
    EXPECT_EQ(device.address_space()->used, empty + 7 * 4096) << "a copy of the handle keeps it";
    EXPECT_EQ(copy.bytes[7], 1);
    b = *device.allocate(100, "elsewhere");
    EXPECT_NE(b->address, address);
  }
  EXPECT_EQ(device.address_space()->used, empty);
  const Buffer a = *device.allocate(5000, "a");
  {
    const Buffer b = *device.allocate(100, "b");
    b.bytes[7] = 1;
    ASSERT_TRUE(device.end_cpu_access(b, 0, 100));
  }
  const Buffer again = *device.allocate(100, "again");
  EXPECT_EQ(again.bytes[7], 0) << "its address is that of a buffer before it, its content is not";
  // A whole address space again and again, also by pieces of many sizes.
  base::Rng rng(1);
  std::vector<Buffer> many;
  for (int round = 0; round < 2000; ++round) {
    if (!many.empty() && rng.one_in(2)) {
      many.erase(many.begin() + rng.uniform(0, static_cast<int64_t>(many.size()) - 1));
      continue;
    }
    auto buffer = device.allocate(rng.uniform(1, 100000), "piece");
    ASSERT_TRUE(buffer) << buffer.error().text();
    for (const Buffer& other : many)
      ASSERT_TRUE(other.address + other.bytes.size() + 4096 <= buffer->address ||
                  buffer->address + buffer->bytes.size() + 4096 <= other.address);
    many.push_back(std::move(*buffer));
  }
}

TEST(MachineDevice, AFullAddressSpaceSaysSoAndLosesNothing) {
  MachineDevice device;
  const Buffer a = *device.allocate(1000, "a");
  const int64_t used = device.address_space()->used;
  const auto none = device.allocate((int64_t{1} << 32) - 70000, "b");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::OutOfMemory);
  EXPECT_NE(none.error().message.find("the largest gap has 4294893568"), std::string::npos)
      << none.error().message;
  EXPECT_EQ(device.address_space()->used, used);
}

// --- what only the machine model can be asked: jobs that stand still before a task ---

class Gate {
 public:
  // For machine::Options: each core waits before its first task until the gate opens or the time is over.
  machine::Options options() {
    machine::Options out;
    out.before_task = [this](int32_t core, int32_t task) -> Status {
      std::unique_lock lock(mutex_);
      threads.insert(std::this_thread::get_id());
      if (task == 0) order.push_back(core);
      changed_.notify_all();
      changed_.wait_for(lock, std::chrono::seconds(60), [&] { return open_; });
      return {};
    };
    return out;
  }
  bool wait_for_jobs(size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [&] { return order.size() >= count; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

  std::vector<int32_t> order;  // cores of the jobs that began
  std::set<std::thread::id> threads;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

TEST(MachineDevice, ThreeCoresRunSideBySideAndAFourthJobWaits) {
  Gate gate;
  MachineDevice device(gate.options());
  std::vector<test::Adder> adders;
  std::vector<FencePtr> fences;
  for (int i = 0; i < 4; ++i) {
    adders.push_back(*test::Adder::make(device, 2, 1));
    ASSERT_TRUE(adders.back().set(1));
    fences.push_back(*device.submit(adders.back().job()));
  }
  ASSERT_TRUE(gate.wait_for_jobs(3)) << "three begin though none has ended";
  EXPECT_EQ(gate.threads.size(), 3U);
  EXPECT_EQ(std::set<int32_t>(gate.order.begin(), gate.order.end()).size(), 3U);
  for (const FencePtr& fence : fences) {
    EXPECT_FALSE(*fence->poll()) << "submit and poll do not wait";
    EXPECT_FALSE(*fence->wait_for(std::chrono::milliseconds(1)));
  }
  gate.open();
  for (size_t i = 0; i < fences.size(); ++i) {
    ASSERT_TRUE(fences[i]->wait());
    EXPECT_EQ(*adders[i].result(), adders[i].expected(1));
  }
}

TEST(MachineDevice, ACoreRunsItsJobsInOrder) {
  Gate gate;
  MachineDevice device(gate.options());
  const auto first = *test::Adder::make(device, 2, 1), second = *test::Adder::make(device, 2, 1),
             other = *test::Adder::make(device, 2, 1);
  ASSERT_TRUE(first.set(1) && second.set(1) && other.set(1));
  const FencePtr a = *device.submit(first.job(1));
  ASSERT_TRUE(gate.wait_for_jobs(1));
  const FencePtr b = *device.submit(second.job(1)), c = *device.submit(other.job(2));
  ASSERT_TRUE(gate.wait_for_jobs(2));
  EXPECT_EQ(gate.order, (std::vector<int32_t>{1, 2})) << "the second of core 1 waits, core 2 does not";
  gate.open();
  for (const FencePtr& fence : {a, b, c}) EXPECT_TRUE(fence->wait());
  EXPECT_EQ(gate.order, (std::vector<int32_t>{1, 2, 1}));
}

TEST(MachineDevice, AJobOnThreeCoresIsNotStarved) {
  Gate gate;
  MachineDevice device(gate.options());
  const auto running = *test::Adder::make(device, 1, 1), later = *test::Adder::make(device, 1, 1);
  std::array<test::Adder, 3> parts{*test::Adder::make(device, 1, 1), *test::Adder::make(device, 1, 2),
                                   *test::Adder::make(device, 1, 3)};
  ASSERT_TRUE(running.set(1) && later.set(1));
  Job wide;
  for (const test::Adder& part : parts) {
    ASSERT_TRUE(part.set(1));
    const Job one = part.job();
    wide.chains.push_back(one.chains[0]);
    wide.reads.insert(wide.reads.end(), one.reads.begin(), one.reads.end());
    wide.writes.push_back(part.maps());
  }
  const FencePtr a = *device.submit(running.job(0));
  ASSERT_TRUE(gate.wait_for_jobs(1));
  const FencePtr b = *device.submit(wide), c = *device.submit(later.job());
  EXPECT_FALSE(*c->wait_for(std::chrono::milliseconds(20)));
  EXPECT_EQ(gate.order.size(), 1U) << "the wide one needs all cores, and the later one lets it go first";
  gate.open();
  for (const FencePtr& fence : {a, b, c}) EXPECT_TRUE(fence->wait());
  for (const test::Adder& part : parts) EXPECT_EQ(*part.result(), part.expected(1));
  ASSERT_EQ((*b->counters()).size(), 3U);
}

TEST(MachineDevice, TheHostKeepsItsHandsOffBuffersOfAJob) {
  Gate gate;
  MachineDevice device(gate.options());
  const auto adder = *test::Adder::make(device, 2, 1);
  ASSERT_TRUE(adder.set(1));
  const FencePtr fence = *device.submit(adder.job());
  for (const Status& status :
       {device.end_cpu_access(adder.maps(), 0, 1), device.begin_cpu_access(adder.maps(), 0, 1),
        device.end_cpu_access(adder.command_words(), 0, 1)}) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::InvalidArgument);
    EXPECT_NE(status.error().message.find("has not ended"), std::string::npos) << status.error().message;
  }
  EXPECT_TRUE(device.begin_cpu_access(adder.command_words(), 0, 1)) << "reading beside a reader";
  gate.open();
  ASSERT_TRUE(fence->wait());
  EXPECT_TRUE(device.end_cpu_access(adder.maps(), 0, 1));
}

TEST(MachineDevice, AJobReachesOnlyWhatItLists) {
  MachineDevice device;
  const auto adder = *test::Adder::make(device, 1, 1);
  ASSERT_TRUE(adder.set(1));
  Job job = adder.job();
  job.reads.pop_back();  // the weights
  const Status done = (*device.submit(job))->wait();
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("outside every buffer"), std::string::npos) << done.error().text();
}

TEST(MachineDevice, WhatNobodyWroteIsNotRead) {
  MachineDevice device;
  const auto adder = *test::Adder::make(device, 1, 1);
  const Status done = (*device.submit(adder.job()))->wait();
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("never written"), std::string::npos) << done.error().text();
}

// Without the barrier a core reads what another may not have written.
TEST(MachineDevice, ASplitWithoutItsBarrierIsRefused) {
  MachineDevice device;
  const Buffer weights = *test::identity_weights(device), words = *device.allocate(2 * 640, "words"),
               maps = *device.allocate(3 * 64, "maps");
  std::vector<uint64_t> all =
      test::words_of({{maps.address, maps.address + 64, weights.address, 1}}, words.address);
  const std::vector<uint64_t> other =
      test::words_of({{maps.address + 64, maps.address + 128, weights.address, 1}}, words.address + 640);
  all.insert(all.end(), other.begin(), other.end());
  ASSERT_TRUE(test::fill_words(device, words, all));
  ASSERT_TRUE(test::fill(device, maps, std::vector<uint8_t>(16, 1)));
  Job job;
  job.chains = {test::chain_of(1, words.address), test::chain_of(1, words.address + 640)};
  job.reads = {words, weights};
  job.writes = {maps};
  const Status done = (*device.submit(job))->wait();
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("CORE_BARRIER"), std::string::npos) << done.error().text();
}

}  // namespace
}  // namespace peraxis::device
