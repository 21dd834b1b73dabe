// The fake rknpu kernel in the process of the test, with the words of the test executor.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>

#include "capture/server/in_process.hpp"
#include "capture/server/rknpu_kernel.hpp"
#include "test_words.hpp"

namespace peraxis::capture {
namespace {

using namespace uapi;
using Clock = std::chrono::steady_clock;

struct TestBo {
  rknpu::MemCreate call{};
  std::shared_ptr<SharedMemory> memory;
  uint32_t word(size_t i) const {
    uint32_t value = 0;
    std::memcpy(&value, memory->bytes().data() + i * 4, 4);
    return value;
  }
};

class FakeRknpu : public ::testing::Test {
 protected:
  void start(const std::vector<std::string>& faults = {}, bool strict = false) {
    KernelOptions options;
    options.executor = make_test_word_executor();
    options.strict = strict;
    for (const std::string& fault : faults) ASSERT_TRUE(options.faults.add(fault)) << fault;
    kernel_ = std::make_unique<RknpuKernel>(std::move(options));
    system_ = std::make_unique<InProcess>(*kernel_);
    fd_ = system_->open(O_RDWR | O_CLOEXEC);
    list_ = make(4096, 0x40B);
    commands_ = make(4096, 0x403);
    out_ = make(4096, 0x403);
  }
  void TearDown() override {
    if (fd_ >= 0) close(fd_);
  }
  TestBo make(uint64_t size, uint32_t flags, uint32_t request = rknpu::kMemCreate) {
    TestBo bo;
    bo.call.size = size;
    bo.call.flags = flags;
    result_ = system_->ioctl(fd_, request, &bo.call);
    rknpu::MemMap where{bo.call.handle, 0, 0};
    if (result_ == 0 && system_->ioctl(fd_, rknpu::kMemMap, &where) == 0)
      bo.memory = system_->map(fd_, where.offset, size, PROT_READ | PROT_WRITE, MAP_SHARED).memory;
    return bo;
  }
  // Entry `at` of the list: a task that fills from out_ + at * 64.
  void put(uint32_t at, Order order, uint32_t int_mask = 0x300) {
    order.target = static_cast<uint32_t>(out_.call.dma_addr) + at * 64;
    const std::vector<uint64_t> words = stream(order);
    const uint32_t offset = at * 256;
    std::memcpy(commands_.memory->bytes().data() + offset, words.data(), words.size() * 8);
    const rknpu::Task task{0,
                           0,
                           0xD,
                           int_mask,
                           0x1FFFF,
                           0,
                           static_cast<uint32_t>(words.size()) - rknpu::kTailWords,
                           0,
                           commands_.call.dma_addr + offset};
    std::memcpy(list_.memory->bytes().data() + at * sizeof(task), &task, sizeof(task));
    for (const TestBo* bo : {&list_, &commands_}) flush(*bo);
  }
  int flush(const TestBo& bo) {
    rknpu::MemSync sync{rknpu::kSyncToDevice, 0, bo.call.obj_addr, 0, bo.call.size};
    return system_->ioctl(fd_, rknpu::kMemSync, &sync);
  }
  rknpu::Submit request(uint32_t core_mask = 1, uint32_t flags = rknpu::kJobPc) const {
    rknpu::Submit submit{};
    submit.flags = flags;
    submit.timeout_ms = 200;
    submit.task_number = 1;
    submit.task_obj_addr = list_.call.obj_addr;
    submit.core_mask = core_mask;
    submit.fence_fd = -1;
    for (rknpu::SubcoreTask& part : submit.subcore) part = {0, 1};
    return submit;
  }
  int run(rknpu::Submit& submit) { return system_->ioctl(fd_, rknpu::kSubmit, &submit); }
  std::string findings() { return kernel_->findings().text(); }

