// Label files: the line number is the class number.
#include "vision/labels.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace peraxis::vision {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Labels parsed(std::string_view text) {
  auto labels = parse_labels(text, "a.txt");
  EXPECT_TRUE(labels) << labels.error().text();
  return labels ? *labels : Labels{};
}

std::string refused(std::string_view text) {
  auto labels = parse_labels(text, "a.txt");
  EXPECT_FALSE(labels) << text;
  return labels ? "" : labels.error().message;
}

TEST(Labels, CrlfByteOrderMarkAndTrailingBlanks) {
  const Labels labels = parsed(
      "\xef\xbb\xbf"
      "cat\r\nfire engine \r\n\r\nfox\r\n\r\n\n");
  EXPECT_THAT(labels.names, ElementsAre("cat", "fire engine", "2", "fox"));
  EXPECT_FALSE(labels.numbered);
  EXPECT_FALSE(labels.background);
}

TEST(Labels, LastLineNeedsNoNewlineAndEveryLineEndCounts) {
  EXPECT_THAT(parsed("a\nb").names, ElementsAre("a", "b"));
  EXPECT_THAT(parsed("a\rb\r").names, ElementsAre("a", "b"));
  EXPECT_THAT(parsed("a\r\n\nb").names, ElementsAre("a", "1", "b"));
}

TEST(Labels, EveryFormOfNumberedLines) {
  for (const char* text : {"0 ant\n1 bee fly\n2 cat",
                           "0  ant\n1  bee fly\n2  cat\n",
                           "0\tant\n1\tbee fly\n2\tcat\n",
                           "0: ant\n1: bee fly\n2: cat",
                           "0:ant\n1:bee fly\n2:cat",
                           "0 : ant\n1 : bee fly\n2 : cat",
                           "0, ant\n1, bee fly\n2, cat",
                           "0,ant\n1,bee fly\n2,cat",
                           "0;ant\n1;bee fly\n2;cat",
                           "0 = ant\n1 = bee fly\n2 = cat",
                           "0. ant\n1. bee fly\n2. cat",
                           "0) ant\n1) bee fly\n2) cat",
                           "0 - ant\n1 - bee fly\n2 - cat",
                           "0|ant\n1|bee fly\n2|cat",
                           "0 'ant'\n1 'bee fly'\n2 'cat'",
                           "0: \"ant\"\n1: \"bee fly\"\n2: \"cat\"",
                           "\"0\": \"ant\",\n\"1\": \"bee fly\",\n\"2\": \"cat\"",
                           "'0': 'ant',\n'1': 'bee fly',\n'2': 'cat',",
                           "\xef\xbb\xbf"
                           "0 ant\r\n1 bee fly\r\n2 cat\r\n\r\n",
                           "  0: ant\n  1: bee fly \t\n  2: cat\n",
                           "00 ant\n01 bee fly\n02 cat",
                           "2 cat\n0 ant\n1 bee fly\n",
                           "0 ant\n\n1 bee fly\n   \n2 cat\n"}) {
    const Labels labels = parsed(text);
    EXPECT_THAT(labels.names, ElementsAre("ant", "bee fly", "cat")) << text;
    EXPECT_TRUE(labels.numbered) << text;
    EXPECT_FALSE(labels.background) << text;
  }
}

TEST(Labels, GapsHaveTheirNumberForAName) {
  EXPECT_THAT(parsed("0 ant\n3 dog\n").names, ElementsAre("ant", "1", "2", "dog"));
  EXPECT_THAT(parsed("0 ant\n1\n2 cat\n").names, ElementsAre("ant", "1", "cat"));
  EXPECT_THAT(parsed("0 n/a\n1 ???\n").names, ElementsAre("n/a", "???"));
}

