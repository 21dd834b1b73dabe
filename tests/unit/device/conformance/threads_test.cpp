// Many threads at once, and sessions through the runtime.
#include <atomic>
#include <thread>

#include "../tiny_programs.hpp"
#include "backends.hpp"
#include "base/rng.hpp"

namespace peraxis::device::test {
namespace {

using Threads = Conformance;
PERAXIS_ON_EVERY_BACKEND(Threads);

constexpr size_t kThreads = 6;

TEST_P(Threads, JobsOfManyThreadsOnAllCores) {
  const auto device = open();
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      base::Rng rng(t + 1);
      const auto adder = Adder::make(*device, 1 + t, static_cast<int8_t>(t + 1));
      ASSERT_TRUE(adder) << adder.error().text();
      for (int i = 0; i < 60; ++i) {
        const auto core = static_cast<int32_t>(rng.uniform(kAnyCore, device->cores() - 1));
        const Status done = adder->check(static_cast<uint8_t>(i), core);
        ASSERT_TRUE(done) << "thread " << t << ", job " << i << ": " << done.error().text();
      }
    });
  for (std::thread& thread : threads) thread.join();
}

// Buffers and whole programs come and go while others run, jobs fail beside jobs that do not.
TEST_P(Threads, CreateRunDestroyAtRandom) {
  const auto device = open(int64_t{8} << 20);
  const auto empty = device->address_space();
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      base::Rng rng(100 + t);
      std::vector<Adder> kept;
      for (int i = 0; i < 60; ++i) {
        auto adder = Adder::make(*device, static_cast<size_t>(rng.uniform(1, 6)), 3);
        ASSERT_TRUE(adder) << adder.error().text();
        kept.push_back(*adder);
        const Status done =
            kept[static_cast<size_t>(rng.uniform(0, static_cast<int64_t>(kept.size()) - 1))].check(
                static_cast<uint8_t>(i));
        ASSERT_TRUE(done) << done.error().text();
        Job wrong = adder->job();
        wrong.writes = {*device->allocate(64, "not the maps")};
        const auto fence = device->submit(wrong);
        ASSERT_TRUE(fence) << fence.error().text();
        EXPECT_FALSE((*fence)->wait()) << "its tasks write what the job does not list";
        if (rng.one_in(2)) kept.erase(kept.begin());
      }
    });
  for (std::thread& thread : threads) thread.join();
  if (empty) {
    EXPECT_EQ(device->address_space()->used, empty->used);
  }
  const auto last = Adder::make(*device, 1, 1);
  ASSERT_TRUE(last);
  for (int32_t core = 0; core < device->cores(); ++core) EXPECT_TRUE(last->check(1, core));
}

TEST_P(Threads, ExhaustionInOneThreadHurtsNoOther) {
  const auto device = open(int64_t{2} << 20);
  const auto adder = Adder::make(*device, 3, 1);
  ASSERT_TRUE(adder);
  std::atomic<bool> stop = false;
  std::thread greedy([&] {
    while (!stop) {
      std::vector<Buffer> all;
      for (;;) {
        auto buffer = device->allocate(50'000, "greedy");
        if (!buffer) {
          EXPECT_EQ(buffer.error().code, ErrorCode::OutOfMemory);
          break;
        }
        all.push_back(std::move(*buffer));
      }
    }
  });
  for (int i = 0; i < 50; ++i) {
    const Status done = adder->check(static_cast<uint8_t>(i));
    EXPECT_TRUE(done) << done.error().text();
  }
  stop = true;
  greedy.join();
}

}  // namespace
}  // namespace peraxis::device::test
