// Text from files (names of tensors, labels, messages of libraries) on its way to a terminal, a picture or a
// log. Such text can hold what moves a cursor, ends a line, changes the direction of writing or is no text at
// all.
#pragma once

#include <string>
#include <string_view>

namespace peraxis::base {

// The text on one line, as UTF-8 that only shows characters. Escapes stand for the rest: \x1b for control
// characters and for bytes that are no UTF-8, \u202e and \U000e0001 for control, format and direction
// characters beyond ASCII. A second pass changes nothing.
std::string printable(std::string_view text);
// The same for text of several lines, which keeps its line ends: the last guard of an output. It cannot tell
// a line end of ours from that of a name, so names pass printable() first.
std::string printable_lines(std::string_view text);
// A valid JSON document with escapes of JSON in place of such characters: it means what it meant.
std::string printable_json(std::string_view document);
// printable() with at most `most` characters, three dots for the end of longer text.
std::string printable_start(std::string_view text, size_t most);
// printable() for a message with names of files in it: what stands in single quotes is at most kMostQuoted
// characters long, three dots for the start of longer text (names of tensors differ at their end), and the
// whole at most kMostMessage, three dots for its middle.
constexpr size_t kMostQuoted = 160;
constexpr size_t kMostMessage = 8000;
std::string printable_message(std::string_view text);
// printable() of a name from a file: longer ones have three dots for their start and kMostQuoted characters.
std::string printable_name(std::string_view text);
// Characters of UTF-8 text.
size_t characters(std::string_view text);

}  // namespace peraxis::base
