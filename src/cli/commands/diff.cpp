// peraxis diff: two files of command streams beside each other, task by task. Exit codes as diff(1) has
// them: 0 equal, 1 different; a file that cannot be read is 1 too, with an error on stderr.
#include "trace/diff.hpp"

#include <nlohmann/json.hpp>

#include "cli/cli.hpp"
#include "cli/options.hpp"
#include "cli/trace_json.hpp"

namespace peraxis::cli {
namespace {

struct DiffCommandOptions {
  std::string a, b;
  bool json = false, ignore_addresses = false;
};

Json diff_json(const DiffCommandOptions& options, const trace::Diff& diff) {
  Json out{{"a", options.a},
           {"b", options.b},
           {"equal", diff.equal()},
           {"tasks_a", diff.tasks_a},
           {"tasks_b", diff.tasks_b}};
  if (!diff.rest.empty()) out["rest"] = diff.rest;
  out["pairs"] = Json::array();
  for (const trace::TaskPair& pair : diff.pairs) {
    Json entry{{"a", pair.a ? Json(*pair.a) : Json(nullptr)},
               {"b", pair.b ? Json(*pair.b) : Json(nullptr)},
               {"status", !pair.a        ? "only_b"
                          : !pair.b      ? "only_a"
                          : pair.equal() ? "same"
                                         : "changed"},
               {"operation", pair.operation},
               {"reordered", pair.reordered}};
    entry["differences"] = Json::array();
    for (const trace::Difference& d : pair.differences)
      entry["differences"].push_back({{"where", d.where}, {"a", d.a}, {"b", d.b}, {"address", d.address}});
    out["pairs"].push_back(std::move(entry));
  }
  return out;
}

CliStatus diff_command(const DiffCommandOptions& options) {
  const trace::Input a = PERAXIS_TRY(load_streams(options.a));
  const trace::Input b = PERAXIS_TRY(load_streams(options.b));
  for (const auto& [file, input] : {std::pair{&options.a, &a}, std::pair{&options.b, &b}}) {
    int64_t tasks = 0;
    for (const trace::Stream& stream : input->streams) tasks += trace::count_tasks(stream);
    if (tasks > trace::kMostTasksAtOnce)
      return fail(ErrorCode::Unsupported, "{} has {} tasks; up to {} can be compared", *file, tasks,
                  trace::kMostTasksAtOnce);
  }
  const trace::Diff diff = trace::diff_streams(a.streams, b.streams, {!options.ignore_addresses});
  if (options.json)
    print_json(diff_json(options, diff));
  else if (!diff.equal())
    print_text(trace::diff_text(diff, printable(options.a), printable(options.b)));
  if (!diff.equal()) return quiet_failure();
  return {};
}

}  // namespace

void add_diff(const Arguments& arguments) {
  const auto options = std::make_shared<DiffCommandOptions>();
  const char* what = "bare words, an executable, a capture or an .rknn model";
  arguments.option("A", options->a, what).not_empty().required();
  arguments.option("B", options->b, what).not_empty().required();
  arguments.flag("--ignore-addresses", options->ignore_addresses, "device addresses may differ");
  arguments.flag("--json", options->json, "one JSON document on stdout");
  arguments.footer("Exit code 0: equal, 1: different (or a file that cannot be read), 2: wrong usage.");
  arguments.runs([options] { return diff_command(*options); });
}

}  // namespace peraxis::cli
