// One line on stderr that says how far a long job is, and only when stderr is a terminal: logs and pipes
// never see it. The line is erased at the end.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace peraxis::base {

class Progress {
 public:
  // total 0: not known, only the count is shown.
  Progress(std::string label, int64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Draws at most ten times a second. From one thread at a time.
  void update(int64_t done);

  // "compiling 12/40 (30 %)": what update draws.
  static std::string line(const std::string& label, int64_t done, int64_t total);

 private:
  std::string label_;
  int64_t total_;
  bool enabled_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace peraxis::base
