#include "lower/layouts.hpp"

#include <cstring>

#include "target/rk3588/limits.hpp"

namespace peraxis::lower {

std::vector<uint8_t> pack_operands(const std::vector<const requant::ChannelParams*>& slot_params,
                                   bool records, int32_t weight_zero_point) {
  const size_t slots = slot_params.size();
  std::vector<uint8_t> packed(records ? slots / rk3588::kOperandRecordChannels * rk3588::kOperandRecordBytes
                                      : slots * 4);
  for (size_t s = 0; s < slots; ++s) {
    const requant::ChannelParams none{};
    const requant::ChannelParams& params = slot_params[s] != nullptr ? *slot_params[s] : none;
    if (!records) {
      std::memcpy(packed.data() + s * 4, &params.a, 4);
      continue;
    }
    uint8_t* record = packed.data() + s / 8 * 64;
    const size_t lane = s % 8;
    const auto b = static_cast<int16_t>(-weight_zero_point);
    std::memcpy(record + lane * 4, &params.a, 4);
    std::memcpy(record + 32 + lane * 2, &b, 2);
    std::memcpy(record + 48 + lane * 2, &params.c, 2);
  }
  return packed;
}

}  // namespace peraxis::lower
