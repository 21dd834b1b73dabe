// What the fast path leaves out must not show: kernels that are all zero, tiles read before, weights packed
// before. Every case runs on both paths, and everything a job leaves behind is compared: error, reports,
// memory, and which bytes count as written.
#include "machine/fast.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "program.hpp"

namespace peraxis::machine::test {
namespace {

constexpr uint32_t kStep = 0x1000;

struct Piece {
  uint32_t address;
  std::vector<uint8_t> bytes;
  bool written;
};

std::string text(const TaskReport& r) {
  return fmt::format("{}: {} {} {} {} {} {} {} {} sat {} dropped {} junk {}\n", r.index, r.output_pixels,
                     r.kernel_taps, r.input_channels, r.output_channels, r.depthwise, r.command_words,
                     r.bytes_read, r.bytes_written, r.saturations, r.dropped_output_bytes,
                     r.junk_operand_channels);
}

// Everything the job leaves behind; starts with "done" or "refused".
std::string outcome(const std::vector<Piece>& memory, const std::vector<Program>& programs, Options options) {
  Bench bench(options);
  for (const Piece& p : memory) bench.add(p.address, p.bytes, p.written, "memory");
  for (size_t i = 0; i < programs.size(); ++i) {
    const bool last = i + 1 == programs.size();
    const auto at = static_cast<uint32_t>(kCommands + i * kStep);
    bench.add_words(
        at, programs[i].words(at + kStep, last ? 0 : static_cast<uint32_t>(programs[i + 1].words().size())));
  }
  const auto reports =
      bench.run(static_cast<uint32_t>(programs[0].words().size()), static_cast<int32_t>(programs.size()));
  std::string out = reports ? "done\n" : "refused: " + reports.error().text() + "\n";
  if (reports)
    for (const TaskReport& r : *reports) out += text(r);
  for (const Piece& p : memory) {
    const std::vector<uint8_t>& bytes = bench.bytes(p.address);
    out.append(bytes.begin(), bytes.end());
    for (size_t i = 0; i < bytes.size(); ++i)
      out += bench.machine().memory().written(p.address + static_cast<int64_t>(i), 1) ? 'w' : '-';
  }
  return out;
}

// The common outcome of both paths; differing bytes are not printed.
std::string both(const std::vector<Piece>& memory, const std::vector<Program>& programs,
                 Options options = {}) {
  options.plain = true;
  const std::string plain = outcome(memory, programs, options);
  options.plain = false;
  const std::string fast = outcome(memory, programs, options);
  EXPECT_EQ(fast.substr(0, fast.find('\n')), plain.substr(0, plain.find('\n')));
  EXPECT_TRUE(fast == plain) << fast.substr(0, 400) << "\n---\n" << plain.substr(0, 400);
  return plain;
}

std::vector<Piece> memory_of(const Layer& l, const Data& d) {
  const int64_t bytes = l.ho * l.wo * l.np() * (l.int32_output ? 4 : 1);
  return {{kFeatures, pack_features(l, d), true},
          {kWeights, pack_weights(l, d), true},
          {kOperands, pack_operands(l, d), true},
          {kOutput, std::vector<uint8_t>(static_cast<size_t>(bytes), 0x55), false}};
}

Layer layer(int64_t c, int64_t n) {
  Layer l;
  l.h = 6, l.w = 5, l.c = c, l.n = n;
  l.ho = 6, l.wo = 5;
  l.pad = 0x03FD0A05;
  l.bs.on = l.bs.alu = l.bs.alu_memory = true;
  l.scale = 20000, l.shift = 25, l.offset = -3;
  return l;
}

// Zeroes all but `keep` of the kernels.
void keep_kernels(const Layer& l, Data& d, int64_t keep, std::mt19937& rng) {
  std::vector<int64_t> kernels(static_cast<size_t>(l.depthwise ? l.c : l.n));
  for (size_t i = 0; i < kernels.size(); ++i) kernels[i] = static_cast<int64_t>(i);
  std::shuffle(kernels.begin(), kernels.end(), rng);
  const int64_t each = static_cast<int64_t>(d.weights.size()) / static_cast<int64_t>(kernels.size());
  for (size_t i = static_cast<size_t>(keep); i < kernels.size(); ++i)
    std::fill_n(d.weights.begin() + kernels[i] * each, each, int8_t{0});
}

// Zeroes most weight blocks of the kernels that are left.
void thin_out(Data& d, std::mt19937& rng) {
  for (size_t i = 0; i + 32 <= d.weights.size(); i += 32)
    if (rng() % 4 != 0) std::fill_n(d.weights.begin() + static_cast<int64_t>(i), 32, int8_t{0});
}

// A few values that many channels share, some of which saturate.
void share_operands(Data& d, std::mt19937& rng) {
  const int32_t a[] = {0, 1234, INT32_MAX, INT32_MIN, -777777};
  const int16_t b[] = {-5, 0, 3000}, c[] = {0, 16384, 32767, -9000};
  for (size_t i = 0; i < d.a.size(); ++i) {
    d.a[i] = a[rng() % std::size(a)];
    d.b[i] = b[rng() % std::size(b)];
    d.c[i] = c[rng() % std::size(c)];
  }
}

void check_kernels(Layer l, uint32_t seed) {
  ASSERT_FALSE(make_program(l).bad());
  std::mt19937 rng(seed);
  const int64_t all = l.depthwise ? l.c : l.n;
  for (const int64_t keep : {int64_t{0}, int64_t{1}, int64_t{5}, int64_t{16}, int64_t{17}, all - 1, all}) {
    SCOPED_TRACE(testing::Message() << keep << " kernels of " << all);
    Data d = random_data(l, seed++);
    keep_kernels(l, d, std::min(keep, all), rng);
    if (rng() % 2 == 0) thin_out(d, rng);
    share_operands(d, rng);
    const std::string plain = both(memory_of(l, d), {make_program(l)});
    ASSERT_TRUE(plain.starts_with("done")) << plain.substr(0, plain.find('\n'));
    const auto got = run_layer(l, d);
    ASSERT_TRUE(got);
    EXPECT_EQ(*got, expected(l, d));
  }
}

TEST(Fast, ZeroKernelsDirect) {
  check_kernels(layer(48, 70), 1);
  Layer l = layer(16, 40);
  l.kernels = 41;
  l.bn.on = l.bn.relu = true;
  check_kernels(l, 2);
  l.bs.mul = l.bs.mul_memory = true;
  l.bs.shift = 3, l.bs.shift_negative = 2;
  l.data_use = 7;
  check_kernels(l, 3);
  l.ew_op = 2, l.ew_operand = 999;
  check_kernels(l, 4);
}

// With a weight zero point a kernel of zeros still gives another value for every pixel.
TEST(Fast, ZeroKernelsWithWindowSums) {
  Layer l = layer(48, 70);
  l.ow = -37;
  check_kernels(l, 1);
  l.truncate = 2;
  check_kernels(l, 2);
  l.truncate = 0;
  l.data_use = 7;
  l.ow_memory = true;
  l.bs.mul = l.bs.mul_memory = true;
  l.bs.shift = l.bs.shift_negative = 1;
  check_kernels(l, 3);
}

TEST(Fast, ZeroKernelsInt32) {
  Layer l = layer(40, 33);
  l.int32_output = true;
  l.scale = 1, l.shift = 0, l.offset = 0;
  check_kernels(l, 1);
  l.bs = {};
  check_kernels(l, 2);
}

TEST(Fast, ZeroKernelsDepthwise) {
  for (const int64_t c : {32, 80, 130}) {
    Layer l = layer(c, c);
    l.depthwise = true;
    l.shift = 22;
    check_kernels(l, 1);
    l.bs.mul = l.bs.mul_memory = true;
    l.bs.shift = 4, l.bs.shift_negative = 4;
    l.data_use = 7;
    check_kernels(l, 2);
    l.ow_memory = true;
    check_kernels(l, 3);
    l.ow_memory = false, l.ow = 9;
    check_kernels(l, 4);
  }
}

TEST(Fast, DroppedDummiesAndPartialGroups) {
  std::mt19937 rng(4);
  Layer l = layer(16, 5);
  Data d = random_data(l, 4);
  keep_kernels(l, d, 2, rng);
  std::vector<Piece> memory = memory_of(l, d);
  memory[3].bytes.resize(static_cast<size_t>(l.ho * l.wo * 16));
  Options options;
  EXPECT_TRUE(both(memory, {make_program(l)}, options).starts_with("refused"));
  options.switches.drop_dummy_output = true;
  EXPECT_TRUE(both(memory, {make_program(l)}, options).starts_with("done"));
  memory[2].bytes.resize(5 * 4);  // the operands too
  EXPECT_TRUE(both(memory, {make_program(l)}, options).starts_with("done"));
}

// Four cubes of one shape: features and outputs of the tasks of a chain, so that tasks read what others
// wrote. Some share a page with others, one begins in the middle of a page and ends in the next.
class Chains : public ::testing::Test {
 protected:
  static constexpr uint32_t kArena = 0x100000;
  static constexpr uint32_t kCubes[] = {kArena, kArena + 0x400, kArena + 0x1E00, kArena + 0x4000};
  static constexpr uint32_t kWeightSets[] = {0x400000, 0x410000, 0x420000, kArena + 0x6000};
  Chains() {
    std::mt19937 rng(9);
    layer_ = layer(32, 32);
    Piece arena{kArena, std::vector<uint8_t>(0x6000 + 9 * 1024), true};
    for (uint8_t& byte : arena.bytes) byte = static_cast<uint8_t>(rng());
    memory_.push_back(std::move(arena));
    for (const int64_t keep : {32, 20, 1}) {
      Data d = random_data(layer_, static_cast<uint32_t>(keep));
      keep_kernels(layer_, d, keep, rng);
      memory_.push_back({kWeightSets[memory_.size() - 1], pack_weights(layer_, d), true});
    }
    memory_.push_back({kOperands, pack_operands(layer_, random_data(layer_, 4)), true});
  }

