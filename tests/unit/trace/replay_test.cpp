// Programs of the machine's own test emitter, captured and replayed: the results are plain integer sums.
#include "trace/replay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "../machine/program.hpp"

namespace peraxis::trace {
namespace {

using namespace machine::test;

constexpr uint32_t kSecond = kCommands + 0x1000;

CaptureBuffer buffer(const char* name, const char* role, int64_t address, std::vector<uint8_t> bytes,
                     int64_t size = 0) {
  CaptureBuffer out;
  out.name = name;
  out.role = role;
  out.address = address;
  out.size = std::max(size, static_cast<int64_t>(bytes.size()));
  out.before = std::move(bytes);
  return out;
}

// One layer as two row tiles; `chained`: the first names the second, as the chip runs them.
Capture two_tiles(const Layer& layer, const Data& data, bool chained) {
  Capture c;
  c.name = "two tiles";
  const std::vector<uint64_t> second = make_program(layer, 3, 2).words();
  const std::vector<uint64_t> first =
      make_program(layer, 0, 3).words(chained ? kSecond : 0, static_cast<uint32_t>(second.size()));
  std::vector<uint8_t> commands = bytes_of_words(first);
  commands.resize(kSecond - kCommands);
  const std::vector<uint8_t> tail = bytes_of_words(second);
  commands.insert(commands.end(), tail.begin(), tail.end());
  c.buffers = {buffer("commands", "commands", kCommands, commands),
               buffer("features", "input", kFeatures, pack_features(layer, data)),
               buffer("weights", "weights", kWeights, pack_weights(layer, data)),
               buffer("operands", "operands", kOperands, pack_operands(layer, data)),
               buffer("out", "output", kOutput, {}, layer.np() * layer.ho * layer.wo)};
  c.tasks = {{kCommands, static_cast<int32_t>(first.size()), 0},
             {kSecond, static_cast<int32_t>(second.size()), 0}};
  c.jobs = {{0, 2, {}, {}}};
  CaptureTensor want;
  want.name = "y";
  want.use = TensorUse::Expected;
  want.buffer = 4;
  want.h = static_cast<int32_t>(layer.ho);
  want.w = static_cast<int32_t>(layer.wo);
  want.c = static_cast<int32_t>(layer.np());
  want.surface_bytes = 16 * layer.ho * layer.wo;
  for (const int64_t v : expected(layer, data)) want.data.push_back(static_cast<uint8_t>(v));
  c.tensors = {want};
  return c;
}

Layer layer() {
  return plain_layer();
}

TEST(ReplayPrograms, TilesAgreeChainedOrNot) {
  const Data data = random_data(layer(), 5);
  for (const bool chained : {true, false}) {
    // Through the file, so that reader and writer carry everything.
    const auto capture = read_capture(*write_capture(two_tiles(layer(), data, chained)));
    ASSERT_TRUE(capture) << capture.error().text();
    const auto result = replay(*capture);
    ASSERT_TRUE(result) << result.error().text();
    EXPECT_EQ(result->refusal, "");
    EXPECT_EQ(result->tasks, 2);
    ASSERT_EQ(result->tensors.size(), 1U);
    EXPECT_EQ(result->tensors[0].equal, result->tensors[0].elements);
    EXPECT_TRUE(result->ok());
  }
}

TEST(ReplayPrograms, ValuesThatCameOutAreKept) {
  const Data data = random_data(layer(), 5);
  const Capture capture = two_tiles(layer(), data, true);
  const auto result = replay(capture);
  ASSERT_TRUE(result) << result.error().text();
  ASSERT_EQ(result->tensors.size(), 1U);
  EXPECT_EQ(result->tensors[0].values, capture.tensors[0].data);
}

TEST(ReplayPrograms, TasksOfAJobOnSeveralCoresRunTogether) {
  const Data data = random_data(layer(), 5);
  Capture capture = two_tiles(layer(), data, false);
  capture.tasks[1].core = 1;
  auto result = replay(capture);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_TRUE(result->ok()) << result->refusal;
  EXPECT_EQ(result->tasks, 2);
  capture.tasks.push_back(capture.tasks[0]);  // core 0 again, not as a part of its chain
  capture.jobs[0].task_count = 3;
  result = replay(capture);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_NE(result->refusal.find("core 0 is given two chains"), std::string::npos) << result->refusal;
}

// A driver may give its first buffer address 0; in a capture without such a buffer 0 is no address.
TEST(ReplayPrograms, ABufferAtAddressZero) {
  const Data data = random_data(layer(), 5);
  for (const uint32_t from : {kFeatures, kWeights, kOutput}) {
    Capture capture = two_tiles(layer(), data, true);
    for (CaptureBuffer& buffer : capture.buffers)
      if (buffer.address == from) buffer.address = 0;
    std::vector<uint8_t>& words = capture.buffers[0].before;
    for (size_t at = 0; at + 8 <= words.size(); at += 8) {
      uint64_t word = 0;
      std::memcpy(&word, words.data() + at, 8);
      const auto value = static_cast<uint32_t>(word >> 16);
      // Rows of the second tile lie a little behind the buffer's start.
      if (word >> 48 == 0x81 || word >> 48 == 0x101 || value < from || value >= from + 0x10000) continue;
      word -= uint64_t{from} << 16;
      std::memcpy(words.data() + at, &word, 8);
    }
    const auto result = replay(capture);
    ASSERT_TRUE(result) << result.error().text();
    EXPECT_TRUE(result->ok()) << from << ": " << result->refusal;
    ASSERT_EQ(result->tensors.size(), 1U);
    EXPECT_EQ(result->tensors[0].equal, result->tensors[0].elements) << from;
  }
}

TEST(ReplayPrograms, KeptWeightsOfAnotherJobNeedTheirSwitch) {
  const Data data = random_data(layer(), 5);
  Layer reuse = layer();
  reuse.weight_reuse = true;
  Capture capture = two_tiles(layer(), data, false);
  const std::vector<uint8_t> second = bytes_of_words(make_program(reuse, 3, 2).words());
  std::copy(second.begin(), second.end(), capture.buffers[0].before.begin() + (kSecond - kCommands));
  capture.jobs = {{0, 1, {}, {}}, {1, 1, {}, {}}};
  auto result = replay(capture);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_NE(result->refusal.find("no earlier task of the job left any"), std::string::npos);
  ReplayOptions options;
  ASSERT_TRUE(set_switch(options.switches, "cbuf_survives_jobs=on"));
  result = replay(capture, options);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_TRUE(result->ok()) << result->refusal;
}

TEST(ReplayPrograms, ReadBeforeWrittenIsAFindingWhenAskedFor) {
  const Data data = random_data(layer(), 5);
  Capture capture = two_tiles(layer(), data, true);
  capture.buffers[2].size = static_cast<int64_t>(capture.buffers[2].before.size());
  capture.buffers[2].before.clear();  // the weights
  auto result = replay(capture);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_NE(result->refusal.find("(buffer 'weights' + 0) was never written"), std::string::npos);
  ReplayOptions options;
  ASSERT_TRUE(set_switch(options.switches, "read_unwritten=on"));
  result = replay(capture, options);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->refusal, "");
  ASSERT_FALSE(result->notes.empty());
  EXPECT_EQ(result->notes[0].rfind("read before written: ", 0), 0U) << result->notes[0];
  Data zero = data;
  std::ranges::fill(zero.weights, 0);
  const std::vector<int64_t> want = expected(layer(), zero);
  for (size_t i = 0; i < want.size(); ++i)
    ASSERT_EQ(result->tensors[0].values[i], static_cast<uint8_t>(want[i])) << i;
}

// As Mesa writes 8-wide maps: features twice as wide as the rows that are fetched.
TEST(ReplayPrograms, NamesTwoWidthsOfOneMap) {
  Layer l = layer();
  l.kh = l.kw = 1;
  l.pt = l.pl = 0;
  Capture capture = two_tiles(l, random_data(l, 5), true);
  auto result = replay(capture);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_TRUE(result->ok()) << result->refusal;
  EXPECT_TRUE(result->notes.empty());
  std::vector<uint8_t>& words = capture.buffers[0].before;
  for (size_t at = 0; at + 8 <= words.size(); at += 8)
    if (words[at] == 0x20 && words[at + 1] == 0x10 && words[at + 6] == 0x01 && words[at + 7] == 0x02)
      words[at + 4] = static_cast<uint8_t>(2 * words[at + 4]);  // DATAIN_WIDTH
  result = replay(capture);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_TRUE(result->ok()) << result->refusal;
  ASSERT_EQ(result->notes.size(), 2U);
  EXPECT_EQ(result->notes[1],
            fmt::format("task 1: CNA.DATA_SIZE0.DATAIN_WIDTH is {}, FC_DATA_SIZE0.DMA_WIDTH {}: rows are "
                        "fetched with the second",
                        2 * l.w, l.w));
}

TEST(ReplayPrograms, WorkIsBounded) {
  const Data data = random_data(layer(), 5);
  Capture capture = two_tiles(layer(), data, true);
  capture.jobs.assign(2000, {0, 0, {}, {}});
  capture.submits.assign(2000, {0, 2000, 0, 0});
  auto result = replay(capture);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("more than 1048576 jobs"), std::string::npos)
      << result.error().text();
  capture.jobs.assign(1, {0, 2, {}, {}});
  capture.submits.assign(200'000, {0, 1, 0, 0});
  result = replay(capture);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("16777216 command words"), std::string::npos)
      << result.error().text();
  capture.submits.clear();
  capture.jobs.assign(1, {0, 0, {}, {}});
  result = replay(capture);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->refusal, "none of the 2 tasks is submitted");
  EXPECT_FALSE(result->ok());
}

