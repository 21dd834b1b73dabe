// Programs with a few random bits changed: the fast and the obvious path must both refuse, or both give the
// same bytes. Reaches strides, sizes, pads and dilations that no hand-written case has.
#include <gtest/gtest.h>

#include <random>

#include "blocks.hpp"

namespace peraxis::machine::test {
namespace {

std::string outcome(const Layer& layer, const Data& data, const std::vector<uint64_t>& words, bool plain) {
  Options options;
  options.plain = plain;
  options.max_task_macs = 4'000'000;
  options.switches.refuse_partial_groups = false;
  Bench bench(options);
  bench.load(layer, data);
  bench.add_words(kCommands, words);
  const auto result = bench.run(static_cast<uint32_t>(words.size()));
  if (!result) return result.error().text();
  const std::vector<uint8_t>& bytes = bench.bytes(kOutput);
  return "done" + std::string(bytes.begin(), bytes.end());
}

TEST(Mutation, FastEqualsPlain) {
  std::mt19937 rng(20);
  int accepted = 0;
  for (const bool depthwise : {false, true}) {
    Layer l;
    l.h = 7, l.w = 6, l.c = 48, l.n = 40, l.ho = 7, l.wo = 6;
    l.depthwise = depthwise;
    if (depthwise) l.n = l.c;
    l.pad = 0x44332211;
    l.bs.on = l.bs.alu = l.bs.alu_memory = true;
    l.ow = 7;
    l.scale = 20000, l.shift = 25;
    const Data full = random_data(l, 3);
    // The fast path leaves kernels of zeros out.
    Data few = full;
    std::fill(few.weights.begin() + static_cast<int64_t>(few.weights.size() / 4), few.weights.end(),
              int8_t{0});
    const std::vector<uint64_t> whole = make_program(l).words();
    for (int round = 0; round < 1500; ++round) {
      const Data& data = round % 2 == 0 ? full : few;
      std::vector<uint64_t> words = whole;
      for (uint32_t i = 0; i < 1 + rng() % 3; ++i) {
        // Mostly low bits: high ones are refused at once.
        const uint64_t bits = uint64_t{1} << (rng() % 4 == 0 ? rng() % 32 : rng() % 9);
        words[rng() % (words.size() - 4)] ^= bits << 16;
      }
      const std::string fast = outcome(l, data, words, false);
      ASSERT_EQ(fast, outcome(l, data, words, true)) << "round " << round;
      accepted += fast.starts_with("done") ? 1 : 0;
    }
  }
  EXPECT_GT(accepted, 300) << "too few programs ran to compare anything";
}

// The other blocks: an answer to whatever the words say, the same on both ways.
TEST(Mutation, OtherBlocksAnswer) {
  struct Case {
    std::vector<Program> programs;
    Layer layer;
    bool convolution;
  };
  const Case cases[] = {{{add_program()}, {}, false},
                        {{table_program(), lookup_program()}, {}, false},
                        {{max_pool_program()}, {}, false},
                        {{average_pool_program()}, {}, false},
                        {{unpool_program()}, {}, false},
                        {{conv_add_program()}, add_layer(), true},
                        {{packed_program()}, packed_layer(), true},
                        {{deconv_program()}, deconv_layer(), true}};
  std::mt19937 rng(30);
  int accepted = 0;
  for (const Case& c : cases) {
    const Data data = random_data(c.layer, 4);
    for (int round = 0; round < 300; ++round) {
      std::vector<std::vector<uint64_t>> words;
      for (size_t i = 0; i < c.programs.size(); ++i)
        words.push_back(i + 1 == c.programs.size()
                            ? c.programs[i].words()
                            : c.programs[i].words(kCommands + 0x4000,
                                                  static_cast<uint32_t>(c.programs[i + 1].words().size())));
      std::vector<uint64_t>& changed = words[rng() % words.size()];
      for (uint32_t i = 0; i < 1 + rng() % 2; ++i)
        changed[rng() % (changed.size() - 4)] ^= uint64_t{1}
                                                 << (16 + (rng() % 4 == 0 ? rng() % 32 : rng() % 9));
      std::string outcomes[2];
      for (const bool plain : {false, true}) {
        Options options;
        options.plain = plain;
        options.max_task_macs = 4'000'000;
        Bench bench(options);
        if (c.convolution) {
          bench.load(c.layer, data);
          bench.add(kSecond, std::vector<uint8_t>(4096, 9), true, "second");
        } else {
          load_tensors(bench, 6);
        }
        for (size_t i = 0; i < words.size(); ++i)
          bench.add_words(kCommands + static_cast<uint32_t>(i) * 0x4000, words[i]);
        const auto result =
            bench.run(static_cast<uint32_t>(words[0].size()), static_cast<int32_t>(words.size()));
        const std::vector<uint8_t>& bytes = bench.bytes(kOutput);
        outcomes[plain ? 1 : 0] =
            result ? "done" + std::string(bytes.begin(), bytes.end()) : result.error().text();
      }
      ASSERT_EQ(outcomes[0], outcomes[1]) << "round " << round;
      accepted += outcomes[0].starts_with("done") ? 1 : 0;
    }
  }
  EXPECT_GT(accepted, 100) << "too few programs ran";
}

}  // namespace
}  // namespace peraxis::machine::test
