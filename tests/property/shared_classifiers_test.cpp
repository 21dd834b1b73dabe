// Stored models: LiteRT's own results of single averages and element-wise operators against the machine
// model, and the classifiers, of which nothing but RESHAPE, SOFTMAX and QUANTIZE is left to the CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/file.hpp"
#include "base/npy.hpp"
#include "import/import.hpp"
#include "plan/planner.hpp"
#include "random_graphs.hpp"

namespace peraxis::property {
namespace {

namespace fs = std::filesystem;

fs::path shared_models() {
  const char* shared = std::getenv("PERAXIS_SHARED");
  return fs::path(shared != nullptr ? shared : "../shared") / "models";
}

Result<Case> stored(const fs::path& path) {
  const std::vector<uint8_t> bytes = PERAXIS_TRY(base::read_file(path));
  Case out;
  out.graph = PERAXIS_TRY(import::import_tflite(bytes, path.stem()));
  PERAXIS_TRY(ir::verify(out.graph));
  return out;
}

// Those of one operator that the NPU has a form of; the rest, with a part of the reason it gives.
struct Single {
  const char* name;
  bool exact;  // that form is proved equal
  const char* refusal = "";
};
constexpr std::array kSingles = {
    Single{"avgpool2x2s2_c16_8x8_valid", true},
    Single{"avgpool7x7s1_c96_7x7_valid", true},
    Single{"avgpool3x3s2_c33_13x17_same", true},
    Single{"avgpool5x5s3_c1_17x17_same", true},
    Single{"u8_avgpool3x3s2", true},
    Single{"mean_hw_keep_sameq_c33_7x7", false},
    Single{"mean_hw_nokeep_c255_13x17", false},
    Single{"mean_ch_keep_c31_8x8", false, "dimension 3"},
    Single{"mul_same_c33_13x17", false},
    Single{"mul_scales_100x_c16_8x8", false},
    Single{"mul_bcast_channel_c31_8x8", false},
    Single{"mul_bcast_spatial_c17_7x7", false},
    Single{"mul_const_channel_c24_13x17", false},
    Single{"u8_mul_c17_7x7", false},
    Single{"maximum_c17_7x7", true},
    Single{"minimum_c17_7x7", true},
    Single{"add_bcast_channel_c31_8x8", false},
    Single{"add_bcast_scalar_c16_8x8", false},
    Single{"sub_bcast_scalar_c16_8x8", false},
    Single{"sub_bcast_spatial_c17_7x7", false},
    Single{"sub_const_channel_c24_13x17", false},
    Single{"prelu_c17_8x8", false},
};

TEST(SharedOperators, AgainstLiteRt) {
  if (!fs::exists(shared_models())) GTEST_SKIP() << "no models; set PERAXIS_SHARED";
  for (const Single& single : kSingles) {
    SCOPED_TRACE(single.name);
    const fs::path path = shared_models() / "ops" / single.name;
    auto test = stored(path.string() + ".tflite");
    ASSERT_TRUE(test) << test.error().text();
    ASSERT_EQ(test->graph.ops.size(), 1U);
    const lower::DeviceForm form = form_of(test->graph, 0, {.exact = single.exact});
    if (*single.refusal != 0) {
      EXPECT_NE(form.refusal.find(single.refusal), std::string::npos) << form.refusal;
      continue;
    }
    ASSERT_EQ(form.refusal, "");
    plan::Plan plan;
    plan.on_device = {true};
    plan.forms = {form};
    const auto executable =
        compiler::compile(test->graph, test->options("auto", num::Reference::LitertRef), plan);
    ASSERT_TRUE(executable) << executable.error().text();
    const auto arrays = base::read_npz(path.string() + ".npz");
    ASSERT_TRUE(arrays) << arrays.error().text();
    for (int set = 0; set < 3; ++set) {
      test->inputs.clear();
      for (size_t i = 0; i < test->graph.inputs.size(); ++i)
        test->inputs.push_back(arrays->at(fmt::format("i{}_{}", set, i)).data);
      const auto got = run_on_machine(*executable, test->inputs);
      ASSERT_TRUE(got) << got.error().text();
      EXPECT_LE(largest_difference(test->graph.tensor(test->graph.outputs[0]).type, (*got)[0],
                                   arrays->at(fmt::format("o{}_0", set)).data),
                single.exact ? 0 : 1);
    }
  }
}

TEST(SharedClassifiers, OnlyTheEndIsOnTheCpu) {
  if (!fs::exists(shared_models())) GTEST_SKIP() << "no models; set PERAXIS_SHARED";
  for (const char* name : {"kws_ref_model", "mobilenet_v1_0.25_128_quant", "pretrainedResnet_quant",
                           "tf2_mobilenet_v2_1.0_224_ptq", "tflm_person_detect", "vww_96_int8"}) {
    SCOPED_TRACE(name);
    auto test = stored(shared_models() / "real" / (std::string(name) + ".tflite"));
    ASSERT_TRUE(test) << test.error().text();
    const auto executable = compiler::compile(test->graph, test->options("auto", num::Reference::LitertRef));
    ASSERT_TRUE(executable) << executable.error().text();
    for (const exe::OperatorPlan& op : executable->operators) {
      const ir::OpKind kind = test->graph.ops[static_cast<size_t>(op.op)].kind;
      const bool end =
          kind == ir::OpKind::Reshape || kind == ir::OpKind::Softmax || kind == ir::OpKind::Quantize;
      EXPECT_TRUE(op.device == "npu" || end)
          << test->graph.op_label(static_cast<size_t>(op.op)) << ": " << op.reason.str();
    }
    // The operators of this test, given what they really had.
    base::Rng rng(first_seed(980'000));
    for (const int32_t t : test->graph.inputs) {
      Bytes values(static_cast<size_t>(test->graph.tensor(t).bytes()));
      for (uint8_t& v : values) v = static_cast<uint8_t>(rng.uniform(0, 255));
      test->inputs.push_back(std::move(values));
    }
    Activations seen;
    const auto outputs = run_on_machine(*executable, test->inputs, &seen);
    ASSERT_TRUE(outputs) << outputs.error().text();
    int averages = 0;
    for (size_t op = 0; op < test->graph.ops.size(); ++op) {
      const ir::OpKind kind = test->graph.ops[op].kind;
      if (kind != ir::OpKind::AveragePool2D && kind != ir::OpKind::Mean) continue;
      const int32_t tensor = test->graph.ops[op].outputs[0];
      const auto want = operator_reference(*test, op, seen);
      ASSERT_TRUE(want) << want.error().text();
      EXPECT_EQ(largest_difference(test->graph.tensor(tensor).type, seen.at(tensor), *want), 0);
      ++averages;
    }
    EXPECT_EQ(averages, 1);
  }
}

}  // namespace
}  // namespace peraxis::property
