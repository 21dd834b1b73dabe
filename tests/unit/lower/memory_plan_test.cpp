#include "lower/memory_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace peraxis::lower {
namespace {

// Allocations alive at the same step never share a byte, and the arena is not far from the live floor.
TEST(MemoryPlan, NeverOverlapsWhatLivesTogether) {
  std::mt19937_64 rng(7);
  for (int round = 0; round < 200; ++round) {
    MemoryPlan plan;
    struct Use {
      int32_t id;
      int64_t bytes;
      int32_t first, last;
    };
    std::vector<Use> uses;
    for (int i = 0; i < 60; ++i) {
      const int64_t bytes = 1 + static_cast<int64_t>(rng() % 5000);
      const int32_t id = plan.add_activation(bytes);
      const auto first = static_cast<int32_t>(rng() % 40);
      const auto last = first + static_cast<int32_t>(rng() % 8);
      plan.touch(id, last);
      plan.touch(id, first);
      uses.push_back({id, bytes, first, last});
    }
    ASSERT_TRUE(plan.place());
    for (const Use& a : uses) {
      ASSERT_EQ(plan.location(a.id).offset % 64, 0);
      ASSERT_LE(plan.location(a.id).offset + a.bytes, plan.activation_bytes());
      for (const Use& b : uses) {
        if (a.id >= b.id || a.last < b.first || b.last < a.first) continue;
        const int64_t oa = plan.location(a.id).offset, ob = plan.location(b.id).offset;
        ASSERT_TRUE(oa + a.bytes <= ob || ob + b.bytes <= oa) << "round " << round;
      }
    }
    EXPECT_GE(plan.activation_bytes(), plan.peak_live_bytes());
    EXPECT_LE(plan.activation_bytes(), plan.peak_live_bytes() * 2 + 64 * 60);
  }
}

// The rule in its plain form: the largest first, each in the first gap among all that live at the same time.
TEST(MemoryPlan, LargestFirstIntoTheFirstGap) {
  std::mt19937_64 rng(8);
  for (int round = 0; round < 100; ++round) {
    MemoryPlan plan;
    struct Use {
      int64_t bytes;
      int32_t first, last;
      int64_t offset;
    };
    std::vector<Use> uses;
    for (int i = 0; i < 80; ++i) {
      const int64_t bytes = rng() % 4 == 0 ? 640 : 1 + static_cast<int64_t>(rng() % 3000);
      const auto first = static_cast<int32_t>(rng() % 20);
      const auto last = first + static_cast<int32_t>(rng() % 3 == 0 ? rng() % 20 : 0);
      const int32_t id = plan.add_activation(bytes);
      plan.touch(id, first);
      plan.touch(id, last);
      uses.push_back({bytes, first, last, -1});
    }
    ASSERT_TRUE(plan.place());
    std::vector<size_t> order(uses.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return uses[a].bytes > uses[b].bytes; });
    for (const size_t i : order) {
      Use& use = uses[i];
      for (int64_t at = 0; use.offset < 0; at += 64) {
        const bool free = std::none_of(uses.begin(), uses.end(), [&](const Use& other) {
          return other.offset >= 0 && other.first <= use.last && use.first <= other.last &&
                 other.offset < at + use.bytes && at < other.offset + other.bytes;
        });
        if (free) use.offset = at;
      }
      ASSERT_EQ(plan.location(static_cast<int32_t>(i)).offset, use.offset) << "round " << round;
    }
  }
}

TEST(MemoryPlan, ReusesWhatIsDead) {
  MemoryPlan plan;
  const int32_t a = plan.add_activation(1000), b = plan.add_activation(1000);
  plan.touch(a, 0);
  plan.touch(a, 1);
  plan.touch(b, 2);
  ASSERT_TRUE(plan.place());
  EXPECT_EQ(plan.location(a).offset, plan.location(b).offset);
}

TEST(MemoryPlan, ConstantsKeepTheirBytes) {
  MemoryPlan plan;
  const int32_t a = plan.add_constant({1, 2, 3});
  const int32_t b = plan.add_constant({4, 5});
  ASSERT_TRUE(plan.place());
  const auto at = static_cast<size_t>(plan.location(b).offset);
  EXPECT_EQ(plan.location(a).offset, 0);
  const std::vector<uint8_t> bytes = plan.take_constants();
  EXPECT_EQ(at % 64, 0U);
  EXPECT_EQ(bytes[0], 1);
  EXPECT_EQ(bytes[at + 1], 5);
}

TEST(MemoryPlan, RefusesMoreThanTheAddressSpace) {
  MemoryPlan plan;
  for (int i = 0; i < 5; ++i) plan.touch(plan.add_activation(int64_t{1} << 30), 0);
  const Status status = plan.place();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::OutOfMemory);
}

TEST(MemoryPlan, KeptApart) {
  MemoryPlan plan;
  const int32_t constant = plan.add_constant(std::vector<uint8_t>(10));
  plan.at_least(constant, 1000);  // of no effect
  const int32_t a = plan.add_activation(100), b = plan.add_activation(50);
  plan.at_least(b, 200);
  plan.at_least(b, 60);
  plan.touch(a, 0);
  plan.touch(b, 5);  // never alive together
  plan.keep_apart(1000);
  ASSERT_TRUE(plan.place());
  EXPECT_EQ(plan.location(b).offset, 0);
  EXPECT_EQ(plan.location(a).offset, 1216) << "behind 200 bytes and the gap, a multiple of 64";
  EXPECT_EQ(plan.activation_bytes(), 1316);
  EXPECT_EQ(plan.take_constants().size(), 10U);
}

}  // namespace
}  // namespace peraxis::lower
