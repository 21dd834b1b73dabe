// See cli.hpp. The one place that turns errors into text and exit codes.
#include "cli/cli.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/output.hpp"

#ifndef PERAXIS_VERSION
#define PERAXIS_VERSION "0.1.0"
#endif

namespace peraxis::cli {
namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

void print_error(const std::string& text) {
  print_notice(fmt::format("peraxis: error: {}\n", text));
}

int report(const CliStatus& outcome) {
  if (!outcome && !outcome.error().quiet) {
    print_error(outcome.error().error.text());
    return outcome.error().usage ? kWrongUsage : kFailed;
  }
  if (const Status flushed = flush_stdout(); !flushed) {
    print_error(flushed.error().text());
    return kFailed;
  }
  return outcome ? kDone : kFailed;
}

}  // namespace

int run(int argc, char** argv) {
  CLI::App app("peraxis: compiler, runtime and exact machine model for quantized networks on the RK3588 NPU",
               "peraxis");
  app.set_version_flag("--version", "peraxis " PERAXIS_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(38);
  CliStatus outcome;
#define PERAXIS_COMMAND(name, description) add_##name(*app.add_subcommand(#name, description), outcome);
#include "cli/commands.def"
#undef PERAXIS_COMMAND

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {  // --help, --version
      app.exit(e);
      return report({});
    }
    print_error(e.what());
    print_notice("Run with --help for more information.\n");
    return kWrongUsage;
  } catch (const std::bad_alloc&) {
    print_error("out of memory");
    return kFailed;
  }
  return report(outcome);
}

}  // namespace peraxis::cli
