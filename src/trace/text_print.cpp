// Words -> text. A line says everything its word holds: fields whose bits are zero are left out (except
// those that count from one, where the number 1 means something), bits of no field appear as `reserved`,
// words that are no register write as `raw`.
#include <fmt/format.h>

#include <algorithm>

#include "base/printable.hpp"
#include "trace/facts.hpp"
#include "trace/text.hpp"

namespace peraxis::trace {

using namespace rk3588;

namespace {

constexpr struct {
  uint32_t bit;
  const char* name;
} kEnableBits[] = {{0x01, "CNA"},      {0x04, "CORE"}, {0x08, "DPU"},
                   {0x10, "DPU_RDMA"}, {0x20, "PPU"},  {0x40, "PPU_RDMA"}};

std::string enable_text(uint32_t value) {
  std::string out = "enable";
  for (const auto& [bit, name] : kEnableBits)
    if ((value & bit) != 0) {
      out += fmt::format(" {}", name);
      value &= ~bit;
    }
  if (value != 0 || out == "enable") out += fmt::format(" {:#x}", value);
  return out;
}

std::string register_text(const RegisterEntry& entry, uint32_t value) {
  std::string out(entry.info->name);
  for (const FieldEntry& field : entry.fields)
    if ((value & field.mask) != 0 || field.decode(0) != 0)
      out += fmt::format(" {}={}", field.name, value_text(field, field.decode(value)));
  if (const uint32_t reserved = value & ~entry.known; reserved != 0)
    out += fmt::format(" reserved={:#x}", reserved);
  return out;
}

std::string was_text(const RegisterEntry& entry, uint32_t value, uint32_t before) {
  std::string out;
  for (const FieldEntry& field : entry.fields)
    if (((value ^ before) & field.mask) != 0)
      out += fmt::format(" {}={}", field.name, value_text(field, field.decode(before)));
  if (((value ^ before) & ~entry.known) != 0) out += fmt::format(" reserved={:#x}", before & ~entry.known);
  return out;
}

// Names come from files: they may not end the line nor the quotes.
std::string quotable(const std::string& name) {
  std::string shown = base::printable(name);
  std::ranges::replace(shown, '"', '?');
  return shown;
}

class Printer {
 public:
  Printer(const Stream& stream, const PrintOptions& options) : s_(stream), options_(options) {}

  std::string run() {
    out_ = fmt::format("# peraxis stream text, version {}\nstream \"{}\"\n", kTextVersion, quotable(s_.name));
    const std::vector<TaskWords> tasks = split_tasks(s_.words);
    for (size_t t = 0; t < tasks.size(); ++t) {
      image_.begin_task();
      if (options_.comments) header(t, tasks[t]);
      words(tasks[t].first, tasks[t].first + tasks[t].count, t > 0);
      image_.end_task();
    }
    const int64_t done = tasks.empty() ? 0 : tasks.back().first + tasks.back().count;
    words(done, static_cast<int64_t>(s_.words.size()), false);
    if (!s_.rest.empty()) {
      out_ += "bytes";
      for (const uint8_t byte : s_.rest) out_ += fmt::format(" {:02x}", byte);
      out_ += '\n';
    }
    return std::move(out_);
  }

 private:
  void header(size_t index, const TaskWords& task) {
    RegisterImage ahead = image_;
    for (int64_t i = task.first; i < task.first + task.count; ++i)
      ahead.write(s_.words[static_cast<size_t>(i)]);
    out_ += fmt::format("\n# task {}, words {}..{}: {}\n", index, task.first, task.first + task.count - 1,
                        describe(facts_of(s_, task, ahead)));
    if (const auto origin = s_.origins.lower_bound(task.first);
        origin != s_.origins.end() && origin->first < task.first + task.count)
      out_ += fmt::format("# {}\n", quotable(origin->second));
  }

  void words(int64_t from, int64_t to, bool compare) {
    for (int64_t i = from; i < to; ++i) {
      const uint64_t word = s_.words[static_cast<size_t>(i)];
      if (word == 0) {
        int64_t n = 1;
        while (i + n < to && s_.words[static_cast<size_t>(i + n)] == 0) ++n;
        i += n - 1;
        if (!options_.only_changes) out_ += n == 1 ? "nop\n" : fmt::format("nop {}\n", n);
        continue;
      }
      const RegisterEntry* entry = find_register(target_of(word), offset_of(word));
      std::optional<uint32_t> before;
      if (compare && entry != nullptr) before = image_.previous(offset_of(word));
      image_.write(word);
      if (options_.only_changes && before == value_of(word)) continue;
      out_ += word_text(word);
      if (options_.comments) comment(i, word, entry, before);
      out_ += '\n';
    }
  }

  void comment(int64_t i, uint64_t word, const RegisterEntry* entry, std::optional<uint32_t> before) {
    std::string text;
    if (const auto place = place_of(s_, i)) text += fmt::format(" {}", quotable(place->text()));
    if (entry != nullptr && before && *before != value_of(word)) {
      if (!text.empty()) text += ",";
      text += fmt::format(" was{}", was_text(*entry, value_of(word), *before));
    }
    if (!text.empty()) out_ += fmt::format("  #{}", text);
  }

  const Stream& s_;
  const PrintOptions& options_;
  RegisterImage image_;
  std::string out_;
};

}  // namespace

std::string value_text(const FieldEntry& field, int64_t value) {
  const bool pattern = field.info->width >= 28 && field.lowest == 0 && value >= int64_t{1} << 20;
  return pattern ? fmt::format("{:#x}", value) : fmt::format("{}", value);
}

std::string word_text(uint64_t word) {
  if (word == 0) return "nop";
  if (target_of(word) == kSeparatorTarget && value_of(word) == 0 && offset_of(word) == 0) return "separator";
  if (is_enable(word)) return enable_text(value_of(word));
  if (const RegisterEntry* entry = find_register(target_of(word), offset_of(word)))
    return register_text(*entry, value_of(word));
  return fmt::format("raw {:#018x}", word);
}

std::string print_text(const Stream& stream, const PrintOptions& options) {
  return Printer(stream, options).run();
}

}  // namespace peraxis::trace
