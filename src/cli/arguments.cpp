// See arguments.hpp.
#include "cli/arguments.hpp"

#include <CLI/CLI.hpp>

namespace peraxis::cli {

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

CliStatus CommandLine::run(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {  // --help, --version
      app_->exit(e);
      return {};
    }
    return tl::unexpected<CliError>(
        CliError({ErrorCode::InvalidArgument, e.what(), {"Run with --help for more information."}}, true));
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::OutOfMemory, "out of memory");
  }
  return outcome_;
}

}  // namespace peraxis::cli
