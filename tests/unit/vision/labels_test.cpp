// Label files: the line number is the class number.
#include "vision/labels.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace peraxis::vision {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Labels, CrlfByteOrderMarkAndTrailingBlanks) {
  auto labels = parse_labels(
      "\xef\xbb\xbf"
      "cat\r\nfire engine \r\n\r\nfox\r\n\r\n\n",
      "a.txt");
  ASSERT_TRUE(labels) << labels.error().text();
  EXPECT_THAT(*labels, ElementsAre("cat", "fire engine", "", "fox"));
}

TEST(Labels, LastLineNeedsNoNewline) {
  auto labels = parse_labels("a\nb", "a.txt");
  ASSERT_TRUE(labels);
  EXPECT_THAT(*labels, ElementsAre("a", "b"));
}

TEST(Labels, EmptyAndBinaryFilesAreErrors) {
  for (std::string_view text :
       {std::string_view(""), std::string_view("\r\n\n"), std::string_view("a\0b", 3)}) {
    auto labels = parse_labels(text, "a.txt");
    ASSERT_FALSE(labels);
    EXPECT_THAT(labels.error().message, HasSubstr("a.txt"));
  }
}

TEST(Labels, MissingFileNamesThePath) {
  auto labels = read_labels("no/such/labels.txt");
  ASSERT_FALSE(labels);
  EXPECT_THAT(labels.error().text(), HasSubstr("no/such/labels.txt"));
}

}  // namespace
}  // namespace peraxis::vision
