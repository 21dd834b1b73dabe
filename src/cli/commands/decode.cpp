// peraxis decode: command streams as text. The text is complete: peraxis encode makes the same words of it.

#include <nlohmann/json.hpp>

#include "cli/cli.hpp"
#include "cli/options.hpp"
#include "cli/trace_json.hpp"

namespace peraxis::cli {
namespace {

struct DecodeOptions {
  std::vector<std::string> files;
  bool json = false, summary = false, sources = false, changes = false, no_comments = false, words = false;
};

CliStatus decode_command(const DecodeOptions& options) {
  if (options.summary + options.sources + options.changes > 1)
    return usage("--summary, --sources and --changes exclude each other");
  if (options.json && options.changes) return usage("--changes is for text; --json names what changed");
  if (options.json && options.no_comments) return usage("--no-comments is for text");
  Json files = Json::array();
  std::string text;
  std::vector<trace::Stream> all;
  for (const std::string& file : options.files) {
    trace::Input input = PERAXIS_TRY(load_streams(file, options.words));
    // One JSON document holds every task at once; text does not.
    int64_t tasks = 0;
    for (const trace::Stream& stream : input.streams) tasks += trace::count_tasks(stream);
    if (options.json && tasks > trace::kMostTasksAtOnce)
      return fail(ErrorCode::Unsupported, "{} has {} tasks; --json shows up to {}, text any number", file,
                  tasks, trace::kMostTasksAtOnce);
    Json entry{{"file", file}, {"kind", trace::input_kind_name(input.kind)}, {"streams", Json::array()}};
    for (trace::Stream& stream : input.streams) {
      if (options.sources) {
        all.push_back(std::move(stream));
      } else if (options.json) {
        entry["streams"].push_back(stream_json(stream, !options.summary));
      } else if (options.summary) {
        text += fmt::format("{}{}\n{}", text.empty() ? "" : "\n", printable(stream.name),
                            trace::summary_text(trace::facts_of(stream)));
      } else {
        text += trace::print_text(stream, {!options.no_comments, options.changes});
      }
    }
    files.push_back(std::move(entry));
  }
  if (options.sources) {
    const trace::Sources sources = trace::sources_of(all);
    if (options.json)
      print_json(sources_json(sources));
    else
      print_text(trace::sources_text(sources));
  } else if (options.json) {
    print_json({{"files", std::move(files)}});
  } else {
    print_text(text);
  }
  return {};
}

}  // namespace

void add_decode(const Arguments& arguments) {
  const auto options = std::make_shared<DecodeOptions>();
  arguments
      .option("FILE", options->files,
              "bare 64-bit words (regcmd*.bin), an executable, a capture or an .rknn model")
      .not_empty()
      .required();
  arguments.flag("--summary", options->summary, "one row a task, and totals");
  arguments.flag("--sources", options->sources, "which of the fields that are set rest on a guess");
  arguments.flag("--changes", options->changes,
                 "leave out what repeats the task before (such text cannot be encoded)");
  arguments.flag("--words", options->words, "take the file for bare words, whatever it looks like");
  arguments.flag("--no-comments", options->no_comments, "words only");
  arguments.flag("--json", options->json, "one JSON document on stdout");
  arguments.runs([options] { return decode_command(*options); });
}

}  // namespace peraxis::cli
