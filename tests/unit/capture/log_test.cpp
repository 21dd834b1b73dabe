// The log of a recorded program, whole and cut off anywhere.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "base/file.hpp"
#include "capture/log/reader.hpp"

namespace peraxis::capture {
namespace {

class LogBytes {
 public:
  template <class T>
  void add(log::Kind kind, const T& head, const std::vector<uint8_t>& rest = {}) {
    log::RecordHead record{log::kMagic, kind, sizeof(head) + rest.size(), log::checksum(&head, sizeof(head)),
                           1};
    if (!rest.empty()) record.checksum = log::checksum(rest.data(), rest.size(), record.checksum);
    append(&record, sizeof(record));
    append(&head, sizeof(head));
    append(rest.data(), rest.size());
  }
  std::vector<uint8_t> bytes;

 private:
  void append(const void* from, size_t size) {
    const auto* at = static_cast<const uint8_t*>(from);
    bytes.insert(bytes.end(), at, at + size);
  }
};

template <class T>
void append(std::vector<uint8_t>& to, const T& value) {
  to.resize(to.size() + sizeof(value));
  std::memcpy(to.data() + to.size() - sizeof(value), &value, sizeof(value));
}

LogBytes example() {
  LogBytes out;
  out.add(log::Kind::Process, log::ProcessRecord{77, 1});
  out.add(log::Kind::Open, log::OpenRecord{1, log::Driver::Rocket});
  out.add(log::Kind::Buffer, log::BufferRecord{1, 1, 0x0, 4096, 0, 0, 0});
  out.add(log::Kind::Buffer, log::BufferRecord{1, 2, 0x1000, 4096, 0, 0, 0});
  std::vector<uint8_t> words(4096, 0), before(4096, 3), after(4096, 4);
  const uint64_t word = uint64_t{0x1001} << 48 | uint64_t{0x1000} << 16 | 0x4020;  // DPU.DST_BASE_ADDR
  std::memcpy(words.data(), &word, 8);
  out.add(log::Kind::Content, log::ContentRecord{1, 1}, words);
  out.add(log::Kind::Content, log::ContentRecord{1, 2}, before);
  std::vector<uint8_t> parts;
  append(parts, log::JobPart{0, 1, 0, 1, 1, 1});
  append(parts, log::TaskPart{0, 1, 0});
  append(parts, uint32_t{1});
  append(parts, uint32_t{2});
  out.add(log::Kind::Begin, log::SubmitRecord{1, 0, 1, 1, 2, 0, 0, 0}, parts);
  out.add(log::Kind::Content, log::ContentRecord{1, 2}, after);
  out.add(log::Kind::End, log::EndRecord{1, 0, 0, 0, 10, 20});
  return out;
}

TEST(CaptureLog, ASubmitBecomesACapture) {
  const auto path = std::filesystem::temp_directory_path() / "peraxis-log-test.plog";
  ASSERT_TRUE(base::write_file(path, std::span<const uint8_t>(example().bytes)));
  std::vector<trace::Capture> captures;
  const auto process = read_log(path, [&](const LoggedSubmit& submit) -> Status {
    captures.push_back(capture_of(submit));
    return {};
  });
  ASSERT_TRUE(process) << process.error().message;
  EXPECT_EQ(process->process, 77U);
  EXPECT_FALSE(process->cut);
  ASSERT_EQ(captures.size(), 1U);
  ASSERT_EQ(captures[0].buffers.size(), 2U);
  EXPECT_EQ(captures[0].buffers[0].role, "commands");
  EXPECT_EQ(captures[0].buffers[1].role, "output");
  EXPECT_EQ(captures[0].buffers[1].before[0], 3);
  EXPECT_EQ(captures[0].buffers[1].after[0], 4);
  EXPECT_EQ(captures[0].submits[0].end_ns, 20);
  EXPECT_TRUE(trace::verify(captures[0]));
  std::filesystem::remove(path);
}

TEST(CaptureLog, CutAnywhereItKeepsWhatIsComplete) {
  const std::vector<uint8_t> bytes = example().bytes;
  const auto path = std::filesystem::temp_directory_path() / "peraxis-cut-test.plog";
  for (size_t size = 0; size < bytes.size(); size += size < 700 ? 13 : 997) {
    ASSERT_TRUE(base::write_file(path, std::span(bytes).first(size)));
    size_t submits = 0, ended = 0;
    const auto process = read_log(path, [&](const LoggedSubmit& submit) -> Status {
      ++submits;
      ended += submit.ended ? 1 : 0;
      return {};
    });
    ASSERT_TRUE(process) << size;
    EXPECT_LE(submits, 1U);
    EXPECT_EQ(ended, 0U);
  }
  std::vector<uint8_t> damaged = bytes;
  damaged[damaged.size() - 5] ^= 1;
  ASSERT_TRUE(base::write_file(path, std::span<const uint8_t>(damaged)));
  const auto process = read_log(path, [&](const LoggedSubmit& submit) -> Status {
    EXPECT_FALSE(submit.ended);
    return {};
  });
  ASSERT_TRUE(process);
  EXPECT_TRUE(process->cut);
  EXPECT_EQ(process->submits, 1);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace peraxis::capture
