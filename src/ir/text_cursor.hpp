// Reading position in one line of the text form. Every take_* either moves on or returns an error that
// names the column and what stands there.
#pragma once

#include <fmt/core.h>

#include <charconv>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace peraxis::ir::text {

class Cursor {
 public:
  explicit Cursor(std::string_view line) : line_(line) {}

  bool at_end() {
    skip_blanks();
    return position_ >= line_.size();
  }
  bool next_is(char c) {
    skip_blanks();
    return position_ < line_.size() && line_[position_] == c;
  }
  bool accept(char c) {
    if (!next_is(c)) return false;
    ++position_;
    return true;
  }
  Status take(std::string_view wanted) {
    skip_blanks();
    if (line_.substr(position_, wanted.size()) != wanted) return unexpected(wanted);
    position_ += wanted.size();
    return {};
  }

  // Letters, digits and underscores.
  Result<std::string_view> take_word() {
    skip_blanks();
    const size_t begin = position_;
    while (position_ < line_.size() && is_word(line_[position_])) ++position_;
    if (position_ == begin) return unexpected("a word");
    return line_.substr(begin, position_ - begin);
  }

  template <class T>
  Result<T> take_number() {
    skip_blanks();
    T value{};
    const char* begin = line_.data() + position_;
    const auto [end, error] = std::from_chars(begin, line_.data() + line_.size(), value);
    if (error == std::errc::result_out_of_range) {
      return fail(ErrorCode::InvalidModel, "column {}: the number is out of range", position_ + 1);
    }
    if (error != std::errc{}) return unexpected("a number");
    position_ += static_cast<size_t>(end - begin);
    return value;
  }

  // Inside a field's parentheses: everything up to the closing one, which is taken too.
  Result<std::string_view> take_to_parenthesis() {
    const size_t end = line_.find(')', position_);
    if (end == std::string_view::npos) return unexpected("a closing )");
    const std::string_view out = line_.substr(position_, end - position_);
    position_ = end + 1;
    return out;
  }

  Result<std::string> take_quoted();

  tl::unexpected<Error> unexpected(std::string_view wanted) const {
    const std::string_view rest = line_.substr(std::min(position_, line_.size()), 20);
    return fail(ErrorCode::InvalidModel, "column {}: expected {}, found '{}'", position_ + 1, wanted, rest);
  }

 private:
  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }
  void skip_blanks() {
    while (position_ < line_.size() && (line_[position_] == ' ' || line_[position_] == '\t')) ++position_;
  }

  std::string_view line_;
  size_t position_ = 0;
};

// -1 when `c` is no hexadecimal digit.
inline int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

inline Result<std::string> Cursor::take_quoted() {
  if (!accept('"')) return unexpected("a quoted name");
  std::string out;
  while (position_ < line_.size()) {
    const char c = line_[position_++];
    if (c == '"') return out;
    if (c != '\\') {
      out += c;
      continue;
    }
    if (position_ >= line_.size()) break;
    const char escaped = line_[position_++];
    if (escaped == '"' || escaped == '\\') {
      out += escaped;
      continue;
    }
    const int high = position_ < line_.size() ? hex_digit(line_[position_]) : -1;
    const int low = position_ + 1 < line_.size() ? hex_digit(line_[position_ + 1]) : -1;
    if (escaped != 'x' || high < 0 || low < 0) return unexpected("an escape \\\", \\\\ or \\xHH");
    out += static_cast<char>(high * 16 + low);
    position_ += 2;
  }
  return unexpected("a closing quote");
}

// What take_quoted reads: bytes that are not printable ASCII are written \xHH.
inline std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  out += '"';
  return out;
}

}  // namespace peraxis::ir::text
