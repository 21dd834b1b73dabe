// Real commands on the fake rocket kernel: what the machine model in the place of the chip keeps from job to
// job, and what a strict run says of memory that nobody wrote. Results are plain integer sums.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "../machine/program.hpp"
#include "capture/server/in_process.hpp"
#include "capture/server/rocket_kernel.hpp"

namespace peraxis::capture {
namespace {

using namespace uapi;
using namespace machine::test;

constexpr uint32_t kSecond = kCommands + 0x1000;
constexpr uint32_t kBytes = 0xB00000;  // one buffer from address 0 up holds all that the program names

Layer layer() {
  return plain_layer();
}

class MachineProfiles : public ::testing::Test {
 protected:
  void start(const MachineProfile& profile) {
    KernelOptions options;
    options.strict = profile.check_unwritten;
    options.job_time = std::chrono::milliseconds(100);
    options.executor = make_machine_executor(profile);
    kernel_ = std::make_unique<RocketKernel>(std::move(options));
    system_ = std::make_unique<InProcess>(*kernel_);
    fd_ = system_->open(O_RDWR | O_CLOEXEC);
    bo_ = {kBytes, 0, 0, 0};
    ASSERT_EQ(system_->ioctl(fd_, rocket::kCreateBo, &bo_), 0);
    ASSERT_EQ(bo_.dma_address, 0U);
    memory_ = system_->map(fd_, bo_.offset, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED).memory;
  }
  void TearDown() override {
    if (fd_ >= 0) close(fd_);
  }
  void put(uint32_t address, const std::vector<uint8_t>& bytes) {
    std::memcpy(memory_->bytes().data() + address, bytes.data(), bytes.size());
    rocket::FiniBo fini{bo_.handle, 0};
    EXPECT_EQ(system_->ioctl(fd_, rocket::kFiniBo, &fini), 0);
  }
  rocket::Task put_words(uint32_t address, const std::vector<uint64_t>& words) {
    put(address, {reinterpret_cast<const uint8_t*>(words.data()),
                  reinterpret_cast<const uint8_t*>(words.data() + words.size())});
    return {address, static_cast<uint32_t>(words.size())};
  }
  void put_data(const Layer& layer, const Data& data, bool weights = true) {
    put(kFeatures, pack_features(layer, data));
    if (weights) put(kWeights, pack_weights(layer, data));
    put(kOperands, pack_operands(layer, data));
  }
  // One job a task, and waits.
  void run(const std::vector<rocket::Task>& tasks) {
    for (const rocket::Task& task : tasks) {
      rocket::Job job{reinterpret_cast<uint64_t>(&task),
                      0,
                      reinterpret_cast<uint64_t>(&bo_.handle),
                      1,
                      sizeof(task),
                      0,
                      1};
      rocket::Submit submit{reinterpret_cast<uint64_t>(&job), 1, sizeof(job), 0};
      EXPECT_EQ(system_->ioctl(fd_, rocket::kSubmit, &submit), 0);
      rocket::PrepBo prep{bo_.handle, 0, INT64_MAX};
      EXPECT_EQ(system_->ioctl(fd_, rocket::kPrepBo, &prep), 0);
    }
  }
  std::vector<int64_t> output(const Layer& layer) {
    const std::span<const uint8_t> bytes = memory_->bytes().subspan(kOutput);
    std::vector<int64_t> out;
    for (size_t i = 0; i < static_cast<size_t>(layer.np() * layer.ho * layer.wo); ++i)
      out.push_back(bytes[i]);
    return out;
  }

  std::unique_ptr<RocketKernel> kernel_;
  std::unique_ptr<InProcess> system_;
  rocket::CreateBo bo_{};
  std::shared_ptr<SharedMemory> memory_;
  int fd_ = -1;
};

std::vector<int64_t> cube(const Layer& layer, const Data& data) {
  // The expected array is dense; the surfaces of 16 channels lie one after the other.
  const std::vector<int64_t> dense = expected(layer, data);
  std::vector<int64_t> out(dense.size());
  for (int64_t y = 0; y < layer.ho; ++y)
    for (int64_t x = 0; x < layer.wo; ++x)
      for (int64_t c = 0; c < layer.np(); ++c)
        out[static_cast<size_t>(((c / 16 * layer.ho + y) * layer.wo + x) * 16 + c % 16)] =
            dense[static_cast<size_t>((y * layer.wo + x) * layer.np() + c)] & 0xFF;
  return out;
}

TEST_F(MachineProfiles, AJobFindsTheWeightsOfTheOneBeforeOnlyWhenCbufIsKept) {
  const Data data = random_data(layer(), 5);
  Layer reuse = layer();
  reuse.weight_reuse = true;
  for (const bool keeps : {false, true}) {
    MachineProfile profile;
    profile.keep_cbuf = keeps;
    start(profile);
    put_data(layer(), data);
    run({put_words(kCommands, make_program(layer(), 0, 3).words()),
         put_words(kSecond, make_program(reuse, 3, 2).words())});
    EXPECT_EQ(output(layer()) == cube(layer(), data), keeps);
    const std::string said = kernel_->findings().text();
    EXPECT_EQ(said.find("no earlier task of the job left any") == std::string::npos, keeps) << said;
    close(fd_);
    fd_ = -1;
  }
}

TEST_F(MachineProfiles, AStrictRunSaysWhichPagesNobodyWrote) {
  const Data data = random_data(layer(), 5);
  Data zero = data;
  std::ranges::fill(zero.weights, 0);
  for (const bool strict : {false, true})
    for (const bool weights : {true, false}) {
      MachineProfile profile;
      profile.check_unwritten = strict;
      start(profile);
      put_data(layer(), data, weights);
      run({put_words(kCommands, make_program(layer(), 0, 5).words())});
      EXPECT_EQ(output(layer()), cube(layer(), weights ? data : zero));  // the kernel gives zeros
      const std::string said = kernel_->findings().text();
      EXPECT_EQ(said.find("never written") != std::string::npos, strict && !weights) << said;
      EXPECT_EQ(kernel_->findings().count(FindingKind::Punished) == 0, !strict || weights) << said;
      close(fd_);
      fd_ = -1;
    }
}

}  // namespace
}  // namespace peraxis::capture
