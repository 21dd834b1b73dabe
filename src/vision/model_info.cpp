// The --model-info file. Each message names the key and what was found, because these files are written by
// hand. The JSON library is told not to throw; every access below is preceded by a type check.
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "vision/heads.hpp"
#include "vision/json_text.hpp"

namespace peraxis::vision {
namespace {

using nlohmann::json;

constexpr size_t kMaxPriors = 1'000'000;
constexpr double kMaxVariance = 100;
constexpr size_t kMaxLevels = 16;
constexpr int64_t kMaxStride = 4096;

template <class... Args>
tl::unexpected<Error> bad_key(std::string_view name, std::string_view key, fmt::format_string<Args...> format,
                              Args&&... args) {
  return fail(ErrorCode::InvalidArgument, "model info '{}': key '{}': {}", name, key,
              fmt::format(format, std::forward<Args>(args)...));
}

Result<std::string> read_choice(const json& value, std::string_view name, std::string_view key,
                                const std::vector<std::string>& choices) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    for (const std::string& choice : choices)
      if (text == choice) return text;
  }
  std::string list;
  for (const std::string& choice : choices) list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", choice);
  return bad_key(name, key, "{} is not one of {}", shown(value), list);
}

Result<double> read_fraction(const json& value, std::string_view name, std::string_view key) {
  if (!value.is_number()) return bad_key(name, key, "{} is not a number", shown(value));
  const double number = value.get<double>();
  if (!(number >= 0 && number <= 1)) return bad_key(name, key, "{} is outside 0..1", shown(value));
  return number;
}

Result<int> read_integer(const json& value, std::string_view name, std::string_view key, int64_t limit) {
  if (!value.is_number_integer()) return bad_key(name, key, "{} is not an integer", shown(value));
  // A number beyond int64 arrives as unsigned; compare it as such.
  const bool too_large = value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(limit);
  if (too_large || value.get<int64_t>() < 1 || value.get<int64_t>() > limit)
    return bad_key(name, key, "{} is outside 1..{}", shown(value), limit);
  return static_cast<int>(value.get<int64_t>());
}

Result<std::vector<std::string>> read_labels_key(const json& value, std::string_view name) {
  if (!value.is_array()) return bad_key(name, "labels", "{} is not a list of strings", shown(value));
  if (value.size() > kMaxLabels)
    return bad_key(name, "labels", "{} labels, the limit is {}", value.size(), kMaxLabels);
  std::vector<std::string> labels;
  for (const json& item : value) {
    if (!item.is_string())
      return bad_key(name, "labels", "item {} is {}, not a string", labels.size(), shown(item));
    labels.push_back(item.get_ref<const std::string&>());
  }
  return labels;
}

Result<std::vector<int>> read_strides(const json& value, std::string_view name) {
  if (!value.is_array() || value.empty() || value.size() > kMaxLevels)
    return bad_key(name, "strides", "{} is not a list of 1 to {} integers", shown(value), kMaxLevels);
  std::vector<int> strides;
  for (const json& item : value) {
    const int stride = PERAXIS_TRY(read_integer(item, name, "strides", kMaxStride));
    for (int other : strides)
      if (other == stride) return bad_key(name, "strides", "{} is there twice", stride);
    strides.push_back(stride);
  }
  return strides;
}

Result<Anchor> read_anchor(const json& value, std::string_view name) {
  if (!value.is_array() || value.size() != 2 || !value[0].is_number() || !value[1].is_number())
    return bad_key(name, "anchors", "{} is not a pair [width, height]", shown(value));
  const Anchor anchor{value[0].get<float>(), value[1].get<float>()};
  if (!(anchor.width > 0 && anchor.height > 0 && std::isfinite(anchor.width) && std::isfinite(anchor.height)))
    return bad_key(name, "anchors", "{} is not a positive size", shown(value));
  return anchor;
}

Result<std::vector<std::vector<Anchor>>> read_anchors(const json& value, std::string_view name) {
  if (!value.is_array() || value.empty() || value.size() > kMaxLevels)
    return bad_key(name, "anchors", "{} is not a list with one list of [width, height] pairs a stride",
                   shown(value));
  std::vector<std::vector<Anchor>> anchors;
  for (const json& level : value) {
    if (!level.is_array() || level.empty() || level.size() > kMaxLevels)
      return bad_key(name, "anchors", "item {} is {}, not a list of 1 to {} [width, height] pairs",
                     anchors.size(), shown(level), kMaxLevels);
    auto& row = anchors.emplace_back();
    for (const json& item : level) row.push_back(PERAXIS_TRY(read_anchor(item, name)));
  }
  return anchors;
}

Result<float> read_part(const json& value, std::string_view name) {
  const float part = value.is_number() ? value.get<float>() : std::numeric_limits<float>::quiet_NaN();
  if (!std::isfinite(part)) return bad_key(name, "priors", "{} is not a number", shown(value));
  return part;
}

