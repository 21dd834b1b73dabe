// Runs a program with the capture library in front of its kernel, or of a fake one.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "capture/server/fake_kernel.hpp"

namespace peraxis::capture {

struct LaunchOptions {
  std::vector<std::string> command;
  std::string output;   // folder for the recording; empty: nothing is recorded
  std::string fake;     // "rocket", "rknpu"; empty: the kernel of this computer
  std::string library;  // the library to preload; empty: the one beside this program
  std::vector<std::string> faults;
  std::vector<std::string> switches;  // readings of the chip (trace::set_switch)
  bool strict = false, commands_only = false, keep_cbuf = false, pool_raises_only_ppu = false,
       test_words = false;
};
struct LaunchResult {
  int exit_code = 0;  // of the program; 128 + signal when one ended it
  std::string findings;
  int64_t punished = 0;  // what the driver would have punished silently
  int64_t calls = 0;     // that the fake kernel answered
};
Result<LaunchResult> launch(const LaunchOptions& options);

Result<std::unique_ptr<FakeKernel>> make_fake_kernel(const LaunchOptions& options);
// A folder with the /dev and /sys of a board that has the driver.
Status make_fake_tree(const std::string& folder, const std::string& driver);

}  // namespace peraxis::capture
