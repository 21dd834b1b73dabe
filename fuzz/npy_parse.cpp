// Any bytes as .npy and as .npz: refused, or an array that passes check_array and survives a round trip.
#include <cstddef>
#include <cstdint>

#include "base/check.hpp"
#include "base/npy.hpp"

using namespace peraxis;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  if (const auto array = base::parse_npy(bytes)) {
    PERAXIS_CHECK(base::check_array(*array).has_value(), "what was parsed is consistent");
    PERAXIS_CHECK(*base::parse_npy(base::format_npy(*array)) == *array, "a round trip changes nothing");
  }
  if (const auto arrays = base::parse_npz(bytes)) {
    for (const auto& [name, array] : *arrays)
      PERAXIS_CHECK(base::check_array(array).has_value(), "what was unpacked is consistent");
    PERAXIS_CHECK(*base::parse_npz(*base::format_npz(*arrays)) == *arrays, "a round trip changes nothing");
  }
  return 0;
}
