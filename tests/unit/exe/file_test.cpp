// The file: round trips, damage, files made to do harm.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <tuple>

#include "exe/executable.hpp"
#include "hostile_file.hpp"
#include "random_executable.hpp"

namespace peraxis::exe {
namespace {

std::vector<uint8_t> written(uint64_t seed) {
  const auto bytes = write(RandomExecutable(seed).make());
  EXPECT_TRUE(bytes) << bytes.error().text();
  return bytes ? *bytes : std::vector<uint8_t>();
}

TEST(ExecutableFile, write_of_read_is_identity) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const std::vector<uint8_t> bytes = written(seed);
    ASSERT_TRUE(looks_like_executable(bytes));
    const auto back = read(bytes);
    ASSERT_TRUE(back) << seed << ": " << back.error().text();
    EXPECT_TRUE(*back == RandomExecutable(seed).make()) << seed;
    EXPECT_EQ(*write(*back), bytes) << seed;
  }
}

// The identity above would not notice a field that neither side stores: every field, with a value of its own.
TEST(ExecutableFile, every_field_survives) {
  Executable e;
  e.compiler = "c", e.model = "m", e.model_hash = 0x8000000000000001;
  e.accuracy = "exact", e.reference = "single-rounding", e.strategy = "hybrid";
  e.graph = std::string("g\0h", 3);
  e.model_info = "{\"info\": {}}";
  e.constants = {{4, {1, 2, 3}}, {5, {}}};
  e.buffers = {{"cmd", BufferKind::Commands, 64, std::vector<uint8_t>(64, 9)},
               {"act", BufferKind::Activations, 1000000, {}}};
  e.relocations = {{3, 1, 1000000}};
  e.tasks = {{1, 5, 2, TaskKind::BlockDiagonal, 3, 4, 6, 7, 8}};
  e.placements = {{9, {1, 32, 2, 3, 48, 1}, 1, true, -7, {}},
                  {10, {1, 32, 2, 3, 48, 1}, 1, true, -7, {37}},
                  {24, {1, 3200, 2, 3, 48, 1}, 1, true, -7, {}},
                  {23, {1, 48, 2, 3, 4, 1}, 4, false, 24, {}, 25}};
  e.host_steps = {
      {11, {{1, 64, 2, 3, 12, 4}}, {{0, 5, -12, 6, 13, 14, -15, 0.5}}, Rounding::Double, -3, -100, 99}};
  e.steps = {{StepKind::Requantize, 16, 0, 17, 18, 0}, {StepKind::Cpu, 23, -1, 0, 0, -1, {1, -1}, {-1, 2}}};
  e.steps[1].edges = {{0}, {1, 2}, {2}, {{2, -1}}, {24, 25}};
  e.operators = {{22, "cpu", "because"}};
  e.layers = {{19, "npu", "max-scale", "why", 20, 21, false, {{-30, 31, 32, 33}}}};
  const auto bytes = write(e);
  ASSERT_TRUE(bytes) << bytes.error().text();
  const Executable b = *read(*bytes);
  EXPECT_EQ(
      std::tie(b.target, b.compiler, b.model, b.model_hash, b.accuracy, b.reference, b.strategy, b.graph),
      std::tie(e.target, e.compiler, e.model, e.model_hash, e.accuracy, e.reference, e.strategy, e.graph));
  ASSERT_EQ(b.constants.size(), 2U);
  EXPECT_EQ(b.constants[0].tensor, 4);
  EXPECT_EQ(b.constants[0].data, (std::vector<uint8_t>{1, 2, 3}));
  EXPECT_EQ(b.constants[1].tensor, 5);
  ASSERT_EQ(b.buffers.size(), 2U);
  EXPECT_EQ(b.buffers[0].name, "cmd");
  EXPECT_EQ(b.buffers[0].kind, BufferKind::Commands);
  EXPECT_EQ(b.buffers[0].data, e.buffers[0].data);
  EXPECT_EQ(b.buffers[1].size, 1000000);
  EXPECT_EQ(b.buffers[1].kind, BufferKind::Activations);
  EXPECT_EQ(std::tie(b.relocations[0].word, b.relocations[0].buffer, b.relocations[0].addend),
            std::make_tuple(3, 1, 1000000));
  const Task& t = b.tasks.at(0);
  EXPECT_EQ(std::tie(t.first_word, t.words, t.op, t.kind, t.first_row, t.rows, t.real_input_channels,
                     t.real_output_channels, t.set),
            std::make_tuple(1, 5, 2, TaskKind::BlockDiagonal, 3, 4, 6, 7, 8));
  const auto expect_cube = [](const Cube& c, const Cube& x) {
    EXPECT_EQ(std::tie(c.buffer, c.offset, c.h, c.w, c.channels, c.element_bytes),
              std::tie(x.buffer, x.offset, x.h, x.w, x.channels, x.element_bytes));
  };
  const Placement& p = b.placements.at(0);
  EXPECT_EQ(std::tie(p.tensor, p.c, p.is_uint8, p.zero_point), std::make_tuple(9, 1, true, -7));
  EXPECT_TRUE(p.slot_of.empty());
  EXPECT_EQ(b.placements.at(1).slot_of, std::vector<int32_t>{37});
  expect_cube(p.cube, e.placements[0].cube);
  EXPECT_FALSE(p.packed());
  const Placement& picture = b.placements.at(3);
  EXPECT_EQ(std::tie(picture.tensor, picture.c, picture.is_uint8, picture.zero_point, picture.pitch),
            std::make_tuple(23, 4, false, 24, 25));
  expect_cube(picture.cube, e.placements[3].cube);
  const HostStep& h = b.host_steps.at(0);
  EXPECT_EQ(std::tie(h.op, h.rounding, h.zero_point, h.low, h.high),
            std::make_tuple(11, Rounding::Double, -3, -100, 99));
  expect_cube(h.regions.at(0), e.host_steps[0].regions[0]);
  const HostChannel& c = h.channels.at(0);
  EXPECT_EQ(
      std::tie(c.region, c.slot, c.addend, c.sum_slot, c.sum_factor, c.mantissa, c.exponent, c.multiplier),
      std::make_tuple(0, 5, -12, 6, 13, 14, -15, 0.5));
  const Step& s = b.steps.at(0);
  EXPECT_EQ(std::tie(s.kind, s.op, s.placement, s.first_task, s.task_count, s.host_step),
            std::make_tuple(StepKind::Requantize, 16, 0, 17, 18, 0));
  const Step& cpu = b.steps.at(1);
  EXPECT_EQ(cpu.edges.after, std::vector<int32_t>{0});
  EXPECT_EQ(cpu.edges.reads, (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(cpu.edges.writes, std::vector<int32_t>{2});
  ASSERT_EQ(cpu.edges.completes.size(), 1U);
  EXPECT_EQ(cpu.edges.completes[0].placement, 2);
  EXPECT_EQ(cpu.edges.completes[0].task, -1);
  EXPECT_EQ(cpu.edges.frees, (std::vector<int32_t>{24, 25}));
  EXPECT_FALSE(s.edges.any());
  EXPECT_EQ(std::tie(cpu.kind, cpu.op), std::make_tuple(StepKind::Cpu, 23));
  EXPECT_EQ(cpu.inputs, (std::vector<int32_t>{1, -1}));
  EXPECT_EQ(cpu.outputs, (std::vector<int32_t>{-1, 2}));
  const LayerPlan& l = b.layers.at(0);
  EXPECT_EQ(std::tie(l.op, l.device, l.strategy, l.reason.str(), l.tasks, l.macs),
            std::make_tuple(19, std::string("npu"), std::string("max-scale"), std::string("why"), 20, 21));
  EXPECT_FALSE(l.every_reading);
  const OperatorPlan& o = b.operators.at(0);
  EXPECT_EQ(std::tie(o.op, o.device, o.reason.str()),
            std::make_tuple(22, std::string("cpu"), std::string("because")));
  const ChannelCertificate& proof = l.certificate.at(0);
  EXPECT_EQ(std::tie(proof.acc_min, proof.acc_max, proof.differing, proof.max),
            std::make_tuple(-30, 31, 32, 33));
  EXPECT_EQ(b.model_info, "{\"info\": {}}");
  EXPECT_TRUE(b == e);
}

TEST(ExecutableFile, an_unaligned_span_reads_the_same) {
  const std::vector<uint8_t> bytes = written(1);
  for (size_t shift = 1; shift < 16; ++shift) {
    std::vector<uint8_t> moved(shift);
    moved.insert(moved.end(), bytes.begin(), bytes.end());
    const auto back = read(std::span(moved).subspan(shift));
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(*write(*back), bytes);
  }
}

TEST(ExecutableFile, every_truncation_is_refused) {
  const std::vector<uint8_t> bytes = written(2);
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<uint8_t> cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_FALSE(read(cut)) << size;
  }
}
TEST(ExecutableFile, trailing_bytes_are_refused) {
  std::vector<uint8_t> bytes = written(3);
  bytes.resize(bytes.size() + 16);
  EXPECT_FALSE(read(bytes));
  bytes.erase(bytes.end() - 15, bytes.end());
  bytes.back() = 1;
  EXPECT_FALSE(read(bytes));
}

// Any change of one byte is refused, or hits bytes that mean nothing: then the very same executable comes
// out.
TEST(ExecutableFile, every_byte_flip_is_noticed_or_harmless) {
  base::Rng rng(4);
  std::vector<uint8_t> bytes = written(5);
  const std::vector<uint8_t> original = bytes;
  size_t harmless = 0;
  for (size_t i = 0; i < bytes.size(); ++i)
    for (const int flip : {1, 0x80, static_cast<int>(rng.uniform(1, 255))}) {
      bytes[i] ^= static_cast<uint8_t>(flip);
      const auto result = read(bytes);
      if (result) {
        ++harmless;
        EXPECT_TRUE(verify(*result));
        EXPECT_EQ(*write(*result), original) << i;
      }
      bytes[i] = original[i];
    }
  EXPECT_LT(harmless, 3U * 40);  // padding of the envelope, nothing of the content
}

TEST(ExecutableFile, damage_in_a_buffer_is_always_refused_by_its_name) {
  const Executable e = RandomExecutable(6).make();
  std::vector<uint8_t> bytes = *write(e);
  for (const Buffer& b : e.buffers) {
    if (b.data.empty()) continue;
    const auto at = std::search(bytes.begin(), bytes.end(), b.data.begin(), b.data.end()) - bytes.begin();
    ASSERT_LT(static_cast<size_t>(at), bytes.size()) << b.name;
    for (size_t i = 0; i < b.data.size(); ++i) {
      uint8_t& byte = bytes[static_cast<size_t>(at) + i];
      byte = static_cast<uint8_t>(byte + 1);
      const auto result = read(bytes);
      ASSERT_FALSE(result);
      EXPECT_NE(result.error().message.find("buffer '" + b.name + "': checksum"), std::string::npos)
          << result.error().text();
      byte = static_cast<uint8_t>(byte - 1);
    }
  }
  EXPECT_TRUE(read(bytes));
}

TEST(ExecutableFile, versions) {
  const std::vector<uint8_t> content = content_of(written(7));
  EXPECT_TRUE(read(wrap(content)));
  expect_refused(wrap(content, 3), ErrorCode::Unsupported, "format version 3, this program reads up to 2");
  expect_refused(wrap(content, 0), ErrorCode::InvalidModel, "format version 0");
  // A file has the lowest version that holds it.
  Executable plain;
  for (uint64_t seed = 7;; ++seed) {
    plain = RandomExecutable(seed).make();
    if (std::ranges::none_of(plain.placements, &Placement::packed)) break;
  }
  for (Step& step : plain.steps) step.inputs.clear(), step.outputs.clear();
  EXPECT_EQ(file::GetFile(write(plain)->data())->version(), 1U);
  Executable placed = plain;
  placed.steps[0].inputs = {-1, 0};
  const std::vector<uint8_t> bytes = *write(placed);
  EXPECT_EQ(file::GetFile(bytes.data())->version(), 2U);
  expect_refused(wrap(content_of(bytes), 1), ErrorCode::InvalidModel,
                 "version 1, what it holds is of version 2");
}

// Pictures need version 2: a program of version 1 would take their place for a cube.
TEST(ExecutableFile, packed_placements) {
  Executable e;
  e.buffers = {{"commands", BufferKind::Commands, 0, {}}, {"maps", BufferKind::Activations, 64, {}}};
  e.placements = {{1, {1, 0, 2, 5, 3, 1}, 3, true, 0, {}, 8}};
  const auto bytes = write(e);
  ASSERT_TRUE(bytes) << bytes.error().text();
  EXPECT_EQ(file::GetFile(bytes->data())->version(), 2U);
  const std::vector<uint8_t> content = content_of(*bytes);
  expect_refused(wrap(content, 1), ErrorCode::InvalidModel, "version 1, what it holds is of version 2");

  e.placements[0] = {1, {1, 0, 2, 2, 16, 1}, 3, true, 0, {}, 0};
  const auto plain = write(e);
  ASSERT_TRUE(plain) << plain.error().text();
  EXPECT_EQ(file::GetFile(plain->data())->version(), 1U);
  EXPECT_EQ(flatbuffers::GetRoot<file::Content>(content_of(*plain).data())->packed_placements(), nullptr);

  // The pitch of the second picture, and whose it is.
  e.placements.assign(2, {1, {1, 0, 2, 5, 3, 1}, 3, true, 0, {}, 8});
  const std::vector<uint8_t> two = content_of(*write(e));
  const auto changed = [&](int64_t pitch, int32_t placement) {
    std::vector<uint8_t> content_bytes = two;
    const auto* second =
        flatbuffers::GetRoot<file::Content>(content_bytes.data())->packed_placements()->Get(1);
    const file::PackedPlacement other(pitch, placement);
    std::memcpy(content_bytes.data() + (reinterpret_cast<const uint8_t*>(second) - content_bytes.data()),
                &other, sizeof other);
    return wrap(content_bytes);
  };
  EXPECT_TRUE(read(changed(8, 1)));
  expect_refused(changed(0, 1), ErrorCode::InvalidModel, "placement 1 has the pitch 0");
  expect_refused(changed(-8, 1), ErrorCode::InvalidModel, "placement 1 has the pitch -8");
  expect_refused(changed(8, 2), ErrorCode::InvalidModel, "the pitch of placement 2 of 2");
  expect_refused(changed(8, -1), ErrorCode::InvalidModel, "the pitch of placement -1");
  expect_refused(changed(8, 0), ErrorCode::InvalidModel, "placement 0 has the pitch 8 too");
  expect_refused(changed(INT64_MAX, 1), ErrorCode::InvalidModel, "leave buffer 'maps'");
}

// Who makes a file by hand makes the checksums right: what comes through must still satisfy verify().
TEST(ExecutableFile, changed_content_with_a_right_checksum_never_passes_unverified) {
  base::Rng rng(8);
  std::vector<uint8_t> content = content_of(written(9));
  const std::vector<uint8_t> original = content;
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    for (int64_t n = rng.uniform(1, 3); n > 0; --n)
      content[static_cast<size_t>(rng.uniform(0, static_cast<int64_t>(content.size()) - 1))] =
          static_cast<uint8_t>(rng.next());
    const auto result = read(wrap(content));
    if (result) {
      ++accepted;
      ASSERT_TRUE(verify(*result));
      const auto again = write(*result);
      ASSERT_TRUE(again) << again.error().text();
      EXPECT_EQ(*write(*read(*again)), *again);
    }
    content = original;
  }
  EXPECT_GT(accepted, 100);  // names, hashes: else the test tests nothing
}

