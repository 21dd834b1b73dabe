// The files of --goldens and --dump: i{k}_{n} and o{k}_{n} are input and output n of set k, t{index} is an
// activation by the model's tensor index. Arrays are checked against the model's tensors.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "engine/layer_compare.hpp"
#include "ir/graph.hpp"

namespace peraxis::engine {

struct GoldenSet {
  int64_t number = 0;
  std::vector<std::vector<uint8_t>> inputs;        // all of them
  std::map<size_t, std::vector<uint8_t>> outputs;  // by output, those the file has
};
struct Goldens {
  std::vector<GoldenSet> sets;  // by number
  TensorMap tensors;
};
// Fails when the file holds neither kind, when a set lacks an input, when an array does not fit its tensor.
Result<Goldens> read_goldens(const std::string& path, const ir::Graph& graph);

}  // namespace peraxis::engine