TEST(ReplayPrograms, TasksWithoutJobsAreOneStream) {
  const Data data = random_data(layer(), 5);
  Capture capture = two_tiles(layer(), data, true);
  const auto with = streams_of_capture(capture);
  capture.jobs.clear();
  const auto without = streams_of_capture(capture);
  ASSERT_TRUE(with && without);
  ASSERT_EQ(without->size(), 1U);
  EXPECT_EQ(without->front().words, with->front().words);
}

TEST(ReplayPrograms, NamesOfTensorsAreTheirOwn) {
  const Data data = random_data(layer(), 5);
  Capture capture = two_tiles(layer(), data, true);
  capture.tensors.push_back(capture.tensors[0]);
  EXPECT_NE(verify(capture).error().message.find("two expected tensors are named 'y'"), std::string::npos);
  capture.tensors.back().name = std::string("y\0z", 3);
  EXPECT_FALSE(verify(capture));
  capture.tensors.back().name = "";
  EXPECT_FALSE(verify(capture));
  capture.tensors.back().name = "z";
  EXPECT_TRUE(verify(capture));
}

TEST(ReplayPrograms, InputsReplaceWhatWasRecorded) {
  const Layer l = layer();
  const Data data = random_data(l, 5), other = random_data(l, 6);
  Data mixed = data;
  mixed.features = other.features;
  Capture c = two_tiles(l, data, true);
  CaptureTensor in;
  in.name = "x";
  in.buffer = 1;
  in.h = static_cast<int32_t>(l.h);
  in.w = static_cast<int32_t>(l.w);
  in.c = static_cast<int32_t>(l.cp());
  in.surface_bytes = 16 * l.h * l.w;
  c.tensors.push_back(in);
  ReplayOptions options;
  for (const int8_t v : other.features) options.inputs["x"].push_back(static_cast<uint8_t>(v));
  EXPECT_FALSE(replay(c, options)->ok());
  c.tensors[0].data.clear();
  for (const int64_t v : expected(l, mixed)) c.tensors[0].data.push_back(static_cast<uint8_t>(v));
  EXPECT_TRUE(replay(c, options)->ok());
}

TEST(ReplayPrograms, DifferencesAreCounted) {
  const Data data = random_data(layer(), 5);
  Capture c = two_tiles(layer(), data, true);
  c.tensors[0].data[7] ^= 1;
  const auto result = replay(c);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->tensors[0].equal, result->tensors[0].elements - 1);
  EXPECT_EQ(result->tensors[0].max, 1);
  EXPECT_FALSE(result->ok());
  c.tensors[0].tolerance = 1;
  EXPECT_TRUE(replay(c)->ok());
  c.buffers[4].after.assign(16, 0x55);
  EXPECT_FALSE(replay(c)->ok());
  c.jobs[0].task_count = 1;
  EXPECT_GT(replay(c)->tensors[0].unwritten, 0);
}

}  // namespace
}  // namespace peraxis::trace