TEST(ExecutableFile, one_part_used_many_times_does_not_multiply) {
  flatbuffers::FlatBufferBuilder b;
  const std::vector<file::HostChannel> channels(20000);
  const auto shared_channels = b.CreateVectorOfStructs(channels);
  const auto host_step = file::CreateHostStep(b, 0, 0, shared_channels);
  const std::vector<flatbuffers::Offset<file::HostStep>> many(20000, host_step);  // would be 22 GB
  const auto host_steps = b.CreateVector(many);
  const auto empty = b.CreateString("");
  const auto none = b.CreateVector(std::vector<flatbuffers::Offset<file::Buffer>>());
  b.Finish(file::CreateContent(b, empty, empty, empty, 0, empty, empty, empty, empty, none.o, none, none.o,
                               none.o, none.o, host_steps, none.o, none.o));
  expect_refused(wrap({b.GetBufferPointer(), b.GetSize()}), ErrorCode::InvalidModel, "used more than once");
}
TEST(ExecutableFile, one_buffer_hashed_many_times_does_not_multiply) {
  flatbuffers::FlatBufferBuilder b;
  const std::vector<uint8_t> data(1000000);
  const auto name = b.CreateString("x");
  const auto shared = b.CreateVector(data);
  const auto buffer =
      file::CreateBuffer(b, name, file::BufferKind::Constants, 1000000, shared, base::hash64(data));
  const auto buffers = b.CreateVector(std::vector<flatbuffers::Offset<file::Buffer>>(100000, buffer));
  const auto none = b.CreateVector(std::vector<flatbuffers::Offset<file::HostStep>>());
  b.Finish(file::CreateContent(b, name, name, name, 0, name, name, name, name, none.o, buffers, none.o,
                               none.o, none.o, none, none.o, none.o));
  expect_refused(wrap({b.GetBufferPointer(), b.GetSize()}), ErrorCode::InvalidModel, "used more than once");
}

