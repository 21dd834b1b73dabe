// Every word of the shared captures survives decode and encode. Needs the captures; skipped without them.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/npy.hpp"
#include "trace/summary.hpp"
#include "trace/text.hpp"

namespace peraxis::trace {
namespace {

namespace fs = std::filesystem;

fs::path shared() {
  const char* env = std::getenv("PERAXIS_SHARED");
  return env != nullptr ? fs::path(env) : fs::path("../shared");
}

std::string read_gzip(const fs::path& path) {
  std::string out;
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return out;
  char buffer[65536];
  for (int n = 0; (n = gzread(file, buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<size_t>(n));
  gzclose(file);
  return out;
}

void expect_identity(const Stream& stream) {
  const auto back = parse_text(print_text(stream));
  ASSERT_TRUE(back) << back.error().text();
  ASSERT_EQ(back->size(), 1U);
  EXPECT_EQ(back->front().words, stream.words) << stream.name;
  for (const uint64_t word : stream.words) EXPECT_TRUE(word == 0 || looks_like_command(word));
  for (const Facts& f : facts_of(stream)) {
    EXPECT_TRUE(f.complete) << stream.name;
    EXPECT_NE(f.operation, Operation::Unknown) << stream.name;
  }
}

TEST(SharedCaptures, Mesa) {
  int64_t words = 0;
  if (!fs::exists(shared() / "mesa")) GTEST_SKIP() << "no captures at " << shared();
  for (const auto& entry : fs::directory_iterator(shared() / "mesa")) {
    if (entry.path().extension() != ".npz") continue;
    const auto arrays = base::read_npz(entry.path());
    ASSERT_TRUE(arrays) << arrays.error().text();
    for (const auto& [name, array] : *arrays)
      if (array.dtype == "uint64") {
        const Stream stream = stream_of_bytes(entry.path().filename().string() + "/" + name, array.data);
        words += static_cast<int64_t>(stream.words.size());
        expect_identity(stream);
      }
  }
  EXPECT_GT(words, 0);
  RecordProperty("words", static_cast<int>(words));
}

TEST(SharedCaptures, Vendor) {
  if (!fs::exists(shared() / "vendor")) GTEST_SKIP() << "no captures at " << shared();
  int64_t words = 0;
  for (const char* folder : {"cases", "nets"})
    for (const auto& entry : fs::directory_iterator(shared() / "vendor" / folder)) {
      const auto info = nlohmann::json::parse(read_gzip(entry.path()));
      Stream stream;
      stream.name = entry.path().filename().string();
      for (const auto& task : info["tasks"]) {
        std::istringstream text(task["regcmd"].get<std::string>());
        for (std::string word; text >> word;) stream.words.push_back(std::stoull(word, nullptr, 16));
      }
      words += static_cast<int64_t>(stream.words.size());
      expect_identity(stream);
    }
  EXPECT_GT(words, 0);
  RecordProperty("words", static_cast<int>(words));
}

}  // namespace
}  // namespace peraxis::trace
