#include "capture/server/faults.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "capture/server/addresses.hpp"

namespace peraxis::capture {
namespace {

TEST(Faults, CountByCall) {
  Faults faults;
  ASSERT_TRUE(faults.add("submit@2=EBUSY"));
  ASSERT_TRUE(faults.add("any@4=EIO"));
  EXPECT_EQ(faults.error_of("submit"), 0);
  EXPECT_EQ(faults.error_of("create"), 0);
  EXPECT_EQ(faults.error_of("submit"), EBUSY);
  EXPECT_EQ(faults.error_of("prep"), EIO);
  EXPECT_EQ(faults.error_of("submit"), 0);
}

TEST(Faults, WrongOnesAreRefusedWithAnExplanation) {
  for (const char* text : {"", "hang", "hang@0", "hang@x", "hang@1=EIO", "submit@1", "submit@1=EWHAT",
                           "boil@1=EIO", "space=1", "space=9G", "slow=-1", "cores=012345", "cores=011"}) {
    Faults faults;
    const Status status = faults.add(text);
    ASSERT_FALSE(status) << text;
    EXPECT_NE(status.error().message.find(fault_help()), std::string::npos) << text;
  }
}

TEST(Addresses, SmallestHoleThatFits) {
  Addresses addresses(0, 0x10000);
  EXPECT_EQ(addresses.take(0x1000), 0);
  EXPECT_EQ(addresses.take(0x2000), 0x1000);
  EXPECT_EQ(addresses.take(0x1000), 0x3000);
  EXPECT_EQ(addresses.take(0x1000), 0x4000);
  addresses.give_back(0x1000, 0x2000);
  addresses.give_back(0x4000, 0x1000);  // joins the rest
  EXPECT_EQ(addresses.take(0x1000), 0x1000);
  addresses.give_back(0x3000, 0x1000);
  EXPECT_EQ(addresses.take(0xE000), 0x2000);
  EXPECT_EQ(addresses.take(0x1000), std::nullopt);
}

}  // namespace
}  // namespace peraxis::capture
