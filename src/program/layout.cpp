#include "program/layout.hpp"

#include <algorithm>

#include "target/rk3588/limits.hpp"

namespace peraxis::program {
namespace {

using rk3588::kAtomBytes;

int64_t round_up(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

int64_t slot(const Layout& layout, int64_t channel) {
  return layout.plain() ? channel : layout.slot_of[static_cast<size_t>(channel)];
}

// Channels that lie in their order from slot 0 on need no list.
Layout simplified(Layout layout) {
  for (size_t c = 0; c < layout.slot_of.size(); ++c)
    if (layout.slot_of[c] != static_cast<int32_t>(c)) return layout;
  return plain_layout(static_cast<int64_t>(layout.slot_of.size()));
}

}  // namespace

Layout plain_layout(int64_t channels) {
  return {round_up(channels, kAtomBytes), {}};
}

Layout flat_layout(const Layout& layout, int64_t pixels, int64_t channels) {
  Layout out{layout.slots * pixels, {}};
  for (int64_t p = 0; p < pixels; ++p)
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t from = slot(layout, c);
      out.slot_of.push_back(
          static_cast<int32_t>((from / kAtomBytes * pixels + p) * kAtomBytes + from % kAtomBytes));
    }
  return simplified(std::move(out));
}

Layout join(std::span<const JoinedPart> parts, int64_t slots) {
  Layout out{slots, {}};
  for (const JoinedPart& part : parts)
    for (int64_t c = 0; c < part.channels; ++c)
      out.slot_of.push_back(static_cast<int32_t>(part.first_slot + slot(part.layout, c)));
  return simplified(std::move(out));
}

ChannelRange channel_range(const Layout& layout, int64_t first, int64_t count) {
  int64_t low = layout.slots, high = 0;
  for (int64_t c = first; c < first + count; ++c) {
    low = std::min(low, slot(layout, c));
    high = std::max(high, slot(layout, c) + 1);
  }
  ChannelRange out;
  out.first_slot = low / kAtomBytes * kAtomBytes;
  out.layout.slots = round_up(high - out.first_slot, kAtomBytes);
  for (int64_t c = first; c < first + count; ++c)
    out.layout.slot_of.push_back(static_cast<int32_t>(slot(layout, c) - out.first_slot));
  out.layout = simplified(std::move(out.layout));
  return out;
}

}  // namespace peraxis::program
