// See labels.hpp. A wrong index gives a wrong name without a word, so whatever is neither clearly numbered
// nor clearly plain is refused with the line.
#include "vision/labels.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include "base/file.hpp"

namespace peraxis::vision {
namespace {

constexpr int64_t kMaxBytes = int64_t{16} << 20;
constexpr size_t kMaxShown = 40;

struct Line {
  size_t number = 0;  // in the file, from 1
  std::string_view text;
};

struct Numbered {
  size_t index = 0;
  std::string_view name;  // empty: the line has none
};

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

bool in_quotes(std::string_view text) {
  return text.size() >= 2 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front();
}

// Without the quotes around it; `comma`: one may follow them, as in JSON.
std::string_view unquoted(std::string_view text, bool comma) {
  std::string_view inner = text;
  if (comma && inner.size() > 2 && inner.back() == ',') inner = trimmed(inner.substr(0, inner.size() - 1));
  return in_quotes(inner) ? inner.substr(1, inner.size() - 2) : text;
}

std::string shown(std::string_view text) {
  std::string out(text.substr(0, kMaxShown));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < ' ') c = '?';
  return text.size() > kMaxShown ? out + "..." : out;
}

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  while (!text.empty()) {
    const size_t end = text.find_first_of("\r\n");
    lines.push_back({lines.size() + 1, trimmed(text.substr(0, end))});
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + (text.substr(end, 2) == "\r\n" ? 2 : 1));
  }
  return lines;
}

// What is behind a separator at the start of `rest`; nothing when there is none.
std::optional<std::string_view> behind_separator(std::string_view rest) {
  if (rest.empty()) return rest;
  const bool blank = is_blank(rest.front());
  rest = trimmed(rest);
  if (rest.empty()) return rest;
  const char mark = rest.front();
  const std::string_view behind = rest.substr(1);
  const bool before_blank = behind.empty() || is_blank(behind.front());
  if (std::string_view(":,;=|").find(mark) != std::string_view::npos) {
    if (mark == ',' && !blank && !behind.empty() && is_digit(behind.front())) return std::nullopt;  // 1,000
    return trimmed(behind);
  }
  if ((mark == '.' || mark == ')') && !blank && before_blank) return trimmed(behind);
  if (mark == '-' && blank && before_blank) return trimmed(behind);
  return blank ? std::optional(rest) : std::nullopt;
}

// The number may be too large for an index; then it is kNoIndex, which is none.
constexpr size_t kNoIndex = static_cast<size_t>(-1);

std::optional<Numbered> numbered(std::string_view line) {
  std::string_view rest = line;
  const char quote = !rest.empty() && (rest.front() == '"' || rest.front() == '\'') ? rest.front() : '\0';
  if (quote != '\0') rest.remove_prefix(1);
  const auto stop = std::find_if_not(rest.begin(), rest.end(), is_digit);
  if (stop == rest.begin()) return std::nullopt;
  Numbered out;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + (stop - rest.begin()), out.index);
  if (error != std::errc()) out.index = kNoIndex;
  rest.remove_prefix(static_cast<size_t>(stop - rest.begin()));
  if (quote != '\0') {
    if (rest.empty() || rest.front() != quote) return std::nullopt;
    rest = trimmed(rest.substr(1));
    if (rest.empty() || rest.front() != ':') return std::nullopt;
  }
  const auto name = behind_separator(rest);
  if (!name) return std::nullopt;
  out.name = unquoted(*name, true);
  return out;
}

bool is_unknown(std::string_view name) {
  return name == "???";
}

// What people write for the class 0 that TensorFlow's and PyTorch's networks keep for the background.
bool is_background(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); });
  return is_unknown(name) || lower == "background" || lower == "__background__";
}

enum class Form { Plain, Numbered, Mixed };

struct Reading {
  Form form = Form::Plain;
  std::vector<std::optional<Numbered>> numbers;  // one a line
  size_t first_plain = 0;                        // of Mixed: the line without a number
  size_t count = 0, texts = 0;                   // of them have a number
};

