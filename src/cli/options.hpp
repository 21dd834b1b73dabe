// Options that several commands share, and what they mean to the compiler and the kernels.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/load.hpp"
#include "compiler/compile.hpp"
#include "engine/outputs.hpp"
#include "kernels/kernels.hpp"

namespace peraxis::cli {

struct BuildOptions {
  std::string strategy = "auto";
  std::string accuracy = "fast";
  std::string reference = "litert-ref";
  bool convolutions_only = false;
  bool no_tables = false;
  bool no_fused_add = false;
  bool no_ppu = false;
  bool no_packed_input = false;
  bool dense_cpu = false;
  bool no_fallback = false;
  std::string correction = "on";
  requant::StrategyOptions strategy_options;
  std::optional<double> max_mismatch;  // per cent
  std::vector<std::string> calibrate;  // .npz files
  rk3588::CostConstants cost;
  // Names of those given on the command line: an executable was compiled with its own.
  std::vector<std::string> given;
};

// --strategy, --accuracy, --reference, and the strategies' own settings.
void add_build_options(const Arguments& arguments, BuildOptions& options);
// --signature, --shape.
void add_model_options(const Arguments& arguments, ModelOptions& options);
// --model-info, --labels and --head.
void add_info_options(const Arguments& arguments, engine::InfoOptions& options);
// --threads, default 1.
void add_threads_option(const Arguments& arguments, int& threads);

CliResult<compiler::Options> compiler_options(const BuildOptions& options, uint64_t model_hash);
kernels::Options kernel_options(const std::string& reference, int threads);

// "a, b and c", quoted.
std::string listed(const std::vector<std::string>& names);

}  // namespace peraxis::cli
