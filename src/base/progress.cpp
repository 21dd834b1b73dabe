// Carriage return and "erase to the end of the line" (ECMA-48 EL) are all the terminal control there is.
#include "base/progress.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "base/printable.hpp"

namespace peraxis::base {

Progress::Progress(std::string label, int64_t total)
    : label_(std::move(label)),
      total_(total),
      enabled_(::isatty(STDERR_FILENO) == 1),
      next_(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
  if (!drawn_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
}

void Progress::update(int64_t done) {
  if (!enabled_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds(100);
  drawn_ = true;
  std::fprintf(stderr, "\r\x1b[K%s", line(label_, done, total_).c_str());
  std::fflush(stderr);
}

std::string Progress::line(const std::string& label, int64_t done, int64_t total) {
  const std::string shown = printable(label);
  if (total <= 0) return fmt::format("{} {}", shown, done);
  const double percent = 100.0 * static_cast<double>(done) / static_cast<double>(total);
  return fmt::format("{} {}/{} ({:.0f} %)", shown, done, total, percent);
}

}  // namespace peraxis::base
