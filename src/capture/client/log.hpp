// The process's log file (capture/log_format.hpp).
#pragma once

#include "capture/client/system.hpp"
#include "capture/log_format.hpp"

namespace peraxis::capture::client {

class Log {
 public:
  // `folder` must stay.
  void set_folder(const char* folder) { folder_ = folder; }
  bool on() const { return folder_ != nullptr; }
  // A forked child has a log of its own.
  void start_again() { fd_ = -1; }
  bool started() const { return fd_ >= 0; }

  // One record of up to two parts, in one write. The bytes must not change meanwhile.
  void add(log::Kind kind, const void* head, size_t head_bytes, const void* rest = nullptr,
           size_t rest_bytes = 0);

 private:
  bool open();
  bool still_ours() const;

  const char* folder_ = nullptr;
  int fd_ = -1;
  uint64_t inode_ = 0;
  Lock lock_;

 public:
  void forget_lock() { lock_.forget(); }
};

}  // namespace peraxis::capture::client
