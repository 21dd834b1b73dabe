// The threads of one call.
#pragma once

#include <optional>

#include "base/thread_pool.hpp"
#include "kernels/kernels.hpp"

namespace peraxis::kernels {

// The options given, with a pool wherever they ask for threads: the caller's, else one for this call.
class OwnPool {
 public:
  explicit OwnPool(const Options& given) : options_(given) {
    if (given.pool != nullptr || given.threads < 2 || given.path != Path::Fast) return;
    options_.pool = &own_.emplace(given.threads);
  }
  OwnPool(const OwnPool&) = delete;
  OwnPool& operator=(const OwnPool&) = delete;

  const Options& options() const { return options_; }

 private:
  Options options_;
  std::optional<base::ThreadPool> own_;
};

// The same on the thread that calls.
inline Options single_thread(Options options) {
  options.threads = 1;
  options.pool = nullptr;
  return options;
}

}  // namespace peraxis::kernels
