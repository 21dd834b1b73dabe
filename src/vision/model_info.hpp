// What a model's tensors cannot say about themselves: names of classes, strides, anchors, thresholds. Comes
// from a small JSON file; the defaults are YOLOv5's for COCO.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "vision/labels.hpp"

namespace peraxis::vision {

struct Anchor {
  float width = 0;  // pixels of the model's input
  float height = 0;

  bool operator==(const Anchor&) const = default;
};

// An SSD anchor with its place: centre and size as fractions of the model's input.
struct Prior {
  float cx = 0, cy = 0, width = 0, height = 0;

  bool operator==(const Prior&) const = default;
};

struct ModelInfo {
  std::string task;  // "detect", "classify", or empty: by shapes
  std::string head;  // a name of heads.def, "none", or empty: by shapes
  // Heads that the model file itself leaves (its exporter's metadata), and its words; absent: any.
  std::optional<std::vector<std::string>> candidates;
  std::string candidates_source;
  std::vector<std::string> labels;  // set_labels
  bool labels_background = false;   // Labels::background
  bool labels_numbered = false;     // Labels::numbered
  std::vector<int> strides = {8, 16, 32};
  std::vector<std::vector<Anchor>> anchors = {
      {{10, 13}, {16, 30}, {33, 23}}, {{30, 61}, {62, 45}, {59, 119}}, {{116, 90}, {156, 198}, {373, 326}}};
  bool strides_stated = false, anchors_stated = false;  // not the defaults above
  std::string boxes;  // "fractions", "pixels", "cells", or empty: by the values
  // SSD without its post-processing operator.
  std::vector<Prior> priors;     // one a row; empty: the anchors at the cells of the strides
  std::string box_order;         // "xywh" or "yxhw"; there is no default
  double centre_variance = 0.1;  // an offset of 1 is this part of the anchor's side
  double size_variance = 0.2;    // a logarithm of sizes is multiplied with it
  bool variances_stated = false;
  std::optional<bool> background;  // column 0 of the scores is no class; absent: by the number of labels
  double score = 0.25;             // boxes at or below this are dropped
  double iou = 0.45;               // boxes of one class that overlap more than this are one
  int max_detections = 100;        // the best so many are kept

  void set_labels(Labels given) {
    labels = std::move(given.names);
    labels_background = given.background;
    labels_numbered = given.numbered;
  }
};

// Model info with where it comes from, in words; empty: from nowhere.
struct SourcedInfo {
  ModelInfo info;
  std::string source;         // "--model-info x.json"
  std::string labels_source;  // "labels.txt inside the model"
};
// The form in which an executable carries it: everything of it, as JSON.
std::string print_stored_info(const SourcedInfo& info);
Result<SourcedInfo> parse_stored_info(std::string_view text, std::string_view name);

// The JSON file of --model-info; `name` is for error texts. Keys: those of ModelInfo, all optional; an
// unknown key is an error, because it is most likely a typing mistake.
Result<ModelInfo> parse_model_info(std::string_view text, std::string_view name);

}  // namespace peraxis::vision
