// A C++ program as users write them: runs an executable on an NPU through the kernel's interface, and beside
// it on the machine model in its own process; the outputs must be equal byte by byte.
//   capture_npu_run rocket|rknpu EXECUTABLE [--threads N] [--fork] [--crash-after N] [--job-a-task]
//   [--forget-inputs]
// Each thread and the forked child have a file of their own.
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstring>
#include <thread>

#include "base/file.hpp"
#include "base/rng.hpp"
#include "device/machine/machine_device.hpp"
#include "kernel_devices.hpp"
#include "runtime/session.hpp"

using namespace peraxis;

namespace {

using Outputs = std::vector<std::vector<uint8_t>>;

Result<Outputs> run_on(device::Device& device, const exe::Executable& executable, uint64_t seed, int times) {
  const auto session = PERAXIS_TRY(runtime::Session::create(executable, device));
  std::vector<std::vector<uint8_t>> inputs;
  base::Rng rng(seed);
  for (const int32_t input : session->graph().inputs) {
    inputs.emplace_back(static_cast<size_t>(session->graph().tensors[static_cast<size_t>(input)].bytes()));
    for (uint8_t& byte : inputs.back()) byte = static_cast<uint8_t>(rng.next());
  }
  const std::vector<std::span<const uint8_t>> views(inputs.begin(), inputs.end());
  Outputs out;
  for (int i = 0; i < times; ++i) out = PERAXIS_TRY(session->run(views));
  return out;
}

struct Manners {
  int crash_after = INT_MAX;
  bool job_a_task = false, forgets_inputs = false;
};

bool run_both(const std::string& driver, const exe::Executable& executable, uint64_t seed, Manners manners) {
  const auto device = capture_test::open_device(driver);
  if (!device->ready()) return false;
  device->crash_after = manners.crash_after;
  device->job_a_task = manners.job_a_task;
  device->forgets_inputs = manners.forgets_inputs;
  device::MachineDevice model;
  const auto is = run_on(*device, executable, seed, 2), want = run_on(model, executable, seed, 1);
  if (!is || !want) {
    std::fprintf(stderr, "%s\n", (!is ? is : want).error().text().c_str());
    return false;
  }
  if (*is != *want) std::fprintf(stderr, "the outputs differ\n");
  return *is == *want;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  int threads = 1;
  Manners manners;
  bool forks = false;
  for (int i = 3; i < argc; ++i) {
    if (std::strcmp(argv[i], "--fork") == 0) forks = true;
    if (std::strcmp(argv[i], "--threads") == 0)
      threads = std::atoi(argv[++i]);
    else if (std::strcmp(argv[i], "--crash-after") == 0)
      manners.crash_after = std::atoi(argv[++i]);
    else if (std::strcmp(argv[i], "--job-a-task") == 0)
      manners.job_a_task = true;
    else if (std::strcmp(argv[i], "--forget-inputs") == 0)
      manners.forgets_inputs = true;
  }
  const auto bytes = base::read_file(argv[2]);
  if (!bytes) return 2;
  const auto executable = exe::read(*bytes);
  if (!executable) return 2;
  const pid_t child = forks ? fork() : -1;
  std::vector<std::thread> running;
  std::vector<char> good(static_cast<size_t>(threads), 0);
  for (size_t t = 0; t < good.size(); ++t)
    running.emplace_back([&, t] { good[t] = run_both(argv[1], *executable, t + 1, manners) ? 1 : 0; });
  for (std::thread& thread : running) thread.join();
  bool all = true;
  for (const char one : good) all = all && one != 0;
  if (child > 0) {
    int status = 0;
    waitpid(child, &status, 0);
    all = all && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  if (child != 0) std::printf("%s\n", all ? "equal" : "NOT EQUAL");
  return all ? 0 : 1;
}
