// See options.hpp.
#include "cli/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace peraxis::cli {
namespace {

constexpr int kMaxThreads = 256;

void note_given(CLI::Option* option, BuildOptions& options) {
  option->each([option, &options](const std::string&) { options.given.push_back(option->get_name()); });
}

void add_strategy_options(CLI::App& app, BuildOptions& options) {
  requant::StrategyOptions& settings = options.strategy_options;
  const char* group = "Settings of single strategies";
  auto setting = [&](CLI::Option* option) {
    note_given(option->group(group)->capture_default_str(), options);
  };
  setting(
      app.add_option(
             "--correction", options.correction,
             "max-scale, groups, sorted-groups, hybrid: the host multiplies int8 down to the channel's own "
             "scale: on or off")
          ->check(CLI::IsMember({"on", "off"})));
  setting(
      app.add_option("--group-size", settings.group_size, "groups, sorted-groups, hybrid: channels a group")
          ->check(CLI::Range(1, 8192)));
  setting(app.add_option("--max-ratio", settings.max_ratio,
                         "sorted-groups: a group ends where its scale ratio exceeds this")
              ->check(CLI::Range(1.0, 1e30)));
  setting(app.add_option("--hybrid-ratio", settings.hybrid_ratio,
                         "hybrid: layers above this scale ratio run channel by channel")
              ->check(CLI::Range(1.0, 1e30)));
  app.add_flag("--bias-rescale", settings.bias_rescale,
               "max-scale and groups: the research note's variant, wrong for every channel but the largest")
      ->group(group);
}

}  // namespace

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 == names.size() ? " and " : ", ";
    out += "'" + names[i] + "'";
  }
  return out;
}

void add_build_options(CLI::App& app, BuildOptions& options) {
  std::string names = "auto";
  for (const std::string& name : compiler::strategy_names()) names += ", " + name;
  note_given(app.add_option("--strategy", options.strategy,
                            "how per-axis scales are applied: " + names + " (overrides --accuracy)")
                 ->capture_default_str(),
             options);
  note_given(app.add_option("--accuracy", options.accuracy, "what 'auto' aims at: fast or exact")
                 ->check(CLI::IsMember({"fast", "exact"}))
                 ->capture_default_str(),
             options);
  note_given(app.add_option("--reference", options.reference,
                            "the arithmetic that counts as right: litert-ref or single-rounding")
                 ->check(CLI::IsMember({"litert-ref", "single-rounding"}))
                 ->capture_default_str(),
             options);
  add_strategy_options(app, options);
}

CLI::Option* not_empty(CLI::Option* option) {
  return option->check(
      [](const std::string& value) { return value.empty() ? "an empty name" : std::string(); });
}

void add_threads_option(CLI::App& app, int& threads) {
  app.add_option("--threads", threads, "threads of the CPU kernels and host steps; the results are the same")
      ->check(CLI::Range(1, kMaxThreads))
      ->capture_default_str();
}

CliResult<compiler::Options> compiler_options(const BuildOptions& options, uint64_t model_hash) {
  const std::vector<std::string> names = compiler::strategy_names();
  if (options.strategy != "auto" && std::find(names.begin(), names.end(), options.strategy) == names.end())
    return usage("--strategy: there is no strategy '{}'; valid are 'auto', {}", options.strategy,
                 listed(names));
  compiler::Options out;
  out.strategy = options.strategy;
  out.accuracy = options.accuracy == "exact" ? compiler::Accuracy::Exact : compiler::Accuracy::Fast;
  out.reference =
      options.reference == "single-rounding" ? num::Reference::SingleRounding : num::Reference::LitertRef;
  out.no_fallback = options.no_fallback;
  out.strategy_options = options.strategy_options;
  out.strategy_options.correction = options.correction == "on";
  out.model_hash = model_hash;
  return out;
}

kernels::Options kernel_options(const std::string& reference, int threads) {
  kernels::Options out;
  out.reference =
      reference == "single-rounding" ? kernels::Reference::SingleRounding : kernels::Reference::LitertRef;
  out.threads = threads;
  return out;
}

}  // namespace peraxis::cli
