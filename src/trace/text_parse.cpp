// Text -> words. Every error names the line, the token, the value and the limit.
#include <algorithm>
#include <charconv>

#include "trace/text.hpp"

namespace peraxis::trace {

using namespace rk3588;

namespace {

constexpr size_t kLongestShown = 60;

std::string shown(std::string_view token) {
  std::string out(token.substr(0, kLongestShown));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7F) c = '?';
  if (token.size() > kLongestShown) out += "...";
  return out;
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

// Decimal or 0x..., with a sign; false for anything else and for what leaves 65 bits.
bool parse_number(std::string_view text, bool& negative, uint64_t& magnitude) {
  negative = !text.empty() && text.front() == '-';
  if (negative) text.remove_prefix(1);
  const bool hex = text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  if (hex) text.remove_prefix(2);
  if (text.empty()) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), magnitude, hex ? 16 : 10);
  return error == std::errc() && end == text.data() + text.size();
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<std::vector<Stream>> run() {
    while (!text_.empty()) {
      const size_t end = std::min(text_.find('\n'), text_.size());
      const std::string_view line = text_.substr(0, end);
      text_.remove_prefix(std::min(end + 1, text_.size()));
      ++line_;
      PERAXIS_TRY(parse_line(line));
    }
    if (streams_.empty()) streams_.emplace_back();
    return std::move(streams_);
  }

 private:
  template <class... Args>
  tl::unexpected<Error> bad(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(ErrorCode::InvalidArgument, "line {}: {}", line_,
                fmt::format(format, std::forward<Args>(args)...));
  }

  std::string_view next_token(std::string_view& line) const {
    while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
    size_t n = 0;
    while (n < line.size() && !is_blank(line[n])) ++n;
    const std::string_view token = line.substr(0, n);
    line.remove_prefix(n);
    return token;
  }

  Status parse_line(std::string_view line) {
    std::string_view rest = line;
    const std::string_view head = next_token(rest);
    if (head == "stream") return parse_stream(rest);
    // A stream's name may hold a '#', nothing else does.
    line = line.substr(0, std::min(line.find('#'), line.size()));
    tokens_.clear();
    for (std::string_view token = next_token(line); !token.empty(); token = next_token(line))
      tokens_.push_back(token);
    if (tokens_.empty()) return {};
    if (streams_.empty()) streams_.emplace_back();
    if (!streams_.back().rest.empty())
      return bad("'{}' after 'bytes', which ends a stream", shown(tokens_[0]));
    if (tokens_[0] == "nop") return parse_nop();
    if (tokens_[0] == "separator") return parse_separator();
    if (tokens_[0] == "enable") return parse_enable();
    if (tokens_[0] == "raw") return parse_raw();
    if (tokens_[0] == "bytes") return parse_bytes();
    return parse_register();
  }

  Status add(uint64_t word, int64_t times = 1) {
    words_ += times;
    if (words_ > kMaxTextWords) return bad("more than {} words in the text", kMaxTextWords);
    streams_.back().words.insert(streams_.back().words.end(), static_cast<size_t>(times), word);
    return {};
  }

  Status parse_stream(std::string_view rest) {
    // The name ends at its second quotation mark; the printer writes none inside a name.
    const size_t open = rest.find('"'),
                 close = open == std::string_view::npos ? open : rest.find('"', open + 1);
    if (close == std::string_view::npos) return bad("'stream' needs a name in quotes");
    std::string_view before = rest.substr(0, open), after = rest.substr(close + 1);
    after = after.substr(0, std::min(after.find('#'), after.size()));
    for (std::string_view part : {before, after})
      if (const std::string_view token = next_token(part); !token.empty())
        return bad("'{}' beside the stream's name", shown(token));
    streams_.emplace_back();
    streams_.back().name = std::string(rest.substr(open + 1, close - open - 1));
    return {};
  }

  // The value of `token`, at most `highest`.
  Result<uint64_t> unsigned_value(std::string_view token, uint64_t highest) const {
    bool negative = false;
    uint64_t value = 0;
    if (!parse_number(token, negative, value)) return bad("'{}' is no number", shown(token));
    if (negative || value > highest) return bad("'{}': must be 0..{:#x}", shown(token), highest);
    return value;
  }

  Status parse_nop() {
    if (tokens_.size() > 2) return bad("'nop' takes at most one count, not '{}'", shown(tokens_[2]));
    uint64_t count = 1;
    if (tokens_.size() == 2)
      count = PERAXIS_TRY(unsigned_value(tokens_[1], static_cast<uint64_t>(kMaxTextWords)));
    return add(0, static_cast<int64_t>(count));
  }

  Status parse_separator() {
    if (tokens_.size() > 1) return bad("'separator' stands alone, not with '{}'", shown(tokens_[1]));
    return add(command_word(kSeparatorTarget, 0, 0));
  }

