// What exporters append to a .tflite file: a zip archive behind the flatbuffer, with label files (TFLite's
// model metadata) or a metadata.json (Ultralytics).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "vision/model_info.hpp"

namespace peraxis::vision {

// metadata.json of Ultralytics' exporter, as far as it is used.
struct ExporterMetadata {
  bool ultralytics = false;  // it says that it is theirs; only then the task tells the form of the outputs
  std::string task;          // "detect", "classify", "pose", "segment", "obb" or what it says
  std::optional<Labels> names;
};
// Unknown keys are skipped: the file is another program's. One known key of a wrong type is an error.
Result<ExporterMetadata> parse_exporter_metadata(std::string_view text);

struct EmbeddedInfo {
  std::optional<Labels> labels;
  std::string labels_member;  // the member they come from
  // The heads that the metadata leaves, and its words: "metadata.json inside the model says task 'detect'".
  std::optional<std::vector<std::string>> candidates;
  std::string candidates_source;
  std::string boxes;                  // ModelInfo::boxes; empty: nothing says it
  std::vector<std::string> warnings;  // why something that is there was not used
};
// Nothing without an archive. What is broken there is a warning, because nobody asked for it. Labels are
// those of metadata.json, else of labels.txt, labelmap.txt or label_map.txt, else of the one .txt member
// whose name has "label" in it.
EmbeddedInfo read_embedded_info(std::span<const uint8_t> model);

}  // namespace peraxis::vision
