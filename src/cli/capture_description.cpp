// See capture_description.hpp.
#include "cli/capture_description.hpp"

#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "base/npy.hpp"
#include "cli/load.hpp"
#include "cli/output.hpp"
#include "trace/capture.hpp"

namespace peraxis::cli {
namespace {

// Reads one object of the description; the first problem sticks and names its place.
class Object {
 public:
  Object(const Json& json, std::string where, Status& status)
      : json_(json), where_(std::move(where)), status_(status) {
    if (!json_.is_object()) problem("must be an object");
  }

  int64_t integer(const char* key, std::optional<int64_t> otherwise = std::nullopt) {
    const Json* value = find(key);
    if (value == nullptr) {
      if (!otherwise) problem("has no '{}'", key);
      return otherwise.value_or(0);
    }
    if (value->is_number_unsigned() && value->get<uint64_t>() > INT64_MAX) {
      problem("'{}' is too large", key);
      return 0;
    }
    if (!value->is_number_integer()) {
      problem("'{}' must be an integer", key);
      return 0;
    }
    return value->get<int64_t>();
  }
  int32_t small(const char* key, std::optional<int64_t> otherwise = std::nullopt) {
    const int64_t value = integer(key, otherwise);
    if (value < INT32_MIN || value > INT32_MAX) {
      problem("'{}' is {}: too large", key, value);
      return 0;
    }
    return static_cast<int32_t>(value);
  }
  std::string text(const char* key, std::string otherwise = {}) {
    const Json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_string()) {
      problem("'{}' must be a string", key);
      return otherwise;
    }
    return value->get<std::string>();
  }
  std::vector<int32_t> integers(const char* key) {
    std::vector<int32_t> out;
    const Json* value = find(key);
    if (value == nullptr) return out;
    if (!value->is_array()) problem("'{}' must be a list", key);
    for (const Json& item : *value) {
      const bool fits = item.is_number_integer() &&
                        !(item.is_number_unsigned() && item.get<uint64_t>() > INT32_MAX) &&
                        item.get<int64_t>() >= INT32_MIN && item.get<int64_t>() <= INT32_MAX;
      if (!fits) {
        problem("'{}' must be a list of 32-bit integers, it holds {}", key, item.dump());
        break;
      }
      out.push_back(static_cast<int32_t>(item.get<int64_t>()));
    }
    return out;
  }
  // Calls `each(object)` for the objects of a list.
  template <class Each>
  void list(const char* key, const Each& each) {
    const Json* value = find(key);
    if (value == nullptr) return;
    if (!value->is_array()) return problem("'{}' must be a list", key);
    for (size_t i = 0; i < value->size() && status_; ++i)
      each(Object((*value)[i], fmt::format("{} {}", key, i), status_));
  }
  // Every key must be one of these: a misspelled one would be lost.
  void known(std::initializer_list<std::string_view> keys) {
    if (!json_.is_object()) return;
    for (const auto& [key, value] : json_.items())
      if (std::ranges::find(keys, key) == keys.end()) problem("'{}' is not known here", key);
  }
  template <class... Args>
  void problem(fmt::format_string<Args...> format, Args&&... args) {
    if (status_)
      status_ = fail(ErrorCode::InvalidArgument, "{}: {}", where_,
                     fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  const Json* find(const char* key) const {
    if (!json_.is_object()) return nullptr;
    const auto found = json_.find(key);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }

  const Json& json_;
  std::string where_;
  Status& status_;
};

// The bytes of the array that `key` names, whatever its type; none when there is no such key.
std::vector<uint8_t> array_bytes(Object& object, const char* key, const base::ArrayMap& arrays) {
  const std::string name = object.text(key);
  if (name.empty()) return {};
  const auto found = arrays.find(name);
  if (found == arrays.end()) {
    object.problem("'{}': there is no array '{}'", key, name);
    return {};
  }
  return found->second.data;
}

Result<trace::Capture> make_capture(const Json& description, const base::ArrayMap& arrays) {
  Status status;
  trace::Capture out;
  Object root(description, "the description", status);
  out.name = root.text("name", "capture");
  out.driver = root.text("driver");
  out.target = root.text("target", "rk3588");
  out.note = root.text("note");
  root.known({"name", "driver", "target", "note", "buffers", "tasks", "jobs", "submits", "tensors"});
  root.list("buffers", [&](Object o) {
    o.known({"name", "role", "handle", "address", "size", "before", "after"});
    out.buffers.push_back({o.text("name"), o.text("role"), o.small("handle", 0), o.integer("address"),
                           o.integer("size"), array_bytes(o, "before", arrays),
                           array_bytes(o, "after", arrays)});
  });
  root.list("tasks", [&](Object o) {
    o.known({"address", "words", "core"});
    out.tasks.push_back({o.integer("address"), o.small("words"), o.small("core", 0)});
  });
  root.list("jobs", [&](Object o) {
    o.known({"first_task", "task_count", "in", "out"});
    out.jobs.push_back({o.small("first_task"), o.small("task_count"), o.integers("in"), o.integers("out")});
  });
  root.list("submits", [&](Object o) {
    o.known({"first_job", "job_count", "start_ns", "end_ns"});
    out.submits.push_back(
        {o.small("first_job"), o.small("job_count"), o.integer("start_ns", 0), o.integer("end_ns", 0)});
  });
  root.list("tensors", [&](Object o) {
    o.known({"name", "origin", "use", "buffer", "offset", "h", "w", "c", "surface_bytes", "pixel_channels",
             "bias", "padding", "tolerance", "data"});
    trace::CaptureTensor t;
    t.name = o.text("name");
    t.origin = o.text("origin");
    const std::string use = o.text("use");
    if (use != "input" && use != "expected") o.problem("'use' is '{}', must be input or expected", use);
    t.use = use == "input" ? trace::TensorUse::Input : trace::TensorUse::Expected;
    t.buffer = o.small("buffer");
    t.offset = o.integer("offset", 0);
    t.h = o.small("h");
    t.w = o.small("w");
    t.c = o.small("c");
    t.pixel_channels = o.small("pixel_channels", 16);
    t.surface_bytes = o.integer("surface_bytes", int64_t{16} * t.h * t.w);
    t.bias = o.small("bias", 0);
    t.padding = o.small("padding", 0);
    t.tolerance = o.small("tolerance", 0);
    t.data = array_bytes(o, "data", arrays);
    out.tensors.push_back(std::move(t));
  });
  PERAXIS_TRY(status);
  return out;
}

}  // namespace

CliStatus pack_capture(const std::string& description_file, const std::string& arrays_file,
                       const std::string& output) {
  PERAXIS_TRY(check_output(output, description_file));
  if (!arrays_file.empty()) PERAXIS_TRY(check_output(output, arrays_file));
  const std::vector<uint8_t> text = PERAXIS_TRY(base::read_file(description_file));
  const Json description = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (description.is_discarded())
    return tl::unexpected<CliError>(
        Error{ErrorCode::InvalidArgument, fmt::format("{} is no JSON document", description_file), {}});
  base::ArrayMap arrays;
  if (!arrays_file.empty())
    arrays =
        PERAXIS_TRY_NOTE(base::read_npz(arrays_file), "while reading the arrays of {}", description_file);
  const trace::Capture capture =
      PERAXIS_TRY_NOTE(make_capture(description, arrays), "in {}", description_file);
  const std::vector<uint8_t> bytes =
      PERAXIS_TRY_NOTE(trace::write_capture(capture), "in {}", description_file);
  PERAXIS_TRY(base::write_file(output, std::span<const uint8_t>(bytes)));
  return {};
}

}  // namespace peraxis::cli
