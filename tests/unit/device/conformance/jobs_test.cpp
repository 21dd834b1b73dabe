// Jobs and fences: form, order, cores, failures, lifetimes.
#include <chrono>
#include <thread>

#include "../tiny_programs.hpp"
#include "backends.hpp"

namespace peraxis::device::test {
namespace {

using std::chrono::milliseconds;
using Jobs = Conformance;
PERAXIS_ON_EVERY_BACKEND(Jobs);

TEST_P(Jobs, ChainsOfManyLengths) {
  const auto device = open();
  for (const size_t tasks : {1, 2, 3, 40}) {
    const auto adder = Adder::make(*device, tasks, 2);
    ASSERT_TRUE(adder) << adder.error().text();
    for (const int value : {0, 5, 200}) {
      const Status done = adder->check(static_cast<uint8_t>(value));
      EXPECT_TRUE(done) << tasks << " tasks: " << done.error().text();
    }
  }
}

TEST_P(Jobs, EveryCoreGivesTheSame) {
  const auto device = open();
  ASSERT_GE(device->cores(), 1);
  for (int32_t core = kAnyCore; core < device->cores(); ++core) {
    const auto adder = Adder::make(*device, 3, 7);
    ASSERT_TRUE(adder);
    const Status done = adder->check(11, core);
    EXPECT_TRUE(done) << "core " << core << ": " << done.error().text();
  }
}

// Two cores: each adds to the input, they meet, and each goes on with what the other made.
TEST_P(Jobs, CoresThatMeetAtABarrier) {
  const auto device = open();
  const Buffer weights = *identity_weights(*device), words = *device->allocate(4 * kStrideWords * 8, "words"),
               maps = *device->allocate(5 * kMapBytes, "maps");
  const auto map = [&](uint32_t i) { return maps.address + i * static_cast<uint32_t>(kMapBytes); };
  const uint32_t second = words.address + 2 * static_cast<uint32_t>(kStrideWords) * 8;
  std::vector<uint64_t> all =
      words_of({{map(0), map(1), weights.address, 1, 2, 0}, {map(2), map(3), weights.address, 10, 0, 0}},
               words.address);
  const std::vector<uint64_t> other = words_of(
      {{map(0), map(2), weights.address, 2, 2, 0}, {map(1), map(4), weights.address, 20, 0, 0}}, second);
  all.insert(all.end(), other.begin(), other.end());
  ASSERT_TRUE(fill_words(*device, words, all));
  for (const bool named : {false, true}) {
    ASSERT_TRUE(fill(*device, maps, std::vector<uint8_t>(static_cast<size_t>(kLanes), 3)));
    Job job;
    job.chains = {chain_of(2, words.address, named ? device->cores() - 1 : kAnyCore),
                  chain_of(2, second, named ? 0 : kAnyCore)};
    job.reads = {words, weights};
    job.writes = {maps};
    const auto fence = device->submit(job);
    if (device->cores_of_a_job() < 2) {
      ASSERT_FALSE(fence);
      EXPECT_EQ(fence.error().code, ErrorCode::Unsupported);
      EXPECT_NE(fence.error().message.find("'" + device->name() + "'"), std::string::npos);
      GTEST_SKIP() << fence.error().message;
    }
    ASSERT_TRUE(fence) << fence.error().text();
    const Status done = (*fence)->wait();
    ASSERT_TRUE(done) << done.error().text();
    ASSERT_TRUE(device->begin_cpu_access(maps, 0, 5 * kMapBytes));
    for (size_t i = 0; i < static_cast<size_t>(kLanes); ++i) {
      EXPECT_EQ(maps.bytes[3 * static_cast<size_t>(kMapBytes) + i], 3 + 2 + 10) << i;
      EXPECT_EQ(maps.bytes[4 * static_cast<size_t>(kMapBytes) + i], 3 + 1 + 20) << i;
    }
  }
}

// What drivers drop without a word is refused with one.
TEST_P(Jobs, WrongFormsAreRefused) {
  const auto device = open();
  const auto adder = Adder::make(*device, 2, 1);
  ASSERT_TRUE(adder);
  using Change = void (*)(Job&, const Device&);
  const std::pair<const char*, Change> changes[] = {
      {"without chains", [](Job& j, const Device&) { j.chains.clear(); }},
      {"0 tasks", [](Job& j, const Device&) { j.chains[0].tasks.clear(); }},
      {"command words", [](Job& j, const Device&) { j.chains[0].tasks[1].words = 0; }},
      {"multiple of 16", [](Job& j, const Device&) { j.chains[0].tasks[1].address += 8; }},
      {"no buffer that the job lists", [](Job& j, const Device&) { j.reads.erase(j.reads.begin()); }},
      {"no buffer that the job lists", [](Job& j, const Device&) { j.chains[0].tasks[1].words = 5000; }},
      {"twice", [](Job& j, const Device&) { j.reads.push_back(j.reads[0]); }},
      {"twice", [](Job& j, const Device&) { j.reads.push_back(j.writes[0]); }},
      {"twice", [](Job& j, const Device&) { j.writes.push_back(j.writes[0]); }},
      {"writes no buffer", [](Job& j, const Device&) { j.writes.clear(); }},
      {"no device has given", [](Job& j, const Device&) { j.writes.push_back({}); }},
      {"cores 0..", [](Job& j, const Device& d) { j.chains[0].core = d.cores(); }},
      {"cores 0..", [](Job& j, const Device&) { j.chains[0].core = -2; }},
      {"timeout", [](Job& j, const Device&) { j.timeout = milliseconds(-1); }},
  };
  for (const auto& [message, change] : changes) {
    Job job = adder->job();
    change(job, *device);
    const auto fence = device->submit(std::move(job));
    ASSERT_FALSE(fence) << message;
    EXPECT_EQ(fence.error().code, ErrorCode::InvalidArgument) << fence.error().text();
    EXPECT_NE(fence.error().message.find(message), std::string::npos)
        << message << ": " << fence.error().text();
  }
  Job many = adder->job();
  while (static_cast<int32_t>(many.chains.size()) <= device->cores_of_a_job())
    many.chains.push_back(many.chains[0]);
  EXPECT_EQ(device->submit(many).error().code, ErrorCode::Unsupported);
  if (device->cores_of_a_job() > 1)
    for (const int32_t core : {0, kAnyCore}) {
      Job job = adder->job(0);
      job.chains.push_back(job.chains[0]);
      job.chains[1].core = core;
      EXPECT_EQ(device->submit(job).error().code, ErrorCode::InvalidArgument) << core;
    }
  EXPECT_TRUE(adder->check(1)) << "and the device goes on";
}

TEST_P(Jobs, AFenceAnswersAsOftenAsItIsAsked) {
  const auto device = open();
  const auto adder = Adder::make(*device, 500, 1);
  ASSERT_TRUE(adder && adder->set(0));
  const auto fence = device->submit(adder->job());
  ASSERT_TRUE(fence) << fence.error().text();
  const auto first = (*fence)->poll();
  ASSERT_TRUE(first) << "ended or not, it is no failure";
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      EXPECT_TRUE((*fence)->wait());
      EXPECT_TRUE((*fence)->wait()) << "a second time";
      EXPECT_TRUE(*(*fence)->poll());
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(*(*fence)->wait_for(milliseconds(-5)));
  EXPECT_TRUE(*(*fence)->wait_for(milliseconds::max())) << "no overflow";
  EXPECT_EQ(*adder->result(), adder->expected(0));
  if (const auto* counters = (*fence)->counters()) {
    ASSERT_EQ(counters->size(), 1U);
    ASSERT_EQ(counters->front().size(), 500U);
    EXPECT_EQ(counters->front()[7].output_pixels, 1);
    EXPECT_EQ(counters->front()[7].kernel_taps, 1);
    EXPECT_EQ(counters->front()[7].input_channels, 16);
    EXPECT_EQ(counters->front()[7].output_channels, 32);
    EXPECT_FALSE(counters->front()[7].depthwise);
  }
}

// A hundred jobs that all read and write one buffer, submitted at once, for any core and for each.
TEST_P(Jobs, JobsThatShareABufferKeepTheirOrder) {
  const auto device = open();
  const Buffer weights = *identity_weights(*device), maps = *device->allocate(2 * kMapBytes, "maps");
  constexpr int kJobs = 100;
  ASSERT_TRUE(fill(*device, maps, std::vector<uint8_t>(static_cast<size_t>(kLanes), 0)));
  std::vector<FencePtr> fences;
  for (int i = 0; i < kJobs; ++i) {
    const Buffer words = *device->allocate(kStrideWords * 8, "words");
    const auto even = static_cast<uint32_t>(i % 2) * static_cast<uint32_t>(kMapBytes);
    const auto odd = static_cast<uint32_t>(kMapBytes) - even;
    ASSERT_TRUE(fill_words(
        *device, words,
        words_of({{maps.address + even, maps.address + odd, weights.address, 1, 0, 0}}, words.address)));
    Job job;
    job.chains = {chain_of(1, words.address, i % (device->cores() + 1) - 1)};
    job.reads = {words, weights};
    job.writes = {maps};
    const auto fence = device->submit(std::move(job));
    ASSERT_TRUE(fence) << fence.error().text();
    fences.push_back(*fence);  // the words' handle is the job's alone
  }
  ASSERT_TRUE(fences.back()->wait());
  for (const FencePtr& fence : fences) EXPECT_TRUE(*fence->poll()) << "all before the last have ended";
  ASSERT_TRUE(device->begin_cpu_access(maps, 0, kLanes));
  for (size_t i = 0; i < static_cast<size_t>(kLanes); ++i) EXPECT_EQ(maps.bytes[i], kJobs) << i;
}

// A program whose sizes contradict each other in the middle of a chain.
TEST_P(Jobs, AFailedJobHarmsNoOther) {
  const auto device = open();
  const auto good = Adder::make(*device, 20, 1);
  ASSERT_TRUE(good);
  const Buffer weights = *identity_weights(*device), words = *device->allocate(3 * kStrideWords * 8, "words"),
               maps = *device->allocate(4 * kMapBytes, "maps");
  const auto map = [&](uint32_t i) { return maps.address + i * static_cast<uint32_t>(kMapBytes); };
  for (const bool fault : {false, true}) {
    // A fault: the second task reads far outside every buffer.
    const uint32_t from = fault ? 0xF0000000 : map(1);
    ASSERT_TRUE(fill_words(*device, words,
                           words_of({{map(0), map(1), weights.address, 1, 0, 0},
                                     {from, map(2), weights.address, 1, 0, fault ? 0 : 48},
                                     {map(2), map(3), weights.address, 1, 0, 0}},
                                    words.address)));
    ASSERT_TRUE(fill(*device, maps, std::vector<uint8_t>(static_cast<size_t>(kLanes), 4)));
    ASSERT_TRUE(good->set(1));
    Job job;
    job.chains = {chain_of(3, words.address)};
    job.reads = {words, weights};
    job.writes = {maps};
    const auto bad = device->submit(job), other = device->submit(good->job());
    ASSERT_TRUE(bad && other);
    const Status failed = (*bad)->wait();
    ASSERT_FALSE(failed) << fault;
    EXPECT_TRUE(failed.error().code == ErrorCode::Device || failed.error().code == ErrorCode::Timeout)
        << failed.error().text();
    EXPECT_EQ((*bad)->wait().error().message, failed.error().message) << "asked twice";
    EXPECT_FALSE((*bad)->poll()) << "a failure, not: still running";
    EXPECT_EQ((*bad)->counters(), nullptr);
    const Status went = (*other)->wait();
    EXPECT_TRUE(went) << went.error().text();
    EXPECT_EQ(*good->result(), good->expected(1));
    ASSERT_TRUE(device->begin_cpu_access(maps, 0, 4 * kMapBytes));
    EXPECT_EQ(maps.bytes[static_cast<size_t>(kMapBytes)], 5) << "the task before it ran";
    EXPECT_EQ(maps.bytes[3 * static_cast<size_t>(kMapBytes)], 0) << "the one after it did not";
    EXPECT_TRUE(good->check(2)) << "the device goes on";
  }
}

TEST_P(Jobs, AJobThatTakesTooLongIsATimeout) {
  const auto device = open();
  const auto adder = Adder::make(*device, 4000, 1);
  ASSERT_TRUE(adder && adder->set(0));
  Job job = adder->job();
  job.timeout = milliseconds(1);
  const auto fence = device->submit(job);
  ASSERT_TRUE(fence);
  const Status done = (*fence)->wait();
  if (done) GTEST_SKIP() << "4000 tasks took no millisecond, or the limit is the device's own";
  EXPECT_EQ(done.error().code, ErrorCode::Timeout) << done.error().text();
  EXPECT_TRUE(Adder::make(*device, 3, 1)->check(2)) << "the device goes on";
  job.timeout = std::chrono::hours(1);
  ASSERT_TRUE(adder->set(0));
  const Status late = (*device->submit(job))->wait();
  EXPECT_TRUE(late) << late.error().text();
  EXPECT_EQ(*adder->result(), adder->expected(0));
}

// Handles go while the job runs; the fence goes on after the device.
TEST_P(Jobs, AnyOrderOfDestruction) {
  FencePtr fence, dropped;
  Buffer maps;
  size_t at = 0;
  std::vector<uint8_t> want;
  {
    const auto device = open();
    {
      const auto adder = Adder::make(*device, 301, 1);
      ASSERT_TRUE(adder && adder->set(250));
      fence = *device->submit(adder->job());
      maps = adder->maps();
      at = static_cast<size_t>(kMapBytes);
      want = adder->expected(250);
    }  // its command words and weights are the job's alone
    {
      const auto adder = Adder::make(*device, 50, 1);
      ASSERT_TRUE(adder && adder->set(0));
      ASSERT_TRUE(device->submit(adder->job())) << "nobody waits for this one";
    }
  }  // waits for both
  const auto ended = fence->poll();
  ASSERT_TRUE(ended) << ended.error().text();
  EXPECT_TRUE(*ended) << "the device has waited for its jobs";
  EXPECT_TRUE(fence->wait());
  EXPECT_TRUE(std::equal(want.begin(), want.end(), maps.bytes.begin() + static_cast<int64_t>(at)));
}

TEST_P(Jobs, WhatAJobUsedIsFreeWhenItsFenceSaysSo) {
  const auto device = open();
  const auto empty = device->address_space();
  if (!empty) GTEST_SKIP() << "the device does not say what is used";
  for (int i = 0; i < 200; ++i) {
    FencePtr fence;
    {
      const auto adder = Adder::make(*device, 2, 1);
      ASSERT_TRUE(adder && adder->set(0));
      fence = *device->submit(adder->job());
    }
    ASSERT_TRUE(fence->wait());
    ASSERT_EQ(device->address_space()->used, empty->used) << i;
  }
}

TEST_P(Jobs, ADeviceThatIsLostSaysSo) {
  if (GetParam().lose == nullptr) GTEST_SKIP() << "this backend cannot be taken away in a test";
  const auto device = open();
  const auto adder = Adder::make(*device, 4000, 1);
  ASSERT_TRUE(adder && adder->set(0));
  std::vector<FencePtr> fences;
  for (int i = 0; i < 20; ++i) fences.push_back(*device->submit(adder->job()));
  GetParam().lose(*device);
  EXPECT_EQ(fences.back()->wait().error().code, ErrorCode::DeviceLost);
  EXPECT_EQ(device->submit(adder->job()).error().code, ErrorCode::DeviceLost);
  EXPECT_EQ(device->allocate(64, "late").error().code, ErrorCode::DeviceLost);
  EXPECT_EQ(adder->set(1).error().code, ErrorCode::DeviceLost);
  EXPECT_EQ(adder->result().error().code, ErrorCode::DeviceLost);
  adder->maps().bytes[0] = 1;  // the host's side of it stays
}

}  // namespace
}  // namespace peraxis::device::test
