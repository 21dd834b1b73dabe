// See embedded_info.hpp. A further key of metadata.json is one more line in read_metadata_key and a member of
// ExporterMetadata.
#include "vision/embedded_info.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/zip.hpp"
#include "vision/json_text.hpp"

namespace peraxis::vision {
namespace {

using nlohmann::json;

constexpr uint64_t kMaxMemberBytes = uint64_t{16} << 20;
constexpr std::string_view kMetadata = "metadata.json";
constexpr std::string_view kMaker = "Ultralytics";

template <class... Args>
tl::unexpected<Error> bad_key(std::string_view key, fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorCode::InvalidArgument, "{}: key '{}': {}", kMetadata, key,
              fmt::format(format, std::forward<Args>(args)...));
}

// {"0": "person", "1": "bicycle"}; the exporter writes its dictionary of numbers so.
Result<std::vector<std::string>> read_name_table(const json& value) {
  std::vector<std::string> names;
  std::vector<bool> given;
  for (auto item = value.begin(); item != value.end(); ++item) {
    const std::string& key = item.key();
    size_t index = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
    if (key.empty() || error != std::errc() || end != key.data() + key.size() || index >= kMaxLabels)
      return bad_key("names", "{} is not an index from 0 to {}", shown(json(key)), kMaxLabels - 1);
    if (!item.value().is_string())
      return bad_key("names", "index {} is {}, not a string", index, shown(item.value()));
    if (names.size() <= index) {
      names.resize(index + 1);
      given.resize(index + 1);
    }
    if (given[index]) return bad_key("names", "index {} is there twice", index);
    given[index] = true;
    names[index] = item.value().get_ref<const std::string&>();
  }
  return names;
}

Result<std::vector<std::string>> read_name_list(const json& value) {
  if (value.size() > kMaxLabels)
    return bad_key("names", "{} names, the limit is {}", value.size(), kMaxLabels);
  std::vector<std::string> names;
  for (const json& item : value) {
    if (!item.is_string()) return bad_key("names", "item {} is {}, not a string", names.size(), shown(item));
    names.push_back(item.get_ref<const std::string&>());
  }
  return names;
}

Status read_metadata_key(ExporterMetadata& out, const std::string& key, const json& value) {
  if (key == "author" || key == "description") {
    out.ultralytics |= value.is_string() && value.get_ref<const std::string&>().starts_with(kMaker);
  } else if (key == "task") {
    if (!value.is_string()) return bad_key(key, "{} is not a string", shown(value));
    out.task = value.get_ref<const std::string&>();
  } else if (key == "names" && !value.empty()) {
    if (!value.is_object() && !value.is_array())
      return bad_key(key, "{} is neither a table of indices nor a list", shown(value));
    out.names = labels_of(PERAXIS_TRY(value.is_object() ? read_name_table(value) : read_name_list(value)));
    out.names->numbered = true;
  }
  return {};
}

// The heads that networks of a task have. Oriented boxes are none of them.
std::optional<std::vector<std::string>> heads_of_task(std::string_view task) {
  using Names = std::vector<std::string>;
  if (task == "detect") return Names{"yolov8", "yolov8-decoded"};
  if (task == "classify") return Names{"classification"};
  if (task == "pose") return Names{"pose"};
  if (task == "segment") return Names{"segmentation"};
  if (task == "obb") return Names{};
  return std::nullopt;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// How surely a member is the file of labels: 0 not at all.
int label_file_rank(std::string_view member) {
  const std::string name = lower_case(member.substr(member.rfind('/') + 1));
  if (name == "labels.txt" || name == "labelmap.txt" || name == "label_map.txt") return 2;
  return name.ends_with(".txt") && name.find("label") != std::string::npos ? 1 : 0;
}

class Reader {
 public:
  explicit Reader(std::span<const uint8_t> model) : model_(model) {}

  EmbeddedInfo read() {
    if (!base::ends_as_zip(model_)) return {};
    Result<std::vector<base::ZipMember>> members = base::zip_members(model_);
    if (!members) {
      warn("the archive behind it", members.error());
    } else {
      read_metadata(*members);
      if (!out_.labels) read_label_file(*members);
    }
    return std::move(out_);
  }

 private:
  void warn(std::string_view what, const Error& error) {
    out_.warnings.push_back(fmt::format("of the model file, {} was not used: {}", what, error.message));
  }

  std::optional<std::string> text_of(const base::ZipMember& member) {
    Result<std::vector<uint8_t>> bytes = base::unzip(model_, member, kMaxMemberBytes);
    if (bytes) return std::string(bytes->begin(), bytes->end());
    warn(member.name, bytes.error());
    return std::nullopt;
  }

  void read_metadata(const std::vector<base::ZipMember>& members) {
    const auto found =
        std::find_if(members.begin(), members.end(), [](const auto& m) { return m.name == kMetadata; });
    if (found == members.end()) return;
    const std::optional<std::string> text = text_of(*found);
    if (!text) return;
    Result<ExporterMetadata> metadata = parse_exporter_metadata(*text);
    if (!metadata) return warn(kMetadata, metadata.error());
    if (metadata->names) {
      out_.labels = std::move(metadata->names);
      out_.labels_member = kMetadata;
    }
    if (!metadata->ultralytics) return;
    out_.candidates = heads_of_task(metadata->task);
    // Their exporter divides boxes by the sides of the input for TFLite, whatever the task.
    out_.boxes = "fractions";
    out_.candidates_source = fmt::format("{} inside the model says task '{}'", kMetadata, metadata->task);
  }

  void read_label_file(const std::vector<base::ZipMember>& members) {
    int best = 1;
    std::vector<const base::ZipMember*> files;
    for (const base::ZipMember& member : members) {
      const int rank = label_file_rank(member.name);
      if (rank < best) continue;
      if (rank > best) files.clear();
      best = rank;
      files.push_back(&member);
    }
    if (files.empty()) return;
    if (files.size() > 1) {
      out_.warnings.push_back(fmt::format(
          "the model file holds several files of labels ({}, {}): none was used; give one with --labels",
          files[0]->name, files[1]->name));
      return;
    }
    const std::optional<std::string> text = text_of(*files[0]);
    if (!text) return;
    Result<Labels> labels = parse_labels(*text, files[0]->name);
    if (!labels) return warn(files[0]->name, labels.error());
    out_.labels = std::move(*labels);
    out_.labels_member = files[0]->name;
  }

  std::span<const uint8_t> model_;
  EmbeddedInfo out_;
};

}  // namespace

Result<ExporterMetadata> parse_exporter_metadata(std::string_view text) {
  const json root = PERAXIS_TRY(parse_json_object(text, kMetadata));
  ExporterMetadata out;
  for (auto item = root.begin(); item != root.end(); ++item)
    PERAXIS_TRY(read_metadata_key(out, item.key(), item.value()));
  return out;
}

EmbeddedInfo read_embedded_info(std::span<const uint8_t> model) {
  return Reader(model).read();
}

}  // namespace peraxis::vision
