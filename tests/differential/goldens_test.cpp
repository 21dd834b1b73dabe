// The CPU kernels against LiteRT's reference kernels on the stored model collection: every byte of every
// output, and of every activation where the collection has them. Needs the collection (PERAXIS_SHARED).
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "base/file.hpp"
#include "base/npy.hpp"
#include "import/import.hpp"
#include "kernels/kernels.hpp"

namespace peraxis {
namespace {

namespace fs = std::filesystem;
using kernels::Options;
using kernels::Path;
using kernels::Values;

// The plain path takes nanoseconds a MAC: above this many it is left to the operator models.
constexpr int64_t kReferenceLimitMacs = 200'000'000;

fs::path shared_models() {
  const char* shared = std::getenv("PERAXIS_SHARED");
  return fs::path(shared != nullptr ? shared : "../shared") / "models";
}

std::vector<std::string> models_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(shared_models() / folder, ignored)) {
    if (entry.path().extension() == ".tflite") names.push_back(folder + "/" + entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<ir::Graph> import_model(const std::string& name) {
  const std::vector<uint8_t> bytes = PERAXIS_TRY(base::read_file(shared_models() / (name + ".tflite")));
  return import::import_tflite(bytes, name);
}

int64_t multiply_accumulates(const ir::Graph& graph) {
  int64_t total = 0;
  for (const ir::Op& op : graph.ops) {
    if (!ir::is_convolution_like(op.kind)) continue;
    const ir::Tensor& weights = graph.tensor(op.inputs[1]);
    const int64_t outputs = graph.tensor(op.outputs[0]).elements();
    const int64_t channels = op.kind == ir::OpKind::DepthwiseConv2D ? weights.shape[3] : weights.shape[0];
    total += outputs * weights.elements() / channels;
  }
  return total;
}

void expect_equal(Values got, const base::Array& expected, const std::string& what) {
  ASSERT_EQ(got.size(), expected.data.size()) << what;
  size_t wrong = 0;
  size_t first = 0;
  for (size_t i = got.size(); i-- > 0;) {
    if (got[i] == expected.data[i]) continue;
    ++wrong;
    first = i;
  }
  EXPECT_EQ(wrong, 0U) << what << ": " << wrong << " of " << got.size() << " bytes differ, the first at "
                       << first << ": " << int{got[first]} << ", expected " << int{expected.data[first]};
}

// Runs set `set` of the goldens; false when there is no such set.
bool run_set(const std::string& name, const ir::Graph& graph, const base::ArrayMap& goldens, int set,
             Path path) {
  std::vector<Values> inputs;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const auto found = goldens.find(fmt::format("i{}_{}", set, i));
    if (found == goldens.end()) return false;
    inputs.emplace_back(found->second.data);
  }
  base::ArrayMap activations;
  const fs::path activations_file = shared_models() / (name + ".intermediate.npz");
  if (set == 0 && fs::exists(activations_file)) {
    auto read = base::read_npz(activations_file);
    EXPECT_TRUE(read) << read.error().text();
    if (read) activations = std::move(*read);
  }
  size_t compared = 0;
  const auto observer = [&](int32_t tensor, Values values) {
    const auto found = activations.find(fmt::format("t{}", tensor));
    if (found == activations.end()) return;
    ++compared;
    expect_equal(values, found->second, fmt::format("{} tensor {}", name, tensor));
  };
  const auto start = std::chrono::steady_clock::now();
  const auto outputs =
      kernels::run_graph(graph, inputs, Options{path, kernels::Reference::LitertRef, 1}, observer);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_TRUE(outputs) << name << ": " << outputs.error().text();
  if (!outputs) return true;
  if (path == Path::Fast && took.count() > 0.05) {
    fmt::print("{}: {:.3f} s, {:.2f} GMAC/s\n", name, took.count(),
               static_cast<double>(multiply_accumulates(graph)) * 1e-9 / took.count());
  }
  // Every stored activation was seen, so a renumbered graph cannot pass unnoticed.
  if (!activations.empty()) {
    EXPECT_EQ(compared, activations.size()) << name;
  }
  for (size_t i = 0; i < outputs->size(); ++i) {
    const auto found = goldens.find(fmt::format("o{}_{}", set, i));
    EXPECT_NE(found, goldens.end()) << name << " set " << set << " output " << i;
    if (found == goldens.end()) continue;
    expect_equal((*outputs)[i], found->second, fmt::format("{} set {} output {}", name, set, i));
  }
  return true;
}

// Returns how many sets ran.
int run_all_sets(const std::string& name, const ir::Graph& graph, Path path) {
  const auto goldens = base::read_npz(shared_models() / (name + ".npz"));
  EXPECT_TRUE(goldens) << name << ": " << goldens.error().text();
  if (!goldens) return 0;
  int sets = 0;
  while (run_set(name, graph, *goldens, sets, path)) ++sets;
  EXPECT_GE(sets, 1) << name;
  return sets;
}

class Networks : public testing::TestWithParam<std::string> {};

TEST_P(Networks, EqualLiteRt) {
  const std::vector<std::string> names = models_in(GetParam());
  if (names.empty()) GTEST_SKIP() << "no models under " << shared_models() << "; set PERAXIS_SHARED";
  for (const std::string& name : names) {
    const auto graph = import_model(name);
    ASSERT_TRUE(graph) << name << ": " << graph.error().text();
    EXPECT_EQ(run_all_sets(name, *graph, Path::Fast), 2) << name;
    if (multiply_accumulates(*graph) < kReferenceLimitMacs) {
      EXPECT_EQ(run_all_sets(name, *graph, Path::Reference), 2) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shared, Networks, testing::Values("demo", "real", "synth"));

TEST(SingleOperators, EqualLiteRt) {
  const std::vector<std::string> names = models_in("ops");
  if (names.empty()) GTEST_SKIP() << "no models under " << shared_models() << "; set PERAXIS_SHARED";
  int compared = 0;
  for (const std::string& name : names) {
    const auto graph = import_model(name);
    EXPECT_TRUE(graph) << name << ": " << graph.error().text();
    if (!graph) continue;
    run_all_sets(name, *graph, Path::Fast);
    run_all_sets(name, *graph, Path::Reference);
    ++compared;
  }
  EXPECT_GE(compared, 165);
}

}  // namespace
}  // namespace peraxis