// labels.hpp states the rule.
Reading read_form(const std::vector<Line>& lines) {
  Reading out;
  size_t named = 0, at_their_place = 0;
  std::optional<size_t> plain;
  for (size_t i = 0; i < lines.size(); ++i) {
    const auto& number = out.numbers.emplace_back(numbered(lines[i].text));
    if (lines[i].text.empty() || (out.texts == 0 && is_unknown(lines[i].text))) continue;
    ++out.texts;
    if (!number) {
      if (!plain) plain = i;
      continue;
    }
    ++out.count;
    named += number->name.empty() ? 0 : 1;
    at_their_place += number->index == i || number->index == i + 1 ? 1 : 0;
  }
  if (out.count == 0 || 2 * named < out.texts) return out;
  if (!plain) {
    out.form = Form::Numbered;
  } else if (2 * at_their_place > out.texts) {
    out.form = Form::Mixed;
    out.first_plain = *plain;
  }
  return out;
}

Result<Labels> from_numbers(const std::vector<Line>& lines, const Reading& reading, std::string_view file) {
  std::vector<size_t> line_of;  // by index; 0: none yet
  std::vector<std::string> names;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!reading.numbers[i]) continue;
    const Numbered& entry = *reading.numbers[i];
    if (entry.index >= kMaxLabels)
      return fail(ErrorCode::InvalidArgument,
                  "label file '{}', line {}: '{}' has an index above {}, the limit; if the number is part of "
                  "the name, give the names as \"labels\" of a model info",
                  file, lines[i].number, shown(lines[i].text), kMaxLabels - 1);
    if (names.size() <= entry.index) {
      names.resize(entry.index + 1);
      line_of.resize(entry.index + 1);
    }
    if (line_of[entry.index] != 0)
      return fail(ErrorCode::InvalidArgument,
                  "label file '{}', line {}: index {} of '{}' was given in line {} already; an index names "
                  "one class",
                  file, lines[i].number, entry.index, shown(lines[i].text), line_of[entry.index]);
    line_of[entry.index] = lines[i].number;
    names[entry.index] = entry.name;
  }
  const bool begins_at_0 = line_of[0] != 0;
  Labels out = labels_of(std::move(names));
  out.numbered = true;
  out.background |= !begins_at_0;
  return out;
}

Result<Labels> from_lines(const std::vector<Line>& lines, std::string_view file) {
  if (lines.size() > kMaxLabels)
    return fail(ErrorCode::InvalidArgument, "label file '{}' has {} lines, the limit is {}", file,
                lines.size(), kMaxLabels);
  const bool quoted = std::all_of(lines.begin(), lines.end(),
                                  [](const Line& line) { return line.text.empty() || in_quotes(line.text); });
  std::vector<std::string> names;
  names.reserve(lines.size());
  for (const Line& line : lines) names.emplace_back(quoted ? unquoted(line.text, false) : line.text);
  return labels_of(std::move(names));
}

}  // namespace

Labels labels_of(std::vector<std::string> names) {
  Labels out;
  out.background = !names.empty() && is_background(names.front());
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i].empty()) names[i] = std::to_string(i);
  out.names = std::move(names);
  return out;
}

Result<Labels> parse_labels(std::string_view text, std::string_view name) {
  if (text.find('\0') != std::string_view::npos)
    return fail(ErrorCode::InvalidArgument,
                "label file '{}' holds a zero byte: it is not a text file, or not UTF-8", name);
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  std::vector<Line> lines = lines_of(text);
  while (!lines.empty() && lines.back().text.empty()) lines.pop_back();
  if (lines.empty()) return fail(ErrorCode::InvalidArgument, "label file '{}' holds no label", name);
  const Reading reading = read_form(lines);
  if (reading.form == Form::Mixed)
    return fail(ErrorCode::InvalidArgument,
                "label file '{}', line {}: '{}' has no number, but {} of {} lines have; number all "
                "lines or none, or give the names as \"labels\" of a model info",
                name, lines[reading.first_plain].number, shown(lines[reading.first_plain].text),
                reading.count, reading.texts);
  return reading.form == Form::Numbered ? from_numbers(lines, reading, name) : from_lines(lines, name);
}

Result<Labels> read_labels(const std::string& path) {
  const std::vector<uint8_t> bytes =
      PERAXIS_TRY_NOTE(base::read_file(path, kMaxBytes), "while reading the labels");
  return parse_labels({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

}  // namespace peraxis::vision
