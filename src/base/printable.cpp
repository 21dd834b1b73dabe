#include "base/printable.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace peraxis::base {
namespace {

struct Range {
  char32_t first, last;
};
// Unicode's control characters, the format characters that text can do without, line and paragraph
// separators, marks and overrides of direction, and what is no character. The joiners U+200C and U+200D stay:
// some scripts need them.
constexpr std::array kHidden{Range{0x00, 0x1F},     Range{0x7F, 0x9F},      Range{0xAD, 0xAD},
                             Range{0x61C, 0x61C},   Range{0x180E, 0x180E},  Range{0x200B, 0x200B},
                             Range{0x200E, 0x200F}, Range{0x2028, 0x202E},  Range{0x2060, 0x206F},
                             Range{0xFDD0, 0xFDEF}, Range{0xFEFF, 0xFEFF},  Range{0xFFF0, 0xFFFB},
                             Range{0xFFFE, 0xFFFF}, Range{0xE0000, 0xE0FFF}};

bool shows(char32_t c) {
  return (c & 0xFFFE) != 0xFFFE &&
         std::ranges::none_of(kHidden, [c](const Range& r) { return c >= r.first && c <= r.last; });
}

constexpr std::array<char32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};  // character of so many bytes

// One character of UTF-8, or one byte that belongs to none.
struct Character {
  char32_t value = 0;
  size_t bytes = 1;
  bool valid = false;
};

Character first_of(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {lead, 1, false};
  char32_t value = lead & (0x7FU >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {lead, 1, false};
    value = value << 6 | (byte(i) & 0x3FU);
  }
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  // No longer form than needed.
  if (value < kLeast[bytes] || value > 0x10FFFF || surrogate) return {lead, 1, false};
  return {value, bytes, true};
}

std::string escaped(const Character& c) {
  const auto value = static_cast<uint32_t>(c.value);
  if (!c.valid || value < 0x80) return fmt::format("\\x{:02x}", value);
  return value <= 0xFFFF ? fmt::format("\\u{:04x}", value) : fmt::format("\\U{:08x}", value);
}

std::string escaped_for_json(const Character& c) {
  const auto value = static_cast<uint32_t>(c.value);
  if (value <= 0xFFFF) return fmt::format("\\u{:04x}", value);
  return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((value - 0x10000) >> 10), 0xDC00 + (value & 0x3FF));
}

// `text` with `replace` in place of what does not show; `kept` stays in any case.
template <class Replace>
std::string replaced(std::string_view text, std::string_view kept, const Replace& replace) {
  std::string out;
  out.reserve(text.size());
  while (true) {
    // Nearly all of it is ASCII.
    const auto plain = std::ranges::find_if_not(text, [](char c) { return c >= 0x20 && c < 0x7F; });
    out += text.substr(0, static_cast<size_t>(plain - text.begin()));
    text.remove_prefix(static_cast<size_t>(plain - text.begin()));
    if (text.empty()) return out;
    const Character c = first_of(text);
    const bool stays = c.valid && (shows(c.value) || kept.find(text[0]) != std::string_view::npos);
    if (stays)
      out += text.substr(0, c.bytes);
    else
      out += replace(c);
    text.remove_prefix(c.bytes);
  }
}

// The last `most` characters of text that shows.
std::string_view last_characters(std::string_view text, size_t most) {
  size_t start = text.size();
  for (size_t n = 0; n < most && start > 0; ++n) {
    --start;
    while (start > 0 && (static_cast<uint8_t>(text[start]) & 0xC0) == 0x80) --start;
  }
  return text.substr(start);
}

bool in_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// The next single quote from `from` on that opens quoted text, or with `closing` ends it: an apostrophe
// inside a word does neither.
size_t quote_from(std::string_view text, size_t from, bool closing) {
  for (size_t at = text.find('\'', from); at != std::string_view::npos; at = text.find('\'', at + 1)) {
    const bool outside =
        closing ? at + 1 == text.size() || !in_word(text[at + 1]) : at == 0 || !in_word(text[at - 1]);
    if (outside) return at;
  }
  return std::string_view::npos;
}

void append_end(std::string& out, std::string_view name) {
  if (characters(name) > kMostQuoted)
    out.append("...").append(last_characters(name, kMostQuoted - 3));
  else
    out += name;
}

std::string with_short_quotes(std::string_view text) {
  std::string out;
  while (true) {
    const size_t open = quote_from(text, 0, false);
    const size_t close = open == std::string_view::npos ? open : quote_from(text, open + 1, true);
    if (close == std::string_view::npos) return out.append(text);
    const std::string_view quoted = text.substr(open + 1, close - open - 1);
    out += text.substr(0, open + 1);
    append_end(out, quoted);
    out += '\'';
    text.remove_prefix(close + 1);
  }
}

}  // namespace

std::string printable(std::string_view text) {
  return replaced(text, "", escaped);
}

std::string printable_lines(std::string_view text) {
  return replaced(text, "\n", escaped);
}

std::string printable_json(std::string_view document) {
  return replaced(document, "\n\t", escaped_for_json);
}

std::string printable_start(std::string_view text, size_t most) {
  std::string shown = printable(text);
  if (characters(shown) <= most) return shown;
  size_t end = 0;
  for (size_t n = 3; n < most; ++n) end += first_of(std::string_view(shown).substr(end)).bytes;
  return shown.substr(0, end) + "...";
}

std::string printable_message(std::string_view text) {
  const std::string shown = with_short_quotes(printable(text));
  if (characters(shown) <= kMostMessage) return shown;
  const std::string_view end = last_characters(shown, kMostMessage / 2);
  return printable_start(shown, kMostMessage - kMostMessage / 2).append(end);
}

std::string printable_name(std::string_view text) {
  std::string out;
  append_end(out, printable(text));
  return out;
}

size_t characters(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }));
}

}  // namespace peraxis::base
