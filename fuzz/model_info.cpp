// Any bytes as the JSON of --model-info, as a file of labels, as the metadata of an exporter and as a model
// with an archive behind it: refused with a message, or values that the heads can work with.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "vision/embedded_info.hpp"
#include "vision/heads.hpp"
#include "vision/labels.hpp"

using namespace peraxis;

namespace {

void check_labels(const vision::Labels& labels) {
  PERAXIS_CHECK(!labels.names.empty() && labels.names.size() <= vision::kMaxLabels,
                "as many as there can be");
  for (const std::string& name : labels.names) PERAXIS_CHECK(!name.empty(), "every index has a name");
}

void check_info(const vision::ModelInfo& info) {
  for (const int stride : info.strides) PERAXIS_CHECK(stride > 0, "a stride is positive");
  for (const auto& level : info.anchors)
    for (const vision::Anchor& anchor : level)
      PERAXIS_CHECK(std::isfinite(anchor.width) && std::isfinite(anchor.height), "an anchor is a size");
  PERAXIS_CHECK(std::isfinite(info.score) && std::isfinite(info.iou), "thresholds are numbers");
  PERAXIS_CHECK(info.max_detections >= 0, "a count is not negative");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto info = vision::parse_model_info(text, "fuzz"))
    check_info(*info);
  else
    PERAXIS_CHECK(!info.error().message.empty(), "a refusal says why");
  if (const auto stored = vision::parse_stored_info(text, "fuzz")) {
    check_info(stored->info);
    if (!stored->info.labels.empty()) check_labels({stored->info.labels, false, false});
    PERAXIS_CHECK(vision::parse_stored_info(vision::print_stored_info(*stored), "again").has_value(),
                  "what was read can be stored");
  } else {
    PERAXIS_CHECK(!stored.error().message.empty(), "a refusal says why");
  }
  if (const auto labels = vision::parse_labels(text, "fuzz"))
    check_labels(*labels);
  else
    PERAXIS_CHECK(!labels.error().message.empty(), "a refusal says why");
  if (const auto metadata = vision::parse_exporter_metadata(text)) {
    if (metadata->names) check_labels(*metadata->names);
  } else {
    PERAXIS_CHECK(!metadata.error().message.empty(), "a refusal says why");
  }
  const vision::EmbeddedInfo embedded = vision::read_embedded_info({data, size});
  if (embedded.labels) {
    check_labels(*embedded.labels);
    PERAXIS_CHECK(!embedded.labels_member.empty(), "labels come from somewhere");
  }
  for (const std::string& warning : embedded.warnings) PERAXIS_CHECK(!warning.empty(), "a warning says why");
  return 0;
}
