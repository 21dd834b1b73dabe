// peraxis capture: records what a program submits to the NPU, on a board or on a fake kernel; packs captures
// of other origin; says what a recording holds (docs/capture.md).
#include "capture/launch.hpp"
#include "capture/log/reader.hpp"
#include "cli/arguments.hpp"
#include "cli/capture_description.hpp"
#include "cli/cli.hpp"
#include "cli/output.hpp"
#include "trace/replay.hpp"

namespace peraxis::cli {
namespace {

struct CaptureOptions {
  std::string pack, arrays, output, summary, convert;
  std::string executor = "machine";
  capture::LaunchOptions launch;
};

CliStatus summarize(const std::string& folder) {
  std::vector<capture::LoggedProcess> processes;
  for (const auto& log : PERAXIS_TRY(capture::logs_in(std::filesystem::path(folder) / "log")))
    processes.push_back(
        PERAXIS_TRY(capture::read_log(log, [](const capture::LoggedSubmit&) -> Status { return {}; })));
  print_text(capture::summary_text(processes));
  return {};
}

CliStatus convert_logs(const std::string& folder, bool say) {
  const capture::Conversion done = PERAXIS_TRY(capture::convert(folder));
  for (const std::string& problem : done.problems)
    print_notice(fmt::format("peraxis: no capture: {}\n", problem));
  for (const capture::LoggedProcess& process : done.processes)
    if (process.cut)
      print_notice(fmt::format("peraxis: the log of process {} is cut off; what came before is kept\n",
                               process.process));
  if (say) print_notice(fmt::format("peraxis: {} submits recorded in {}\n", done.files.size(), folder));
  return {};
}

CliStatus run_program(CaptureOptions& options) {
  options.launch.output = options.output;
  options.launch.test_words = options.executor == "test-words";
  if (options.output.empty() && options.launch.fake.empty())
    return usage("nothing to do: give -o DIR to record, --fake DRIVER to replace the kernel, or both");
  const bool needs_fake = !options.launch.faults.empty() || options.launch.strict ||
                          options.launch.keep_cbuf || options.launch.pool_raises_only_ppu ||
                          options.launch.test_words || !options.launch.switches.empty();
  if (needs_fake && options.launch.fake.empty())
    return usage(
        "--fault, --strict, --executor, --keep-cbuf, --pool-interrupts and --switch are for fake kernels "
        "(--fake)");
  if (options.launch.commands_only && options.output.empty()) return usage("--regcmd-only needs -o DIR");
  machine::Switches readings;
  for (const std::string& text : options.launch.switches)
    if (const Status good = trace::set_switch(readings, text); !good)
      return usage("--switch {}", good.error().message);
  capture::Faults check;
  for (const std::string& fault : options.launch.faults)
    if (const Status good = check.add(fault); !good) return usage("--fault {}", good.error().message);
  const capture::LaunchResult result = PERAXIS_TRY(capture::launch(options.launch));
  if (!result.findings.empty()) print_notice(result.findings);
  if (!options.output.empty()) PERAXIS_TRY(convert_logs(options.output, true));
  if (result.exit_code != 0) return exit_with(result.exit_code);
  if (options.launch.strict && result.punished > 0) return quiet_failure();
  return {};
}

CliStatus capture_command(CaptureOptions& options) {
  const int forms = (options.pack.empty() ? 0 : 1) + (options.summary.empty() ? 0 : 1) +
                    (options.convert.empty() ? 0 : 1) + (options.launch.command.empty() ? 0 : 1);
  if (forms != 1) return usage("give one of: -- COMMAND, --pack DESCRIPTION, --summary DIR, --convert DIR");
  if (!options.arrays.empty() && options.pack.empty()) return usage("--arrays belongs to --pack");
  if (!options.pack.empty()) {
    if (options.output.empty()) return usage("--pack needs -o FILE");
    return pack_capture(options.pack, options.arrays, options.output);
  }
  if (!options.summary.empty()) return summarize(options.summary);
  if (!options.convert.empty()) return convert_logs(options.convert, true);
  return run_program(options);
}

}  // namespace

void add_capture(const Arguments& arguments) {
  const auto options = std::make_shared<CaptureOptions>();
  capture::LaunchOptions& launch = options->launch;
  arguments.option("COMMAND", launch.command, "after --: the program to run, with its arguments");
  arguments
      .option("-o,--output", options->output, "folder for the recording; with --pack: the capture to write")
      .not_empty()
      .type_name("DIR");
  arguments
      .option("--fake", launch.fake,
              "put this driver's kernel and the machine model in the place of the computer's")
      .one_of({"rocket", "rknpu"});
  arguments.flag("--regcmd-only", launch.commands_only, "record the commands and no other buffer");
  arguments.option("--summary", options->summary, "what the recording in a folder holds")
      .not_empty()
      .type_name("DIR");
  arguments
      .option("--convert", options->convert,
              "make captures of the logs in a folder, after a run that was killed")
      .not_empty()
      .type_name("DIR");
  arguments.option("--pack", options->pack, "make a capture of a JSON description (docs/capture.md)")
      .not_empty()
      .type_name("FILE");
  arguments.option("--arrays", options->arrays, "--pack: the arrays that the description names")
      .type_name("F.npz");
  arguments
      .option("--library", launch.library, "the library to preload, for a program of another architecture")
      .not_empty()
      .type_name("FILE");
  const std::string fake = "Fake kernel";
  arguments.option("--fault", launch.faults, capture::fault_help())
      .repeatable()
      .group(fake)
      .type_name("FAULT");
  arguments
      .flag("--strict", launch.strict,
            "exit code 1 and a report when the program does what the driver punishes silently")
      .group(fake);
  arguments.flag("--keep-cbuf", launch.keep_cbuf, "a core's buffer keeps its content from job to job")
      .group(fake);
  arguments
      .flag("--pool-interrupts", launch.pool_raises_only_ppu,
            "poolings raise the pooling block's interrupts only")
      .group(fake);
  arguments.option("--switch", launch.switches, "another reading of the chip, as of peraxis replay")
      .type_name("NAME=VALUE")
      .repeatable()
      .group(fake);
  arguments
      .option("--executor", options->executor,
              "what executes commands: the machine, or the words of the kernel tests")
      .one_of({"machine", "test-words"})
      .group(fake);
  arguments.runs([options] { return capture_command(*options); });
}

}  // namespace peraxis::cli
