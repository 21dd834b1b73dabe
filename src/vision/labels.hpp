// Class names from a text file: one a line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace peraxis::vision {

// LF or CRLF; a UTF-8 byte order mark and empty lines at the end are ignored, an empty line before that
// keeps its class number. Fails on an empty file and on zero bytes (not a text file).
Result<std::vector<std::string>> parse_labels(std::string_view text, std::string_view name);

// The same from a file.
Result<std::vector<std::string>> read_labels(const std::string& path);

}  // namespace peraxis::vision
