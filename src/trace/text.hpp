// Command streams as text, and back: one line a word, so that parse(print(stream)) has the same words
// whatever they are. docs/trace.md is the format's description.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "trace/stream.hpp"

namespace peraxis::trace {

inline constexpr int kTextVersion = 1;
// More words than any device address space that a stream can name; bounds what `nop N` can ask for.
inline constexpr int64_t kMaxTextWords = int64_t{1} << 27;

struct PrintOptions {
  bool comments = true;  // what each task does, what a register was in the task before, places in buffers
  bool only_changes = false;  // leave out words that repeat the task before; such text is no whole stream
};
std::string print_text(const Stream& stream, const PrintOptions& options = {});

// One command word as a line, without comments: "CNA.CBUF_CON0 DATA_BANK=11 WEIGHT_BANK=1".
std::string word_text(uint64_t word);
// A field's value as the text writes it: addresses and patterns in hexadecimal.
std::string value_text(const FieldEntry& field, int64_t value);

// The streams of a text: one for each `stream` line, or a single unnamed one.
Result<std::vector<Stream>> parse_text(std::string_view text);

}  // namespace peraxis::trace
