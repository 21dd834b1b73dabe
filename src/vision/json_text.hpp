// JSON files that people and exporters write: parsed without exceptions, bounded in depth, shown shortened.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace peraxis::vision {

// The object that `text` holds. `what` names the file for error texts: "model info 'm.json'".
Result<nlohmann::json> parse_json_object(std::string_view text, std::string_view what);

// A value as JSON text for an error message, shortened.
std::string shown(const nlohmann::json& value);

}  // namespace peraxis::vision
