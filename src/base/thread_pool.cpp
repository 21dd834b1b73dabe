// Pieces are taken under one lock: there are at most size() of them a loop, so the lock is no cost, and a
// pool that got fewer threads than it asked for still finishes every piece.
#include "base/thread_pool.hpp"

#include <algorithm>
#include <atomic>
#include <system_error>

namespace peraxis::base {
namespace {

// Set while this thread runs a piece of some pool: a loop inside a loop must not wait for itself.
thread_local bool inside_loop = false;

std::atomic<int64_t> threads_started{0};

}  // namespace

ThreadPool::ThreadPool(int threads) {
  const int wanted = threads > 0 ? threads : static_cast<int>(std::thread::hardware_concurrency());
  size_ = std::clamp(wanted, 1, 256);
  for (int i = 1; i < size_; ++i) {
    try {
      threads_.emplace_back([this] { work(); });
      ++threads_started;
    } catch (const std::system_error&) {  // the system has no more threads: those we have do the work
      break;
    }
  }
}

int64_t ThreadPool::started() {
  return threads_started;
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::run_pieces(std::unique_lock<std::mutex>& lock) {
  while (loop_.next < loop_.pieces) {
    const int64_t piece = loop_.next++;
    const int64_t length = (loop_.end - loop_.begin) / loop_.pieces;
    const int64_t longer = (loop_.end - loop_.begin) % loop_.pieces;  // the first pieces get one more
    const int64_t first = loop_.begin + piece * length + std::min(piece, longer);
    const int64_t last = first + length + (piece < longer ? 1 : 0);
    const Range& fn = *loop_.fn;
    lock.unlock();
    inside_loop = true;
    fn(first, last);
    inside_loop = false;
    lock.lock();
    if (--loop_.unfinished == 0) done_.notify_all();
  }
}

void ThreadPool::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stop_ || loop_.next < loop_.pieces; });
    if (stop_) return;
    run_pieces(lock);
  }
}

void ThreadPool::parallel_ranges(int64_t begin, int64_t end, const Range& fn) {
  if (begin >= end) return;
  if (inside_loop || threads_.empty() || end - begin == 1) return fn(begin, end);
  const std::lock_guard turn(callers_);
  std::unique_lock lock(mutex_);
  const int64_t pieces = std::min<int64_t>(size_, end - begin);
  loop_ = {&fn, begin, end, pieces, 0, pieces};
  wake_.notify_all();
  run_pieces(lock);
  done_.wait(lock, [this] { return loop_.unfinished == 0; });
}

}  // namespace peraxis::base
