// What the Unicode Character Database calls control, format, separator and direction characters is written as
// an escape, everything else stays.
#include "base/printable.hpp"

#include <gtest/gtest.h>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "base/table.hpp"

namespace peraxis::base {
namespace {

using std::literals::operator""s;

TEST(Printable, text_stays) {
  for (const std::string text :
       {"", "conv2d/Relu6;a b", "\"\\'{}<>~", "h\xc3\xa9llo", "\xe6\xbc\xa2\xe5\xad\x97", "\xf0\x9f\x90\x88",
        "\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9", "\xc2\xa0"}) {
    EXPECT_EQ(printable(text), text);
    EXPECT_EQ(printable_lines(text), text);
    EXPECT_EQ(printable_json(text), text);
  }
}

TEST(Printable, what_is_no_character_is_escaped) {
  const std::pair<std::string, std::string> kCases[] = {
      {"a\x1b[31mb", "a\\x1b[31mb"},                // ESC
      {"\r\n\t\a\b", "\\x0d\\x0a\\x09\\x07\\x08"},  // line ends, tabulator, bell, backspace
      {"\0x\x7f"s, "\\x00x\\x7f"},                  // NUL, DEL
      {"\xc2\x9b"
       "31m",
       "\\u009b31m"},                                         // C1: CSI
      {"\xc2\x80\xc2\x85\xc2\x9f", "\\u0080\\u0085\\u009f"},  // C1: first, NEL, last
      {"\x9b"
       "31m\x80",
       "\\x9b31m\\x80"},                                      // C1 as bytes: no UTF-8
      {"a\xff\xc3(", "a\\xff\\xc3("},                         // no UTF-8 at all, a lead byte without its rest
      {"\xe2\x80", "\\xe2\\x80"},                             // cut off
      {"\xc0\x8a\xe0\x80\x8a", "\\xc0\\x8a\\xe0\\x80\\x8a"},  // a line end in longer forms
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},                    // a surrogate
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},           // beyond Unicode
      {"\xe2\x80\xae"
       "evil",
       "\\u202eevil"},                                                // right-to-left override
      {"\xe2\x81\xa6\xe2\x81\xa9\xd8\x9c", "\\u2066\\u2069\\u061c"},  // isolates, Arabic letter mark
      {"\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029"},                 // line and paragraph separator
      {"\xef\xbb\xbf\xe2\x80\x8b", "\\ufeff\\u200b"},                 // byte order mark, zero width space
      {"\xf3\xa0\x80\x81", "\\U000e0001"},                            // a tag
      {"\xef\xbf\xbe", "\\ufffe"},                                    // no character
  };
  for (const auto& [text, shown] : kCases) {
    EXPECT_EQ(printable(text), shown);
    EXPECT_EQ(printable(printable(text)), shown) << "again";
  }
}

// All characters: what is left shows, and none is lost.
TEST(Printable, every_byte_and_pair) {
  for (int a = 0; a < 256; ++a)
    for (int b = 0; b < 256; ++b) {
      const std::string text{static_cast<char>(a), static_cast<char>(b)};
      const std::string shown = printable(text);
      for (const char c : shown) {
        const auto byte = static_cast<uint8_t>(c);
        ASSERT_TRUE(byte >= 0x20 && byte != 0x7F) << a << ' ' << b;
      }
      // Two bytes are one character from U+00A0 to U+07FF, or ASCII twice, or something is escaped.
      const bool pair = a >= 0xC2 && a <= 0xDF && b >= 0x80 && b <= 0xBF;
      const bool ascii = a >= 0x20 && a < 0x7F && b >= 0x20 && b < 0x7F;
      const bool hidden = a == 0xC2 && (b < 0xA0 || b == 0xAD);
      const bool mark = a == 0xD8 && b == 0x9C;
      EXPECT_EQ(shown == text, ascii || (pair && !hidden && !mark)) << a << ' ' << b;
    }
}

TEST(Printable, lines_and_json) {
  EXPECT_EQ(printable_lines("a\nb\rc\x1b\n"), "a\nb\\x0dc\\x1b\n");
  EXPECT_EQ(printable_json("{\n  \"\xc2\x9b\x7f\xe2\x80\xae\": \"\xf3\xa0\x80\x81\"\n}"),
            "{\n  \"\\u009b\\u007f\\u202e\": \"\\udb40\\udc01\"\n}");
}

TEST(Printable, long_names_end_between_characters) {
  EXPECT_EQ(printable_start("abcdef", 6), "abcdef");
  EXPECT_EQ(printable_start("abcdefg", 6), "abc...");
  EXPECT_EQ(printable_start("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 4), "\xc3\xa9...");
  EXPECT_EQ(printable_start("\x1b\x1b", 6), "\\x1...") << "an escape is text like any other";
}

TEST(Printable, messages_keep_the_end_of_long_names) {
  const std::string name = std::string(100'000, 'a') + "/conv;1";
  const std::string kept = "..." + std::string(kMostQuoted - 3 - 7, 'a') + "/conv;1";
  EXPECT_EQ(printable_message("the model's input '" + name + "' takes '" + name + "', 3 bytes"),
            "the model's input '" + kept + "' takes '" + kept + "', 3 bytes");
  EXPECT_EQ(printable_name(name), kept);
  EXPECT_EQ(printable_name("a\nb"), "a\\x0ab");
  const std::string longest(kMostQuoted, 'b');
  EXPECT_EQ(printable_message("'" + longest + "' isn't"), "'" + longest + "' isn't");
  std::string accents;
  for (int i = 0; i < 200; ++i) accents += "\xc3\xa9";
  EXPECT_EQ(characters(printable_message("x '" + accents + "'")), 4 + kMostQuoted);
  EXPECT_EQ(printable_message("x '" + accents + "'").substr(0, 8), "x '...\xc3\xa9");
  // Names with quotes of their own and text without any stay within the limit of the whole.
  std::string quotes;
  for (int i = 0; i < 50'000; ++i) quotes += "a'b '";
  for (const std::string& text : {quotes, "'" + quotes + "'", std::string(100'000, 'c'), accents + accents}) {
    const std::string shown = printable_message(text);
    EXPECT_LE(characters(shown), kMostMessage);
    EXPECT_EQ(printable_message(shown), shown);
    EXPECT_EQ(shown.back(), text.back());
  }
  const Error error{ErrorCode::InvalidModel, "input '" + name + "'", {"in '" + name + "'"}};
  EXPECT_EQ(error.text(), "input '" + kept + "'\n  in '" + kept + "'");
}

TEST(Printable, errors_tables_and_progress_use_it) {
  Error error{ErrorCode::InvalidModel, "tensor 'a\nb\x1b[2J'", {"in 'c\rd'", "e\xc2\x9b"}};
  EXPECT_EQ(error.text(), "tensor 'a\\x0ab\\x1b[2J'\n  in 'c\\x0dd'\n  e\\u009b");
  Table table({"name", "n"});
  table.add_row({"a\nb", "1"});
  table.add_row({"\xc3\xa9\xff", "22"});
  EXPECT_EQ(table.text(), "name     n\n------  --\na\\x0ab   1\n\xc3\xa9\\xff   22\n");
  EXPECT_EQ(Progress::line("a\rb", 1, 2), "a\\x0db 1/2 (50 %)");
}

}  // namespace
}  // namespace peraxis::base
