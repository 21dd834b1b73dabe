// The table of heads and the rule that chooses one (heads.hpp).
#include "vision/heads.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "vision/head_parts.hpp"

namespace peraxis::vision {
namespace {

constexpr std::array kHeads = {
#define PERAXIS_HEAD(name) &name##_head,
#include "vision/heads.def"
};

// Classes of COCO and of Pascal VOC.
constexpr int64_t kKnownClasses[] = {80, 20};

struct Reading {
  const Head* head;
  Fit fit;

  bool usual() const {
    return fit.usual || std::find(std::begin(kKnownClasses), std::end(kKnownClasses), fit.classes) !=
                            std::end(kKnownClasses);
  }
};

bool task_allows(const ModelInfo& info, const Head& head) {
  return info.task.empty() || (info.task == "classify") == (head.task == HeadTask::Classify);
}

std::string list(const std::vector<Reading>& readings) {
  std::string text;
  for (const Reading& reading : readings)
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", reading.head->name,
                        reading.fit.classes > 0 ? fmt::format(" ({} classes)", reading.fit.classes) : "");
  return text;
}

Result<HeadChoice> choose_named(const HeadView& view) {
  if (view.info.head == "none") return HeadChoice{nullptr, false};
  const Head* head = find_head(view.info.head);
  if (head == nullptr) {
    std::string names;
    for (const std::string& name : head_names()) names += (names.empty() ? "" : ", ") + name;
    return fail(ErrorCode::InvalidArgument, "head '{}' is not known; the heads are {}", view.info.head,
                names);
  }
  if (!head->fit(view))
    return fail(ErrorCode::Unsupported,
                "head '{}' does not fit the outputs {} of a model with {}: it needs {}", head->name,
                shapes_text(view.outputs),
                view.info.labels.empty() ? "any labels" : fmt::format("{} labels", view.info.labels.size()),
                head->outputs);
  return HeadChoice{head, false};
}

}  // namespace

std::span<const Head* const> heads() {
  return kHeads;
}

const Head* find_head(std::string_view name) {
  const auto found =
      std::find_if(kHeads.begin(), kHeads.end(), [&](const Head* h) { return h->name == name; });
  return found == kHeads.end() ? nullptr : *found;
}

std::vector<std::string> head_names() {
  std::vector<std::string> names;
  names.reserve(kHeads.size() + 1);
  for (const Head* head : kHeads) names.emplace_back(head->name);
  names.emplace_back("none");
  return names;
}

Result<HeadChoice> choose_head(const HeadView& view) {
  if (view.named()) return choose_named(view);
  std::vector<Reading> readings;
  for (const Head* head : kHeads) {
    if (head->by_name_only || !task_allows(view.info, *head)) continue;
    if (const auto fit = head->fit(view)) readings.push_back({head, *fit});
  }
  if (readings.empty()) return HeadChoice{};
  if (readings.size() == 1) return HeadChoice{readings[0].head, true};
  std::vector<Reading> known;
  std::copy_if(readings.begin(), readings.end(), std::back_inserter(known),
               [](const Reading& reading) { return reading.usual(); });
  if (known.size() == 1) return HeadChoice{known[0].head, true};
  const bool differ = std::any_of(readings.begin(), readings.end(), [&](const Reading& reading) {
    return reading.fit.classes != readings[0].fit.classes;
  });
  return fail(ErrorCode::Unsupported,
              "outputs {} can be read as the heads {}; name one (--head, or \"head\" in the model info){}",
              shapes_text(view.outputs), list(readings),
              differ && view.info.labels.empty() ? ", or give the labels" : "");
}

Result<std::vector<Detection>> decode_detections(const HeadView& view) {
  const HeadChoice choice = PERAXIS_TRY(choose_head(view));
  if (choice.head == nullptr || choice.head->task != HeadTask::Detect)
    return fail(ErrorCode::Unsupported, "outputs {} are not a detection head this version can decode",
                shapes_text(view.outputs));
  return choice.head->decode(view);
}

}  // namespace peraxis::vision
