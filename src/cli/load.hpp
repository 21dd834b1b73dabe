// A MODEL or FILE argument: told apart by content, never by the file's name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.hpp"
#include "exe/executable.hpp"
#include "ir/graph.hpp"

namespace peraxis::cli {

// Exactly one of the two is there.
struct Loaded {
  std::string path;   // as given
  uint64_t hash = 0;  // xxh64 of the file
  std::optional<ir::Graph> model;
  std::optional<exe::Executable> executable;
};

// Errors name the path and, when it is neither, what the file looks like instead.
Result<Loaded> load(const std::string& path);
// Refuses executables. The model as the compiler takes it: passes/ have been over it, indices are the file's.
Result<Loaded> load_model(const std::string& path);

// Refuses an empty output name, and one that is the same file as an input.
Status check_output(const std::string& output, const std::string& input);

// "a PNG picture", "an ONNX or other protobuf file", ...; empty when nothing is recognized.
std::string describe_content(std::span<const uint8_t> bytes);

}  // namespace peraxis::cli
