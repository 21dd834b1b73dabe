#include "program/layout.hpp"

#include <gtest/gtest.h>

namespace peraxis::program {
namespace {

using Slots = std::vector<int32_t>;

TEST(Layout, Plain) {
  EXPECT_EQ(plain_layout(16).slots, 16);
  EXPECT_EQ(plain_layout(17).slots, 32);
  EXPECT_TRUE(plain_layout(17).plain());
}

TEST(Layout, JoinOfPartsThatFillTheirSurfacesIsPlain) {
  const std::vector<JoinedPart> parts{{16, plain_layout(16), 0}, {20, plain_layout(20), 16}};
  EXPECT_EQ(join(parts, 48), plain_layout(36));
}

TEST(Layout, JoinLeavesGaps) {
  const std::vector<JoinedPart> parts{{3, plain_layout(3), 0}, {2, plain_layout(2), 32}};
  const Layout out = join(parts, 48);
  EXPECT_EQ(out.slots, 48);
  EXPECT_EQ(out.slot_of, (Slots{0, 1, 2, 32, 33}));
  // A join of joins, and of channels in an order of their own.
  const std::vector<JoinedPart> outer{{2, {16, {5, 1}}, 0}, {5, out, 16}};
  EXPECT_EQ(join(outer, 64).slot_of, (Slots{5, 1, 16, 17, 18, 48, 49}));
}

TEST(Layout, Ranges) {
  const ChannelRange second = channel_range(plain_layout(48), 16, 20);
  EXPECT_EQ(second.first_slot, 16);
  EXPECT_EQ(second.layout, plain_layout(20));
  // Channels 24..47 begin in the middle of surface 1.
  const ChannelRange odd = channel_range(plain_layout(48), 24, 24);
  EXPECT_EQ(odd.first_slot, 16);
  EXPECT_EQ(odd.layout.slots, 32);
  ASSERT_EQ(odd.layout.slot_of.size(), 24U);
  EXPECT_EQ(odd.layout.slot_of.front(), 8);
  EXPECT_EQ(odd.layout.slot_of.back(), 31);
  // Channels of several surfaces, last first.
  const Layout turned{64, {40, 3, 20}};
  EXPECT_EQ(channel_range(turned, 0, 2).layout.slot_of, (Slots{40, 3}));
  EXPECT_EQ(channel_range(turned, 0, 2).layout.slots, 48);
  EXPECT_EQ(channel_range(turned, 2, 1).first_slot, 16);
  EXPECT_EQ(channel_range(turned, 2, 1).layout.slot_of, (Slots{4}));
}

}  // namespace
}  // namespace peraxis::program
