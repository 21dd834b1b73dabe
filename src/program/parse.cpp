// Parser of the text form that text.hpp describes. Everything it builds is bounded by the length of the text.
#include <fmt/format.h>

#include <algorithm>

#include "ir/text_cursor.hpp"
#include "program/fields.hpp"
#include "program/text.hpp"

namespace peraxis::program {
namespace {

using ir::text::Cursor;

constexpr size_t kShown = 40;  // of a word that is not known

class Parser {
 public:
  Result<Program> run(std::string_view text) {
    for (size_t number = 1; !text.empty(); ++number) {
      const size_t length = std::min(text.find('\n'), text.size());
      std::string_view line = text.substr(0, length);
      text.remove_prefix(std::min(length + 1, text.size()));
      if (line.ends_with('\r')) line.remove_suffix(1);
      Cursor cursor(line);
      if (cursor.at_end() || cursor.next_is('#')) continue;
      PERAXIS_TRY_NOTE(take_line(cursor, line.front() == ' '), "in line {} of the program text", number);
      if (!cursor.at_end())
        return with_note(cursor.unexpected("the end of the line").value(),
                         fmt::format("in line {} of the program text", number));
    }
    if (!begun_)
      return fail(ErrorCode::InvalidModel, "the program text is empty; it begins with program \"name\"");
    return std::move(out_);
  }

 private:
  Status take_line(Cursor& cursor, bool continued) {
    const std::string_view word = PERAXIS_TRY(cursor.take_word());
    if (!begun_) {
      if (word != "program")
        return fail(ErrorCode::InvalidModel, "it begins with '{}', not with program", word.substr(0, kShown));
      begun_ = true;
      out_.model = PERAXIS_TRY(cursor.take_quoted());
      return take_fields(cursor, out_);
    }
    if (continued) return take_part(cursor, word);
    last_ = word;
    if (word == "operator") return take_record(cursor, out_.operators);
    if (word == "step") return take_record(cursor, out_.steps);
    if (word == "tensor") return take_record(cursor, out_.tensors);
    if (word == "host_work") return take_record(cursor, out_.host_works);
    if (word == "task") return take_record(cursor, out_.tasks);
    if (word == "allocation") return take_record(cursor, out_.allocations);
    if (word == "table") return take_table(cursor);
    if (word == "proof") return take_proof(cursor);
    return fail(ErrorCode::InvalidModel, "a program has no '{}'", word.substr(0, kShown));
  }

  Status take_index(Cursor& cursor, size_t next) {
    const auto index = PERAXIS_TRY(cursor.take_number<int64_t>());
    if (index == static_cast<int64_t>(next)) return {};
    return fail(ErrorCode::InvalidModel, "{} {} where {} comes next", last_, index, next);
  }

  template <class T>
  Status take_record(Cursor& cursor, std::vector<T>& all) {
    PERAXIS_TRY(take_index(cursor, all.size()));
    return take_fields(cursor, all.emplace_back());
  }

  // A line of the record before.
  Status take_part(Cursor& cursor, std::string_view word) {
    if (last_ == "host_work" && word == "region")
      return take_fields(cursor, out_.host_works.back().regions.emplace_back());
    if (last_ == "host_work" && word == "channel")
      return take_fields(cursor, out_.host_works.back().channels.emplace_back());
    if (last_ == "proof" && word == "channel")
      return take_fields(cursor, out_.operators[proof_].certificate.channels.emplace_back());
    return fail(ErrorCode::InvalidModel, "a {} has no lines '{}'", last_, word.substr(0, kShown));
  }

  Status take_proof(Cursor& cursor) {
    const auto index = PERAXIS_TRY(cursor.take_number<int64_t>());
    if (index < 0 || index >= static_cast<int64_t>(out_.operators.size()))
      return fail(ErrorCode::InvalidModel, "a proof of operator {}, there are {}", index,
                  out_.operators.size());
    proof_ = static_cast<size_t>(index);
    return {};
  }

  Status take_table(Cursor& cursor) {
    PERAXIS_TRY(take_index(cursor, tables_.size()));
    rk3588::LookUpTable table;
    for (auto& [name, entries] : {std::pair{"le", &table.le}, std::pair{"lo", &table.lo}}) {
      PERAXIS_TRY(cursor.take(name));
      PERAXIS_TRY(cursor.take("("));
      for (size_t i = 0; i < entries->size(); ++i) {
        if (i > 0) PERAXIS_TRY(cursor.take(","));
        (*entries)[i] = PERAXIS_TRY(cursor.take_number<int16_t>());
      }
      PERAXIS_TRY(cursor.take(")"));
    }
    tables_.push_back(std::make_shared<const rk3588::LookUpTable>(table));
    return {};
  }

  // Up to the end of the line or of a group.
  template <class T>
  Status take_fields(Cursor& cursor, T& x) {
    while (!cursor.at_end() && !cursor.next_is('}')) {
      const std::string_view name = PERAXIS_TRY(cursor.take_word());
      bool known = false;
      Status status;
      visit_fields(
          [&](const char* field, auto& value) {
            if (known || !is_field(name, field, value)) return;
            known = true;
            status = take_value(cursor, name, value);
          },
          x);
      if (!known) return fail(ErrorCode::InvalidModel, "there is no field '{}' here", name.substr(0, kShown));
      PERAXIS_TRY_NOTE(std::move(status), "in field {}", name);
    }
    return {};
  }

