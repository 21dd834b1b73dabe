// See json_text.hpp.
#include "vision/json_text.hpp"

#include <nlohmann/json.hpp>

namespace peraxis::vision {
namespace {

using nlohmann::json;

constexpr size_t kMaxShown = 40;
// Printing a value recurses, so nesting is bounded while reading; the real files need five levels.
constexpr int kMaxDepth = 16;

}  // namespace

Result<json> parse_json_object(std::string_view text, std::string_view what) {
  bool too_deep = false;
  const auto bound_depth = [&](int depth, json::parse_event_t, json&) {
    too_deep |= depth > kMaxDepth;
    return !too_deep;
  };
  json root = json::parse(text.begin(), text.end(), bound_depth, /*allow_exceptions=*/false);
  if (too_deep)
    return fail(ErrorCode::InvalidArgument, "{} is nested deeper than {} levels", what, kMaxDepth);
  if (root.is_discarded()) return fail(ErrorCode::InvalidArgument, "{} is not JSON", what);
  if (!root.is_object())
    return fail(ErrorCode::InvalidArgument, "{} is {}, not a JSON object", what, shown(root));
  return root;
}

std::string shown(const json& value) {
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "...";
  return text;
}

}  // namespace peraxis::vision
