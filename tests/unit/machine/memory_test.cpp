// Mapping, bounds and written flags of the memory model.
#include "machine/memory.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace peraxis::machine {
namespace {

TEST(Memory, OverlapAndEndOfSpaceAreRefused) {
  std::vector<uint8_t> a(64), b(64);
  Memory m;
  ASSERT_TRUE(m.map(0x1000, a, "a"));
  EXPECT_FALSE(m.map(0x1000, b, "b"));
  EXPECT_FALSE(m.map(0x103F, b, "b"));
  EXPECT_FALSE(m.map(0x0FC1, b, "b"));
  EXPECT_FALSE(m.map(0xFFFFFFC1, b, "b"));
  EXPECT_FALSE(m.map(0x2000, std::span<uint8_t>(), "empty"));
  EXPECT_TRUE(m.map(0x1040, b, "b"));
  EXPECT_TRUE(m.map(0xFFFFFFC0, std::span<uint8_t>(b).first(64), "last"));
}

TEST(Memory, EveryUnwrittenByteIsFound) {
  std::vector<uint8_t> bytes(200, 7);
  Memory m;
  ASSERT_TRUE(m.map(0x1000, bytes, "x"));
  for (int64_t hole = 0; hole < 200; ++hole) {
    ASSERT_TRUE(m.mark_written(0x1000, 200));
    ASSERT_TRUE(m.read(0x1000, 200, "r"));
    ASSERT_TRUE(m.mark_unwritten(0x1000 + hole, 1));
    EXPECT_FALSE(m.read(0x1000, 200, "r"));
    EXPECT_TRUE(m.read(0x1000, hole, "r"));
    EXPECT_TRUE(m.read(0x1000 + hole + 1, 199 - hole, "r"));
    const auto one = m.read(0x1000 + hole, 1, "reader");
    ASSERT_FALSE(one);
    EXPECT_NE(one.error().message.find("'x' + " + std::to_string(hole)), std::string::npos)
        << one.error().message;
  }
}

TEST(Memory, WritesMarkExactlyTheirBytes) {
  std::vector<uint8_t> bytes(130);
  Memory m;
  ASSERT_TRUE(m.map(0x40, bytes, "x"));
  ASSERT_TRUE(m.write(0x40 + 60, 10, "w"));
  for (int64_t i = 0; i < 130; ++i) EXPECT_EQ(m.written(0x40 + i, 1), i >= 60 && i < 70) << i;
}

TEST(Memory, ChangesAreSeenByPages) {
  constexpr int64_t kPage = 4096;
  std::vector<uint8_t> bytes(3 * kPage + 5);
  Memory m;
  ASSERT_TRUE(m.map(0x100, bytes, "x"));  // pages count from the buffer's first byte
  int64_t before = m.now();
  EXPECT_FALSE(m.changed_since(before, 0x100, 3 * kPage + 5));
  ASSERT_TRUE(m.write(0x100 + kPage + 7, 1, "w"));
  EXPECT_TRUE(m.changed_since(before, 0x100, 3 * kPage + 5));
  EXPECT_TRUE(m.changed_since(before, 0x100 + 2 * kPage - 1, 1));
  EXPECT_FALSE(m.changed_since(before, 0x100, kPage));
  EXPECT_FALSE(m.changed_since(before, 0x100 + 2 * kPage, kPage + 5));
  EXPECT_FALSE(m.changed_since(m.now(), 0x100, 3 * kPage + 5));
  before = m.now();
  ASSERT_TRUE(m.mark_written(0x100 + 3 * kPage, 5));
  EXPECT_TRUE(m.changed_since(before, 0x100 + 3 * kPage + 4, 1));
  before = m.now();
  ASSERT_TRUE(m.mark_unwritten(0x100 + kPage - 1, 2));
  EXPECT_TRUE(m.changed_since(before, 0x100, 1));
  EXPECT_TRUE(m.changed_since(before, 0x100 + kPage + 9, 1));
  EXPECT_FALSE(m.changed_since(before, 0x100 + kPage, 0));
  EXPECT_TRUE(m.changed_since(m.now(), 0x100, 3 * kPage + 6)) << "beyond the buffer";
  ASSERT_FALSE(m.write(0x100 + kPage, 3 * kPage, "w"));
  EXPECT_FALSE(m.changed_since(m.now(), 0x100, 3 * kPage + 5));
}

TEST(Memory, AccessesStayInOneBuffer) {
  std::vector<uint8_t> a(64), b(64);
  Memory m;
  ASSERT_TRUE(m.map(0x1000, a, "a"));
  ASSERT_TRUE(m.map(0x1040, b, "b"));
  ASSERT_TRUE(m.mark_written(0x1000, 64));
  ASSERT_TRUE(m.mark_written(0x1040, 64));
  EXPECT_FALSE(m.read(0x1030, 32, "r"));
  EXPECT_FALSE(m.write(0x1030, 17, "w"));
  EXPECT_FALSE(m.read(0xFFF, 1, "r"));
  EXPECT_FALSE(m.read(0x1080, 1, "r"));
  EXPECT_FALSE(m.read(-16, 16, "r"));
  EXPECT_FALSE(m.read(int64_t{1} << 40, 16, "r"));
  EXPECT_TRUE(m.read(0x1070, 16, "r"));
}

}  // namespace
}  // namespace peraxis::machine
