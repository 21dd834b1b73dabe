// Buffers: places, lifetimes, exhaustion, sharing.
#include <algorithm>
#include <optional>

#include "../tiny_programs.hpp"
#include "backends.hpp"

namespace peraxis::device::test {
namespace {

using Memory = Conformance;
PERAXIS_ON_EVERY_BACKEND(Memory);

TEST_P(Memory, BuffersAreZeroedApartAndBelow4GiB) {
  const auto device = open();
  std::vector<Buffer> kept;
  for (const int64_t size : {1, 64, 4096, 5000, 100'000}) {
    auto buffer = device->allocate(size, "b");
    ASSERT_TRUE(buffer) << buffer.error().text();
    EXPECT_NE(buffer->address, 0U) << "0 means no address";
    EXPECT_EQ(buffer->address % 64, 0U);
    EXPECT_GE(static_cast<int64_t>(buffer->bytes.size()), size);
    EXPECT_TRUE(std::ranges::all_of(buffer->bytes, [](uint8_t byte) { return byte == 0; }));
    const int64_t end = buffer->address + size;
    EXPECT_LE(end, int64_t{1} << 32);
    for (const Buffer& other : kept)
      EXPECT_TRUE(end <= other.address ||
                  other.address + static_cast<int64_t>(other.bytes.size()) <= buffer->address);
    kept.push_back(std::move(*buffer));
  }
}

TEST_P(Memory, NoBytesAreNoBuffer) {
  const auto device = open();
  for (const int64_t size : {int64_t{0}, int64_t{-1}}) {
    const auto none = device->allocate(size, "nothing");
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, ErrorCode::InvalidArgument);
    EXPECT_NE(none.error().message.find("'nothing'"), std::string::npos) << none.error().message;
  }
}

TEST_P(Memory, AFullAddressSpaceNamesSizesAndLosesNothing) {
  constexpr int64_t kSpace = int64_t{1} << 20, kPiece = 100'000;
  const auto device = open(kSpace);
  std::vector<Buffer> kept;
  for (int round = 0; round < 3; ++round) {
    Error error;
    for (;;) {
      auto buffer = device->allocate(kPiece, "piece");
      if (!buffer) {
        error = buffer.error();
        break;
      }
      kept.push_back(std::move(*buffer));
      ASSERT_LE(static_cast<int64_t>(kept.size()) * kPiece, kSpace);
    }
    EXPECT_EQ(error.code, ErrorCode::OutOfMemory);
    for (const char* word : {"'piece'", "100000", "1048576"})
      EXPECT_NE(error.message.find(word), std::string::npos) << error.message;
    EXPECT_GE(kept.size(), 7U) << "round " << round << ": what was freed is there again";
    kept.clear();
  }
  const auto more = device->allocate((int64_t{1} << 32) + 1, "more");
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, ErrorCode::OutOfMemory);
}

TEST_P(Memory, FreedPlacesAreUsedAgainAndEmpty) {
  const auto device = open(int64_t{4} << 20);
  const auto space = device->address_space();
  const Buffer lasting = *device->allocate(1000, "lasting");
  lasting.bytes[999] = 7;
  for (int i = 0; i < 3000; ++i) {  // many times the address space
    const auto buffer = device->allocate(10'000, "passing");
    ASSERT_TRUE(buffer) << i << ": " << buffer.error().text();
    ASSERT_EQ(buffer->bytes[5], 0) << i;
    buffer->bytes[5] = 1;
    ASSERT_TRUE(device->end_cpu_access(*buffer, 0, 10'000));
  }
  EXPECT_EQ(lasting.bytes[999], 7);
  if (!space) return;
  EXPECT_GT(device->address_space()->used, space->used) << "of the lasting one";
  EXPECT_LE(device->address_space()->used, space->used + 3 * 4096);
}

TEST_P(Memory, ACopyOfTheHandleKeepsItAndOutlivesTheDevice) {
  Buffer orphan;
  {
    const auto device = open();
    std::optional<Buffer> first = *device->allocate(100, "kept");
    first->bytes[7] = 1;
    orphan = *first;
    first.reset();
    const Buffer other = *device->allocate(100, "other");
    EXPECT_NE(other.address, orphan.address);
    EXPECT_EQ(orphan.bytes[7], 1);
  }
  orphan.bytes[9] = 1;
  EXPECT_EQ(orphan.bytes[7], 1);
}

TEST_P(Memory, AccessStaysInsideTheBuffer) {
  const auto device = open();
  const Buffer b = *device->allocate(100, "b");
  const auto size = static_cast<int64_t>(b.bytes.size());
  EXPECT_TRUE(device->end_cpu_access(b, 0, size));
  EXPECT_TRUE(device->begin_cpu_access(b, size, 0));
  for (const auto& [offset, bytes] : {std::pair<int64_t, int64_t>{1, size}, {-1, 1}, {size + 1, 0}, {0, -1}})
    for (const Status& status :
         {device->begin_cpu_access(b, offset, bytes), device->end_cpu_access(b, offset, bytes)}) {
      ASSERT_FALSE(status) << offset << " " << bytes;
      EXPECT_EQ(status.error().code, ErrorCode::InvalidArgument);
    }
}

// A task of one device writes into memory that a task of another reads, without a copy.
TEST_P(Memory, ExportedMemoryIsTheSameMemoryElsewhere) {
  const auto one = open(), two = open();
  const auto shared = one->allocate_exportable(2 * kMapBytes, "shared");
  if (!shared) {
    EXPECT_EQ(shared.error().code, ErrorCode::Unsupported) << shared.error().text();
    EXPECT_NE(shared.error().message.find("'" + one->name() + "'"), std::string::npos);
    GTEST_SKIP() << shared.error().message;
  }
  auto fd = one->export_buffer(*shared);
  ASSERT_TRUE(fd) << fd.error().text();
  const auto imported = two->import_buffer(fd->get(), "imported");
  ASSERT_TRUE(imported) << imported.error().text();
  fd->reset();  // the descriptor is the caller's
  ASSERT_GE(imported->bytes.size(), shared->bytes.size());
  const auto add = [](Device& device, const Buffer& maps, uint32_t from, uint32_t to,
                      int8_t number) -> Status {
    const Buffer weights = PERAXIS_TRY(identity_weights(device));
    const Buffer words = PERAXIS_TRY(device.allocate(kStrideWords * 8, "words"));
    PERAXIS_TRY(fill_words(
        device, words,
        words_of({{maps.address + from, maps.address + to, weights.address, number, 0, 0}}, words.address)));
    Job job;
    job.chains = {chain_of(1, words.address)};
    job.reads = {words, weights};
    job.writes = {maps};
    return PERAXIS_TRY(device.submit(std::move(job)))->wait();
  };
  ASSERT_TRUE(fill(*one, *shared, std::vector<uint8_t>(static_cast<size_t>(kLanes), 3)));
  const Status first = add(*one, *shared, 0, kMapBytes, 10);
  ASSERT_TRUE(first) << first.error().text();
  const Status second = add(*two, *imported, kMapBytes, 0, 20);
  ASSERT_TRUE(second) << second.error().text();
  ASSERT_TRUE(one->begin_cpu_access(*shared, 0, kLanes));
  for (size_t i = 0; i < static_cast<size_t>(kLanes); ++i) EXPECT_EQ(shared->bytes[i], 3 + 10 + 20) << i;
}

TEST_P(Memory, WhatIsNotSharedIsNotExportedNorImported) {
  const auto device = open();
  const Buffer own = *device->allocate(100, "own");
  const auto fd = device->export_buffer(own);
  ASSERT_FALSE(fd);
  EXPECT_TRUE(fd.error().code == ErrorCode::InvalidArgument || fd.error().code == ErrorCode::Unsupported);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const base::Descriptor read_end(ends[0]), write_end(ends[1]);
  for (const int bad : {-1, ends[0]}) {
    const auto none = device->import_buffer(bad, "bad");
    ASSERT_FALSE(none) << bad;
    EXPECT_TRUE(none.error().code == ErrorCode::InvalidArgument ||
                none.error().code == ErrorCode::Unsupported);
    EXPECT_NE(none.error().message.find("'bad'"), std::string::npos) << none.error().message;
  }
}

TEST_P(Memory, ExportedMemoryOutlivesBufferAndDevice) {
  base::Descriptor fd;
  {
    const auto device = open();
    const auto shared = device->allocate_exportable(100, "shared");
    if (!shared) GTEST_SKIP() << shared.error().message;
    shared->bytes[42] = 9;
    fd = std::move(*device->export_buffer(*shared));
  }
  const auto device = open();
  const auto imported = device->import_buffer(fd.get(), "imported");
  ASSERT_TRUE(imported) << imported.error().text();
  EXPECT_EQ(imported->bytes[42], 9);
}

TEST_P(Memory, OfAnotherDeviceIsRefused) {
  const auto one = open(), two = open();
  const Buffer buffer = *one->allocate(100, "of one");
  const Status access = two->end_cpu_access(buffer, 0, 1);
  ASSERT_FALSE(access);
  EXPECT_EQ(access.error().code, ErrorCode::InvalidArgument);
  EXPECT_FALSE(two->export_buffer(buffer));
  const auto adder = Adder::make(*one, 1, 1);
  ASSERT_TRUE(adder) << adder.error().text();
  const auto fence = two->submit(adder->job());
  ASSERT_FALSE(fence);
  EXPECT_EQ(fence.error().code, ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace peraxis::device::test
