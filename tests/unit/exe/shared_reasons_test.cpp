// Reasons that many records share: stored once in the file and in memory, whoever made the file.
#include <gtest/gtest.h>

#include <algorithm>

#include "exe/names.hpp"
#include "hostile_file.hpp"

namespace peraxis::exe {
namespace {

Executable without_tasks() {
  Executable e;
  e.buffers = {{"commands", BufferKind::Commands, 0, {}}};
  return e;
}

// A chain of CPU operators: every one is on the CPU for the same long reason.
TEST(SharedReasons, a_chain_is_written_once_and_read) {
  const std::string reason(1000, 'r'), other(1000, 's');
  Executable e = without_tasks();
  for (int32_t op = 0; op < 20000; ++op) {
    if (op % 2 == 0)
      e.operators.push_back({op, "cpu", op % 4 == 0 ? reason : other});
    else
      e.layers.push_back({op, "cpu", "", reason, 0, 0, true, {}});
  }
  const auto bytes = write(e);
  ASSERT_TRUE(bytes) << bytes.error().text();
  EXPECT_LT(bytes->size(), 2500000U) << "without sharing 20 MB";
  const auto back = read(*bytes);
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_TRUE(*back == e);
  EXPECT_EQ(*write(*back), *bytes);
  // One string for all, not 15,000 copies.
  EXPECT_EQ(back->operators[0].reason.identity(), back->operators[2000].reason.identity());
  EXPECT_EQ(back->operators[0].reason.identity(), back->layers[9000].reason.identity());
  EXPECT_NE(back->operators[0].reason.identity(), back->operators[1].reason.identity());
}

// The fields that these files do not use stay empty.
std::vector<uint8_t> file_of(
    flatbuffers::FlatBufferBuilder& b,
    flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<file::LayerPlan>>> layers,
    flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<file::OperatorPlan>>> operators) {
  const auto commands =
      file::CreateBuffer(b, b.CreateString("commands"), file::BufferKind::Commands, 0,
                         b.CreateVector(std::vector<uint8_t>()), base::hash64(std::span<const uint8_t>()));
  const auto buffers = b.CreateVector(std::vector{commands});
  const auto none = b.CreateVector(std::vector<flatbuffers::Offset<file::HostStep>>());
  const auto empty = b.CreateString("");
  const auto target = b.CreateString("rk3588"), accuracy = b.CreateString("fast");
  const auto reference = b.CreateString("litert-ref"), strategy = b.CreateString("auto");
  b.Finish(file::CreateContent(b, target, empty, empty, 0, accuracy, reference, strategy, empty, none.o,
                               buffers, none.o, none.o, none.o, none, none.o,
                               layers.IsNull() ? none.o : layers, 0, operators));
  return wrap({b.GetBufferPointer(), b.GetSize()});
}

// 4 MB that would be 100 GB if every record had a copy.
TEST(SharedReasons, a_small_file_does_not_expand) {
  flatbuffers::FlatBufferBuilder b;
  const auto reason = b.CreateString(std::string(1000000, 'r')), device = b.CreateString("cpu");
  std::vector<flatbuffers::Offset<file::OperatorPlan>> records;
  for (int32_t op = 0; op < 100000; ++op) records.push_back(file::CreateOperatorPlan(b, op, device, reason));
  const auto operators = b.CreateVector(records);
  const auto read_back = read(file_of(b, 0, operators));
  ASSERT_TRUE(read_back) << read_back.error().text();
  ASSERT_EQ(read_back->operators.size(), 100000U);
  for (const OperatorPlan& o : read_back->operators)
    ASSERT_EQ(o.reason.identity(), read_back->operators[0].reason.identity());
  const auto again = write(*read_back);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_LT(again->size(), 6000000U);
}

// Texts that overlap have places of their own, so each counts.
TEST(SharedReasons, overlapping_texts_count_each) {
  flatbuffers::FlatBufferBuilder b;
  // Every word of the text says that a text of that length begins there.
  constexpr uint32_t kWords = 50000;
  std::vector<uint32_t> words(kWords);
  for (uint32_t i = 0; i + 1 < kWords; ++i)
    words[i] = 4 * (kWords - i) - 5;  // the last word ends all of them
  const auto text = b.CreateVector(words);
  const auto device = b.CreateString("cpu");
  std::vector<flatbuffers::Offset<file::OperatorPlan>> records;
  for (uint32_t i = 0; i < 20000; ++i)
    records.push_back(file::CreateOperatorPlan(b, static_cast<int32_t>(i), device,
                                               flatbuffers::Offset<flatbuffers::String>(text.o - 4 - 4 * i)));
  const auto operators = b.CreateVector(records);
  const auto result = read(file_of(b, 0, operators));  // would be 3 GB
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::InvalidModel) << result.error().text();
}

// Words of closed sets are no longer than the sets' words, and records are paid for.
TEST(SharedReasons, other_texts_and_records_do_not_expand) {
  {
    flatbuffers::FlatBufferBuilder b;
    const auto device = b.CreateString(std::string(1000000, 'd')), reason = b.CreateString("");
    const auto record = file::CreateOperatorPlan(b, 0, device, reason);
    const auto operators = b.CreateVector(std::vector(100000, record));
    expect_refused(file_of(b, 0, operators), ErrorCode::InvalidModel,
                   "device 'dddddddddddddddddddd...' has 1000000 characters, the limit is 64");
  }
  {
    flatbuffers::FlatBufferBuilder b;
    const auto strategy = b.CreateString(std::string(65, 's')), device = b.CreateString("npu");
    const auto record = file::CreateLayerPlan(b, 0, device, strategy, device);
    expect_refused(file_of(b, b.CreateVector(std::vector{record}), 0), ErrorCode::InvalidModel,
                   "strategy 'ssssssssssssssssssss...' has 65 characters");
  }
  {
    flatbuffers::FlatBufferBuilder b;
    const auto text = b.CreateString("cpu");
    const auto record = file::CreateOperatorPlan(b, 0, text, text);
    const auto operators = b.CreateVector(std::vector(100000, record));
    expect_refused(file_of(b, 0, operators), ErrorCode::InvalidModel, "used more than once");
  }
}

// A word of a closed set changed in the file, with the checksum made right again.
TEST(ClosedSets, a_patched_file_is_refused) {
  Executable e = without_tasks();
  e.layers = {{0, "npu", "hw-multiply", "", 0, 0, true, {}}};
  e.operators = {{1, "cpu", ""}};
  const std::vector<uint8_t> content = content_of(*write(e));
  ASSERT_TRUE(read(wrap(content)));
  struct Patch {
    std::string from, to, says;
  };
  for (const Patch& patch :
       {Patch{"rk3588", "rk9999", "target 'rk9999' is not known; valid are rk3588"},
        {"litert-ref", "litert-xyz", "reference 'litert-xyz' is not known; valid are "},
        {"fast", "best", "accuracy 'best' is not known; valid are fast, exact"},
        {"auto", "ouch", "strategy 'ouch' is not known; valid are auto, "},
        {"hw-multiply", "hw-multiplx", "strategy 'hw-multiplx' is not known; valid are max-"},
        {"npu", "gpu", "device 'gpu' is not known; valid are npu, cpu"},
        {"cpu", "tpu", "device 'tpu' is not known; valid are npu, cpu"}}) {
    std::vector<uint8_t> patched = content;
    const auto at = std::search(patched.begin(), patched.end(), patch.from.begin(), patch.from.end());
    ASSERT_NE(at, patched.end()) << patch.from;
    std::copy(patch.to.begin(), patch.to.end(), at);
    expect_refused(wrap(patched), ErrorCode::InvalidModel, patch.says);
  }
}

}  // namespace
}  // namespace peraxis::exe
