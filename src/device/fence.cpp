// See the header.
#include "device/fence.hpp"

#include <algorithm>
#include <utility>

namespace peraxis::device {

Status Fence::wait() const {
  constexpr std::chrono::hours kLong(1);
  while (!PERAXIS_TRY(wait_for(kLong))) {
  }
  return {};
}

Result<bool> Completion::wait_for(std::chrono::milliseconds time) const {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::hours kLongest(24 * 365);  // a sum with now() that fits
  std::unique_lock lock(mutex_);
  const auto ended = [&] { return result_.has_value(); };
  if (!ended() && time.count() > 0)
    ended_.wait_until(lock, Clock::now() + std::min<std::chrono::milliseconds>(time, kLongest), ended);
  if (!ended()) return false;
  if (!*result_) return tl::make_unexpected(result_->error());
  return true;
}

const std::vector<std::vector<TaskCounters>>* Completion::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_ ? &*counters_ : nullptr;
}

void Completion::finish(Status result, Counters counters) {
  const std::lock_guard lock(mutex_);
  if (result_) return;
  result_ = std::move(result);
  counters_ = std::move(counters);
  ended_.notify_all();  // under the lock: whoever waits may destroy this next
}

}  // namespace peraxis::device
