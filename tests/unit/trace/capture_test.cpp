#include "trace/capture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "streams.hpp"
#include "trace/replay.hpp"

namespace peraxis::trace {
namespace {

using testing::HasSubstr;

Capture small() {
  Capture c;
  c.name = "small";
  c.driver = "test";
  const std::vector<uint8_t> words = bytes_of_words(parse_one(kConvolution).words);
  c.buffers = {{"commands", "commands", 1, 0x1000, 512, words, {}},
               {"features", "input", 2, 0x10000, 4096, std::vector<uint8_t>(4096, 7), {}},
               {"out", "output", 3, 0x30000, 64 * 70, {}, std::vector<uint8_t>(64 * 70, 1)}};
  c.tasks = {{0x1000, static_cast<int32_t>(words.size() / 8), 0}};
  c.jobs = {{0, 1, {2}, {3}}};
  c.submits = {{0, 1, 100, 250}};
  CaptureTensor out;
  out.name = "y";
  out.use = TensorUse::Expected;
  out.buffer = 2;
  out.h = 7;
  out.w = 10;
  out.c = 61;
  out.surface_bytes = 16 * 70;
  out.data.assign(7 * 10 * 61, 3);
  c.tensors = {out};
  return c;
}

std::string refusal(const Capture& c) {
  const Status status = verify(c);
  return status ? "none" : status.error().message;
}

TEST(CaptureFile, WriteAndRead) {
  const auto bytes = write_capture(small());
  ASSERT_TRUE(bytes) << bytes.error().text();
  EXPECT_TRUE(looks_like_capture(*bytes));
  EXPECT_LT(bytes->size(), 2500U) << "not compact";
  const auto back = read_capture(*bytes);
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->buffers[1].before, small().buffers[1].before);
  EXPECT_EQ(back->buffers[2].after, small().buffers[2].after);
  EXPECT_EQ(back->tensors[0].data, small().tensors[0].data);
  EXPECT_EQ(back->submits[0].end_ns, 250);
  EXPECT_EQ(*write_capture(*back), *bytes);
}

TEST(CaptureFile, EveryCutAndFlipIsNoticed) {
  const auto bytes = write_capture(small());
  ASSERT_TRUE(bytes);
  for (size_t n = 0; n < bytes->size(); ++n)
    EXPECT_FALSE(read_capture(std::span(*bytes).first(n)).has_value() && n + 16 < bytes->size()) << n;
  base::Rng rng(3);
  for (int i = 0; i < 300; ++i) {
    std::vector<uint8_t> broken = *bytes;
    broken[rng.next() % broken.size()] ^= static_cast<uint8_t>(1 + rng.next() % 255);
    const auto read = read_capture(broken);
    if (!read) continue;
    EXPECT_EQ(*write_capture(*read), *bytes);  // padding between tables
  }
}

TEST(CaptureFile, RefusesWhatContradictsItself) {
  const auto with = [](auto change) {
    Capture c = small();
    change(c);
    return refusal(c);
  };
  EXPECT_EQ(refusal(small()), "none");
  EXPECT_THAT(with([](Capture& c) { c.buffers[1].address = 0x1100; }), HasSubstr("overlap"));
  EXPECT_THAT(with([](Capture& c) { c.buffers[1].address = 0xFFFFFFF0; }), HasSubstr("32-bit"));
  EXPECT_THAT(with([](Capture& c) { c.buffers[0].size = 8; }), HasSubstr("are recorded"));
  EXPECT_THAT(with([](Capture& c) { c.jobs[0].task_count = 2; }),
              HasSubstr("job 0 has 2 tasks from 0 on, there are 1"));
  EXPECT_THAT(with([](Capture& c) { c.submits[0].first_job = -1; }), HasSubstr("submit 0 has"));
  EXPECT_THAT(with([](Capture& c) { c.submits[0].end_ns = 1; }), HasSubstr("100 ns to 1 ns"));
  EXPECT_THAT(with([](Capture& c) { c.tasks[0].words = 0; }), HasSubstr("task 0: 0 words"));
  EXPECT_THAT(with([](Capture& c) { c.tensors[0].buffer = 3; }), HasSubstr("buffer 3 of 3"));
  EXPECT_THAT(with([](Capture& c) { c.tensors[0].offset = 16; }), HasSubstr("leave its buffer"));
  EXPECT_THAT(with([](Capture& c) { c.tensors[0].surface_bytes = 16; }), HasSubstr("every 16 bytes"));
  EXPECT_THAT(with([](Capture& c) { c.tensors[0].data.pop_back(); }), HasSubstr("has 4269 values"));
  EXPECT_THAT(with([](Capture& c) { c.tensors[0].h = 1 << 20; }), HasSubstr("extents"));
}

TEST(CaptureStreams, WordsPlacesAndOrigins) {
  const auto streams = streams_of_capture(small());
  ASSERT_TRUE(streams) << streams.error().text();
  ASSERT_EQ(streams->size(), 1U);
  EXPECT_EQ(streams->front().words, parse_one(kConvolution).words);
  EXPECT_THAT(print_text(streams->front()), HasSubstr("# features\n"));
  Capture cut = small();
  cut.buffers[0].before.resize(16);
  EXPECT_THAT(streams_of_capture(cut).error().message, HasSubstr("not recorded"));
}

TEST(Replay, RefusalsAreResults) {
  // The hand-written program leaves registers out that the machine needs.
  const auto result = replay(small());
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_FALSE(result->ok());
  EXPECT_THAT(result->refusal, HasSubstr("from task 0 on"));
  EXPECT_THAT(result->notes,
              testing::Contains(HasSubstr("DPU_RDMA.BS_BASE_ADDR = 0x40000 points into no buffer")));
  Capture cut = small();
  cut.buffers[0].before.clear();
  EXPECT_FALSE(replay(cut).has_value());
  ReplayOptions options;
  options.inputs["x"] = {};
  EXPECT_THAT(replay(small(), options).error().message, HasSubstr("no input 'x'"));
}

TEST(Replay, SwitchesByName) {
  machine::Switches s;
  EXPECT_TRUE(set_switch(s, "bs_ties=up"));
  EXPECT_EQ(s.bs_ties, machine::Ties::Up);
  EXPECT_TRUE(set_switch(s, "drop_dummy_output=on"));
  EXPECT_TRUE(s.drop_dummy_output);
  EXPECT_THAT(set_switch(s, "bs_ties=down").error().message, HasSubstr("register, even or up"));
  EXPECT_THAT(set_switch(s, "ties").error().message, HasSubstr("pad_lanes"));
}

}  // namespace
}  // namespace peraxis::trace