// flatbuffers' verifier accepts 8-byte numbers at odd multiples of four; reading those in place is undefined.
TEST(ExecutableFile, misaligned_elements_are_refused) {
  int refused = 0;
  for (const size_t shift : {0, 4}) {
    flatbuffers::FlatBufferBuilder b;
    const auto empty = b.CreateString("");
    const auto none = b.CreateVector(std::vector<flatbuffers::Offset<file::HostStep>>());
    const auto buffers = b.CreateVector(std::vector<flatbuffers::Offset<file::Buffer>>());
    const std::vector<uint8_t> raw(sizeof(file::Relocation));
    b.CreateVector(std::vector<uint8_t>(4 + shift));
    b.StartVector(raw.size(), 1);  // as bytes: aligned to four
    b.PushBytes(raw.data(), raw.size());
    const auto relocations = b.EndVector(1);  // as one relocation
    b.Finish(file::CreateContent(b, empty, empty, empty, 1, empty, empty, empty, empty, none.o, buffers,
                                 relocations, none.o, none.o, none, none.o, none.o));
    const auto result = read(wrap({b.GetBufferPointer(), b.GetSize()}));
    ASSERT_FALSE(result);  // at best there are no commands
    if (result.error().message.find("not aligned") != std::string::npos) ++refused;
  }
  EXPECT_EQ(refused, 1);
}

// The seeds of the fuzzer are contents that verify() accepts: else it would never get far.
TEST(ExecutableFile, seeds_of_the_fuzzer_are_sound) {
  size_t seeds = 0;
  for (const auto& entry : std::filesystem::directory_iterator(PERAXIS_SEEDS)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<uint8_t> content{std::istreambuf_iterator<char>(file), {}};
    const auto result = read(wrap(content));
    EXPECT_TRUE(result) << entry.path() << ": " << result.error().text();
    ++seeds;
  }
  EXPECT_GE(seeds, 4U);
}

TEST(ExecutableFile, other_files_are_told_apart) {
  EXPECT_FALSE(looks_like_executable({}));
  const std::vector<uint8_t> tflite = {0x1c, 0, 0, 0, 'T', 'F', 'L', '3', 0, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_FALSE(looks_like_executable(tflite));
  expect_refused(tflite, ErrorCode::InvalidModel, "not an executable");
  std::vector<uint8_t> shell(16);
  std::memcpy(shell.data() + 4, "PAX1", 4);
  EXPECT_TRUE(looks_like_executable(shell));
  EXPECT_FALSE(read(shell));
}

}  // namespace
}  // namespace peraxis::exe
