// The fault of a task that reads what was in memory before the task before it wrote.
#pragma once

#include <algorithm>
#include <vector>

#include "capture/server/executor.hpp"

namespace peraxis::capture {

// Bytes that only the device changed keep their new value, but the next task saw the old ones.
class StaleView {
 public:
  StaleView(const Space& space) : space_(space) {
    for (const Mapped& part : space_)
      before_.emplace_back(part.memory->bytes().begin(), part.memory->bytes().end());
  }
  // After the first task: its outputs disappear.
  void hide() {
    for (size_t i = 0; i < space_.size(); ++i) {
      const auto bytes = space_[i].memory->bytes();
      written_.emplace_back(bytes.begin(), bytes.end());
      std::copy(before_[i].begin(), before_[i].end(), bytes.begin());
    }
  }
  // After the second: they are back, unless it wrote the byte.
  void reveal() {
    for (size_t i = 0; i < written_.size(); ++i) {
      const auto bytes = space_[i].memory->bytes();
      for (size_t at = 0; at < bytes.size(); ++at)
        if (bytes[at] == before_[i][at]) bytes[at] = written_[i][at];
    }
  }

 private:
  const Space& space_;
  std::vector<std::vector<uint8_t>> before_, written_;
};

}  // namespace peraxis::capture
