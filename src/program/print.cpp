#include <fmt/format.h>

#include <algorithm>

#include "ir/text_cursor.hpp"
#include "program/fields.hpp"
#include "program/text.hpp"

namespace peraxis::program {
namespace {

class Printer {
 public:
  std::string run(const Program& program, const ir::Graph* graph) {
    out_ = "program " + ir::text::quoted(program.model) + fields(program) + "\n\n";
    for (size_t op = 0; op < program.operators.size(); ++op) {
      if (graph != nullptr && op < graph->ops.size())
        out_ += "# " + ir::text::quoted(graph->op_label(op)) + "\n";
      record("operator", op, program.operators[op]);
    }
    section("step", program.steps);
    section("tensor", program.tensors);
    out_ += "\n";
    for (size_t i = 0; i < program.host_works.size(); ++i) {
      record("host_work", i, program.host_works[i]);
      lines("region", program.host_works[i].regions);
      lines("channel", program.host_works[i].channels);
    }
    // Tables are known by number once their tasks are printed, but stand before them.
    std::string before = std::move(out_);
    out_.clear();
    section("task", program.tasks);
    std::string tasks = std::move(out_);
    out_ = std::move(before);
    for (size_t i = 0; i < tables_.size(); ++i)
      out_ += fmt::format("table {} le({}) lo({})\n", i, fmt::join(tables_[i]->le, ", "),
                          fmt::join(tables_[i]->lo, ", "));
    out_ += tasks;
    section("allocation", program.allocations);
    out_ += "\n";
    for (size_t op = 0; op < program.operators.size(); ++op) {
      if (program.operators[op].certificate.channels.empty()) continue;
      out_ += fmt::format("proof {}\n", op);
      lines("channel", program.operators[op].certificate.channels);
    }
    return std::move(out_);
  }

 private:
  template <class T>
  void record(const char* word, size_t index, const T& x) {
    out_ += fmt::format("{} {}{}\n", word, index, fields(x));
  }
  template <class T>
  void section(const char* word, const std::vector<T>& all) {
    out_ += "\n";
    for (size_t i = 0; i < all.size(); ++i) record(word, i, all[i]);
  }
  template <class T>
  void lines(const char* word, const std::vector<T>& all) {
    for (const T& x : all) out_ += fmt::format("  {}{}\n", word, fields(x));
  }

  // " name(value)" for every field that has not its default.
  template <class T>
  std::string fields(const T& x) {
    static const std::vector<std::string> defaults = texts(T{});
    const std::vector<std::string> own = texts(x);
    std::string out;
    for (size_t i = 0; i < own.size(); ++i)
      if (own[i] != defaults[i]) out += " " + own[i];
    return out;
  }
  template <class T>
  std::vector<std::string> texts(const T& x) {
    std::vector<std::string> out;
    visit_fields([&](const char* name, const auto& value) { out.push_back(text(name, value)); }, x);
    return out;
  }

  template <class T>
  std::string text(const char* name, const T& value) {
    if constexpr (std::is_enum_v<T>)
      return fmt::format("{}({})", name, enum_names<T>()[static_cast<size_t>(value)]);
    else if constexpr (std::is_arithmetic_v<T>)
      return fmt::format("{}({})", name, value);
    else
      return group(name, value);
  }
  std::string text(const char* name, uint64_t value) { return fmt::format("{}({:016x})", name, value); }
  std::string text(const char* name, const std::string& value) {
    return fmt::format("{}({})", name, ir::text::quoted(value));
  }
  std::string text(const char* name, const std::vector<int32_t>& value) {
    return fmt::format("{}({})", name, fmt::join(value, ", "));
  }
  std::string text(const char* name, const rk3588::SymbolicAddress& value) {
    return fmt::format("{}(a{}+{})", name, value.allocation, value.offset);
  }
  std::string text(const char* name, const std::vector<Completion>& value) {
    std::string out;
    for (const Completion& c : value) {
      if (!out.empty()) out += ", ";
      out += c.task < 0 ? fmt::format("{}", c.tensor) : fmt::format("{}@{}", c.tensor, c.task);
    }
    return fmt::format("{}({})", name, out);
  }
  std::string text(const char* name, const std::shared_ptr<const rk3588::LookUpTable>& value) {
    if (value == nullptr) return {};
    const auto same = [&](const auto* known) { return *known == *value; };
    auto found = std::ranges::find_if(tables_, same);
    if (found == tables_.end()) found = tables_.insert(tables_.end(), value.get());
    return fmt::format("{}({})", name, found - tables_.begin());
  }
  std::string text(const char*, const rk3588::Task& value) {
    return std::visit(
        [&](const auto& task) { return group(task_word<std::remove_cvref_t<decltype(task)>>(), task); },
        value);
  }
  template <class T>
  std::string text(const char* name, const std::optional<T>& value) {
    return value ? group(name, *value) : std::string();
  }
  template <class T>
  std::string group(const char* name, const T& value) {
    const std::string inner = fields(value);
    return fmt::format("{}{{{}}}", name, inner.empty() ? inner : inner.substr(1));
  }

  std::string out_;
  std::vector<const rk3588::LookUpTable*> tables_;
};

}  // namespace

std::string print(const Program& program, const ir::Graph* graph) {
  return Printer().run(program, graph);
}

}  // namespace peraxis::program
