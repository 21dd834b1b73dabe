// What a command takes on the command line. A thin layer over CLI11: only arguments.cpp includes its header,
// which costs seconds in every unit that does.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace peraxis::cli {

// One declared option, flag or positional. A handle: it lives as long as the CommandLine it came from.
class Argument {
 public:
  explicit Argument(CLI::Option* option) : option_(option) {}

  const Argument& required() const;
  // What the help shows in the value's place: "FILE".
  const Argument& type_name(const std::string& name) const;
  // The help shows the value that the variable has when this is called.
  const Argument& shows_default() const;
  const Argument& group(const std::string& name) const;
  const Argument& one_of(const std::vector<std::string>& values) const;
  const Argument& between(int low, int high) const;
  const Argument& between(double low, double high) const;  // both ends included; NaN is refused
  // Refuses an empty file name: most likely an unset variable of a script.
  const Argument& not_empty() const;
  // May be given several times, one value each time.
  const Argument& repeatable() const;
  const Argument& excludes(const Argument& other) const;
  // Its name goes to `names` when it is given.
  const Argument& noted_in(std::vector<std::string>& names) const;

 private:
  CLI::Option* option_;
};

// The arguments of one command. Variables must live until the command has run.
class Arguments {
 public:
  Arguments(CLI::App& app, CliStatus& outcome) : app_(&app), outcome_(&outcome) {}

  Argument flag(const std::string& names, bool& value, const std::string& text) const;
  // One that switches something off.
  Argument off_flag(const std::string& names, bool& value, const std::string& text) const;
  // `names`: "--labels", "-o,--output", or "MODEL" for a positional. T: std::string, int, int64_t, double,
  // std::optional<double>, std::vector<std::string>.
  template <class T>
  Argument option(const std::string& names, T& value, const std::string& text) const;
  void footer(const std::string& text) const;
  // What happens when the user chose this command and its arguments are well formed.
  void runs(std::function<CliStatus()> command) const;

 private:
  CLI::App* app_;
  CliStatus* outcome_;
};

// All commands, and the reading of argv.
class CommandLine {
 public:
  CommandLine(const std::string& description, const std::string& name, const std::string& version);
  ~CommandLine();

  Arguments add_command(const std::string& name, const std::string& description);
  // Reads argv and runs the command it names. --help and --version print and are no error.
  CliStatus run(int argc, char** argv);

 private:
  // What is wrong with the first argument as a command; empty when nothing is.
  std::string unknown_command(int argc, char** argv) const;

  std::unique_ptr<CLI::App> app_;
  CliStatus outcome_;
};

}  // namespace peraxis::cli
