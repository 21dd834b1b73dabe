// Text tables for people: columns as wide as their widest cell, numbers to the right.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace peraxis::base {

class Table {
 public:
  enum class Align : uint8_t { Left, Right };

  explicit Table(std::vector<std::string> header);
  // By default a column is right-aligned when each of its cells is a number or empty.
  void align(size_t column, Align align);
  // Missing cells are empty, cells beyond the header's columns are a programmer's mistake.
  void add_row(std::vector<std::string> cells);
  size_t rows() const { return rows_.size(); }

  // Two spaces between columns, a line of dashes below the header, no blanks at line ends.
  std::string text() const;

 private:
  bool is_numeric(size_t column) const;

  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<int> align_;  // -1: by content
};

// "1,234,567"
std::string with_thousands(int64_t value);

}  // namespace peraxis::base
