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

// Most options are fields of the compiler's. Beside them stands what is spelt another way there.
struct BuildOptions {
  compiler::Options chosen;
  std::string accuracy = "fast";
  std::string reference = "litert-ref";
  std::string correction = "on";
  std::optional<double> max_mismatch;  // per cent
  std::vector<std::string> calibrate;  // .npz files
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
