// See arguments.hpp.
#include "cli/arguments.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <numeric>
#include <string_view>

#include "base/printable.hpp"

namespace peraxis::cli {
namespace {

// Letters to add, drop or change to make one name of the other.
size_t letters_apart(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j + 1] + 1, row[j] + 1});
    }
  }
  return row.back();
}

// "; did you mean 'run'?", or nothing when no name is near.
std::string nearest(std::string_view given, const std::vector<std::string>& names) {
  constexpr size_t kLongest = 40;
  if (given.size() > kLongest) return {};
  const std::string* best = nullptr;
  size_t distance = given.size() / 3 + 1;
  for (const std::string& name : names)
    if (const size_t apart = letters_apart(given, name);
        apart <= distance || (given.size() > 3 && name.rfind(given, 0) == 0)) {
      best = &name;
      distance = std::min(apart, distance);
    }
  return best == nullptr ? std::string() : fmt::format("; did you mean '{}'?", *best);
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
  return out;
}

// What is wrong with arguments that no option or positional takes.
std::string unexpected_text(const CLI::App& app) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  std::vector<std::string> left = app.remaining(true);
  const auto option =
      std::find_if(left.begin(), left.end(), [](const std::string& text) { return text.rfind('-', 0) == 0; });
  if (option != left.end()) {
    const std::string name = option->substr(0, option->find('='));
    return fmt::format("{} has no option '{}'{}", command.get_name(), name,
                       nearest(name, option_names(command)));
  }
  return fmt::format("{} does not take '{}': it has all its arguments", command.get_name(),
                     left.empty() ? std::string() : left.front());
}

}  // namespace

const Argument& Argument::required() const {
  option_->required();
  return *this;
}
const Argument& Argument::type_name(const std::string& name) const {
  option_->type_name(name);
  return *this;
}
const Argument& Argument::shows_default() const {
  option_->capture_default_str();
  return *this;
}
const Argument& Argument::group(const std::string& name) const {
  option_->group(name);
  return *this;
}
const Argument& Argument::one_of(const std::vector<std::string>& values) const {
  option_->check(CLI::IsMember(values));
  return *this;
}
const Argument& Argument::between(int low, int high) const {
  option_->check(CLI::Range(low, high));
  return *this;
}
const Argument& Argument::between(double low, double high) const {
  // CLI::Range lets NaN through.
  option_->check(CLI::Validator(
      [low, high](const std::string& text) -> std::string {
        double value = 0;
        if (!CLI::detail::lexical_cast(text, value)) return fmt::format("'{}' is no number", text);
        return value >= low && value <= high
                   ? std::string()
                   : fmt::format("{} is not between {:g} and {:g}", text, low, high);
      },
      fmt::format("{:g} to {:g}", low, high)));
  return *this;
}
const Argument& Argument::not_empty() const {
  option_->check([](const std::string& value) { return value.empty() ? "an empty name" : std::string(); });
  return *this;
}
const Argument& Argument::repeatable() const {
  option_->type_size(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return *this;
}
const Argument& Argument::excludes(const Argument& other) const {
  option_->excludes(other.option_);
  return *this;
}
const Argument& Argument::noted_in(std::vector<std::string>& names) const {
  option_->each([option = option_, &names](const std::string&) { names.push_back(option->get_name()); });
  return *this;
}

Argument Arguments::flag(const std::string& names, bool& value, const std::string& text) const {
  return Argument(app_->add_flag(names, value, text));
}

Argument Arguments::off_flag(const std::string& names, bool& value, const std::string& text) const {
  return Argument(app_->add_flag_callback(names, [&value] { value = false; }, text));
}

template <class T>
Argument Arguments::option(const std::string& names, T& value, const std::string& text) const {
  return Argument(app_->add_option(names, value, text));
}
template Argument Arguments::option(const std::string&, std::string&, const std::string&) const;
template Argument Arguments::option(const std::string&, int&, const std::string&) const;
template Argument Arguments::option(const std::string&, int64_t&, const std::string&) const;
template Argument Arguments::option(const std::string&, double&, const std::string&) const;
template Argument Arguments::option(const std::string&, std::optional<double>&, const std::string&) const;
template Argument Arguments::option(const std::string&, std::vector<std::string>&, const std::string&) const;

void Arguments::footer(const std::string& text) const {
  app_->footer(text);
}

void Arguments::runs(std::function<CliStatus()> command) const {
  app_->callback([command = std::move(command), outcome = outcome_] { *outcome = command(); });
}

CommandLine::CommandLine(const std::string& description, const std::string& name, const std::string& version)
    : app_(std::make_unique<CLI::App>(description, name)) {
  app_->set_version_flag("--version", version);
  app_->require_subcommand(1);
  app_->get_formatter()->column_width(38);
}
CommandLine::~CommandLine() = default;

Arguments CommandLine::add_command(const std::string& name, const std::string& description) {
  return {*app_->add_subcommand(name, description), outcome_};
}

std::string CommandLine::unknown_command(int argc, char** argv) const {
  if (argc < 2 || argv[1][0] == '-') return {};
  std::vector<std::string> names;
  for (const CLI::App* command : app_->get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  if (std::find(names.begin(), names.end(), argv[1]) != names.end()) return {};
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return fmt::format("there is no command '{}'{}; the commands are {}", argv[1], nearest(argv[1], names),
                     all);
}

CliStatus CommandLine::run(int argc, char** argv) {
  if (const std::string unknown = unknown_command(argc, argv); !unknown.empty())
    return usage("{}", base::printable(unknown));
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {  // --help, --version
      app_->exit(e);
      return {};
    }
    const bool extra = dynamic_cast<const CLI::ExtrasError*>(&e) != nullptr;
    return tl::unexpected<CliError>(CliError({ErrorCode::InvalidArgument,
                                              extra ? base::printable(unexpected_text(*app_)) : e.what(),
                                              {"Run with --help for more information."}},
                                             true));
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::OutOfMemory, "out of memory");
  }
  return outcome_;
}

}  // namespace peraxis::cli
