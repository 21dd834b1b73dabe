// A fake kernel for other processes: serves the preloaded library's calls on a Unix socket.
#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "capture/server/fake_kernel.hpp"

namespace peraxis::capture {

class SocketServer {
 public:
  // Listens at `path` until it is destroyed. `kernel` must outlive it.
  static Result<std::unique_ptr<SocketServer>> start(FakeKernel& kernel, const std::string& path);
  SocketServer(const SocketServer&) = delete;
  SocketServer& operator=(const SocketServer&) = delete;
  ~SocketServer();

  int64_t calls() const { return calls_; }

 private:
  SocketServer(FakeKernel& kernel, Descriptor listening, std::string path);
  void accept_calls();
  void serve(Descriptor connection);

  FakeKernel& kernel_;
  Descriptor listening_, stop_;
  std::string path_;
  std::atomic<int64_t> calls_ = 0, running_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace peraxis::capture
