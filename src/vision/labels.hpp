// Class names from a text file: one a line, with or without the class's number.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace peraxis::vision {

inline constexpr size_t kMaxLabels = 100'000;

struct Labels {
  std::vector<std::string> names;  // by index; an index without a name has its number for a name
  // Index 0 may be no class of the model: it is a placeholder of the background, or numbers begin at 1. The
  // model's number of classes decides (label_shift in heads.hpp).
  bool background = false;
  bool numbered = false;  // the file says every index, so a count unlike the model's means nothing
};

// The rule. A line is numbered when it begins with a number and ends there, or a separator follows: blanks,
// or one of : , ; = | with or without blanks, or . and ) before a blank, or - between blanks. Numbers may be
// in quotes before a colon. When all lines with text but a leading `???` are numbered, and at least half of
// them have a name behind the number, the numbers are the indices and never part of a name; empty lines mean
// nothing. Else every line is a name, and its place is its index. Errors: an index twice or above
// kMaxLabels - 1, and a file that numbers most lines with their own place and forgets others.
// Line ends are LF, CRLF or CR. A UTF-8 byte order mark, blanks around names and empty lines at the end are
// ignored, quotes around every name too. Fails on a file without names and on zero bytes (not a text file).
Result<Labels> parse_labels(std::string_view text, std::string_view name);

// The same from a file.
Result<Labels> read_labels(const std::string& path);

// Names that are there already, from JSON: empty ones become their number, a leading placeholder is known.
Labels labels_of(std::vector<std::string> names);

}  // namespace peraxis::vision
