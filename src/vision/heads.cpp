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

struct Reading {
  const Head* head;
  Fit fit;
};

bool task_allows(const ModelInfo& info, const Head& head) {
  if (info.candidates &&
      std::find(info.candidates->begin(), info.candidates->end(), head.name) == info.candidates->end())
    return false;
  return info.task.empty() || (info.task == "classify") == (head.task == HeadTask::Classify);
}

std::string list(const std::vector<Reading>& readings) {
  std::string text;
  for (const Reading& reading : readings)
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", reading.head->name,
                        reading.fit.classes > 0 ? fmt::format(" ({} class{})", reading.fit.classes,
                                                              reading.fit.classes == 1 ? "" : "es")
                                                : "");
  return text;
}

// Why the labels are not used; empty when they are, or there are none.
std::string unused_labels(const ModelInfo& info, int64_t classes) {
  if (info.labels.empty() || classes == 0 || labels_fit(info, classes)) return {};
  return fmt::format(
      "no label is used: {} {} cannot be those of {} classes (a first line ??? stands for a "
      "background, numbered lines say their index)",
      info.labels.size(), info.labels_numbered ? "indices" : "labels", classes);
}

ModelInfo without_labels(ModelInfo info) {
  info.set_labels({});
  return info;
}

// A head's reading of the outputs; where the labels are too many or too few for it, without them: boxes with
// numbers are better than none, and `chosen` says why.
std::optional<Fit> fit_of(const Head& head, const HeadView& view, bool drop_labels) {
  if (!drop_labels) return head.fit(view);
  const ModelInfo info = without_labels(view.info);
  const HeadView without{view.outputs, info, view.input, view.operator_classes, view.label_shift};
  std::optional<Fit> fit = head.fit(without);
  // Where the outputs do not tell how many classes there are, the labels may be right.
  return fit && fit->classes > 0 ? fit : std::nullopt;
}

HeadChoice chosen(const Reading& reading, const ModelInfo& info, bool by_shapes) {
  const Fit& fit = reading.fit;
  HeadChoice choice{reading.head, by_shapes, fit.classes, {}};
  if (by_shapes)
    choice.assumed.push_back(fmt::format("head '{}', because {}", reading.head->name, fit.evidence));
  choice.assumed.insert(choice.assumed.end(), fit.assumed.begin(), fit.assumed.end());
  const std::string unused = unused_labels(info, fit.classes);
  if (!unused.empty()) choice.assumed.push_back(unused);
  return choice;
}

Result<HeadChoice> choose_named(const HeadView& view) {
  if (view.info.head == "none") return HeadChoice{nullptr, false, 0, {}};
  const Head* head = find_head(view.info.head);
  if (head == nullptr) {
    std::string names;
    for (const std::string& name : head_names()) names += (names.empty() ? "" : ", ") + name;
    return fail(ErrorCode::InvalidArgument, "head '{}' is not known; the heads are {}", view.info.head,
                names);
  }
  std::optional<Fit> fit = head->fit(view);
  if (!fit && !view.info.labels.empty()) fit = fit_of(*head, view, true);
  if (!fit)
    return fail(ErrorCode::Unsupported,
                "head '{}' does not fit the outputs {} of a model with {} and {}: it needs {}", head->name,
                shapes_text(view.outputs),
                view.info.labels.empty() ? "any labels" : fmt::format("{} labels", view.info.labels.size()),
                view.info.strides_stated
                    ? fmt::format("{} stated strides", view.info.strides.size())
                    : "the usual strides 8, 16, 32 (--model-info states a model's own, and its anchors)",
                head->outputs);
  return chosen({head, *fit}, view.info, false);
}

tl::unexpected<Error> undecided(const HeadView& view, const std::vector<Reading>& readings) {
  const bool differ = std::any_of(readings.begin(), readings.end(), [&](const Reading& reading) {
    return reading.fit.classes != readings[0].fit.classes;
  });
  const bool no_labels = view.info.labels.empty();
  if (readings.size() == 1)
    return fail(
        ErrorCode::Unsupported,
        "outputs {} can be read as the head {}, but nothing beside the shapes speaks for it: {}; name the "
        "head (--head {}, or \"head\" in the model info){}",
        shapes_text(view.outputs), list(readings), readings[0].fit.evidence, readings[0].head->name,
        no_labels ? ", or give the labels" : "");
  return fail(ErrorCode::Unsupported,
              "outputs {} can be read as the heads {}; name one (--head, or \"head\" in the model info){}",
              shapes_text(view.outputs), list(readings), differ && no_labels ? ", or give the labels" : "");
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
  const auto read = [&](bool drop_labels) {
    for (const Head* head : kHeads) {
      if (head->by_name_only || !task_allows(view.info, *head)) continue;
      if (const auto fit = fit_of(*head, view, drop_labels)) readings.push_back({head, *fit});
    }
  };
  read(false);
  // Strides of the model's own speak for a head without labels.
  if (readings.empty() && !view.info.labels.empty() && view.info.strides_stated) read(true);
  if (readings.empty()) return HeadChoice{};
  // What the file says about itself leaves nothing to guess.
  if (view.info.candidates && readings.size() == 1) {
    readings[0].fit.supported = true;
    readings[0].fit.evidence = view.info.candidates_source;
  }
  std::vector<Reading> supported;
  std::copy_if(readings.begin(), readings.end(), std::back_inserter(supported),
               [](const Reading& reading) { return reading.fit.supported; });
  if (supported.size() == 1) return chosen(supported[0], view.info, true);
  // Heads that stay tensors are only named, so there is nothing to refuse.
  if (supported.empty() && readings.size() == 1 && readings[0].head->task == HeadTask::Tensors)
    return chosen(readings[0], view.info, true);
  return undecided(view, supported.empty() ? readings : supported);
}

Result<Decoded> decode_with(const HeadChoice& choice, const HeadView& view) {
  if (choice.head == nullptr || choice.head->task != HeadTask::Detect)
    return fail(ErrorCode::Unsupported, "outputs {} are not a detection head this version can decode",
                shapes_text(view.outputs));
  const bool used = unused_labels(view.info, choice.classes).empty();
  const ModelInfo info = used ? view.info : without_labels(view.info);
  const HeadView shown{view.outputs, info, view.input, view.operator_classes,
                       used ? label_shift(view.info, choice.classes) : kNoLabels};
  Decoded decoded = PERAXIS_TRY(choice.head->decode(shown));
  decoded.assumed.insert(decoded.assumed.begin(), choice.assumed.begin(), choice.assumed.end());
  return decoded;
}

int label_shift(const ModelInfo& info, int64_t classes) {
  if (!info.labels_background) return 0;
  if (classes == 0) return info.labels_numbered ? 0 : 1;
  return classes == static_cast<int64_t>(info.labels.size()) - 1 ? 1 : 0;
}

bool labels_fit(const ModelInfo& info, int64_t classes) {
  const int64_t labels = static_cast<int64_t>(info.labels.size()) - label_shift(info, classes);
  return labels == classes || (info.labels_numbered && labels < classes);
}

Result<std::vector<Detection>> decode_detections(const HeadView& view) {
  const HeadChoice choice = PERAXIS_TRY(choose_head(view));
  return PERAXIS_TRY(decode_with(choice, view)).detections;
}

}  // namespace peraxis::vision
