// The stored model collection: every real, demo and synthetic network imports and verifies; of the
// single-operator models those with an operator we have do too, the others are refused by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/file.hpp"
#include "import/import.hpp"
#include "same_graph.hpp"

namespace peraxis {
namespace {

namespace fs = std::filesystem;

fs::path shared_models() {
  const char* shared = std::getenv("PERAXIS_SHARED");
  return fs::path(shared != nullptr ? shared : "../shared") / "models";
}

std::vector<fs::path> models_in(const char* folder) {
  std::vector<fs::path> out;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(shared_models() / folder, ignored)) {
    if (entry.path().extension() == ".tflite") out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

Result<ir::Graph> import_file(const fs::path& path) {
  const std::vector<uint8_t> bytes = PERAXIS_TRY(base::read_file(path));
  return import::import_tflite(bytes, path.stem());
}

class Networks : public testing::TestWithParam<const char*> {};

TEST_P(Networks, ImportAndVerify) {
  const std::vector<fs::path> models = models_in(GetParam());
  if (models.empty()) GTEST_SKIP() << "no models under " << shared_models() << "; set PERAXIS_SHARED";
  for (const fs::path& path : models) {
    const auto graph = import_file(path);
    ASSERT_TRUE(graph) << path << ": " << graph.error().text();
    EXPECT_EQ(graph->name, path.stem());
    EXPECT_FALSE(graph->ops.empty());
    const Status status = ir::verify(*graph);
    EXPECT_TRUE(status) << path << ": " << status.error().text();
  }
}

TEST_P(Networks, TextFormGivesTheSameGraph) {
  const std::vector<fs::path> models = models_in(GetParam());
  if (models.empty()) GTEST_SKIP() << "no models under " << shared_models() << "; set PERAXIS_SHARED";
  for (const fs::path& path : models) {
    const auto graph = import_file(path);
    ASSERT_TRUE(graph) << path << ": " << graph.error().text();
    const auto again = ir::parse(ir::print(*graph, true));
    ASSERT_TRUE(again) << path << ": " << again.error().text();
    EXPECT_TRUE(ir::test::same_graph(*again, *graph)) << path;
    const auto without_data = ir::parse(ir::print(*graph));
    ASSERT_TRUE(without_data) << path << ": " << without_data.error().text();
    EXPECT_EQ(without_data->tensors.size(), graph->tensors.size()) << path;
    EXPECT_EQ(without_data->ops.size(), graph->ops.size()) << path;
  }
}

INSTANTIATE_TEST_SUITE_P(Shared, Networks, testing::Values("demo", "real", "synth"));

TEST(SingleOperators, ImportAndVerify) {
  const std::vector<fs::path> models = models_in("ops");
  if (models.empty()) GTEST_SKIP() << "no models under " << shared_models() << "; set PERAXIS_SHARED";
  for (const fs::path& path : models) {
    const auto graph = import_file(path);
    EXPECT_TRUE(graph) << path << ": " << graph.error().text();
    if (!graph) continue;
    const Status status = ir::verify(*graph);
    EXPECT_TRUE(status) << path << ": " << status.error().text();
  }
}

}  // namespace
}  // namespace peraxis
