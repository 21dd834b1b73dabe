// The fake rocket kernel in the process of the test. Expected values are those measured on Linux 7.2.13.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <string>

#include "capture/server/in_process.hpp"
#include "capture/server/rocket_kernel.hpp"
#include "test_words.hpp"

namespace peraxis::capture {
namespace {

using namespace uapi;
using Clock = std::chrono::steady_clock;

int64_t monotonic(int64_t plus_ms) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec + plus_ms * 1000000;
}

struct TestBo {
  rocket::CreateBo call{};
  std::shared_ptr<SharedMemory> memory;
  uint32_t word(size_t i) const {
    uint32_t value = 0;
    std::memcpy(&value, memory->bytes().data() + i * 4, 4);
    return value;
  }
};

class FakeRocket : public ::testing::Test {
 protected:
  void start(const std::vector<std::string>& faults = {}, bool strict = false, int job_ms = 150) {
    KernelOptions options;
    options.executor = make_test_word_executor();
    options.strict = strict;
    options.job_time = std::chrono::milliseconds(job_ms);
    for (const std::string& fault : faults) ASSERT_TRUE(options.faults.add(fault)) << fault;
    kernel_ = std::make_unique<RocketKernel>(std::move(options));
    system_ = std::make_unique<InProcess>(*kernel_);
    fd_ = system_->open(O_RDWR | O_CLOEXEC);
  }
  void TearDown() override {
    if (fd_ >= 0) close(fd_);
  }
  TestBo make(uint32_t size, int fd = -1) {
    TestBo bo;
    bo.call.size = size;
    const int file = fd < 0 ? fd_ : fd;
    result_ = system_->ioctl(file, rocket::kCreateBo, &bo.call);
    if (result_ == 0)
      bo.memory = system_->map(file, bo.call.offset, size, PROT_READ | PROT_WRITE, MAP_SHARED).memory;
    return bo;
  }
  int prepare(const TestBo& bo, int64_t deadline) {
    rocket::PrepBo prep{bo.call.handle, 0, deadline};
    return system_->ioctl(fd_, rocket::kPrepBo, &prep);
  }
  int flush(const TestBo& bo) {
    rocket::FiniBo fini{bo.call.handle, 0};
    return system_->ioctl(fd_, rocket::kFiniBo, &fini);
  }
  rocket::Task put(TestBo& commands, const Order& order, uint32_t at = 0) {
    const std::vector<uint64_t> words = stream(order);
    std::memcpy(commands.memory->bytes().data() + at, words.data(), words.size() * 8);
    flush(commands);
    return {static_cast<uint32_t>(commands.call.dma_address) + at, static_cast<uint32_t>(words.size())};
  }
  int submit(std::vector<rocket::Task> tasks, std::vector<uint32_t> in, std::vector<uint32_t> out) {
    rocket::Job job{reinterpret_cast<uint64_t>(tasks.data()),
                    reinterpret_cast<uint64_t>(in.data()),
                    reinterpret_cast<uint64_t>(out.data()),
                    static_cast<uint32_t>(tasks.size()),
                    sizeof(rocket::Task),
                    static_cast<uint32_t>(in.size()),
                    static_cast<uint32_t>(out.size())};
    rocket::Submit call{reinterpret_cast<uint64_t>(&job), 1, sizeof(job), 0};
    return system_->ioctl(fd_, rocket::kSubmit, &call);
  }
  std::string findings() { return kernel_->findings().text(); }

