// In which slots of a cube on the device the channels of a map are. A cube is [slots/16][h][w][16].
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace peraxis::program {

struct Layout {
  int64_t slots = 0;             // multiple of 16; 0: nothing is known
  std::vector<int32_t> slot_of;  // by channel; empty: channel c is in slot c. Other slots may hold anything.

  bool plain() const { return slot_of.empty(); }
  bool operator==(const Layout&) const = default;
};

Layout plain_layout(int64_t channels);

// A map of `pixels` of `channels` seen as one pixel: its surfaces hold one atom each, and the channels of one
// pixel follow those of the pixel before.
Layout flat_layout(const Layout& layout, int64_t pixels, int64_t channels);

// A part of a joined map, the channels of one part behind those of the part before.
struct JoinedPart {
  int64_t channels = 0;
  Layout layout;
  int64_t first_slot = 0;  // multiple of 16
};
Layout join(std::span<const JoinedPart> parts, int64_t slots);

// Some neighbouring channels of a map as a map: the whole surfaces that hold them.
struct ChannelRange {
  Layout layout;
  int64_t first_slot = 0;  // multiple of 16
};
ChannelRange channel_range(const Layout& layout, int64_t first, int64_t count);

}  // namespace peraxis::program
