// Hash, random numbers, thread pool, tables, progress.
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <vector>

#include "base/hash.hpp"
#include "base/progress.hpp"
#include "base/rng.hpp"
#include "base/table.hpp"
#include "base/thread_pool.hpp"

namespace peraxis::base {
namespace {

// Vectors of the xxHash project (its command line tool prints the same).
TEST(Hash, known_values) {
  EXPECT_EQ(hash64(std::span<const uint8_t>()), 0xef46db3751d8e999U);
  EXPECT_EQ(hash64("abc"), 0x44bc2cf5ad770999U);
}
TEST(Hash, pieces_do_not_matter) {
  std::vector<uint8_t> bytes(1000);
  std::iota(bytes.begin(), bytes.end(), uint8_t{0});
  for (const size_t cut : {0, 1, 31, 32, 33, 999, 1000}) {
    Hasher hasher;
    hasher.update(std::span(bytes).first(cut));
    hasher.update(std::span(bytes).subspan(cut));
    EXPECT_EQ(hasher.digest(), hash64(bytes)) << cut;
  }
}

// The first output of splitmix64 for seed 0 (Vigna's splitmix64.c).
TEST(Rng, splitmix_reference_value) {
  uint64_t state = 0;
  EXPECT_EQ(Rng::split_mix(state), 0xe220a8397b1dcdafU);
  EXPECT_EQ(Rng::split_mix(state), 0x6e789e6aa1b965f4U);
}
TEST(Rng, uniform_covers_its_range_evenly) {
  Rng rng(7);
  std::vector<int> counts(7);
  for (int i = 0; i < 70000; ++i) {
    const int64_t v = rng.uniform(-3, 3);
    ASSERT_GE(v, -3);
    ASSERT_LE(v, 3);
    ++counts[static_cast<size_t>(v + 3)];
  }
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);  // five standard deviations
  EXPECT_EQ(rng.uniform(5, 5), 5);
  rng.uniform(INT64_MIN, INT64_MAX);
  for (int i = 0; i < 1000; ++i) {
    const double x = rng.uniform_real(-1, 2);
    EXPECT_GE(x, -1);
    EXPECT_LT(x, 2);
  }
}
TEST(Rng, same_seed_same_numbers) {
  Rng a(42), b(42), c(43);
  EXPECT_EQ(a.next(), b.next());
  EXPECT_NE(a.next(), c.next());
}

TEST(ThreadPool, every_index_once) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    for (const int64_t n : {0, 1, 2, 7, 8, 9, 1000}) {
      std::vector<std::atomic<int>> hits(static_cast<size_t>(n));
      pool.parallel_for(-5, n - 5, [&](int64_t i) { hits[static_cast<size_t>(i + 5)]++; });
      for (auto& hit : hits) EXPECT_EQ(hit.load(), 1);
    }
  }
}
TEST(ThreadPool, the_cut_is_fixed) {
  ThreadPool pool(4);
  for (int round = 0; round < 100; ++round) {
    std::vector<std::atomic<int64_t>> length(10);
    pool.parallel_ranges(
        0, 10, [&](int64_t first, int64_t last) { length[static_cast<size_t>(first)] = last - first; });
    const std::vector<int64_t> expected = {3, 0, 0, 3, 0, 0, 2, 0, 2, 0};
    for (size_t i = 0; i < 10; ++i) EXPECT_EQ(length[i].load(), expected[i]);
  }
}
TEST(ThreadPool, nested_loops_and_several_callers) {
  ThreadPool pool(3);
  std::atomic<int64_t> sum{0};
  const auto work = [&] {
    for (int round = 0; round < 50; ++round)
      pool.parallel_for(0, 10,
                        [&](int64_t i) { pool.parallel_for(0, 10, [&](int64_t j) { sum += i * j; }); });
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ(sum.load(), 2 * 50 * 45 * 45);
}

TEST(Table, aligns_by_content) {
  Table table({"layer", "macs", "reason"});
  table.add_row({"stem", "1,024", "fits"});
  table.add_row({"b\xc3\xa4r/expand", "7", ""});
  table.add_row({"last"});
  EXPECT_EQ(table.text(),
            "layer        macs  reason\n"
            "----------  -----  ------\n"
            "stem        1,024  fits\n"
            "b\xc3\xa4r/expand      7\n"
            "last\n");
}
TEST(Table, thousands) {
  EXPECT_EQ(with_thousands(0), "0");
  EXPECT_EQ(with_thousands(999), "999");
  EXPECT_EQ(with_thousands(-1000), "-1,000");
  EXPECT_EQ(with_thousands(-100), "-100");
  EXPECT_EQ(with_thousands(1234567), "1,234,567");
  EXPECT_EQ(with_thousands(INT64_MIN), "-9,223,372,036,854,775,808");
}
TEST(Progress, line) {
  EXPECT_EQ(Progress::line("compiling", 12, 40), "compiling 12/40 (30 %)");
  EXPECT_EQ(Progress::line("reading", 12, 0), "reading 12");
}

}  // namespace
}  // namespace peraxis::base