  std::unique_ptr<RocketKernel> kernel_;
  std::unique_ptr<InProcess> system_;
  int fd_ = -1, result_ = 0;
};

TEST_F(FakeRocket, AddressesHandlesAndOffsets) {
  start();
  const TestBo a = make(1), b = make(4097), c = make(4096);
  EXPECT_EQ(a.call.dma_address, 0U);
  EXPECT_EQ(b.call.dma_address, 0x1000U);
  EXPECT_EQ(c.call.dma_address, 0x3000U);
  EXPECT_EQ(a.call.offset, 0x100000000U);
  EXPECT_EQ(c.call.handle, 3U);
  make(0);
  EXPECT_EQ(result_, -ENOSPC);
  DrmGemClose gone{b.call.handle, 0};
  EXPECT_EQ(system_->ioctl(fd_, kDrmGemClose, &gone), 0);
  EXPECT_EQ(system_->ioctl(fd_, kDrmGemClose, &gone), -EINVAL);
  EXPECT_EQ(make(4096).call.dma_address, 0x1000U);
  EXPECT_EQ(make(4096).call.dma_address, 0x2000U);
  EXPECT_EQ(make(4096).call.dma_address, 0x4000U);
  EXPECT_EQ(system_->map(fd_, a.call.offset, 8192, PROT_READ, MAP_SHARED).result, -EINVAL);
}

TEST_F(FakeRocket, RunsAndWaits) {
  start();
  TestBo commands = make(4096);
  const TestBo out = make(4096);
  const auto task = put(commands, {.target = 0x1000, .seed = 7, .delay_us = 60000});
  EXPECT_EQ(submit({task}, {commands.call.handle}, {out.call.handle}), 0);
  EXPECT_EQ(prepare(out, 0), -EBUSY);
  EXPECT_EQ(prepare(out, monotonic(-1)), -EBUSY);
  EXPECT_EQ(prepare(commands, 0), 0);  // in-lists get no fence
  EXPECT_EQ(prepare(out, monotonic(10)), -ETIMEDOUT);
  EXPECT_EQ(prepare(out, INT64_MAX), 0);
  EXPECT_EQ(out.word(15), 22U);
}

TEST_F(FakeRocket, ErrorsAsMeasured) {
  start();
  TestBo commands = make(4096);
  const TestBo out = make(4096);
  const auto task = put(commands, {.target = 0x1000});
  const uint32_t c = commands.call.handle, o = out.call.handle;
  const auto ran = [&](int result) {
    EXPECT_EQ(result, 0);
    EXPECT_EQ(prepare(out, monotonic(2000)), 0);
    const bool written = out.word(0) != 0;
    std::memset(out.memory->bytes().data(), 0, 64);
    return written;
  };
  EXPECT_TRUE(ran(submit({task}, {c}, {o})));
  EXPECT_FALSE(ran(submit({}, {c}, {o})));
  EXPECT_FALSE(ran(submit({{task.regcmd, 0}}, {c}, {o})));
  EXPECT_FALSE(ran(submit({task}, {999}, {o})));
  EXPECT_FALSE(ran(submit({task}, {c}, {999})));
  EXPECT_FALSE(ran(submit({task}, {c, o}, {o})));
  EXPECT_FALSE(ran(submit({task}, {c, c}, {o})));
  EXPECT_FALSE(ran(submit({task}, {c}, {o, o})));
  EXPECT_TRUE(ran(submit({task}, {}, {o})));
  rocket::Submit call{8, 1, sizeof(rocket::Job), 0};
  EXPECT_EQ(system_->ioctl(fd_, rocket::kSubmit, &call), -EFAULT);
  call.job_struct_size = 32;
  EXPECT_EQ(system_->ioctl(fd_, rocket::kSubmit, &call), -EINVAL);
  call = {8, 0, 0, 1};
  EXPECT_EQ(system_->ioctl(fd_, rocket::kSubmit, &call), 0);
  rocket::PrepBo prep{999, 0, 0};
  EXPECT_EQ(system_->ioctl(fd_, rocket::kPrepBo, &prep), -ENOENT);
  prep = {o, 1, 0};
  EXPECT_EQ(system_->ioctl(fd_, rocket::kPrepBo, &prep), -EINVAL);
  uint32_t other[2] = {};
  EXPECT_EQ(system_->ioctl(fd_, 0x40086444, other), -EINVAL);
  EXPECT_EQ(system_->ioctl(fd_, kDrmSyncobjCreate, other), -EOPNOTSUPP);
  EXPECT_NE(findings().find("is named twice"), std::string::npos);
}

TEST_F(FakeRocket, AHungJobLooksDoneAndTheSyncFileTells) {
  start();
  TestBo commands = make(4096);
  const TestBo out = make(4096);
  const auto task = put(commands, {.target = 0x1000, .hangs = true});
  const auto begin = Clock::now();
  EXPECT_EQ(submit({task}, {commands.call.handle}, {out.call.handle}), 0);
  DrmPrimeHandle prime{out.call.handle, kPrimeCloexec | kPrimeReadWrite, -1};
  ASSERT_EQ(system_->ioctl(fd_, kDrmPrimeHandleToFd, &prime), 0);
  DmaBufSyncFile sync{1, -1};
  ASSERT_EQ(system_->ioctl(prime.fd, kDmaBufExportSyncFile, &sync), 0);
  SyncFileInfo info{};
  EXPECT_EQ(system_->ioctl(sync.fd, kSyncFileInfo, &info), 0);
  EXPECT_EQ(info.status, 0);
  for (const int fd : {sync.fd, prime.fd}) {
    pollfd polled{fd, POLLIN, 0};
    EXPECT_EQ(poll(&polled, 1, fd == sync.fd ? 5000 : 0), 1);
  }
  EXPECT_EQ(prepare(out, monotonic(2000)), 0);
  EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(150));
  EXPECT_EQ(out.word(0), 0U);
  info = {};
  EXPECT_EQ(system_->ioctl(sync.fd, kSyncFileInfo, &info), 0);
  EXPECT_EQ(info.status, -ECANCELED);
  close(sync.fd);
  close(prime.fd);
}