  template <class T>
  static bool is_field(std::string_view name, const char* field, const T&) {
    return name == field;
  }
  // Any kind of task.
  static bool is_field(std::string_view name, const char*, const rk3588::Task&) {
    return [&]<class... Kinds>(const std::variant<Kinds...>*) {
      return ((name == task_word<Kinds>()) || ...);
    }(static_cast<const rk3588::Task*>(nullptr));
  }

  template <class T>
  Status take_value(Cursor& cursor, std::string_view name, T& value) {
    if constexpr (std::is_enum_v<T> || std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      PERAXIS_TRY(cursor.take("("));
      PERAXIS_TRY(take_scalar(cursor, value));
      return cursor.take(")");
    } else {
      return take_composed(cursor, name, value);
    }
  }

  template <class T>
  static Status take_scalar(Cursor& cursor, T& value) {
    if constexpr (std::is_enum_v<T>) {
      const std::string_view word = PERAXIS_TRY(cursor.take_word());
      const auto& names = enum_names<T>();
      const auto found = std::ranges::find(names, word);
      if (found == names.end())
        return fail(ErrorCode::InvalidModel, "'{}' is none of {}", word.substr(0, kShown),
                    fmt::join(names, ", "));
      value = static_cast<T>(found - names.begin());
    } else if constexpr (std::is_same_v<T, bool>) {
      const std::string_view word = PERAXIS_TRY(cursor.take_word());
      if (word != "true" && word != "false")
        return fail(ErrorCode::InvalidModel, "'{}' is not true or false", word.substr(0, kShown));
      value = word == "true";
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = PERAXIS_TRY(cursor.take_quoted());
    } else if constexpr (std::is_same_v<T, uint64_t>) {
      const std::string_view digits = PERAXIS_TRY(cursor.take_word());
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
      if (error != std::errc{} || end != digits.data() + digits.size())
        return fail(ErrorCode::InvalidModel, "'{}' is no hexadecimal hash", digits.substr(0, kShown));
    } else {
      value = PERAXIS_TRY(cursor.take_number<T>());
    }
    return {};
  }

  // Numbers with commas between them, in parentheses.
  template <class Take>
  static Status take_list(Cursor& cursor, const Take& take) {
    PERAXIS_TRY(cursor.take("("));
    if (cursor.accept(')')) return {};
    do {
      PERAXIS_TRY(take());
    } while (cursor.accept(','));
    return cursor.take(")");
  }

  Status take_composed(Cursor& cursor, std::string_view, std::vector<int32_t>& value) {
    value.clear();
    return take_list(cursor, [&]() -> Status {
      value.push_back(PERAXIS_TRY(cursor.take_number<int32_t>()));
      return {};
    });
  }
  Status take_composed(Cursor& cursor, std::string_view, std::vector<Completion>& value) {
    value.clear();
    return take_list(cursor, [&]() -> Status {
      Completion done;
      done.tensor = PERAXIS_TRY(cursor.take_number<int32_t>());
      if (cursor.accept('@')) done.task = PERAXIS_TRY(cursor.take_number<int32_t>());
      value.push_back(done);
      return {};
    });
  }
  Status take_composed(Cursor& cursor, std::string_view, rk3588::SymbolicAddress& value) {
    PERAXIS_TRY(cursor.take("("));
    PERAXIS_TRY(cursor.take("a"));
    value.allocation = PERAXIS_TRY(cursor.take_number<int32_t>());
    PERAXIS_TRY(cursor.take("+"));
    value.offset = PERAXIS_TRY(cursor.take_number<int64_t>());
    return cursor.take(")");
  }
  Status take_composed(Cursor& cursor, std::string_view, std::shared_ptr<const rk3588::LookUpTable>& value) {
    PERAXIS_TRY(cursor.take("("));
    const auto index = PERAXIS_TRY(cursor.take_number<int64_t>());
    if (index < 0 || index >= static_cast<int64_t>(tables_.size()))
      return fail(ErrorCode::InvalidModel, "table {} of {}", index, tables_.size());
    value = tables_[static_cast<size_t>(index)];
    return cursor.take(")");
  }
  Status take_composed(Cursor& cursor, std::string_view name, rk3588::Task& value) {
    Status status;
    const auto take = [&]<class Kind>(const Kind*) {
      if (name == task_word<Kind>()) status = take_composed(cursor, name, value.emplace<Kind>());
    };
    [&]<class... Kinds>(const std::variant<Kinds...>*) {
      (take(static_cast<const Kinds*>(nullptr)), ...);
    }(static_cast<const rk3588::Task*>(nullptr));
    return status;
  }
  template <class T>
  Status take_composed(Cursor& cursor, std::string_view name, std::optional<T>& value) {
    return take_composed(cursor, name, value.emplace());
  }
  template <class T>
  Status take_composed(Cursor& cursor, std::string_view, T& value) {
    PERAXIS_TRY(cursor.take("{"));
    PERAXIS_TRY(take_fields(cursor, value));
    return cursor.take("}");
  }

  Program out_;
  bool begun_ = false;
  std::string last_;  // word of the record that lines may continue
  size_t proof_ = 0;  // its operator
  std::vector<std::shared_ptr<const rk3588::LookUpTable>> tables_;
};

}  // namespace

Result<Program> parse(std::string_view text) {
  return Parser().run(text);
}

}  // namespace peraxis::program
