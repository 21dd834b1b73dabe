// Widths count UTF-8 code points; wide and combining characters do not occur in what we print.
#include "base/table.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "base/printable.hpp"

namespace peraxis::base {
namespace {

// Digits with signs, separators, a decimal point, an exponent, a percent sign.
bool looks_numeric(std::string_view cell) {
  bool digit = false;
  for (const char c : cell) {
    if (c >= '0' && c <= '9')
      digit = true;
    else if (std::string_view("+-.,e% ").find(c) == std::string_view::npos)
      return false;
  }
  return digit;
}

}  // namespace

Table::Table(std::vector<std::string> header) : header_(std::move(header)), align_(header_.size(), -1) {}

void Table::align(size_t column, Align align) {
  PERAXIS_CHECK(column < align_.size(), "no such column");
  align_[column] = static_cast<int>(align);
}

void Table::add_row(std::vector<std::string> cells) {
  PERAXIS_CHECK(cells.size() <= header_.size(), "more cells than columns");
  cells.resize(header_.size());
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

bool Table::is_numeric(size_t column) const {
  bool any = false;
  for (const auto& row : rows_) {
    if (row[column].empty() || row[column] == "-") continue;
    if (!looks_numeric(row[column])) return false;
    any = true;
  }
  return any;
}

std::string Table::text() const {
  std::vector<size_t> widths;
  std::vector<bool> right;
  for (size_t c = 0; c < header_.size(); ++c) {
    size_t width = characters(header_[c]);
    for (const auto& row : rows_) width = std::max(width, characters(row[c]));
    widths.push_back(width);
    right.push_back(align_[c] < 0 ? is_numeric(c) : align_[c] == static_cast<int>(Align::Right));
  }
  std::string out;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (size_t c = 0; c < cells.size(); ++c) {
      const std::string padding(widths[c] - characters(cells[c]), ' ');
      if (c > 0) line += "  ";
      line += right[c] ? padding + cells[c] : cells[c] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  };
  add_line(header_);
  std::vector<std::string> dashes;
  for (const size_t width : widths) dashes.emplace_back(width, '-');
  add_line(dashes);
  for (const auto& row : rows_) add_line(row);
  return out;
}

std::string with_thousands(int64_t value) {
  std::string digits = std::to_string(value);
  const size_t first = value < 0 ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

}  // namespace peraxis::base
