#include "exe/names.hpp"

#include <array>

#include "num/reference.hpp"

namespace peraxis::exe {
namespace {

using std::literals::operator""sv;

// "auto" and the strategies.
constexpr std::array kStrategies{
    "auto"sv,
#define PERAXIS_STRATEGY(identifier, name, function, sentence) name##sv,
#include "requant/strategies.def"
#undef PERAXIS_STRATEGY
};
constexpr std::array kTargets{"rk3588"sv};
constexpr std::array kAccuracies{"fast"sv, "exact"sv};
constexpr std::array kDevices{"npu"sv, "cpu"sv};
constexpr std::array kBufferKinds{"commands"sv, "constants"sv, "activations"sv};
constexpr std::array kTaskKinds{
    "direct"sv,
    "depthwise"sv,
    "block-diagonal"sv,
#define PERAXIS_TASK(kind, type, name, word, emitter) name##sv,
#include "target/rk3588/task_kinds.def"
#undef PERAXIS_TASK
};
constexpr std::array kStepKinds{"cpu"sv,    "upload"sv,     "download"sv, "job"sv,
                                "gather"sv, "requantize"sv, "correct"sv};
constexpr std::array kRoundings{"two"sv, "once"sv, "double"sv};

}  // namespace

Names target_names() {
  return kTargets;
}
Names accuracy_names() {
  return kAccuracies;
}
Names reference_names() {
  return num::kReferenceNames;
}
Names device_names() {
  return kDevices;
}
Names strategy_names() {
  return Names(kStrategies).subspan(1);
}
Names requested_names() {
  return kStrategies;
}
Names buffer_kind_names() {
  return kBufferKinds;
}
Names task_kind_names() {
  return kTaskKinds;
}
Names step_kind_names() {
  return kStepKinds;
}
Names rounding_names() {
  return kRoundings;
}

std::string listed(Names names) {
  std::string out;
  for (const std::string_view name : names) {
    if (!out.empty()) out += ", ";
    out += name;
  }
  return out;
}

}  // namespace peraxis::exe
