// Programs that the vendor's compiler emitted, executed on the machine and compared element for element with
// what was recorded for them (the vendor's simulator, corrected to the recorded register model). Needs the
// shared captures; skipped without them.
#include <gtest/gtest.h>

#include "vendor_case.hpp"

namespace peraxis::machine::test {
namespace {

using nlohmann::json;

struct Difference {
  int64_t wrong = 0, largest = 0;
};

std::vector<int8_t> recorded(const json& output) {
  const std::vector<uint8_t> bytes = decode_base64(output["vendor_sim_int8"]);
  std::vector<int8_t> out(bytes.begin(), bytes.end());
  for (const json& d : output["register_model_diff"]) {
    int8_t& v = out[d[0].get<size_t>()];
    v = static_cast<int8_t>(v + d[1].get<int>());
  }
  return out;
}

Difference compare(const std::vector<int8_t>& is, const std::vector<int8_t>& should) {
  Difference d;
  for (size_t i = 0; i < should.size(); ++i) {
    const int64_t delta = i < is.size() ? std::abs(is[i] - should[i]) : 1000;
    d.wrong += delta != 0 ? 1 : 0;
    d.largest = std::max(d.largest, delta);
  }
  return d;
}

Options with_ties(Ties ties) {
  Options options;
  options.switches.bs_ties = ties;
  options.switches.bn_ties = ties;
  options.switches.ew_cvt_ties = ties;
  options.switches.out_cvt_ties = ties;
  options.switches.pool_average_ties = ties;
  return options;
}

// What the one-core chain and, where recorded, those of two and three cores differ by; -1: not run.
void check(const std::string& name, const Options& options, int64_t wrong, int64_t largest) {
  VendorCase vendor("cases", name, options);
  if (!vendor.found()) GTEST_SKIP() << "no captures of " << name;
  for (size_t cores = 1; cores <= 3; ++cores) {
    if (!vendor.has_cores(cores)) continue;
    const auto reports = vendor.run(cores);
    ASSERT_TRUE(reports) << reports.error().text();
    for (const auto& [tensor, output] : vendor.info()["outputs"].items()) {
      const Difference d = compare(vendor.output(vendor.written(tensor)), recorded(output));
      EXPECT_EQ(d.wrong, wrong) << tensor << " on " << cores << " cores";
      EXPECT_LE(d.largest, largest) << tensor << " on " << cores << " cores";
    }
  }
}

class VendorCases : public testing::TestWithParam<const char*> {};

TEST_P(VendorCases, EqualTheRecordedModel) {
  check(GetParam(), {}, 0, 0);
}

INSTANTIATE_TEST_SUITE_P(Captures, VendorCases,
                         testing::Values("fx_conv3x3_pc", "fx_dw3x3", "fx_conv3x3_layer", "fx_conv3x3_relu",
                                         "fx_conv3x3_leaky", "fx_conv1x1_ic72", "fx_fc", "fx_qdq_conv3x3",
                                         "fx_qdq_dw", "fx_add", "fx_mul", "fx_concat", "fx_residual",
                                         "fx_maxpool5", "fx_sppf", "fx_sigmoid", "fx_conv3x3_silu",
                                         "fx_resize2x", "fx_first6x6", "fx_deconv4x4"),
                         [](const testing::TestParamInfo<const char*>& test) { return test.param; });

// The recorded model adds half before it shifts; the measured rule rounds ties to even.
TEST(VendorTies, QdqChainNeedsUp) {
  check("qdq_chain", with_ties(Ties::Up), 0, 0);
  check("qdq_chain", {}, 13, 1);
}

TEST(VendorTies, AveragePoolDiffersOnTiesOnly) {
  check("fx_avgpool2", with_ties(Ties::Up), 0, 0);
}

// The formula that nets are compared with gives what was recorded where something was.
TEST(VendorFormula, GivesWhatWasRecorded) {
  VendorCase vendor("cases", "fx_conv3x3_pc", {});
  if (!vendor.found()) GTEST_SKIP() << "no captures";
  int convolutions = 0;
  for (const json& node : vendor.info()["nodes"]) {
    if (node["op"] != "Conv") continue;
    ++convolutions;
    const json& output = vendor.info()["outputs"][node["outs"][0].get<std::string>()];
    EXPECT_EQ(compare(vendor.convolved(node), recorded(output)).wrong, 0);
  }
  EXPECT_EQ(convolutions, 1);
}

// Nets of one convolution: no result was recorded with them, so the formula judges, on every number of cores.
TEST(VendorFormula, NetsOfOneConvolution) {
  for (const char* name : {"conv3x3", "conv_big"}) {
    VendorCase vendor("nets", name, with_ties(Ties::Up));
    if (!vendor.found()) GTEST_SKIP() << "no captures of " << name;
    const json& node = vendor.info()["nodes"][1];
    ASSERT_EQ(node["op"], "Conv");
    const std::vector<int8_t> want = vendor.convolved(node);
    for (size_t cores = 1; cores <= 3 && vendor.has_cores(cores); ++cores) {
      const auto reports = vendor.run(cores);
      ASSERT_TRUE(reports) << reports.error().text();
      const std::vector<int8_t> is = vendor.output(node["outs"][0]);
      ASSERT_EQ(is.size(), want.size());
      EXPECT_EQ(compare(is, want).wrong, 0) << name << " on " << cores << " cores";
    }
  }
}

// ---- nets: streams for one, two and three cores, with random constants ----

class VendorNets : public testing::TestWithParam<const char*> {};

TEST_P(VendorNets, CoresGiveWhatOneCoreGives) {
  VendorCase vendor("nets", GetParam(), {});
  if (!vendor.found()) GTEST_SKIP() << "no captures of " << GetParam();
  std::vector<int8_t> one;
  for (const json& tensor : vendor.info()["tensors"]) {
    if (tensor["kind"] != 2) continue;
    for (size_t cores = 1; cores <= 3; ++cores) {
      ASSERT_TRUE(vendor.has_cores(cores));
      const auto reports = vendor.run(cores);
      ASSERT_TRUE(reports) << reports.error().text();
      const std::vector<int8_t> is = vendor.output(tensor["name"]);
      ASSERT_FALSE(is.empty());
      if (cores == 1) one = is;
      EXPECT_EQ(compare(is, one).wrong, 0) << cores << " cores";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Captures, VendorNets, testing::Values("residual"),
                         [](const testing::TestParamInfo<const char*>& test) { return test.param; });

// Without its barriers the second convolution reads rows that another core may not have written.
TEST(VendorBarriers, ResidualNeedsThem) {
  VendorCase vendor("nets", "residual", {});
  if (!vendor.found()) GTEST_SKIP() << "no captures";
  vendor.remove_barriers();
  const auto early = vendor.run(2);
  ASSERT_FALSE(early);
  EXPECT_NE(early.error().text().find("never written"), std::string::npos) << early.error().text();
  // With an earlier result in memory nothing is unwritten, and still it depends on chance.
  ASSERT_TRUE(vendor.run(1));
  const auto reports = vendor.run(2, true);
  ASSERT_FALSE(reports);
  EXPECT_NE(reports.error().text().find("CORE_BARRIER"), std::string::npos) << reports.error().text();
}

// A split of the input channels with a fused addition; a whole network.
class VendorOneCore : public testing::TestWithParam<const char*> {};

TEST_P(VendorOneCore, Runs) {
  VendorCase vendor("nets", GetParam(), {});
  if (!vendor.found()) GTEST_SKIP() << "no captures of " << GetParam();
  const auto reports = vendor.run(1);
  ASSERT_TRUE(reports) << reports.error().text();
  for (const json& tensor : vendor.info()["tensors"])
    if (tensor["kind"] == 2) {
      EXPECT_FALSE(vendor.output(tensor["name"]).empty()) << tensor["name"];
    }
}

INSTANTIATE_TEST_SUITE_P(Captures, VendorOneCore, testing::Values("conv_deep", "yolo2_relu"),
                         [](const testing::TestParamInfo<const char*>& test) { return test.param; });

}  // namespace
}  // namespace peraxis::machine::test
