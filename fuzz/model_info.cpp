// Any bytes as the JSON of --model-info: refused with a message, or values that the heads can work with.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "vision/heads.hpp"

using namespace peraxis;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto info =
      vision::parse_model_info(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!info) {
    PERAXIS_CHECK(!info.error().message.empty(), "a refusal says why");
    return 0;
  }
  for (const int stride : info->strides) PERAXIS_CHECK(stride > 0, "a stride is positive");
  for (const auto& level : info->anchors)
    for (const vision::Anchor& anchor : level)
      PERAXIS_CHECK(std::isfinite(anchor.width) && std::isfinite(anchor.height), "an anchor is a size");
  PERAXIS_CHECK(std::isfinite(info->score) && std::isfinite(info->iou), "thresholds are numbers");
  PERAXIS_CHECK(info->max_detections >= 0, "a count is not negative");
  return 0;
}