TEST_F(FakeRocket, TheTimeIsTheJobsNotTheTasks) {
  start();
  TestBo commands = make(65536);
  const TestBo out = make(4096);
  std::vector<rocket::Task> tasks;
  for (uint32_t i = 0; i < 3; ++i)
    tasks.push_back(put(commands, {.target = 0x10000 + i * 64, .seed = i + 1, .delay_us = 90000}, i * 256));
  EXPECT_EQ(submit(tasks, {commands.call.handle}, {out.call.handle}), 0);
  EXPECT_EQ(prepare(out, monotonic(2000)), 0);
  EXPECT_EQ(out.word(0), 1U);
  EXPECT_EQ(out.word(16), 0U);
}

TEST_F(FakeRocket, FilesHaveAddressesOfTheirOwnAndCoresRunSideBySide) {
  start({}, false, 500);
  const auto begin = Clock::now();
  int fds[3] = {fd_, system_->open(O_RDWR), system_->open(O_RDWR)};
  std::vector<TestBo> outs;
  for (const int fd : fds) {
    fd_ = fd;
    TestBo commands = make(4096);
    outs.push_back(make(4096));
    EXPECT_EQ(outs.back().call.dma_address, 0x1000U);
    const auto task =
        put(commands, {.target = 0x1000, .seed = static_cast<uint32_t>(fd), .delay_us = 200000});
    submit({task}, {commands.call.handle}, {outs.back().call.handle});
  }
  for (size_t i = 0; i < 3; ++i) {
    fd_ = fds[i];
    EXPECT_EQ(prepare(outs[i], monotonic(5000)), 0);
    EXPECT_EQ(outs[i].word(0), static_cast<uint32_t>(fds[i]));
  }
  EXPECT_LT(Clock::now() - begin, std::chrono::milliseconds(500));
  close(fds[1]);
  close(fds[2]);
  fd_ = fds[0];
}

TEST_F(FakeRocket, ImplicitFencesOrderJobsOfTwoFiles) {
  start({}, false, 500);
  const int other = system_->open(O_RDWR);
  TestBo commands = make(4096);
  const TestBo shared = make(4096);
  DrmPrimeHandle prime{shared.call.handle, kPrimeCloexec | kPrimeReadWrite, -1};
  ASSERT_EQ(system_->ioctl(fd_, kDrmPrimeHandleToFd, &prime), 0);
  DrmPrimeHandle imported{0, 0, prime.fd};
  ASSERT_EQ(system_->ioctl(other, kDrmPrimeFdToHandle, &imported), 0);
  submit({put(commands, {.target = 0x1000, .seed = 5, .delay_us = 80000})}, {commands.call.handle},
         {shared.call.handle});
  const int mine = fd_;
  fd_ = other;
  rocket::PrepBo prep{imported.handle, 0, 0};
  EXPECT_EQ(system_->ioctl(other, rocket::kPrepBo, &prep), -EBUSY);
  TestBo second = make(4096);
  const TestBo out = make(4096);
  const auto begin = Clock::now();
  submit({put(second, {.target = 0x1000, .seed = 9})}, {second.call.handle, imported.handle},
         {out.call.handle});
  EXPECT_EQ(prepare(out, monotonic(2000)), 0);
  EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(40));
  fd_ = mine;
  close(other);
  close(prime.fd);
}