  Status parse_enable() {
    constexpr struct {
      std::string_view name;
      uint32_t bit;
    } kBits[] = {{"CNA", 0x01},      {"CORE", 0x04}, {"DPU", 0x08},
                 {"DPU_RDMA", 0x10}, {"PPU", 0x20},  {"PPU_RDMA", 0x40}};
    if (tokens_.size() < 2) return bad("'enable' needs blocks or a number");
    uint32_t value = 0;
    for (size_t i = 1; i < tokens_.size(); ++i) {
      const auto* found = std::find_if(std::begin(kBits), std::end(kBits),
                                       [&](const auto& bit) { return bit.name == tokens_[i]; });
      if (found != std::end(kBits)) {
        value |= found->bit;
        continue;
      }
      if (!std::isdigit(static_cast<unsigned char>(tokens_[i].front())))
        return bad("'{}' is none of CNA, CORE, DPU, DPU_RDMA, PPU, PPU_RDMA and no number",
                   shown(tokens_[i]));
      value |= static_cast<uint32_t>(PERAXIS_TRY(unsigned_value(tokens_[i], UINT32_MAX)));
    }
    return add(command_word(kEnableTarget, value, kEnableOffset));
  }

  Status parse_raw() {
    if (tokens_.size() != 2) return bad("'raw' takes one 64-bit word");
    return add(PERAXIS_TRY(unsigned_value(tokens_[1], UINT64_MAX)));
  }

  Status parse_bytes() {
    constexpr size_t kMost = 7;
    if (tokens_.size() < 2 || tokens_.size() > kMost + 1)
      return bad("'bytes' takes 1..{} bytes, {} are given", kMost, tokens_.size() - 1);
    for (size_t i = 1; i < tokens_.size(); ++i) {
      unsigned value = 0;
      const std::string_view token = tokens_[i];
      const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value, 16);
      if (error != std::errc() || end != token.data() + token.size() || value > 0xFF)
        return bad("'{}' is no byte in hexadecimal (00..ff)", shown(token));
      streams_.back().rest.push_back(static_cast<uint8_t>(value));
    }
    return {};
  }

  Status parse_register() {
    const RegisterEntry* entry = find_register(tokens_[0]);
    if (entry == nullptr)
      return bad("'{}' is no register a stream writes, nor one of stream, nop, separator, enable, raw, bytes",
                 shown(tokens_[0]));
    uint32_t value = 0, given = 0;
    for (size_t i = 1; i < tokens_.size(); ++i) {
      const size_t equals = tokens_[i].find('=');
      if (equals == std::string_view::npos) {
        if (tokens_.size() != 2)
          return bad("'{}' is not of the form FIELD=VALUE; a number must stand alone", shown(tokens_[i]));
        value = static_cast<uint32_t>(PERAXIS_TRY(unsigned_value(tokens_[i], UINT32_MAX)));
        break;
      }
      PERAXIS_TRY(parse_field(*entry, tokens_[i], equals, value, given));
    }
    return add(command_word(entry->target, value, entry->info->offset));
  }

  Status parse_field(const RegisterEntry& entry, std::string_view token, size_t equals, uint32_t& value,
                     uint32_t& given) const {
    const std::string_view name = token.substr(0, equals), number = token.substr(equals + 1);
    if (name == "reserved") {
      const auto bits = static_cast<uint32_t>(PERAXIS_TRY(unsigned_value(number, UINT32_MAX)));
      if ((bits & entry.known) != 0)
        return bad("'{}': bits {:#x} of {} belong to fields; the others are {:#x}", shown(token),
                   bits & entry.known, entry.info->name, ~entry.known);
      value |= bits;
      return {};
    }
    const FieldEntry* field = entry.find(name);
    if (field == nullptr) {
      std::string names;
      for (const FieldEntry& f : entry.fields) names += fmt::format(" {}", f.name);
      return bad("'{}': {} has no field {}; it has{}", shown(token), entry.info->name, shown(name), names);
    }
    bool negative = false;
    uint64_t magnitude = 0;
    if (!parse_number(number, negative, magnitude))
      return bad("'{}': '{}' is no number", shown(token), shown(number));
    const bool huge = magnitude > uint64_t{1} << 40;
    const int64_t is = huge ? 0 : (negative ? -1 : 1) * static_cast<int64_t>(magnitude);
    if (huge || is < field->lowest || is > field->highest)
      return bad("'{}': {} is {}, its {} bits hold {}..{}", shown(token), field->info->name, shown(number),
                 field->info->width, field->lowest, field->highest);
    if ((given & field->mask) != 0) return bad("'{}': {} is given twice", shown(token), field->info->name);
    given |= field->mask;
    value |= field->encode(is);
    return {};
  }

  std::string_view text_;
  int64_t line_ = 0, words_ = 0;
  std::vector<std::string_view> tokens_;
  std::vector<Stream> streams_;
};

}  // namespace

Result<std::vector<Stream>> parse_text(std::string_view text) {
  return Parser(text).run();
}

}  // namespace peraxis::trace
