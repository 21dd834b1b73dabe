#include "trace/text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "streams.hpp"

namespace peraxis::trace {
namespace {

using rk3588::command_word;
using testing::HasSubstr;

Stream round_trip(const Stream& stream, const PrintOptions& options = {}) {
  const auto back = parse_text(print_text(stream, options));
  EXPECT_TRUE(back) << back.error().text();
  EXPECT_EQ(back ? back->size() : 0, 1U);
  return back ? back->front() : Stream{};
}

void expect_identity(const Stream& stream) {
  for (const bool comments : {true, false}) {
    const Stream back = round_trip(stream, {comments, false});
    EXPECT_EQ(back.words, stream.words);
    EXPECT_EQ(back.rest, stream.rest);
  }
}

std::string error_of(std::string_view text) {
  const auto streams = parse_text(text);
  return streams ? "no error" : streams.error().message;
}

TEST(StreamText, EveryRegisterAndBit) {
  Stream stream;
  for (const rk3588::RegisterInfo& info : rk3588::kRegisters)
    for (int bit = -1; bit <= 32; ++bit) {
      const uint32_t value = bit < 0 ? 0 : bit == 32 ? UINT32_MAX : uint32_t{1} << bit;
      stream.words.push_back(
          command_word(static_cast<uint16_t>(static_cast<uint16_t>(info.block) | 1), value, info.offset));
    }
  expect_identity(stream);
}

TEST(StreamText, AnyWord) {
  base::Rng rng(1);
  Stream stream;
  stream.name = "a \"name\" # with\neverything";
  constexpr uint16_t kTargets[] = {0x0101, 0x0201, 0x0801, 0x1001, 0x2001,
                                   0x4001, 0x8001, 0x0041, 0x0081, 0x0200};
  for (int i = 0; i < 20000; ++i) {
    const uint64_t word = rng.next();
    switch (rng.next() % 4) {
      case 0:
        stream.words.push_back(word);
        break;
      case 1:
        stream.words.insert(stream.words.end(), rng.next() % 5, 0);
        break;
      default:
        stream.words.push_back(command_word(kTargets[word % std::size(kTargets)],
                                            static_cast<uint32_t>(word >> 16),
                                            static_cast<uint16_t>(word >> 48 & 0x7FFC)));
    }
  }
  expect_identity(stream);
}

TEST(StreamText, TailsThatAreOddOrCut) {
  Stream stream = parse_one(kConvolution);
  ASSERT_EQ(stream.words.size(), 32U);
  for (size_t n = 0; n <= stream.words.size(); ++n)
    for (size_t rest = 0; rest < 8; ++rest) {
      const std::vector<uint8_t> bytes = bytes_of_words(stream.words);
      const size_t size = std::min(n * 8 + rest, bytes.size());
      const Stream cut = stream_of_bytes("cut", std::span(bytes).first(size));
      const Stream back = round_trip(cut);
      EXPECT_EQ(back.words, cut.words);
      EXPECT_EQ(back.rest, cut.rest);
    }
}

TEST(StreamText, WritesFieldsByName) {
  EXPECT_EQ(word_text(command_word(0x0201, 0x200000B1, 0x1040)),
            "CNA.CBUF_CON0 DATA_BANK=1 WEIGHT_BANK=11 reserved=0x20000000");
  EXPECT_EQ(word_text(command_word(0x1001, 9, 0x4030)), "DPU.DATA_CUBE_WIDTH WIDTH=10");
  EXPECT_EQ(word_text(command_word(0x1001, 0, 0x4030)), "DPU.DATA_CUBE_WIDTH WIDTH=1");
  EXPECT_EQ(word_text(command_word(0x1001, 0xFFFFFFFB, 0x4080)), "DPU.OUT_CVT_OFFSET OUT_CVT_OFFSET=-5");
  EXPECT_EQ(word_text(command_word(0x0081, 0x1D, 8)), "enable CNA CORE DPU DPU_RDMA");
  EXPECT_EQ(word_text(command_word(0x0081, 0x100, 8)), "enable 0x100");
  EXPECT_EQ(word_text(command_word(0x0041, 0, 0)), "separator");
  EXPECT_EQ(word_text(command_word(0x1001, 1, 0x4FFC)), "raw 0x1001000000014ffc");
}

TEST(StreamText, HandWritten) {
  const Stream stream = parse_one(
      "  CNA.CBUF_CON0 0xb1 # comment\r\n\nDPU.BS_MUL_CFG BS_MUL_OPERAND=-2\nnop 3\n"
      "raw 18446744073709551615");
  EXPECT_EQ(stream.words,
            (std::vector<uint64_t>{0x0201000000B11040, 0x1001FFFE00004048, 0, 0, 0, UINT64_MAX}));
}

TEST(StreamText, SeveralStreams) {
  const auto streams = parse_text("stream \"a\"\nnop\nstream \"b\" \nnop 2\nbytes 1f 00\n");
  ASSERT_TRUE(streams);
  ASSERT_EQ(streams->size(), 2U);
  EXPECT_EQ((*streams)[1].name, "b");
  EXPECT_EQ((*streams)[1].words.size(), 2U);
  EXPECT_EQ((*streams)[1].rest, (std::vector<uint8_t>{0x1F, 0}));
}

TEST(StreamText, ErrorsNameLineTokenValueAndLimit) {
  EXPECT_THAT(error_of("nop\nCNA.CBUF_CON0 DATA_BANK=16"),
              testing::AllOf(HasSubstr("line 2"), HasSubstr("DATA_BANK=16"), HasSubstr("0..15")));
  EXPECT_THAT(error_of("DPU.DATA_CUBE_WIDTH WIDTH=0"), HasSubstr("1..8192"));
  EXPECT_THAT(error_of("DPU.OUT_CVT_SCALE OUT_CVT_SCALE=40000"), HasSubstr("-32768..32767"));
  EXPECT_THAT(error_of("CNA.CBUF_CON0 DATA_BANKS=1"), HasSubstr("DATA_BANK "));
  EXPECT_THAT(error_of("CNA.CBUF_CON9 X=1"), HasSubstr("'CNA.CBUF_CON9'"));
  EXPECT_THAT(error_of("CNA.CBUF_CON0 DATA_BANK=1 DATA_BANK=1"), HasSubstr("twice"));
  EXPECT_THAT(error_of("CNA.CBUF_CON0 reserved=0x1"), HasSubstr("belong to fields"));
  EXPECT_THAT(error_of("CNA.CBUF_CON0 DATA_BANK=x"), HasSubstr("'x' is no number"));
  EXPECT_THAT(error_of("CNA.CBUF_CON0 5 DATA_BANK=1"), HasSubstr("stand alone"));
  EXPECT_THAT(error_of("raw 0x1ffffffffffffffff"), HasSubstr("no number"));
  EXPECT_THAT(error_of("nop 999999999999"), HasSubstr("0x8000000"));
  EXPECT_THAT(error_of("nop 134217728\nnop"), HasSubstr("more than 134217728 words"));
  EXPECT_THAT(error_of("enable GPU"), HasSubstr("'GPU'"));
  EXPECT_THAT(error_of("enable"), HasSubstr("'enable'"));
  EXPECT_THAT(error_of("bytes 1 2 3 4 5 6 7 8"), HasSubstr("1..7"));
  EXPECT_THAT(error_of("bytes 1ff"), HasSubstr("00..ff"));
  EXPECT_THAT(error_of("bytes 1\nnop"), HasSubstr("ends a stream"));
  EXPECT_THAT(error_of("stream name"), HasSubstr("quotes"));
}

TEST(StreamText, CommentsSayWhatChanged) {
  std::string text = kConvolution;
  text += text;
  text.replace(text.rfind("=20001"), 6, "=20002");
  const Stream stream = parse_one(text);
  const std::string printed = print_text(stream);
  EXPECT_THAT(printed, HasSubstr("OUT_CVT_SCALE=20002  # was OUT_CVT_SCALE=20001"));
  EXPECT_THAT(printed, HasSubstr("# task 1, words 32..63: convolution 3x3 p1, 10x7x32 -> 10x7x64 (61 real)"));
  const std::string changes = print_text(stream, {true, true});
  EXPECT_THAT(changes.substr(changes.find("# task 1")), testing::Not(HasSubstr("BRDMA_CFG")));
}

TEST(StreamText, PlacesInBuffers) {
  Stream stream = parse_one(kConvolution);
  stream.buffers = {{"features", 0xF000, 0x2000}};
  EXPECT_THAT(print_text(stream), HasSubstr("FEATURE_BASE_ADDR=65536  # features+0x1000"));
  stream.relocations[9] = {"weights", 0};
  EXPECT_THAT(print_text(stream), HasSubstr("# weights\n"));
}

}  // namespace
}  // namespace peraxis::trace
