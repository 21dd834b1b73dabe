// The line number is the class number, so nothing may shift lines: an empty line in the middle stays.
#include "vision/labels.hpp"

#include "base/file.hpp"

namespace peraxis::vision {
namespace {

constexpr int64_t kMaxBytes = int64_t{16} << 20;

}  // namespace

Result<std::vector<std::string>> parse_labels(std::string_view text, std::string_view name) {
  if (text.find('\0') != std::string_view::npos)
    return fail(ErrorCode::InvalidArgument, "label file '{}' holds a zero byte: it is not a text file", name);
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  std::vector<std::string> labels;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t'))
      line.remove_suffix(1);
    labels.emplace_back(line);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  while (!labels.empty() && labels.back().empty()) labels.pop_back();
  if (labels.empty()) return fail(ErrorCode::InvalidArgument, "label file '{}' holds no label", name);
  return labels;
}

Result<std::vector<std::string>> read_labels(const std::string& path) {
  const std::vector<uint8_t> bytes =
      PERAXIS_TRY_NOTE(base::read_file(path, kMaxBytes), "while reading the labels");
  return parse_labels({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

}  // namespace peraxis::vision
