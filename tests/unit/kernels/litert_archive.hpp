// Archives of models with what LiteRT's reference kernels made of inputs (tests/data/make_kernel_cases.py).
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "base/npy.hpp"
#include "kernels/kernels.hpp"

namespace peraxis::kernels {

struct LitertCase {
  std::string name;
  Values model;
  std::vector<std::vector<Values>> inputs, outputs;  // by set
};

struct LitertArchive {
  base::ArrayMap arrays;
  std::vector<LitertCase> cases;
};

inline Result<LitertArchive> load_litert_cases(const char* file) {
  LitertArchive archive;
  archive.arrays = PERAXIS_TRY(base::read_npz(file));
  const auto& bytes = archive.arrays.at("bytes").data;
  const auto& names = archive.arrays.at("names").data;
  std::istringstream lines(std::string(names.begin(), names.end()));
  for (std::string line; std::getline(lines, line);) archive.cases.push_back({line, {}, {}, {}});
  const std::vector<int64_t> blobs = PERAXIS_TRY(base::values_of<int64_t>(archive.arrays.at("blobs")));
  bool after_output = true;
  for (size_t i = 0; i + 3 < blobs.size(); i += 4) {
    LitertCase& c = archive.cases.at(static_cast<size_t>(blobs[i]));
    const Values blob =
        Values(bytes).subspan(static_cast<size_t>(blobs[i + 2]), static_cast<size_t>(blobs[i + 3]));
    switch (blobs[i + 1]) {
      case 0:
        c.model = blob;
        after_output = true;
        break;
      case 1:
        if (after_output) {
          c.inputs.emplace_back();
          c.outputs.emplace_back();
        }
        after_output = false;
        c.inputs.back().push_back(blob);
        break;
      default:
        after_output = true;
        c.outputs.back().push_back(blob);
    }
  }
  return archive;
}

}  // namespace peraxis::kernels