TEST_F(FakeRocket, FaultsAreSeenByTheProgram) {
  start({"create@3=ENOMEM", "hang@2", "space=64K"});
  TestBo commands = make(4096);
  const TestBo out = make(4096);
  make(4096);
  EXPECT_EQ(result_, -ENOMEM);
  make(65536);
  EXPECT_EQ(result_, -ENOSPC);
  for (int i = 0; i < 2; ++i) {
    submit({put(commands, {.target = 0x1000, .seed = 5U + static_cast<uint32_t>(i)})}, {commands.call.handle},
           {out.call.handle});
    EXPECT_EQ(prepare(out, monotonic(2000)), 0);
    EXPECT_EQ(out.word(0), 5U);  // the second job left it as it was
  }
}

TEST_F(FakeRocket, StaleReadOfAChainedConsumer) {
  for (const bool stale : {false, true}) {
    start(stale ? std::vector<std::string>{"stale@1"} : std::vector<std::string>{});
    TestBo commands = make(4096);
    const TestBo middle = make(4096), out = make(4096);
    const auto first = put(commands, {.target = 0x1000, .seed = 100});
    const auto second = put(commands, {.target = 0x2000, .seed = 3, .source = 0x1000}, 512);
    submit({first, second}, {commands.call.handle}, {middle.call.handle, out.call.handle});
    EXPECT_EQ(prepare(out, monotonic(2000)), 0);
    EXPECT_EQ(middle.word(0), 100U);
    EXPECT_EQ(out.word(0), stale ? 3U : 103U);
    close(fd_);
    fd_ = -1;
  }
}

// Notes which core a job gets.
class CoreNotes final : public Executor {
 public:
  explicit CoreNotes(std::vector<int32_t>& cores) : cores_(cores) {}
  std::unique_ptr<CoreSession> begin_job(int32_t core, const Space& space) override {
    cores_.push_back(core);
    return words_->begin_job(core, space);
  }
  TaskOutcome run_chains(std::span<const machine::Kick> kicks, const Space& space, const Budget& budget,
                         std::vector<int64_t>& finished) override {
    return words_->run_chains(kicks, space, budget, finished);
  }

 private:
  std::vector<int32_t>& cores_;
  std::unique_ptr<Executor> words_ = make_test_word_executor();
};

TEST_F(FakeRocket, AnotherOrderOfCoresAndSlowJobs) {
  for (const bool reversed : {false, true}) {
    std::vector<int32_t> cores;
    KernelOptions options;
    options.executor = std::make_unique<CoreNotes>(cores);
    ASSERT_TRUE(options.faults.add("slow=60"));
    ASSERT_TRUE(options.faults.add(reversed ? "cores=210" : "cores=012"));
    kernel_ = std::make_unique<RocketKernel>(std::move(options));
    system_ = std::make_unique<InProcess>(*kernel_);
    fd_ = system_->open(O_RDWR | O_CLOEXEC);
    TestBo commands = make(4096);
    const TestBo out = make(4096);
    const auto begin = Clock::now();
    submit({put(commands, {.target = 0x1000})}, {commands.call.handle}, {out.call.handle});
    EXPECT_EQ(prepare(out, monotonic(2000)), 0);
    EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(60));
    EXPECT_EQ(cores, std::vector<int32_t>{reversed ? 2 : 0});
    close(fd_);
    fd_ = -1;
    kernel_.reset();
  }
}

