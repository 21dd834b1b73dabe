// Chains: row tiles with halos, tails of three and four words, reuse of the CBUF, and what a short program
// inherits from the task two before it.
#include <gtest/gtest.h>

#include "program.hpp"

namespace peraxis::machine::test {
namespace {

Layer layer() {
  Layer l;
  l.h = 11, l.w = 7, l.c = 24, l.n = 40;
  l.ho = 11, l.wo = 7;
  l.pad = 0x03030303;
  l.bs.on = l.bs.alu = l.bs.alu_memory = true;
  l.scale = 20000, l.shift = 25, l.offset = -3;
  return l;
}

constexpr uint32_t kStep = 0x1000;

// Puts the programs at kCommands + i * kStep, each tail naming the next.
void chain(Bench& bench, const std::vector<Program>& programs, bool three_at_end = false) {
  for (size_t i = 0; i < programs.size(); ++i) {
    const bool last = i + 1 == programs.size();
    const uint32_t at = kCommands + static_cast<uint32_t>(i) * kStep;
    const uint32_t next_words = last ? 0 : static_cast<uint32_t>(programs[i + 1].words().size());
    bench.add_words(at, programs[i].words(at + kStep, next_words, last && three_at_end));
  }
}

uint32_t count(const Program& p) {
  return static_cast<uint32_t>(p.words().size());
}

TEST(Chain, RowTilesCoverTheLayer) {
  for (const int64_t stride : {1, 2}) {
    Layer l = layer();
    l.sy = l.sx = stride;
    l.ho = (l.h + 2 - 3) / stride + 1;
    l.wo = (l.w + 2 - 3) / stride + 1;
    const Data data = random_data(l, 4);
    for (const int64_t rows : {1, 2, 4}) {
      Bench bench;
      bench.load(l, data);
      std::vector<Program> tiles;
      for (int64_t first = 0; first < l.ho; first += rows)
        tiles.push_back(make_program(l, first, std::min(rows, l.ho - first)));
      chain(bench, tiles, true);
      const auto reports = bench.run(count(tiles[0]), static_cast<int32_t>(tiles.size()));
      ASSERT_TRUE(reports) << reports.error().text();
      EXPECT_EQ(reports->size(), tiles.size());
      EXPECT_EQ(unpack_output(l, bench.bytes(kOutput)), expected(l, data)) << stride << " " << rows;
    }
  }
}

TEST(Chain, ReportTellsWhatTheRegistersSay) {
  Layer l = layer();
  const Data data = random_data(l, 4);
  Bench bench;
  bench.load(l, data);
  const Program p = make_program(l, 2, 5);
  chain(bench, {p});
  const auto reports = bench.run(count(p));
  ASSERT_TRUE(reports) << reports.error().text();
  const TaskReport& r = reports->at(0);
  EXPECT_EQ(r.output_pixels, 35);
  EXPECT_EQ(r.kernel_taps, 9);
  EXPECT_EQ(r.input_channels, 32);
  EXPECT_EQ(r.output_channels, 64);
  EXPECT_FALSE(r.depthwise);
  EXPECT_EQ(r.command_words, count(p));
  EXPECT_EQ(r.bytes_written, 35 * 64);
  EXPECT_EQ(r.bytes_read, 7 * 7 * 32 + 9 * 32 * 64 + 4 * 64);
}

TEST(Chain, ConsumerReadsWhatTheProducerWrote) {
  Layer l = layer();
  l.c = 64, l.n = 64;
  const Data data = random_data(l, 8);
  Bench bench;
  bench.load(l, data);
  const uint32_t second = 0xC00000;
  bench.add(second, std::vector<uint8_t>(static_cast<size_t>(l.ho * l.wo * l.np())), false, "second");
  Place place;
  place.features = kOutput, place.output = second;
  const std::vector<Program> programs{make_program(l), make_program(l, 0, l.ho, place)};
  chain(bench, programs);
  ASSERT_TRUE(bench.run(count(programs[0]), 2));
  Data then = data;
  const std::vector<int64_t> middle = expected(l, data);
  for (size_t i = 0; i < middle.size(); ++i) then.features[i] = static_cast<int8_t>(middle[i]);
  EXPECT_EQ(unpack_output(l, bench.bytes(second)), expected(l, then));
  // The other way round the consumer reads bytes nobody wrote.
  Bench wrong;
  wrong.load(l, data);
  wrong.add(second, std::vector<uint8_t>(static_cast<size_t>(l.ho * l.wo * l.np())), false, "second");
  chain(wrong, {programs[1], programs[0]});
  const auto result = wrong.run(count(programs[1]), 2);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("never written"), std::string::npos) << result.error().text();
}

TEST(Chain, WeightReuseUsesThePreviousWeights) {
  Layer l = layer();
  const Data data = random_data(l, 4);
  Bench bench;
  bench.load(l, data);
  Layer reuse = l;
  reuse.weight_reuse = true;
  Place nowhere;
  nowhere.weights = 0xF0000000;  // unmapped: must not be read
  const std::vector<Program> tiles{make_program(l, 0, 6), make_program(reuse, 6, 5, nowhere)};
  chain(bench, tiles);
  const auto reports = bench.run(count(tiles[0]), 2);
  ASSERT_TRUE(reports) << reports.error().text();
  EXPECT_EQ(unpack_output(l, bench.bytes(kOutput)), expected(l, data));
}

TEST(Chain, DataReuseUsesThePreviousFeatures) {
  Layer l = layer();
  const Data data = random_data(l, 4), other = random_data(l, 5);
  Bench bench;
  bench.load(l, data);
  const uint32_t weights = 0xC00000, output = 0xD00000;
  bench.add(weights, pack_weights(l, other), true, "other weights");
  bench.add(output, std::vector<uint8_t>(static_cast<size_t>(l.ho * l.wo * l.np())), false, "other output");
  Layer reuse = l;
  reuse.data_reuse = true;
  Place place;
  place.features = 0xF0000000, place.weights = weights, place.output = output;
  const std::vector<Program> programs{make_program(l), make_program(reuse, 0, l.ho, place)};
  chain(bench, programs);
  const auto reports = bench.run(count(programs[0]), 2);
  ASSERT_TRUE(reports) << reports.error().text();
  Data mixed = data;
  mixed.weights = other.weights;
  EXPECT_EQ(unpack_output(l, bench.bytes(output)), expected(l, mixed));
}

void expect_refused(const std::vector<Program>& programs, const Layer& l, const std::string& part) {
  Bench bench;
  bench.load(l, random_data(l, 4));
  chain(bench, programs);
  const auto result = bench.run(count(programs[0]), static_cast<int32_t>(programs.size()));
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().text();
}

TEST(Chain, ReuseIsRefusedWhenTheBanksHoldSomethingElse) {
  const Layer l = layer();
  Layer reuse = l;
  reuse.weight_reuse = true;
  expect_refused({make_program(reuse)}, l, "no earlier task");
  Layer banks = reuse;
  banks.data_banks = 5;
  expect_refused({make_program(l, 0, 6), make_program(banks, 6, 5)}, l, "banks are split");
  Layer fewer = reuse;
  fewer.kernels = 36;
  expect_refused({make_program(l, 0, 6), make_program(fewer, 6, 5)}, l, "WEIGHT_REUSE");
  Layer data = l;
  data.data_reuse = true;
  expect_refused({make_program(data)}, l, "no earlier task");
  expect_refused({make_program(l, 0, 6), make_program(data, 6, 5)}, l, "DATA_REUSE");
}

TEST(Chain, ShortProgramInheritsFromTwoBefore) {
  const Layer l = layer();
  const Data data = random_data(l, 4);
  Bench bench;
  bench.load(l, data);
  const Program first = make_program(l, 0, 4), second = make_program(l, 4, 3), full = make_program(l, 7, 4);
  // Only what differs from the first program.
  Program delta;
  for (const int offset : {0x1020, 0x1068, 0x1070, 0x1084, 0x4020}) {
    const uint16_t at = static_cast<uint16_t>(offset);
    delta.set(static_cast<uint16_t>(at < 0x2000 ? rk3588::Block::CNA : rk3588::Block::DPU), at,
              *Program(full).find(at));
  }
  Program before_all = first;
  for (const uint64_t w : full.words()) {  // the list above is complete
    const uint16_t at = static_cast<uint16_t>(w);
    const uint32_t* before = before_all.find(at);
    if (before != nullptr && at >= 0x1000 && *before != static_cast<uint32_t>(w >> 16)) {
      EXPECT_NE(delta.find(at), nullptr) << std::hex << at;
    }
  }
  chain(bench, {first, second, delta});
  const auto reports = bench.run(count(first), 3);
  ASSERT_TRUE(reports) << reports.error().text();
  EXPECT_EQ(unpack_output(l, bench.bytes(kOutput)), expected(l, data));
  // The second task of a chain has nothing to inherit from.
  expect_refused({first, delta}, l, "neither in this task nor in the task two before");
}

TEST(Chain, EndsWhereTaskNumberSays) {
  const Layer l = layer();
  const Data data = random_data(l, 4);
  Bench bench;
  bench.load(l, data);
  const std::vector<Program> tiles{make_program(l, 0, 6), make_program(l, 6, 5)};
  chain(bench, tiles);
  const auto one = bench.run(count(tiles[0]), 1);
  ASSERT_TRUE(one) << one.error().text();
  EXPECT_EQ(one->size(), 1U);
  EXPECT_FALSE(bench.machine().memory().written(kOutput + 16 * 7 * 6, 16));
  const auto three = bench.run(count(tiles[0]), 3);
  ASSERT_FALSE(three);
  EXPECT_NE(three.error().message.find("the chain ends here"), std::string::npos);
}

TEST(Chain, AmountMustCoverTheNextProgram) {
  const Layer l = layer();
  const Data data = random_data(l, 4);
  const std::vector<Program> tiles{make_program(l, 0, 6), make_program(l, 6, 5)};
  const uint32_t words = count(tiles[1]);
  for (const uint32_t claimed : {words, words - 2}) {
    Bench bench;
    bench.load(l, data);
    bench.add_words(kCommands, tiles[0].words(kCommands + kStep, claimed));
    bench.add_words(kCommands + kStep, tiles[1].words());
    EXPECT_EQ(bench.run(count(tiles[0]), 2).has_value(), claimed == words);
  }
  Bench bench;
  bench.load(l, data);
  chain(bench, {tiles[0]});
  EXPECT_FALSE(bench.run(count(tiles[0]) - 2, 1));
}

}  // namespace
}  // namespace peraxis::machine::test
