// How far a long job is. Called from one thread at a time; may be empty.
#pragma once

#include <cstdint>
#include <functional>

namespace peraxis::engine {

using Progress = std::function<void(int64_t done, int64_t total)>;

}  // namespace peraxis::engine
