// Archives behind other bytes, and limits; npz_test's hostile archives go through the same reader.
#include "base/zip.hpp"

#include <gtest/gtest.h>

#include "base/npy.hpp"

namespace peraxis::base {
namespace {

std::vector<uint8_t> archive() {
  return *format_npz({{"x", make_array<int8_t>({3}, std::vector<int8_t>{1, 2, 3})},
                      {"y", make_array<int8_t>({3}, std::vector<int8_t>{4, 5, 6})}});
}

std::vector<uint8_t> behind(size_t count, const std::vector<uint8_t>& bytes) {
  std::vector<uint8_t> out(count, 7);
  out.insert(out.end(), bytes.begin(), bytes.end());
  return out;
}

TEST(Zip, MembersBehindOtherBytes) {
  for (const size_t count : {0, 1, 1000}) {
    const std::vector<uint8_t> bytes = behind(count, archive());
    const auto members = zip_members(bytes);
    ASSERT_TRUE(members) << members.error().text();
    ASSERT_EQ(members->size(), 2u);
    EXPECT_EQ((*members)[1].name, "y.npy");
    const auto content = unzip(bytes, (*members)[1], 4096);
    ASSERT_TRUE(content) << content.error().text();
    EXPECT_EQ(parse_npy(*content)->data, (std::vector<uint8_t>{4, 5, 6}));
  }
}

TEST(Zip, EndsAsZip) {
  EXPECT_TRUE(ends_as_zip(archive()));
  EXPECT_FALSE(ends_as_zip({}));
  EXPECT_FALSE(ends_as_zip(std::vector<uint8_t>(100, 'P')));
  std::vector<uint8_t> more = archive();
  more.push_back(0);
  EXPECT_FALSE(ends_as_zip(more));
}

TEST(Zip, ContentAboveTheLimitIsNotUnpacked) {
  const std::vector<uint8_t> bytes = archive();
  const auto members = zip_members(bytes);
  ASSERT_TRUE(members);
  const auto content = unzip(bytes, (*members)[0], 100);
  ASSERT_FALSE(content);
  EXPECT_NE(content.error().message.find("member 'x.npy' has 131 bytes, the limit is 100"), std::string::npos)
      << content.error().text();
}

}  // namespace
}  // namespace peraxis::base
