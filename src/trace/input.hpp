// Files that hold command streams: bare words, executables, captures, models of the vendor's compiler.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "trace/stream.hpp"

namespace peraxis::trace {

enum class InputKind : uint8_t { Words, Executable, Capture, VendorModel };
const char* input_kind_name(InputKind kind);

struct Input {
  InputKind kind = InputKind::Words;
  std::vector<Stream> streams;
};

// Told apart by content. Anything that is none of the others is taken for bare words when at least one of
// them looks like a command; `looks_like_words` says so in advance.
bool looks_like_words(std::span<const uint8_t> bytes);
bool looks_like_vendor_model(std::span<const uint8_t> bytes);
Result<Input> read_input(const std::string& name, std::span<const uint8_t> bytes);

// Streams in bytes of any kind, found by the words themselves: a run of commands in which at least one
// op-enable word follows a separator. Named "NAME@0x1f80" after their place.
std::vector<Stream> find_streams(const std::string& name, std::span<const uint8_t> bytes);

}  // namespace peraxis::trace