TEST(Labels, ABackgroundIsKnown) {
  for (const char* text : {"???\nant\nbee", "background\nant\nbee", "Background\r\nant\r\nbee",
                           "__background__\nant\nbee", "0 background\n1 ant\n2 bee", "0 ???\n1 ant\n2 bee"}) {
    EXPECT_TRUE(parsed(text).background) << text;
    EXPECT_THAT(parsed(text).names, ElementsAre(testing::_, "ant", "bee")) << text;
  }
  // Numbers from 1: index 0 is no class of the file. The ??? before them is no line of their form.
  for (const char* text : {"1 ant\n2 bee", "???\n1 ant\n2 bee"}) {
    EXPECT_TRUE(parsed(text).background) << text;
    EXPECT_THAT(parsed(text).names, ElementsAre("0", "ant", "bee")) << text;
  }
  EXPECT_FALSE(parsed("???\n0 ant\n1 bee").background);
  EXPECT_THAT(parsed("???\n0 ant\n1 bee").names, ElementsAre("ant", "bee"));
  EXPECT_FALSE(parsed("ant\n???\nbackground").background);
}

TEST(Labels, NamesThatBeginWithDigitsStayNames) {
  EXPECT_THAT(parsed("3d printer\n4k screen").names, ElementsAre("3d printer", "4k screen"));
  EXPECT_THAT(parsed("3d printer\n2 euro\n1 euro").names, ElementsAre("3d printer", "2 euro", "1 euro"));
  EXPECT_THAT(parsed("7-eleven\n3-d printer\n").names, ElementsAre("7-eleven", "3-d printer"));
  EXPECT_THAT(parsed("1,000 things\n2,000 things").names, ElementsAre("1,000 things", "2,000 things"));
  EXPECT_THAT(parsed("0.5 mm\n1.5 mm").names, ElementsAre("0.5 mm", "1.5 mm"));
  // Digits are what MNIST's classes are called.
  EXPECT_THAT(parsed("0\n1\n2\n3").names, ElementsAre("0", "1", "2", "3"));
  EXPECT_FALSE(parsed("5\n3\n1\n").numbered);
  EXPECT_THAT(parsed("5\n3\n1\n").names, ElementsAre("5", "3", "1"));
  EXPECT_THAT(parsed("2 wheeler\n4 wheeler\nbus\nperson").names,
              ElementsAre("2 wheeler", "4 wheeler", "bus", "person"));
}

TEST(Labels, QuotesAroundEveryNameAreNoPartOfIt) {
  EXPECT_THAT(parsed("'ant'\n\"bee fly\"\n").names, ElementsAre("ant", "bee fly"));
  EXPECT_THAT(parsed("'ant'\nbee 'fly'\n").names, ElementsAre("'ant'", "bee 'fly'"));
}

TEST(Labels, AnIndexTwiceNamesBothLines) {
  const std::string text = refused("0 ant\n1 bee\n\n1 cat\n");
  for (const char* part : {"a.txt", "line 4", "'1 cat'", "index 1", "line 2"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(Labels, AnAbsurdIndexNamesLineAndLimit) {
  for (const char* line : {"100000 bee", "4294967296 bee", "99999999999999999999999 bee"}) {
    const std::string text = refused(std::string("0 ant\n") + line);
    EXPECT_THAT(text, HasSubstr("line 2"));
    EXPECT_THAT(text, HasSubstr("above 99999"));
  }
  EXPECT_EQ(parsed("99999 bee").names.size(), 100'000u);
  EXPECT_EQ(parsed("99999 bee").names[99'998], "99998");
}

TEST(Labels, MoreLinesThanLabelsThereCanBe) {
  std::string text;
  for (int i = 0; i < 100'001; ++i) text += "a\n";
  EXPECT_THAT(refused(text), HasSubstr("100001 lines, the limit is 100000"));
}

TEST(Labels, AForgottenNumberIsAnError) {
  const std::string text = refused("0 ant\n1 bee\ncat\n3 dog\n");
  for (const char* part : {"line 3", "'cat'", "3 of 4"}) EXPECT_THAT(text, HasSubstr(part));
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