  std::unique_ptr<RknpuKernel> kernel_;
  std::unique_ptr<InProcess> system_;
  TestBo list_, commands_, out_;
  int fd_ = -1, result_ = 0;
};

TEST_F(FakeRknpu, OneAddressSpaceForAllFiles) {
  start();
  EXPECT_EQ(list_.call.dma_addr, 0xFFFFF000U);  // from the top down
  EXPECT_EQ(commands_.call.dma_addr, 0xFFFFE000U);
  const int first = fd_;
  fd_ = system_->open(O_RDWR);
  const TestBo other = make(100, 0x403, rknpu::kOldMemCreate);
  EXPECT_EQ(other.call.dma_addr, 0xFFFFC000U);
  EXPECT_EQ(other.call.size, 4096U);  // whole pages
  close(fd_);
  fd_ = first;
  make(0, 0x403);
  EXPECT_EQ(result_, -EINVAL);
  make(uint64_t{1} << 33, 0x403);
  EXPECT_EQ(result_, -ENOMEM);
  rknpu::MemDestroy gone{out_.call.handle, 0, out_.call.obj_addr};
  EXPECT_EQ(system_->ioctl(fd_, rknpu::kMemDestroy, &gone), 0);
  EXPECT_EQ(system_->ioctl(fd_, rknpu::kMemDestroy, &gone), -EINVAL);
}

TEST_F(FakeRknpu, ActionsAnswer) {
  start();
  const auto ask = [&](uint32_t which, uint32_t& value) {
    rknpu::Action action{which, 0};
    const int result = system_->ioctl(fd_, rknpu::kAction, &action);
    value = action.value;
    return result;
  };
  uint32_t value = 0;
  EXPECT_EQ(ask(1, value), 0);
  EXPECT_EQ(value, 908U);
  EXPECT_EQ(ask(18, value), 0);
  EXPECT_EQ(value, 1U);
  EXPECT_EQ(ask(22, value), 0);
  EXPECT_EQ(ask(6, value), 0);
  EXPECT_EQ(ask(3, value), -EINVAL);
  EXPECT_EQ(ask(99, value), -EINVAL);
}

TEST_F(FakeRknpu, BlockingSubmits) {
  start();
  put(0, {.seed = 42});
  rknpu::Submit submit = request();
  EXPECT_EQ(run(submit), 0);
  EXPECT_EQ(submit.task_counter, 1U);
  EXPECT_GT(submit.hw_elapse_time, 0);
  EXPECT_EQ(out_.word(3), 45U);
  rknpu::Task done{};
  std::memcpy(&done, list_.memory->bytes().data(), sizeof(done));
  EXPECT_EQ(done.int_status, 0x300U);
  submit = request();
  submit.task_number = 0;
  EXPECT_EQ(run(submit), -EINVAL);
  submit = request(8);
  EXPECT_EQ(run(submit), -EINVAL);
  submit = request(1, 0);
  EXPECT_EQ(run(submit), -EINVAL);
  submit = request();
  submit.task_obj_addr = 0x1234;
  EXPECT_EQ(run(submit), -EINVAL);
}

TEST_F(FakeRknpu, ThreeCoresTakeTheLastEntries) {
  start();
  for (uint32_t i = 0; i < 3; ++i) put(i, {.seed = 100 * (i + 1)});
  rknpu::Submit submit = request(7);
  submit.task_number = 3;
  submit.subcore[0] = submit.subcore[1] = {0, 0};
  for (uint32_t i = 0; i < 3; ++i) submit.subcore[i + 2] = {i, 1};
  EXPECT_EQ(run(submit), 0);
  EXPECT_EQ(submit.task_counter, 3U);
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(out_.word(i * 16), 100 * (i + 1));
}

TEST_F(FakeRknpu, TwoCoresTakeTheFirstEntries) {
  start();
  for (uint32_t i = 0; i < 2; ++i) put(i, {.seed = 100 * (i + 1), .delay_us = 60000});
  rknpu::Submit submit = request(3);
  submit.task_number = 2;
  for (uint32_t i = 0; i < 5; ++i) submit.subcore[i] = {i, i < 2 ? 1U : 0U};
  EXPECT_EQ(run(submit), 0);
  EXPECT_EQ(submit.task_counter, 2U);
  for (uint32_t i = 0; i < 2; ++i) EXPECT_EQ(out_.word(i * 16), 100 * (i + 1));
  for (const uint32_t mask : {5U, 6U}) {  // the driver's list of pairs has one entry
    submit.core_mask = mask;
    EXPECT_EQ(run(submit), -EINVAL) << mask;
  }
  EXPECT_NE(findings().find("core_mask 5 is none the driver starts"), std::string::npos) << findings();
  submit.core_mask = 3;
  submit.subcore[1] = {0, 0};  // a core of the mask without tasks never answers
  EXPECT_EQ(run(submit), -ETIMEDOUT);
}

// The chip counts tasks in 12 bits, so the driver starts a long list in several goes: each needs the
// interrupts that its own last entry names.
TEST_F(FakeRknpu, ListsBeyondTheChipsCounterAreSeveralKicks) {
  start();
  constexpr uint32_t kTasks = rknpu::kMostTasksOfKick + 2;
  put(0, {.seed = 70});
  put(1, {.seed = 80});
  rknpu::Task first{}, second{};
  std::memcpy(&first, list_.memory->bytes().data(), sizeof(first));
  std::memcpy(&second, list_.memory->bytes().data() + sizeof(first), sizeof(second));
  std::vector<rknpu::Task> tasks(kTasks, first);
  tasks[rknpu::kMostTasksOfKick] = second;
  list_ = make(kTasks * sizeof(rknpu::Task), 0x40B);
  const auto write = [&] {
    std::memcpy(list_.memory->bytes().data(), tasks.data(), tasks.size() * sizeof(tasks[0]));
    flush(list_);
  };
  write();
  rknpu::Submit submit = request();
  submit.task_number = kTasks;
  submit.subcore[0] = {0, kTasks};
  EXPECT_EQ(run(submit), 0);
  EXPECT_EQ(submit.task_counter, kTasks);
  EXPECT_EQ(out_.word(0), 70U);
  EXPECT_EQ(out_.word(16), 80U);  // the head of the second kick
  tasks.back().int_mask = 0xC00;  // raised by no task of the second kick
  write();
  std::memset(out_.memory->bytes().data(), 0, 128);
  EXPECT_EQ(run(submit), -ETIMEDOUT);
  EXPECT_EQ(out_.word(16), 80U);
  tasks.back().int_mask = 0x300;
  tasks[rknpu::kMostTasksOfKick - 1].int_mask = 0xC00;  // nor by one of the first
  write();
  std::memset(out_.memory->bytes().data(), 0, 128);
  EXPECT_EQ(run(submit), -ETIMEDOUT);
  EXPECT_EQ(out_.word(0), 70U);
  EXPECT_EQ(out_.word(16), 0U);
}

TEST_F(FakeRknpu, AHangIsReportedAfterTheProgramsTime) {
  start({"hang@2"});
  put(0, {.seed = 1});
  rknpu::Submit submit = request();
  EXPECT_EQ(run(submit), 0);
  const auto begin = Clock::now();
  submit = request();
  EXPECT_EQ(run(submit), -ETIMEDOUT);
  EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(200));
  submit = request();
  EXPECT_EQ(run(submit), 0);  // it goes on after a reset
}

TEST_F(FakeRknpu, TheLastTasksMaskMustBeMet) {
  start();
  put(0, {.seed = 1}, 0xC00);  // a convolution whose entry says pooling
  rknpu::Submit submit = request();
  EXPECT_EQ(run(submit), -ETIMEDOUT);
  EXPECT_NE(findings().find("last task is 0xc00"), std::string::npos) << findings();
  put(0, {.seed = 1, .interrupts = 0x800}, 0xC00);
  submit = request();
  EXPECT_EQ(run(submit), 0);
}

TEST_F(FakeRknpu, FencesForThoseWhoDoNotWait) {
  start();
  put(0, {.seed = 9, .delay_us = 80000});
  rknpu::Submit submit = request(1, rknpu::kJobPc | rknpu::kJobNonBlock | rknpu::kJobFenceOut);
  const auto begin = Clock::now();
  ASSERT_EQ(run(submit), 0);
  ASSERT_GE(submit.fence_fd, 0);
  EXPECT_EQ(out_.word(0), 0U);
  pollfd polled{submit.fence_fd, POLLIN, 0};
  EXPECT_EQ(poll(&polled, 1, 0), 0);
  EXPECT_EQ(poll(&polled, 1, 2000), 1);
  EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(70));
  EXPECT_EQ(out_.word(0), 9U);
  rknpu::Submit second = request(1, rknpu::kJobPc | rknpu::kJobFenceIn);
  second.fence_fd = submit.fence_fd;
  EXPECT_EQ(run(second), 0);
  second = request(1, rknpu::kJobPc | rknpu::kJobFenceIn);
  second.fence_fd = fd_;
  EXPECT_EQ(run(second), -EINVAL);
  close(submit.fence_fd);
}