  Program task(size_t in, size_t out, size_t weights = 0, bool data_reuse = false,
               bool weight_reuse = false) const {
    Layer l = layer_;
    l.data_reuse = data_reuse, l.weight_reuse = weight_reuse;
    return make_program(l, 0, l.ho, {kCubes[in], kWeightSets[weights], kOperands, kCubes[out]});
  }

  Layer layer_;
  std::vector<Piece> memory_;
};

TEST_F(Chains, ATileIsReadAgainAfterAWrite) {
  // 0 -> 1, 2 -> 0, 0 -> 1: the second reading of cube 0 must see what the second task wrote.
  const std::string again = both(memory_, {task(0, 1), task(2, 0), task(0, 1)});
  ASSERT_TRUE(again.starts_with("done")) << again.substr(0, again.find('\n'));
  const std::string before = both(memory_, {task(0, 1), task(2, 0)});
  const auto cube_one = [&](const std::string& out) {  // memory is at the end, the arena first
    size_t behind = 0;
    for (const Piece& p : memory_) behind += 2 * p.bytes.size();
    return out.substr(out.size() - behind + (kCubes[1] - kArena), 960);
  };
  EXPECT_NE(cube_one(again), cube_one(before)) << "the last task changed nothing: the case shows nothing";
}

TEST_F(Chains, ATileIsReadAgainWithOtherWeights) {
  const std::string out = both(memory_, {task(0, 1), task(0, 2, 1), task(0, 3, 2), task(0, 1, 2)});
  EXPECT_TRUE(out.starts_with("done")) << out.substr(0, out.find('\n'));
}

TEST_F(Chains, ATaskMayNotOverwriteItsInput) {
  EXPECT_TRUE(both(memory_, {task(0, 1), task(0, 0)}).starts_with("refused"));
  EXPECT_TRUE(both(memory_, {task(0, 0)}).starts_with("refused"));
}

// The features stay in the CBUF while the task writes over the memory they came from.
TEST_F(Chains, ReusedFeaturesAreNotTheMemory) {
  for (const bool then_again : {false, true}) {
    std::vector<Program> chain{task(0, 1), task(0, 0, 1, true), task(0, 2, 2, true)};
    if (then_again) chain.push_back(task(0, 3));
    const std::string out = both(memory_, chain);
    EXPECT_TRUE(out.starts_with("done")) << out.substr(0, out.find('\n'));
  }
}

// The weights lie where a task writes: loaded again they are others, reused they are the old ones.
TEST_F(Chains, WeightsThatATaskWrites) {
  const Program writes_weights =
      make_program(layer_, 0, layer_.ho, {kCubes[0], kWeightSets[0], kOperands, kWeightSets[3] + 0x100});
  for (const bool reuse : {false, true}) {
    const std::string out =
        both(memory_, {task(0, 1, 3), writes_weights, task(0, 2, 3), task(0, 1, 3, false, reuse)});
    EXPECT_TRUE(out.starts_with("done")) << out.substr(0, out.find('\n'));
  }
  const std::string out = both(memory_, {task(0, 1, 3), task(0, 2, 3, false, true)});
  EXPECT_TRUE(out.starts_with("done")) << out.substr(0, out.find('\n'));
}

// Other windows over the same cubes; all read and write no more than a cube holds.
void random_window(Layer& l, std::mt19937& rng) {
  switch (rng() % 8) {
    case 0:
      l.kh = l.kw = 1, l.pt = l.pl = 0;
      break;
    case 1:
      l.kh = 1, l.kw = 9, l.pt = 0, l.pl = 4;  // as many taps as 3 x 3
      break;
    case 2:
      l.sy = l.sx = 2, l.ho = l.wo = 3;
      break;
    case 3:
      l.dy = l.dx = 2, l.pt = l.pl = 2;
      break;
    case 4:
      l.pad = 0x11111111;
      break;
    default:
      break;
  }
  if (rng() % 4 == 0) l.ow = 13;
}

TEST_F(Chains, RandomOnes) {
  constexpr int kRounds = 400;
  std::mt19937 rng(31);
  int done = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<Program> chain;
    const auto tasks = 2 + rng() % 5;
    while (chain.size() < tasks) {
      Layer l = layer_;
      random_window(l, rng);
      if (!chain.empty()) l.weight_reuse = rng() % 4 == 0, l.data_reuse = rng() % 6 == 0;
      const int64_t first = rng() % 3 == 0 ? static_cast<int64_t>(rng() % 2) : 0;
      const int64_t rows = rng() % 3 == 0 ? 1 : l.ho - first;
      const size_t in = rng() % 4;
      const size_t out = rng() % 8 == 0 ? in : (in + 1 + rng() % 3) % 4;
      const uint32_t weights = kWeightSets[rng() % std::size(kWeightSets)];
      chain.push_back(make_program(l, first, rows, {kCubes[in], weights, kOperands, kCubes[out]}));
    }
    done += both(memory_, chain).starts_with("done") ? 1 : 0;
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
  EXPECT_GT(done, kRounds / 3) << "too few chains ran to compare anything";
}

// Between two jobs the host may write without telling: nothing is kept.
TEST(Fast, NothingIsKeptBetweenJobs) {
  const Layer l = layer(32, 32);
  const Data first = random_data(l, 1), second = random_data(l, 2);
  Bench bench;
  bench.load(l, first);
  const std::vector<uint64_t> words = make_program(l).words();
  bench.add_words(kCommands, words);
  ASSERT_TRUE(bench.run(static_cast<uint32_t>(words.size())));
  const std::vector<uint8_t> packed = pack_features(l, second);
  std::copy(packed.begin(), packed.end(), bench.bytes(kFeatures).begin());
  ASSERT_TRUE(bench.run(static_cast<uint32_t>(words.size())));
  Data mixed = first;
  mixed.features = second.features;
  EXPECT_EQ(unpack_output(l, bench.bytes(kOutput)), expected(l, mixed));
}

TEST(JobCacheTest, ForgetsWhenFullAndWhenMemoryChanges) {
  constexpr int64_t kBytes = int64_t{8} << 20;
  std::vector<uint8_t> bytes(kBytes);
  Memory memory;
  ASSERT_TRUE(memory.map(0x10000, bytes, "m"));
  ASSERT_TRUE(memory.mark_written(0x10000, kBytes));
  JobCache cache;
  const auto keep = [&](int64_t address) {
    auto features = std::make_shared<Features>();
    features->bytes.resize(kBytes);
    CnaConfig cna;
    cna.feature_address = address;
    cache.keep_features(cna, {features, {{0x10000 + 0x1000, 0x10000 + 0x2800}}, memory.now()});
    return cna;
  };
  const CnaConfig a = keep(0), b = keep(16);
  ASSERT_NE(cache.find_features(a, memory), nullptr);
  ASSERT_NE(cache.find_features(b, memory), nullptr);
  CnaConfig other = a;
  other.surf_stride = 1;
  EXPECT_EQ(cache.find_features(other, memory), nullptr);
  ASSERT_TRUE(memory.write(0x10000, 0x1000, "before"));
  ASSERT_TRUE(memory.write(0x10000 + 0x3000, 1, "after"));
  EXPECT_NE(cache.find_features(a, memory), nullptr);
  ASSERT_TRUE(memory.write(0x10000 + 0x27F0, 16, "inside"));
  EXPECT_EQ(cache.find_features(a, memory), nullptr);
  keep(0);
  EXPECT_NE(cache.find_features(a, memory), nullptr);
  ASSERT_TRUE(memory.mark_unwritten(0x10000 + 0x1000, 1));
  EXPECT_EQ(cache.find_features(a, memory), nullptr);
  for (int64_t i = 0; i < 20; ++i) {
    const CnaConfig cna = keep(1000 + i);
    EXPECT_NE(cache.find_features(cna, memory), nullptr);
  }
  EXPECT_EQ(cache.find_features(b, memory), nullptr);
}

}  // namespace
}  // namespace peraxis::machine::test