Result<std::vector<Prior>> read_priors(const json& value, std::string_view name) {
  if (!value.is_array() || value.empty() || value.size() > kMaxPriors)
    return bad_key(name, "priors", "{} is not a list of 1 to {} items [cx, cy, width, height]", shown(value),
                   kMaxPriors);
  std::vector<Prior> priors;
  priors.reserve(value.size());
  for (const json& item : value) {
    if (!item.is_array() || item.size() != 4)
      return bad_key(name, "priors", "item {} is {}, not [cx, cy, width, height]", priors.size(),
                     shown(item));
    const Prior prior{PERAXIS_TRY(read_part(item[0], name)), PERAXIS_TRY(read_part(item[1], name)),
                      PERAXIS_TRY(read_part(item[2], name)), PERAXIS_TRY(read_part(item[3], name))};
    if (!(prior.width > 0 && prior.height > 0))
      return bad_key(name, "priors", "item {} is {}: width and height must be positive", priors.size(),
                     shown(item));
    priors.push_back(prior);
  }
  return priors;
}

Status read_variances(ModelInfo& info, std::string_view name, const json& value) {
  if (!value.is_array() || value.size() != 2 || !value[0].is_number() || !value[1].is_number())
    return bad_key(name, "variances", "{} is not a pair [centre, size]", shown(value));
  info.centre_variance = value[0].get<double>();
  info.size_variance = value[1].get<double>();
  info.variances_stated = true;
  for (const double variance : {info.centre_variance, info.size_variance})
    if (!(variance > 0 && variance <= kMaxVariance))
      return bad_key(name, "variances", "{} is not between 0 and {}", shown(value), kMaxVariance);
  return {};
}

// Keys of the SSD head and of the units of boxes. False when `key` is none of them.
Result<bool> read_box_key(ModelInfo& info, std::string_view name, const std::string& key, const json& value) {
  if (key == "boxes") {
    info.boxes = PERAXIS_TRY(read_choice(value, name, key, {"fractions", "pixels", "cells"}));
  } else if (key == "priors") {
    info.priors = PERAXIS_TRY(read_priors(value, name));
  } else if (key == "box_order") {
    info.box_order = PERAXIS_TRY(read_choice(value, name, key, {"xywh", "yxhw"}));
  } else if (key == "variances") {
    PERAXIS_TRY(read_variances(info, name, value));
  } else if (key == "background") {
    if (!value.is_boolean()) return bad_key(name, key, "{} is not true or false", shown(value));
    info.background = value.get<bool>();
  } else {
    return false;
  }
  return true;
}

Status read_key(ModelInfo& info, std::string_view name, const std::string& key, const json& value) {
  if (PERAXIS_TRY(read_box_key(info, name, key, value))) return {};
  if (key == "task") {
    info.task = PERAXIS_TRY(read_choice(value, name, key, {"detect", "classify"}));
  } else if (key == "head") {
    info.head = PERAXIS_TRY(read_choice(value, name, key, head_names()));
  } else if (key == "labels") {
    if (!value.is_null()) info.set_labels(labels_of(PERAXIS_TRY(read_labels_key(value, name))));
  } else if (key == "strides") {
    info.strides = PERAXIS_TRY(read_strides(value, name));
  } else if (key == "anchors") {
    info.anchors = PERAXIS_TRY(read_anchors(value, name));
  } else if (key == "score") {
    info.score = PERAXIS_TRY(read_fraction(value, name, key));
  } else if (key == "iou") {
    info.iou = PERAXIS_TRY(read_fraction(value, name, key));
  } else if (key == "max_detections") {
    info.max_detections = PERAXIS_TRY(read_integer(value, name, key, 100'000));
  } else {
    return bad_key(
        name, key,
        "not known; the keys are task, head, labels, strides, anchors, boxes, priors, box_order, variances, "
        "background, score, iou, max_detections");
  }
  return {};
}

}  // namespace

Result<ModelInfo> parse_model_info(std::string_view text, std::string_view name) {
  const json root = PERAXIS_TRY(parse_json_object(text, fmt::format("model info '{}'", name)));
  ModelInfo info;
  for (auto item = root.begin(); item != root.end(); ++item)
    PERAXIS_TRY(read_key(info, name, item.key(), item.value()));
  const bool anchors = root.contains("anchors");
  info.anchors_stated = anchors;
  info.strides_stated = root.contains("strides");
  // Heads without anchors have strides only.
  const bool without = info.head == "yolox" || info.head == "yolov8" || info.head == "yolov8-decoded" ||
                       info.head == "pose" || info.head == "segmentation";
  if (info.strides.size() != info.anchors.size() && (anchors || !without))
    return bad_key(name, anchors ? "anchors" : "strides",
                   "{} strides but {} anchor lists; there must be one list a stride", info.strides.size(),
                   info.anchors.size());
  const Head* head = find_head(info.head);
  if (head != nullptr && !info.task.empty() &&
      (info.task == "classify") != (head->task == HeadTask::Classify))
    return bad_key(name, "head", "\"{}\" does not go with task \"{}\"", info.head, info.task);
  return info;
}

}  // namespace peraxis::vision