TEST_F(FakeRknpu, StaleReadsErrorsAndASmallSpace) {
  start({"stale@1", "space=64K", "submit@2=EIO"});
  put(0, {.seed = 100});
  put(1, {.seed = 3, .source = static_cast<uint32_t>(out_.call.dma_addr)});
  rknpu::Submit submit = request();
  submit.task_number = 2;
  submit.subcore[0] = {0, 2};
  EXPECT_EQ(run(submit), 0);
  EXPECT_EQ(out_.word(0), 100U);
  EXPECT_EQ(out_.word(16), 3U);  // 103 without the fault
  EXPECT_EQ(run(submit), -EIO);
  make(65536, 0x403);
  EXPECT_EQ(result_, -ENOMEM);
}

TEST_F(FakeRknpu, StrictReportsMissingFlushesAndWrongCores) {
  start({}, true);
  put(0, {.seed = 1});
  rknpu::Submit submit = request();
  for (uint32_t i = 1; i < 5; ++i) submit.subcore[i] = {0, 0};
  EXPECT_EQ(run(submit), 0);
  EXPECT_EQ(kernel_->findings().count(FindingKind::Punished), 0) << findings();
  commands_.memory->bytes()[4000] = 1;
  EXPECT_EQ(run(submit), 0);
  EXPECT_NE(findings().find("since its last MEM_SYNC"), std::string::npos) << findings();
  submit.subcore[1] = {0, 1};
  EXPECT_EQ(run(submit), 0);
  EXPECT_NE(findings().find("does not start that core"), std::string::npos) << findings();
  submit.subcore[0] = {0, 5};
  run(submit);
  EXPECT_NE(findings().find("task_number is 1"), std::string::npos) << findings();
}

}  // namespace
}  // namespace peraxis::capture
