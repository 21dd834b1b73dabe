// Faults a fake kernel produces on purpose, and what it found wrong with the program.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace peraxis::capture {

// One of:
//   CALL@N=ERRNO  the N-th call fails ("submit@3=ENOMEM"); CALL: open create submit prep fini map export
//   import
//                 close action destroy sync, or any
//   hang@N        the N-th task never ends
//   stale@N       the N-th task that follows another in its job reads what was there before that one wrote
//   lost@N        from the N-th call on every call fails with ENODEV
//   space=BYTES   the address space of a file (suffixes K, M, G)
//   slow=MS       every job takes so much longer
//   cores=ORDER   in which order cores are taken ("210")
std::string fault_help();

class Faults {
 public:
  Status add(std::string_view text);

  int64_t address_space() const { return space_; }
  int64_t slow_us() const { return slow_us_; }
  const std::array<int32_t, 3>& core_order() const { return cores_; }
  // Counts the call; the errno to fail with, or 0.
  int error_of(std::string_view call);
  // Count a task; whether it is one that hangs, or reads stale memory.
  bool hangs();
  bool reads_stale();
  bool any_stale() const { return !stale_.empty(); }

 private:
  struct CallError {
    std::string call;
    int64_t number = 0;
    int error = 0;
  };
  std::unique_ptr<std::mutex> lock_ = std::make_unique<std::mutex>();  // plans move
  std::vector<CallError> errors_;
  std::map<std::string, int64_t, std::less<>> calls_;
  std::set<int64_t> hangs_, stale_;
  int64_t lost_ = 0, tasks_ = 0, followers_ = 0;
  int64_t space_ = int64_t{1} << 32, slow_us_ = 0;
  std::array<int32_t, 3> cores_{0, 1, 2};
};

// Name of an errno value, "EINVAL"; its number when it is none of the usual ones.
std::string errno_name(int error);

enum class FindingKind : uint8_t {
  Punished,  // the program did what the driver punishes without a word
  Refused,   // the machine model says the chip would hang, or does not model it
  Injected,  // a fault that was asked for
};

class Findings {
 public:
  void add(FindingKind kind, std::string text);
  struct Entry {
    FindingKind kind;
    std::string text;
    int64_t times;
  };
  std::vector<Entry> entries() const;
  int64_t count(FindingKind kind) const;
  std::string text() const;

 private:
  static constexpr size_t kMost = 200;
  mutable std::mutex lock_;
  std::vector<Entry> entries_;
  int64_t left_out_ = 0;
};

}  // namespace peraxis::capture
