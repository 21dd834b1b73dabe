// See cli.hpp. The one place that turns errors into text and exit codes.
#include "cli/cli.hpp"

#include <cstdio>

#include "cli/arguments.hpp"
#include "cli/output.hpp"
#include "peraxis/version.hpp"

namespace peraxis::cli {
namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;
constexpr int kTimeout = 3;     // for scripts: trying again may help
constexpr int kDeviceLost = 4;  // it does not

void print_error(const std::string& text) {
  print_notice(fmt::format("peraxis: error: {}\n", text));
}

int exit_code_of(const CliError& error) {
  if (error.usage) return kWrongUsage;
  if (error.error.code == ErrorCode::Timeout) return kTimeout;
  return error.error.code == ErrorCode::DeviceLost ? kDeviceLost : kFailed;
}

int report(const CliStatus& outcome) {
  if (!outcome && !outcome.error().quiet) {
    print_error(outcome.error().error.text());
    return exit_code_of(outcome.error());
  }
  if (const Status flushed = flush_stdout(); !flushed) {
    print_error(flushed.error().text());
    return kFailed;
  }
  if (outcome) return kDone;
  return outcome.error().exit_code != 0 ? outcome.error().exit_code : kFailed;
}

}  // namespace

int run(int argc, char** argv) {
  CommandLine line(
      "peraxis: compiler, runtime and exact machine model for quantized networks on the RK3588 NPU",
      "peraxis", "peraxis " PERAXIS_VERSION);
#define PERAXIS_COMMAND(name, description) add_##name(line.add_command(#name, description));
#include "cli/commands.def"
#undef PERAXIS_COMMAND
  return report(line.run(argc, argv));
}

}  // namespace peraxis::cli
