// The command line: one subcommand a file in commands/, listed in commands.def. Exit codes: 0 done, 1 failed
// (a broken model, a missing file, a device that refuses), 2 wrong usage, 3 a job took longer than it may, 4
// the device is gone. Errors go to stderr as "peraxis: error: ...", results to stdout; with --json stdout
// holds one JSON document and nothing else.
#pragma once

#include <string>

#include "base/result.hpp"

namespace peraxis::engine {}

namespace peraxis::cli {

// What commands do they ask of the engine; here is what they parse and print.
using namespace engine;

class Arguments;

int run(int argc, char** argv);

// An error that knows whether the user's command line is to blame (exit code 2) or something else (1).
// Errors of the libraries convert to the second kind.
struct CliError {
  Error error;
  bool usage = false;
  bool quiet = false;  // the result on stdout says it all
  int exit_code = 0;   // quiet: another one than 1

  CliError(Error e, bool is_usage = false) : error(std::move(e)), usage(is_usage) {}  // NOLINT: implicit
};
template <class T>
using CliResult = tl::expected<T, CliError>;
using CliStatus = CliResult<void>;

template <class... Args>
tl::unexpected<CliError> usage(fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<CliError>(
      CliError({ErrorCode::InvalidArgument, fmt::format(format, std::forward<Args>(args)...), {}}, true));
}

// Exit code 1 without an error: what was asked has the answer "no".
inline tl::unexpected<CliError> quiet_failure() {
  CliError error(Error{});
  error.quiet = true;
  return tl::unexpected<CliError>(std::move(error));
}

// The exit code of another program, handed on.
inline tl::unexpected<CliError> exit_with(int exit_code) {
  CliError error(Error{});
  error.quiet = true;
  error.exit_code = exit_code;
  return tl::unexpected<CliError>(std::move(error));
}

// A command declares its arguments and leaves there what runs it.
#define PERAXIS_COMMAND(name, description) void add_##name(const Arguments& arguments);
#include "cli/commands.def"
#undef PERAXIS_COMMAND

}  // namespace peraxis::cli

// PERAXIS_TRY on a CliResult.
namespace peraxis::detail {
template <class T>
T take(cli::CliResult<T>& result) {
  return std::move(*result);
}
inline void take(cli::CliStatus&) {}
}  // namespace peraxis::detail
