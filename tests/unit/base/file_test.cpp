#include "base/file.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace peraxis::base {
namespace {

class File : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "peraxis_file_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  size_t files() const {
    size_t n = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_)) ++n;
    return n;
  }
  static void expect_error(const Error& error, const std::string& part) {
    EXPECT_EQ(error.code, ErrorCode::Io);
    EXPECT_NE(error.message.find(part), std::string::npos) << error.text();
  }
  std::filesystem::path folder_;
};

TEST_F(File, round_trip_and_nothing_left_behind) {
  for (const size_t size : {0, 1, 4095, 4096, 100000}) {
    std::vector<uint8_t> bytes(size);
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * 31);
    ASSERT_TRUE(write_file(folder_ / "a", bytes));
    const auto back = read_file(folder_ / "a");
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(*back, bytes);
  }
  EXPECT_EQ(files(), 1U);
}
TEST_F(File, what_the_check_refuses_is_not_there) {
  const std::vector<uint8_t> bytes = {1, 2, 3};
  std::vector<uint8_t> seen;
  size_t files_then = 0;
  const FileCheck look = [&](std::span<const uint8_t> stored) -> Status {
    seen.assign(stored.begin(), stored.end());
    files_then = files();
    return {};
  };
  ASSERT_TRUE(write_file(folder_ / "a", bytes, look));
  EXPECT_EQ(seen, bytes);
  EXPECT_EQ(files_then, 1U) << "read back before the file has its name";
  EXPECT_EQ(*read_file(folder_ / "a"), bytes);

  const FileCheck refuse = [&](std::span<const uint8_t>) -> Status {
    EXPECT_EQ(*read_file(folder_ / "a"), bytes);  // the old file is whole until the new one is right
    return fail(ErrorCode::Internal, "not this");
  };
  for (const char* name : {"a", "b"}) {
    const Status status = write_file(folder_ / name, std::vector<uint8_t>{9}, refuse);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().message, "not this");
  }
  EXPECT_EQ(*read_file(folder_ / "a"), bytes);
  EXPECT_EQ(files(), 1U) << "neither 'b' nor a temporary file";
  EXPECT_FALSE(write_file("/dev/null", bytes, refuse));
  EXPECT_TRUE(write_file("/dev/null", bytes, look));
}
TEST_F(File, keeps_permissions_and_links) {
  ASSERT_TRUE(write_file(folder_ / "real", "one"));
  ASSERT_EQ(chmod((folder_ / "real").c_str(), 0640), 0);
  std::filesystem::create_symlink("real", folder_ / "link");
  ASSERT_TRUE(write_file(folder_ / "link", "two"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link"));
  struct stat info{};
  ASSERT_EQ(stat((folder_ / "real").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640U);
  EXPECT_EQ(read_file(folder_ / "real")->size(), 3U);
}
TEST_F(File, errors_name_the_path_and_the_reason) {
  const auto missing = read_file(folder_ / "none");
  ASSERT_FALSE(missing);
  expect_error(missing.error(), (folder_ / "none").string());
  expect_error(missing.error(), "No such file");
  const auto folder = read_file(folder_);
  ASSERT_FALSE(folder);
  expect_error(folder.error(), "is a directory");
  const auto into_folder = write_file(folder_, "x");
  ASSERT_FALSE(into_folder);
  expect_error(into_folder.error(), "is a directory");
  const auto into_nothing = write_file(folder_ / "no" / "x", "x");
  ASSERT_FALSE(into_nothing);
  expect_error(into_nothing.error(), "No such file");
}
TEST_F(File, a_fifo_is_refused_without_waiting) {
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  const auto result = read_file(folder_ / "pipe");
  ASSERT_FALSE(result);
  expect_error(result.error(), "is a FIFO");
}
TEST_F(File, a_huge_file_is_refused_before_it_is_read) {
  ASSERT_TRUE(write_file(folder_ / "huge", "x"));
  std::filesystem::resize_file(folder_ / "huge", static_cast<uintmax_t>(kMaxFileBytes) + 1);  // sparse
  const auto result = read_file(folder_ / "huge");
  ASSERT_FALSE(result);
  expect_error(result.error(), "4294967297 bytes, the limit is 4294967296");
  EXPECT_FALSE(read_file(folder_ / "huge", 10));
}
TEST_F(File, a_device_stays_a_device) {
  ASSERT_TRUE(write_file("/dev/null", "x"));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}
TEST_F(File, files_that_do_not_know_their_size) {
  const auto result = read_file("/proc/self/status");  // stat says 0 bytes
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_GT(result->size(), 100U);
}

}  // namespace
}  // namespace peraxis::base
