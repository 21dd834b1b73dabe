// See options.hpp.
#include "cli/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace peraxis::cli {
namespace {

constexpr int kMaxThreads = 256;

// CLI::Range lets NaN through.
CLI::Validator finite_range(double low, double high) {
  return {[low, high](const std::string& text) -> std::string {
            double value = 0;
            if (!CLI::detail::lexical_cast(text, value)) return fmt::format("'{}' is no number", text);
            return value >= low && value <= high
                       ? std::string()
                       : fmt::format("{} is not between {:g} and {:g}", text, low, high);
          },
          fmt::format("{:g} to {:g}", low, high)};
}

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
             "scale: on or off; groups and sorted-groups also 'multiply': the chip's multiplier inside a "
             "group")
          ->check(CLI::IsMember({"on", "off", "multiply"})));
  setting(
      app.add_option("--group-size", settings.group_size, "groups, sorted-groups, hybrid: channels a group")
          ->check(CLI::Range(1, 8192)));
  setting(app.add_option("--max-ratio", settings.max_ratio,
                         "sorted-groups, hw-multiply: a set ends where its scale ratio exceeds this")
              ->check(finite_range(1.0, 1e30)));
  setting(app.add_option("--hybrid-ratio", settings.hybrid_ratio,
                         "hybrid: layers above this scale ratio run channel by channel")
              ->check(finite_range(1.0, 1e30)));
  note_given(
      app.add_flag("--vendor-factors", settings.vendor,
                   "hw-multiply: the vendor compiler's factors (2^14 * s / s_max, shift 14) instead of "
                   "ours")
          ->group(group),
      options);
  note_given(
      app.add_flag("--bias-rescale", settings.bias_rescale,
                   "max-scale and groups: the research note's variant, wrong for every channel but the "
                   "largest")
          ->group(group),
      options);
}

void add_cost_options(CLI::App& app, BuildOptions& options) {
  rk3588::CostConstants& cost = options.cost;
  const char* group = "Constants of the time estimate";
  const auto add = [&](const char* name, double& value, const char* text, const char* unit, double low,
                       double high) {
    note_given(app.add_option(name, value, text)
                   ->type_name(unit)
                   ->check(finite_range(low, high))
                   ->capture_default_str()
                   ->group(group),
               options);
  };
  add("--clock-ghz", cost.clock_ghz, "clock of the NPU", "GHZ", 0.01, 10);
  add("--bandwidth-gbs", cost.bandwidth_gbs, "memory bandwidth of the NPU", "GB/S", 0.01, 1000);
  add("--task-us", cost.task_us, "cost of a task besides its work: 50 on mainline, about 0 in a vendor chain",
      "US", 0, 1e6);
  add("--host-step-us", cost.host_step_us, "the chain of tasks stops for the host and goes on", "US", 0, 1e6);
  add("--host-copy-ns", cost.host_copy_ns, "host: an int8 value copied", "NS", 0, 1e6);
  add("--host-requantize-ns", cost.host_requantize_ns, "host: a value requantized", "NS", 0, 1e6);
  add("--host-element-ns", cost.host_element_ns, "host: an output element of another operator", "NS", 0, 1e6);
  add("--host-gmacs", cost.host_gmacs, "host: multiply-accumulates of a convolution", "GMAC/S", 1e-3, 1e6);
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
  note_given(app.add_flag("--convolutions-only", options.convolutions_only,
                          "the NPU runs convolutions only, the CPU every other operator"),
             options);
  note_given(app.add_flag("--no-tables", options.no_tables,
                          "no operator through the chip's look-up table, which nobody has tried for int8 on "
                          "an RK3588"),
             options);
  note_given(app.add_flag("--no-fused-add", options.no_fused_add,
                          "no convolution does the ADD behind it in its own tasks, where 'fast' may differ"),
             options);
  note_given(app.add_flag("--no-ppu", options.no_ppu,
                          "no task of the pooling block: averages as convolutions, maxima on the CPU"),
             options);
  note_given(
      app.add_flag("--no-packed-input", options.no_packed_input,
                   "pictures are uploaded as cubes of 16 channels, not as they lie; nobody has published "
                   "that an RK3588 reads packed int8 pixels right"),
      options);
  note_given(app.add_flag("--dense-cpu", options.dense_cpu,
                          "operators of the CPU take dense arrays only, converted before and after them, and "
                          "leave the NPU's layout alone"),
             options);
  note_given(app.add_option("--max-mismatch", options.max_mismatch,
                            "what 'auto' aims at instead: per cent of the convolutions' outputs that may "
                            "differ from the reference, least time below that")
                 ->type_name("PERCENT")
                 ->check(finite_range(0.0, 100.0)),
             options);
  note_given(not_empty(app.add_option("--calibrate", options.calibrate,
                                      "input sets i<k>_<n>: accuracy is weighted by the activations seen on "
                                      "them; repeatable"))
                 ->type_name("F.npz")
                 ->type_size(1)
                 ->allow_extra_args(false)
                 ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll),
             options);
  add_strategy_options(app, options);
  add_cost_options(app, options);
}

CLI::Option* not_empty(CLI::Option* option) {
  return option->check(
      [](const std::string& value) { return value.empty() ? "an empty name" : std::string(); });
}

void add_model_options(CLI::App& app, ModelOptions& options) {
  not_empty(app.add_option("--signature", options.signature,
                           "the part of a model with several entries: the one with this signature key"))
      ->type_name("KEY");
  app.add_option("--shape", options.shapes,
                 "another size of an input, by name or position: images=1x320x320x3; repeatable")
      ->type_name("INPUT=SIZES")
      ->type_size(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
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
  if (options.max_mismatch && options.strategy != "auto")
    return usage("--max-mismatch chooses strategies itself; --strategy {} forces one", options.strategy);
  if (options.max_mismatch && options.accuracy == "exact")
    return usage("--max-mismatch and --accuracy exact contradict each other: exact lets nothing differ");
  compiler::Options out;
  if (options.max_mismatch) out.max_mismatch = *options.max_mismatch / 100;
  out.cost = options.cost;
  out.strategy = options.strategy;
  out.accuracy = options.accuracy == "exact" ? compiler::Accuracy::Exact : compiler::Accuracy::Fast;
  out.reference =
      options.reference == "single-rounding" ? num::Reference::SingleRounding : num::Reference::LitertRef;
  out.no_fallback = options.no_fallback;
  out.convolutions_only = options.convolutions_only;
  out.tables = !options.no_tables;
  out.fused_adds = !options.no_fused_add;
  out.cubes_on_cpu = !options.dense_cpu;
  out.ppu = !options.no_ppu;
  out.packed_input = !options.no_packed_input;
  out.strategy_options = options.strategy_options;
  out.strategy_options.correction = options.correction != "off";
  out.strategy_options.multiply = options.correction == "multiply";
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