TEST_F(FakeRocket, ADeviceThatIsLostAnswersNothing) {
  start({"lost@2"});
  make(4096);
  EXPECT_EQ(result_, -ENODEV);
  make(4096);
  EXPECT_EQ(result_, -ENODEV);
}

TEST_F(FakeRocket, StrictReportsWhatIsPunishedSilently) {
  start({}, true);
  TestBo commands = make(4096);
  const TestBo out = make(4096);
  const auto task = put(commands, {.target = 0x1000});
  submit({task}, {commands.call.handle}, {out.call.handle});
  EXPECT_EQ(prepare(out, monotonic(2000)), 0);
  EXPECT_EQ(kernel_->findings().count(FindingKind::Punished), 0) << findings();
  commands.memory->bytes()[100] = 1;  // and no FINI_BO
  submit({task}, {commands.call.handle}, {out.call.handle});
  EXPECT_NE(findings().find("written since the last FINI_BO"), std::string::npos) << findings();
  submit({task}, {}, {out.call.handle});
  EXPECT_NE(findings().find("in no list"), std::string::npos) << findings();
  submit({task}, {commands.call.handle}, {});
  EXPECT_NE(findings().find("no out-list"), std::string::npos) << findings();
  // Jobs of a file end in order: after one more with an out-list the commands may be written anew.
  submit({task}, {commands.call.handle}, {out.call.handle});
  EXPECT_EQ(prepare(out, monotonic(2000)), 0);
  const std::vector<uint64_t> words = {command(0x0201, 0xE, 0x1004), command(0x0081, 0x0D, 8)};
  std::memcpy(commands.memory->bytes().data(), words.data(), 16);
  flush(commands);
  submit({{task.regcmd, 2}}, {commands.call.handle}, {out.call.handle});
  EXPECT_NE(findings().find("S_POINTER"), std::string::npos) << findings();
  EXPECT_EQ(prepare(out, monotonic(2000)), 0);
}

TEST_F(FakeRocket, AnEndThatOnlyThePoolingBlockSignalsTimesOut) {
  start();
  TestBo commands = make(4096);
  const TestBo out = make(4096);
  const auto begin = Clock::now();
  submit({put(commands, {.target = 0x1000, .seed = 5, .interrupts = 0xC00})}, {commands.call.handle},
         {out.call.handle});
  EXPECT_EQ(prepare(out, monotonic(2000)), 0);
  EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(150));
  EXPECT_EQ(out.word(0), 5U);
}

TEST_F(FakeRocket, ClosingAFileWithJobsIsReported) {
  start();
  TestBo commands = make(4096);
  const TestBo out = make(4096);
  submit({put(commands, {.target = 0x1000, .delay_us = 50000})}, {commands.call.handle}, {out.call.handle});
  close(fd_);
  fd_ = -1;
  EXPECT_TRUE(kernel_->wait_closed(std::chrono::milliseconds(2000)));
  EXPECT_NE(findings().find("jobs in flight"), std::string::npos) << findings();
}

TEST_F(FakeRocket, ClosingAFileWithAnExportedBufferIsReported) {
  for (const bool frees : {false, true}) {
    start();
    const TestBo bo = make(4096);
    DrmPrimeHandle prime{bo.call.handle, kPrimeCloexec | kPrimeReadWrite, -1};
    ASSERT_EQ(system_->ioctl(fd_, kDrmPrimeHandleToFd, &prime), 0);
    close(prime.fd);  // the dma-buf is gone before its file, and still the kernel's order is wrong
    DrmGemClose gone{bo.call.handle, 0};
    if (frees) {
      EXPECT_EQ(system_->ioctl(fd_, kDrmGemClose, &gone), 0);
    }
    close(fd_);
    fd_ = -1;
    EXPECT_TRUE(kernel_->wait_closed(std::chrono::milliseconds(2000)));
    EXPECT_EQ(findings().find("exported buffer that no GEM_CLOSE freed") == std::string::npos, frees)
        << findings();
  }
}

}  // namespace
}  // namespace peraxis::capture
