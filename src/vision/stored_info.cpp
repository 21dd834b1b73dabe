// Model info inside an executable: the keys of the --model-info file and those that no user writes.
#include <nlohmann/json.hpp>

#include "vision/json_text.hpp"
#include "vision/model_info.hpp"

namespace peraxis::vision {
namespace {

using Json = nlohmann::ordered_json;

Json pairs_of(const std::vector<Anchor>& level) {
  Json out = Json::array();
  for (const Anchor& anchor : level) out.push_back({anchor.width, anchor.height});
  return out;
}

void add_boxes(const ModelInfo& info, Json& out) {
  if (!info.boxes.empty()) out["boxes"] = info.boxes;
  if (!info.box_order.empty()) out["box_order"] = info.box_order;
  for (const Prior& prior : info.priors)
    out["priors"].push_back({prior.cx, prior.cy, prior.width, prior.height});
  if (info.variances_stated) out["variances"] = {info.centre_variance, info.size_variance};
  if (info.background) out["background"] = *info.background;
}

// What parse_model_info knows; the defaults are left out where they are told from stated values.
Json keys_of(const ModelInfo& info) {
  Json out = Json::object();
  if (!info.task.empty()) out["task"] = info.task;
  if (!info.head.empty()) out["head"] = info.head;
  if (info.strides_stated) out["strides"] = info.strides;
  if (info.anchors_stated) {
    out["anchors"] = Json::array();
    for (const std::vector<Anchor>& level : info.anchors) out["anchors"].push_back(pairs_of(level));
  }
  add_boxes(info, out);
  out["score"] = info.score;
  out["iou"] = info.iou;
  out["max_detections"] = info.max_detections;
  return out;
}

template <class... Args>
tl::unexpected<Error> bad_part(std::string_view name, fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorCode::InvalidModel, "{}: {}", name, fmt::format(format, std::forward<Args>(args)...));
}

Result<std::string> text_of(const nlohmann::json& root, const char* key, std::string_view name) {
  const auto found = root.find(key);
  if (found == root.end()) return std::string();
  if (!found->is_string()) return bad_part(name, "'{}' is {}, not a string", key, shown(*found));
  return found->get<std::string>();
}

Result<std::vector<std::string>> texts_of(const nlohmann::json& value, const char* key,
                                          std::string_view name) {
  if (!value.is_array() || value.size() > kMaxLabels)
    return bad_part(name, "'{}' is {}, not a list of up to {} strings", key, shown(value), kMaxLabels);
  std::vector<std::string> out;
  for (const nlohmann::json& item : value) {
    if (!item.is_string() || item.get_ref<const std::string&>().empty())
      return bad_part(name, "item {} of '{}' is {}, not a name", out.size(), key, shown(item));
    out.push_back(item.get_ref<const std::string&>());
  }
  return out;
}

Result<bool> flag_of(const nlohmann::json& root, const char* key, std::string_view name) {
  const auto found = root.find(key);
  if (found == root.end()) return false;
  if (!found->is_boolean()) return bad_part(name, "'{}' is {}, not true or false", key, shown(*found));
  return found->get<bool>();
}

}  // namespace

std::string print_stored_info(const SourcedInfo& stored) {
  const ModelInfo& info = stored.info;
  Json out;
  out["info"] = keys_of(info);
  if (!info.labels.empty()) out["labels"] = info.labels;
  if (info.labels_background) out["labels_background"] = true;
  if (info.labels_numbered) out["labels_numbered"] = true;
  if (info.candidates) out["candidates"] = *info.candidates;
  if (!info.candidates_source.empty()) out["candidates_source"] = info.candidates_source;
  if (!stored.source.empty()) out["source"] = stored.source;
  if (!stored.labels_source.empty()) out["labels_source"] = stored.labels_source;
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<SourcedInfo> parse_stored_info(std::string_view text, std::string_view name) {
  const nlohmann::json root = PERAXIS_TRY(parse_json_object(text, name));
  SourcedInfo out;
  const auto keys = root.find("info");
  if (keys == root.end() || !keys->is_object()) return bad_part(name, "it has no 'info'");
  out.info = PERAXIS_TRY(parse_model_info(keys->dump(-1, ' ', false, Json::error_handler_t::replace), name));
  if (const auto labels = root.find("labels"); labels != root.end())
    out.info.labels = PERAXIS_TRY(texts_of(*labels, "labels", name));
  out.info.labels_background = PERAXIS_TRY(flag_of(root, "labels_background", name));
  out.info.labels_numbered = PERAXIS_TRY(flag_of(root, "labels_numbered", name));
  if (const auto candidates = root.find("candidates"); candidates != root.end())
    out.info.candidates = PERAXIS_TRY(texts_of(*candidates, "candidates", name));
  out.info.candidates_source = PERAXIS_TRY(text_of(root, "candidates_source", name));
  out.source = PERAXIS_TRY(text_of(root, "source", name));
  out.labels_source = PERAXIS_TRY(text_of(root, "labels_source", name));
  return out;
}

}  // namespace peraxis::vision
