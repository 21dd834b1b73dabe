// Streams that Mesa and librocketnpu emitted, executed on the machine, against TFLite's reference output
// (within 1). Needs the shared captures; skipped without them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/npy.hpp"
#include "machine/machine.hpp"

namespace peraxis::machine {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path shared() {
  const char* env = std::getenv("PERAXIS_SHARED");
  return env != nullptr ? fs::path(env) : fs::path("../shared");
}

struct MesaCase {
  const char* name;
  bool byte0 = false;      // Mesa's depthwise programs set byte 0 of the pad value only
  bool drop = false;       // the output buffer is too small for the dummy channels
  bool ignore_ow = false;  // BS_OW_OP is written beside records and meant to do nothing
  bool by_orig = false;    // the last weight block is as high as ORIG_CHANNEL says
  int max = 1;             // largest difference from TFLite
  int percent = 1;         // of outputs that may differ
};

class Mesa : public testing::TestWithParam<MesaCase> {};

TEST_P(Mesa, WithinOneOfTfLite) {
  const MesaCase& c = GetParam();
  const fs::path base = shared() / "mesa" / c.name;
  if (!fs::exists(base.string() + ".json")) GTEST_SKIP() << "no captures at " << base;
  std::ifstream text(base.string() + ".json");
  const json info = json::parse(text);
  auto arrays = base::read_npz(base.string() + ".npz");
  ASSERT_TRUE(arrays) << arrays.error().text();
  Options options;
  options.switches.pad_lanes = c.byte0 ? PadLanes::Byte0 : PadLanes::TwoInDepthwise;
  options.switches.drop_dummy_output = c.drop;
  options.switches.ignore_ow_op_with_records = c.ignore_ow;
  if (c.by_orig) options.switches.stored_kernels = StoredKernels::ByOrigChannel;
  Machine machine(options);
  std::vector<std::unique_ptr<std::vector<uint8_t>>> storage;
  int programs = 0;
  for (const json& bo : info["bos"]) {
    const std::string role = bo["role"];
    storage.push_back(std::make_unique<std::vector<uint8_t>>(bo["size"].get<size_t>()));
    std::vector<uint8_t>& bytes = *storage.back();
    const uint32_t address = bo["dma"];
    ASSERT_TRUE(machine.memory().map(address, bytes, role));
    const std::string key = role == "regcmd" ? fmt::format("regcmd_task{}", programs++)
                                             : fmt::format("bo{}_{}", bo["handle"].get<int>(), role);
    const auto found = arrays->find(key);
    if (found == arrays->end()) continue;
    std::copy(found->second.data.begin(), found->second.data.end(), bytes.begin());
    ASSERT_TRUE(machine.memory().mark_written(address, static_cast<int64_t>(found->second.data.size())));
  }
  for (const json& job : info["submits"][0])
    for (const json& task : job["tasks"]) {
      const auto reports = machine.run({task[0].get<uint32_t>(), task[1].get<uint32_t>(), 1, 0});
      ASSERT_TRUE(reports) << reports.error().text();
    }
  // The output address is in the stream.
  uint32_t output = 0;
  const auto words = base::values_of<uint64_t>(arrays->at(fmt::format("regcmd_task{}", programs - 1)));
  for (const uint64_t w : *words)
    if ((w & 0xFFFF) == 0x4020) output = static_cast<uint32_t>(w >> 16);
  const base::Array& want = arrays->at("ref_out0");
  const int64_t h = want.shape[1], w = want.shape[2], channels = want.shape[3];
  int64_t wrong = 0, largest = 0;
  for (int64_t g = 0; g * 16 < channels; ++g) {
    const auto plane = machine.memory().read(output + g * h * w * 16, h * w * 16, "test");
    ASSERT_TRUE(plane) << plane.error().text();
    for (int64_t p = 0; p < h * w; ++p)
      for (int64_t i = g * 16; i < std::min(channels, g * 16 + 16); ++i) {
        const uint8_t raw = want.data[static_cast<size_t>(p * channels + i)];
        const int64_t is = static_cast<int8_t>((*plane)[static_cast<size_t>(p * 16 + i % 16)]);
        const int64_t should = want.dtype == "uint8" ? raw - 128 : static_cast<int8_t>(raw);
        largest = std::max(largest, std::abs(is - should));
        wrong += is != should ? 1 : 0;
      }
  }
  EXPECT_LE(largest, c.max);
  EXPECT_LE(wrong * 100, h * w * channels * c.percent) << "more than " << c.percent << " % differ";
}

std::string test_name(std::string name) {
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    Captures, Mesa,
    testing::Values(MesaCase{"u8_conv1x1_16x16x16_oc16.mesa"}, MesaCase{"u8_conv1x1_16x16x32_oc64.mesa"},
                    MesaCase{"u8_conv1x1_16x16x48_oc24.mesa"}, MesaCase{"u8_conv1x1_1x1x64_oc33.mesa"},
                    MesaCase{"u8_conv1x1_4x4x256_oc64.mesa"}, MesaCase{"u8_conv1x1_9x9x24_oc24.mesa"},
                    MesaCase{"u8_conv3x3_16x16x16_oc32.mesa"},
                    MesaCase{"u8_conv3x3_relu_oz0_10x10x16_oc16.mesa"},
                    MesaCase{"u8_conv3x3_xz0_10x10x16_oc16.mesa"},
                    MesaCase{"u8_conv3x3s2_17x17x16_oc16.mesa"}, MesaCase{"u8_conv3x3s2_32x32x3_oc8.mesa"},
                    MesaCase{"u8_conv5x5_12x12x16_oc16.mesa"}, MesaCase{"u8_conv3x3_ic1_28x28x1_oc8.mesa"},
                    // The fused addition leaves the int8 step of the convolution out.
                    MesaCase{"u8_resda_14x14x32_s0213016.mesa", true, false, false, false, 82, 28},
                    MesaCase{"u8_resda_14x14x32_s0244231.mesa", true, false, false, false, 82, 28},
                    MesaCase{"u8_resda_7x7x64_s0244231.mesa", true, false, false, false, 82, 28},
                    MesaCase{"u8_resda_8x8x32_s0244231.mesa", true, false, false, false, 82, 28},
                    MesaCase{"u8_dw3x3_14x14x96.mesa", true}, MesaCase{"u8_dw3x3_8x8x24.mesa", true},
                    MesaCase{"u8_dw3x3_xz139_12x12x32.mesa"}, MesaCase{"u8_dw3x3s2_16x16x64.mesa", true},
                    MesaCase{"u8_tabletrunc_dw3x3_10x10x32.mesa", true},
                    MesaCase{"i8_conv3x3_10x10x16_oc16.lrn-gs16", false, false, false, true},
                    MesaCase{"i8pa_conv1x1_16x16x32_oc32.lrn-brdma1", false, false, true},
                    MesaCase{"i8pa_conv1x1_7x7x64_oc40.lrn-brdma1", false, false, true},
                    MesaCase{"i8pa_conv3x3_10x10x16_oc16.lrn-brdma1", false, false, true, true}),
    [](const testing::TestParamInfo<MesaCase>& test) { return test_name(test.param.name); });

}  // namespace
}  // namespace peraxis::machine
