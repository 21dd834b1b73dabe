// See progress.hpp.
#include "cli/progress.hpp"

#include <unistd.h>

#include <memory>

#include "base/progress.hpp"

namespace peraxis::cli {

engine::Progress drawn_progress(std::string label) {
  if (::isatty(STDERR_FILENO) != 1) return {};
  return [label = std::move(label), line = std::shared_ptr<base::Progress>()](int64_t done,
                                                                              int64_t total) mutable {
    if (!line) line = std::make_shared<base::Progress>(label, total);
    line->update(done);
  };
}

}  // namespace peraxis::cli
