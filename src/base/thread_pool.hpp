// A fixed set of threads for loops over independent pieces. The cut of a range depends only on the range
// and the pool's size, never on timing, so a loop that gives each piece its own result slot is
// reproducible.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace peraxis::base {

class ThreadPool {
 public:
  // Threads that work, the caller's included; 0: as many as the machine has.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return size_; }
  // Threads that pools of this process have started so far, those that ended too.
  static int64_t started();

  // Cuts [begin, end) into at most size() pieces of equal length (give or take one), calls
  // fn(first, last) for each and waits. fn must not throw. Any thread may call; calls of different threads
  // take turns, and a call from inside fn runs its range on the spot.
  using Range = std::function<void(int64_t first, int64_t last)>;
  void parallel_ranges(int64_t begin, int64_t end, const Range& fn);

  // fn(i) for every i of [begin, end).
  template <class Fn>
  void parallel_for(int64_t begin, int64_t end, const Fn& fn) {
    parallel_ranges(begin, end, [&fn](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) fn(i);
    });
  }

 private:
  struct Loop {
    const Range* fn = nullptr;
    int64_t begin = 0, end = 0, pieces = 0;
    int64_t next = 0;  // first piece nobody took
    int64_t unfinished = 0;
  };
  void work();
  void run_pieces(std::unique_lock<std::mutex>& lock);

  int size_ = 1;
  std::mutex callers_;  // one loop at a time
  std::mutex mutex_;    // guards what follows
  std::condition_variable wake_, done_;
  Loop loop_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace peraxis::base
