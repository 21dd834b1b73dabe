// Certificates by brute force: every reachable accumulator of a channel goes through the machine model with
// the parameters a strategy chose, then through what the host does, and is compared with the reference; the
// counts must be those requant::certify gave without trying any. Where a range is too long to try whole, the
// sums around every step and a drawn sample are tried instead.
//
// PERAXIS_LONG=1 takes every channel of every layer; without it a layer's channels are chosen by position.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "certificate_layers.hpp"
#include "channel_sweep.hpp"
#include "num/rounding.hpp"
#include "random_graphs.hpp"

namespace peraxis::property {
namespace {

using requant::Strategy;
using requant::StrategyOptions;

#ifdef NDEBUG
constexpr int64_t kSlow = 1;
#else
constexpr int64_t kSlow = 8;  // debug and sanitizer builds try less
#endif
constexpr int kLayers = 200, kRandomShards = 8, kSharedShards = 6;
constexpr int64_t kWholeLimit = (int64_t{1} << 20) / kSlow;  // longer ranges are sampled
constexpr int64_t kMargin = (1 << 10) / kSlow;               // sums on each side of a reference step
constexpr int64_t kSmall = (1 << 14) / kSlow;                // ranges up to this are never left out
constexpr int64_t kTieLimit = 100'000 / kSlow;               // layers also tried with other tie rules
constexpr int64_t kRandomBudget = 1'000'000 / kSlow;         // sums of a layer
constexpr int64_t kDrawn = (int64_t{1} << 16) / kSlow;       // sums of a range that is sampled
constexpr int64_t kLongDrawn = int64_t{1} << 20;
constexpr size_t kFewest = kSlow == 1 ? 4 : 1;  // channels a layer

bool takes_all() {
  const char* given = std::getenv("PERAXIS_LONG");
  return given != nullptr && *given != '\0' && *given != '0';
}

struct Setting {
  const char* name;
  Strategy strategy;
  StrategyOptions options;
  bool per_tensor_only = false;
};

const std::vector<Setting>& settings() {
  static const std::vector<Setting> all = {
      {"max-scale", Strategy::MaxScale, {}},
      {"max-scale, no correction", Strategy::MaxScale, {.correction = false}},
      {"max-scale, bias rescaled", Strategy::MaxScale, {.bias_rescale = true}},
      {"max-scale, bias rescaled, no correction",
       Strategy::MaxScale,
       {.correction = false, .bias_rescale = true}},
      {"groups", Strategy::Groups, {}},
      {"groups of 5", Strategy::Groups, {.group_size = 5}},
      {"groups, no correction", Strategy::Groups, {.correction = false}},
      {"groups, multiply", Strategy::Groups, {.multiply = true}},
      {"sorted-groups", Strategy::SortedGroups, {}},
      {"sorted-groups, ratio 8", Strategy::SortedGroups, {.max_ratio = 8}},
      {"sorted-groups, no correction", Strategy::SortedGroups, {.correction = false}},
      {"sorted-groups, multiply", Strategy::SortedGroups, {.multiply = true}},
      {"per-channel", Strategy::PerChannel, {}},
      {"hybrid", Strategy::Hybrid, {}},
      {"hybrid, ratio 1e9", Strategy::Hybrid, {.hybrid_ratio = 1e9}},
      {"hybrid, multiply", Strategy::Hybrid, {.multiply = true}},
      {"hw-multiply", Strategy::HwMultiply, {}},
      {"hw-multiply, ratio 16", Strategy::HwMultiply, {.max_ratio = 16}},
      {"hw-multiply, vendor", Strategy::HwMultiply, {.vendor = true}},
      {"exponent-classes", Strategy::ExponentClasses, {}},
      {"exponent-classes-tie-proof", Strategy::ExponentClassesTieProof, {}},
      {"two-scalar", Strategy::TwoScalar, {}, true},
      {"mesa-scale", Strategy::MesaScale, {}, true},
      {"exact", Strategy::Exact, {}},
  };
  return all;
}

constexpr std::array kReferenceNames = {"litert-ref", "single-rounding"};
constexpr std::array kReferenceKinds = {num::Reference::LitertRef, num::Reference::SingleRounding};

// A layer under one setting and one reference.
struct Plan {
  const Setting* setting;
  size_t reference;
  requant::LayerParams params;
  requant::LayerCertificate certificate;
  std::vector<std::pair<size_t, size_t>> place;  // by channel: its set and its member of it
};

struct Subject {
  std::string name;
  std::array<requant::Layer, kReferences> layers;
  std::vector<Plan> plans;
};

struct Tally {
  int layers = 0;
  int64_t channels = 0, whole = 0, tried = 0;
  int with_readings = 0, depend_on_reading = 0;  // layers under one setting and reference
  std::map<std::string, int> used;               // layers a setting could express
};

void place_channels(Plan& plan, size_t channels) {
  plan.place.resize(channels);
  std::vector<int> times(channels);
  for (size_t s = 0; s < plan.params.sets.size(); ++s)
    for (size_t m = 0; m < plan.params.sets[s].channels.size(); ++m) {
      const auto c = static_cast<size_t>(plan.params.sets[s].channels[m]);
      plan.place[c] = {s, m};
      ++times[c];
    }
  for (const int count : times) EXPECT_EQ(count, 1) << "a channel belongs to one set";
}

// `bent`: the parameters certify() sees, for a test that must fail; normally those that are run.
Subject prepare(const CertificateLayer& layer, void (*bent)(requant::LayerParams&) = nullptr) {
  Subject out;
  out.name = layer.name;
  for (size_t r = 0; r < kReferences; ++r) {
    auto described = requant::describe(layer.graph, layer.op, kReferenceKinds[r]);
    EXPECT_TRUE(described) << described.error().text();
    if (!described) return out;
    out.layers[r] = std::move(*described);
  }
  for (size_t r = 0; r < kReferences; ++r)
    for (const Setting& setting : settings()) {
      auto params = requant::choose_parameters(out.layers[r], setting.strategy, setting.options);
      if (!params) {
        EXPECT_EQ(params.error().code, ErrorCode::Unsupported) << params.error().text();
        EXPECT_NE(setting.strategy, Strategy::Exact) << "exact can express every layer";
        continue;
      }
      Plan plan{&setting, r, *params, {}, {}};
      place_channels(plan, out.layers[r].channels.size());
      if (bent != nullptr) bent(*params);
      plan.certificate = requant::certify(out.layers[r], *params, true);
      out.plans.push_back(std::move(plan));
    }
  return out;
}

int64_t range_of(const requant::Channel& channel) {
  return channel.raw_max - channel.raw_min + 1;
}

// All small channels, then others by position (first, last, middle, quarters, ...) while the budget lasts,
// and never fewer than kFewest.
std::vector<size_t> choose_channels(const requant::Layer& layer, int64_t budget) {
  const size_t n = layer.channels.size();
  std::vector<size_t> order{0, n - 1}, chosen;
  for (size_t step = std::bit_ceil(n); step > 0; step /= 2)
    for (size_t c = step; c < n; c += 2 * step) order.push_back(c);
  std::vector<bool> seen(n);
  for (const size_t c : order) {
    if (seen[c]) continue;
    seen[c] = true;
    const int64_t range = std::min(range_of(layer.channels[c]), kWholeLimit);
    if (range > kSmall && budget <= 0 && chosen.size() >= kFewest && !takes_all()) continue;
    budget -= range;
    chosen.push_back(c);
  }
  return chosen;
}

struct Use {
  const Plan* plan;
  size_t way;
  Table table{};  // what the host makes of the chip's output
};

Use make_use(const Subject& subject, const Plan& plan, size_t c, ChannelSweep& sweep) {
  const auto [s, m] = plan.place[c];
  const requant::ChannelSet& set = plan.params.sets[s];
  const requant::Layer& layer = subject.layers[plan.reference];
  Use use{&plan, sweep.add(set.dpu, set.params[m])};
  for (int32_t q = -128; q <= 127; ++q)
    use.table[static_cast<size_t>(q + 128)] = static_cast<int8_t>(
        plan.params.host == requant::HostWork::Correct
            ? num::rescaled(q, layer.z_out, plan.params.correction[c], layer.low, layer.high)
            : q);
  return use;
}

// What is wrong with the certificate of this channel; empty when nothing is.
std::string complaint(const Subject& subject, const Use& use, size_t c, const Count& count, bool whole) {
  const Plan& plan = *use.plan;
  const requant::Channel& channel = subject.layers[plan.reference].channels[c];
  const requant::ChannelCertificate& claimed = plan.certificate.channels[c];
  if (claimed.acc_min != channel.acc_min() || claimed.acc_max != channel.acc_max())
    return "another range than the layer's";
  if (whole && count.tried != range_of(channel)) return fmt::format("{} values tried", count.tried);
  // A reference that wraps has steps nobody looked for.
  if (count.undetermined > 0 && !channel.wraps)
    return fmt::format("{} steps are not where the parameters say", count.undetermined);
  if (claimed.differing == count.differing && claimed.max == count.max) return {};
  return fmt::format("certificate: {} differ, at most by {}; {}: {}, at most by {}", claimed.differing,
                     claimed.max, whole ? "tried" : "sampled", count.differing, count.max);
}

std::string describe_use(const Subject& subject, const Use& use, size_t c) {
  const requant::Channel& channel = subject.layers[use.plan->reference].channels[c];
  const requant::ChannelSet& set = use.plan->params.sets[use.plan->place[c].first];
  const requant::ChannelParams& params = set.params[use.plan->place[c].second];
  return fmt::format(
      "{}, {}, {}, channel {} of {}, multiplier {:.6g}, accumulators {}..{}, addend {}, a {}, factor {}, "
      "host work {}",
      subject.name, kReferenceNames[use.plan->reference], use.plan->setting->name, c,
      subject.layers[0].channels.size(), channel.multiplier, channel.acc_min(), channel.acc_max(),
      channel.addend, params.a, requant::factor_of(set.dpu, params), static_cast<int>(use.plan->params.host));
}

// Complaints about channel c under all plans.
std::vector<std::string> check_channel(const Subject& subject, size_t c, AccumulatorSweep& machine,
                                       Tally& tally) {
  ChannelSweep sweep(subject.layers, c);
  std::vector<Use> uses;
  for (const Plan& plan : subject.plans) uses.push_back(make_use(subject, plan, c, sweep));
  sweep.choose_values(kWholeLimit, kMargin);
  if (const Status swept = sweep.sweep(machine); !swept) return {swept.error().text()};
  if (const Status drawn = sweep.draw(machine, takes_all() ? kLongDrawn : kDrawn, c + 1); !drawn)
    return {drawn.error().text()};
  std::vector<std::string> out;
  for (const Use& use : uses) {
    const Count count = count_differences(sweep.seen(use.way, use.plan->reference), use.table,
                                          sweep.reference(use.plan->reference));
    const std::string wrong = complaint(subject, use, c, count, sweep.whole());
    if (!wrong.empty()) out.push_back(describe_use(subject, use, c) + ": " + wrong);
    if (&use == &uses.front()) tally.tried += count.tried;
  }
  const std::string disagreement = sweep.disagreement();
  if (!disagreement.empty()) out.push_back(fmt::format("{}, channel {}: {}", subject.name, c, disagreement));
  ++tally.channels;
  tally.whole += sweep.whole() ? 1 : 0;
  return out;
}

// The other readings of the tie rules (requant::TieReading), each on a machine that reads them so: the
// certificate says whether any changes a count, and the largest difference under all of them.
void check_readings(const Subject& subject, Tally& tally) {
  using machine::Switches;
  using machine::Ties;
  const std::array<Switches, 4> readings = {Switches{}, Switches{.bs_ties = Ties::Up},
                                            Switches{.out_cvt_offset_inside = true},
                                            Switches{.out_cvt_ties = Ties::Even}};
  std::vector<bool> same(subject.plans.size(), true);
  std::vector<int32_t> largest(subject.plans.size());
  for (size_t c = 0; c < subject.layers[0].channels.size(); ++c) {
    ChannelSweep sweep(subject.layers, c);
    std::vector<Use> uses;
    for (const Plan& plan : subject.plans) uses.push_back(make_use(subject, plan, c, sweep));
    sweep.choose_values(kWholeLimit, kMargin);
    std::vector<Count> first(uses.size());
    for (size_t reading = 0; reading < readings.size(); ++reading) {
      AccumulatorSweep machine(readings[reading]);
      const Status swept = sweep.sweep(machine);
      ASSERT_TRUE(swept) << swept.error().text();
      for (size_t u = 0; u < uses.size(); ++u) {
        const size_t r = uses[u].plan->reference;
        const Count count = count_differences(sweep.seen(uses[u].way, r), uses[u].table, sweep.reference(r));
        if (reading == 0) first[u] = count;
        if (count.differing != first[u].differing || count.max != first[u].max) same[u] = false;
        largest[u] = std::max(largest[u], count.max);
      }
    }
  }
  for (size_t u = 0; u < subject.plans.size(); ++u) {
    const Plan& plan = subject.plans[u];
    SCOPED_TRACE(
        fmt::format("{}, {}, {}", subject.name, kReferenceNames[plan.reference], plan.setting->name));
    EXPECT_EQ(plan.certificate.every_reading, same[u]);
    ++tally.with_readings;
    tally.depend_on_reading += same[u] ? 0 : 1;
    EXPECT_EQ(plan.certificate.max_any_reading, largest[u]);
  }
}

void check_layer(const CertificateLayer& layer, int64_t budget, Tally& tally) {
  const Subject subject = prepare(layer);
  if (subject.plans.empty()) return;  // already a failure
  ++tally.layers;
  for (const Plan& plan : subject.plans) ++tally.used[plan.setting->name];
  AccumulatorSweep machine;
  size_t reported = 0;
  for (const size_t c : choose_channels(subject.layers[0], budget))
    for (const std::string& wrong : check_channel(subject, c, machine, tally)) {
      if (++reported > 20) return;
      ADD_FAILURE() << wrong;
    }
  int64_t sums = 0;
  for (const requant::Channel& channel : subject.layers[0].channels) sums += range_of(channel);
  if (sums <= kTieLimit) check_readings(subject, tally);
}

void report(const char* what, const Tally& tally) {
  fmt::print("{}: {} layers, {} channels ({} whole), {} accumulators, each under every strategy\n", what,
             tally.layers, tally.channels, tally.whole, tally.tried);
  fmt::print("  with other tie rules: {} certificates, {} depend on them\n", tally.with_readings,
             tally.depend_on_reading);
  // A strategy that refuses everything would pass.
  for (const Setting& setting : settings()) {
    const auto used = tally.used.find(setting.name);
    const int layers = used == tally.used.end() ? 0 : used->second;
    EXPECT_GE(layers, setting.per_tensor_only ? 1 : tally.layers) << setting.name << ", of two references";
  }
}

uint64_t seed_of(int layer) {
  return first_seed(500'000 + static_cast<uint64_t>(layer));
}

class RandomCertificates : public ::testing::TestWithParam<int> {};

TEST_P(RandomCertificates, AreTheCounts) {
  constexpr int kShard = kLayers / kRandomShards;
  Tally tally;
  for (int i = GetParam() * kShard; i < (GetParam() + 1) * kShard; ++i)
    check_layer(random_certificate_layer(seed_of(i)), kRandomBudget, tally);
  report("random layers", tally);
}
INSTANTIATE_TEST_SUITE_P(Layers, RandomCertificates, ::testing::Range(0, kRandomShards));

class SharedCertificates : public ::testing::TestWithParam<int> {};

TEST_P(SharedCertificates, AreTheCounts) {
  if (!std::filesystem::is_directory(shared_ops_folder()))
    GTEST_SKIP() << "no folder " << shared_ops_folder() << "; set PERAXIS_SHARED";
  const std::vector<CertificateLayer> layers = shared_certificate_layers();
  EXPECT_GE(layers.size(), 68U);
  Tally tally;
  for (size_t i = static_cast<size_t>(GetParam()); i < layers.size(); i += kSharedShards)
    check_layer(layers[i], 0, tally);
  report("shared operators", tally);
}
INSTANTIATE_TEST_SUITE_P(Layers, SharedCertificates, ::testing::Range(0, kSharedShards));

// What the random layers are made of, so that a change of the generator cannot quietly empty the test.
TEST(Certificates, RandomLayersAreOfAllSorts) {
  std::map<std::string, int> sorts;
  for (int i = 0; i < kLayers; ++i) {
    const CertificateLayer random = random_certificate_layer(seed_of(i));
    const auto layer = requant::describe(random.graph, 0, num::Reference::LitertRef);
    ASSERT_TRUE(layer) << layer.error().text();
    double least = 1e300, most = 0;
    bool dead = false, large = false, sampled = false;
    for (const requant::Channel& channel : layer->channels) {
      dead = dead || channel.constant;
      sampled = sampled || range_of(channel) > int64_t{1} << 20;
      if (channel.constant) continue;
      large = large || channel.multiplier >= 1;
      least = std::min(least, channel.multiplier);
      most = std::max(most, channel.multiplier);
    }
    ++sorts[ir::op_name(layer->kind)];
    ++sorts[fmt::format("outputs {}..",
                        layer->low > -128 ? (layer->low < layer->z_out ? "below zero" : "0") : "lowest")];
    sorts["uint8"] += layer->stored_offset != 0 ? 1 : 0;
    sorts["weight zero point"] += layer->z_w != 0 ? 1 : 0;
    sorts["upper bound"] += layer->high < 127 ? 1 : 0;
    sorts["dead channels"] += dead ? 1 : 0;
    sorts["multiplier of 1 and more"] += large ? 1 : 0;
    sorts["sampled"] += sampled ? 1 : 0;
    sorts["odd number of channels"] += layer->channels.size() % 2 != 0 ? 1 : 0;
    sorts["ratio above 1e3"] += most > least * 1e3 ? 1 : 0;
    sorts["ratio above 1e5"] += most > least * 1e5 ? 1 : 0;
  }
  for (const auto& [name, count] : sorts) {
    fmt::print("{}: {}\n", name, count);
    EXPECT_GE(count, 5) << name;
  }
  EXPECT_EQ(sorts.size(), 15U);
}

// The test of the test: certificates made for parameters that are one off must be found wrong.
TEST(Certificates, ParametersOneOffAreNoticed) {
  const auto bend = [](requant::LayerParams& params) {
    for (requant::ChannelSet& set : params.sets)
      for (requant::ChannelParams& channel : set.params)
        if (!channel.drop_weights) ++channel.a;
  };
  int64_t uses = 0, noticed = 0;
  for (int i = 0; i < 6; ++i) {
    const Subject subject = prepare(random_certificate_layer(seed_of(i)), bend);
    AccumulatorSweep machine;
    Tally tally;
    for (const size_t c : choose_channels(subject.layers[0], 0)) {
      if (subject.layers[0].channels[c].constant) continue;
      uses += static_cast<int64_t>(subject.plans.size());
      noticed += static_cast<int64_t>(check_channel(subject, c, machine, tally).size());
    }
  }
  fmt::print("{} of {} certificates noticed\n", noticed, uses);
  EXPECT_GE(noticed * 2, uses);
}

}  // namespace
}  // namespace peraxis::property
