// See options.hpp.
#include "cli/options.hpp"

#include <algorithm>

namespace peraxis::cli {
namespace {

constexpr int kMaxThreads = 256;

void add_strategy_options(const Arguments& arguments, BuildOptions& options) {
  requant::StrategyOptions& settings = options.chosen.strategy_options;
  const auto setting = [&](const Argument& argument) {
    argument.group("Settings of single strategies").noted_in(options.given);
  };
  setting(arguments
              .option("--correction", options.correction,
                      "max-scale, groups, sorted-groups, hybrid: the host multiplies int8 down to the "
                      "channel's own scale: on or off; groups and sorted-groups also 'multiply': the chip's "
                      "multiplier inside a group")
              .one_of({"on", "off", "multiply"})
              .shows_default());
  setting(
      arguments.option("--group-size", settings.group_size, "groups, sorted-groups, hybrid: channels a group")
          .between(1, 8192)
          .shows_default());
  setting(arguments
              .option("--max-ratio", settings.max_ratio,
                      "sorted-groups, hw-multiply: a set ends where its scale ratio exceeds this")
              .between(1.0, 1e30)
              .shows_default());
  setting(arguments
              .option("--hybrid-ratio", settings.hybrid_ratio,
                      "hybrid: layers above this scale ratio run channel by channel")
              .between(1.0, 1e30)
              .shows_default());
  setting(arguments.flag("--vendor-factors", settings.vendor,
                         "hw-multiply: the vendor compiler's factors (2^14 * s / s_max, shift 14) instead of "
                         "ours"));
  setting(arguments.flag(
      "--bias-rescale", settings.bias_rescale,
      "max-scale and groups: the bias is brought to the largest scale while the sums stay in their "
      "channel's own: wrong for every channel but the one of the largest scale"));
}

struct Bounds {
  double low, high;
};

void add_cost_options(const Arguments& arguments, BuildOptions& options) {
  rk3588::CostConstants& cost = options.chosen.cost;
  const auto add = [&](const char* name, double& value, const char* text, const char* unit, Bounds bounds) {
    arguments.option(name, value, text)
        .type_name(unit)
        .between(bounds.low, bounds.high)
        .shows_default()
        .group("Constants of the time estimate")
        .noted_in(options.given);
  };
  add("--clock-ghz", cost.clock_ghz, "clock of the NPU", "GHZ", {0.01, 10});
  add("--bandwidth-gbs", cost.bandwidth_gbs, "memory bandwidth of the NPU", "GB/S", {0.01, 1000});
  add("--task-us", cost.task_us, "cost of a task besides its work: 50 on mainline, about 0 in a vendor chain",
      "US", {0, 1e6});
  add("--host-step-us", cost.host_step_us, "the chain of tasks stops for the host and goes on", "US",
      {0, 1e6});
  add("--host-copy-ns", cost.host_copy_ns, "host: an int8 value copied", "NS", {0, 1e6});
  add("--host-requantize-ns", cost.host_requantize_ns, "host: a value requantized", "NS", {0, 1e6});
  add("--host-element-ns", cost.host_element_ns, "host: an output element of another operator", "NS",
      {0, 1e6});
  add("--host-gmacs", cost.host_gmacs, "host: multiply-accumulates of a convolution", "GMAC/S", {1e-3, 1e6});
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

void add_build_options(const Arguments& arguments, BuildOptions& options) {
  const auto option = [&](const char* name, std::string& value, const std::string& text) {
    return arguments.option(name, value, text).noted_in(options.given).shows_default();
  };
  const auto flag = [&](const char* name, bool& value, const char* text) {
    arguments.flag(name, value, text).noted_in(options.given);
  };
  const auto off = [&](const char* name, bool& value, const char* text) {
    arguments.off_flag(name, value, text).noted_in(options.given);
  };
  std::string names = "auto";
  for (const std::string& name : compiler::strategy_names()) names += ", " + name;
  option("--strategy", options.chosen.strategy,
         "how per-axis scales are applied: " + names + " (instead of --accuracy)");
  option("--accuracy", options.accuracy, "what 'auto' aims at: fast or exact").one_of({"fast", "exact"});
  option("--reference", options.reference,
         "the arithmetic that counts as right: litert-ref or single-rounding")
      .one_of({"litert-ref", "single-rounding"});
  flag("--convolutions-only", options.chosen.convolutions_only,
       "the NPU runs convolutions only, the CPU every other operator");
  off("--no-tables", options.chosen.tables,
      "no operator through the chip's look-up table, which nobody has tried for int8 on an RK3588");
  off("--no-fused-add", options.chosen.fused_adds,
      "no convolution does the ADD behind it in its own tasks, where 'fast' may differ");
  off("--no-ppu", options.chosen.ppu,
      "no task of the pooling block: averages as convolutions, maxima on the CPU");
  off("--no-packed-input", options.chosen.packed_input,
      "pictures are uploaded as cubes of 16 channels, not as they lie; nobody has published that an RK3588 "
      "reads packed int8 pixels right");
  off("--dense-cpu", options.chosen.cubes_on_cpu,
      "operators of the CPU take dense arrays only, converted before and after them, and leave the NPU's "
      "layout alone");
  arguments
      .option(
          "--max-mismatch", options.max_mismatch,
          "what 'auto' aims at instead: per cent of the NPU's outputs that may differ from the reference, of "
          "all operators that can; least time below that")
      .type_name("PERCENT")
      .between(0.0, 100.0)
      .noted_in(options.given);
  arguments
      .option("--calibrate", options.calibrate,
              "input sets i<k>_<n>: accuracy is weighted by the activations seen on them; repeatable")
      .not_empty()
      .type_name("F.npz")
      .repeatable()
      .noted_in(options.given);
  add_strategy_options(arguments, options);
  add_cost_options(arguments, options);
}

void add_model_options(const Arguments& arguments, ModelOptions& options) {
  arguments
      .option("--signature", options.signature,
              "the part of a model with several entries: the one with this signature key")
      .not_empty()
      .type_name("KEY");
  arguments
      .option("--shape", options.shapes,
              "another size of an input, by name or position: images=1x320x320x3; repeatable")
      .type_name("INPUT=SIZES")
      .repeatable();
}

void add_threads_option(const Arguments& arguments, int& threads) {
  arguments
      .option("--threads", threads, "threads of the CPU kernels and host steps; the results are the same")
      .between(1, kMaxThreads)
      .shows_default();
}

void add_info_options(const Arguments& arguments, InfoOptions& options) {
  arguments
      .option("--model-info", options.model_info,
              "labels, strides and anchors (default: the model's name with .json)")
      .not_empty()
      .type_name("F.json");
  arguments.option("--labels", options.labels, "class names, one a line, with or without their numbers")
      .not_empty()
      .type_name("FILE");
  arguments.option("--head", options.head, "what the outputs mean (default: told by their shapes)")
      .one_of(vision::head_names());
}

CliResult<compiler::Options> compiler_options(const BuildOptions& options, uint64_t model_hash) {
  const std::vector<std::string> names = compiler::strategy_names();
  if (options.chosen.strategy != "auto" &&
      std::find(names.begin(), names.end(), options.chosen.strategy) == names.end())
    return usage("--strategy: there is no strategy '{}'; valid are 'auto', {}", options.chosen.strategy,
                 listed(names));
  if (options.chosen.strategy != "auto" && options.chosen.strategy != "exact" && options.accuracy == "exact")
    return usage("--strategy {} and --accuracy exact contradict each other; --strategy exact is exact",
                 options.chosen.strategy);
  if (options.max_mismatch && options.chosen.strategy != "auto")
    return usage("--max-mismatch chooses strategies itself; --strategy {} forces one",
                 options.chosen.strategy);
  if (options.max_mismatch && options.accuracy == "exact")
    return usage("--max-mismatch and --accuracy exact contradict each other: exact lets nothing differ");
  compiler::Options out = options.chosen;
  if (options.max_mismatch) out.max_mismatch = *options.max_mismatch / 100;
  out.accuracy = options.accuracy == "exact" ? compiler::Accuracy::Exact : compiler::Accuracy::Fast;
  out.reference =
      options.reference == "single-rounding" ? num::Reference::SingleRounding : num::Reference::LitertRef;
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
