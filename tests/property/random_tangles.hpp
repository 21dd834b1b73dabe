// Graphs whose maps meet again in every way: for the property test that the planner's and compiler's books
// (who reads what, what is alive, what lies where) hold beyond the shapes of known detectors.
#pragma once

#include "random_graphs.hpp"

namespace peraxis::property {

// Convolutions, additions, joins, splits, pools, twofold maps, changes of scale and copies by the CPU, each
// of any maps made before: residuals over several operators, diamonds, joins of joins, maps and inputs with
// many readers, one map twice in one operator, constants as operands, outputs that others read.
Case random_tangle(uint64_t seed);

// How often a graph has each of these; counted in the graph, whoever drew it.
struct Knots {
  int64_t residuals = 0;          // an addition of a map and of what was made of it
  int64_t diamonds = 0;           // an operator two of whose inputs come from one map, neither being it
  int64_t joins_of_joins = 0;     // a CONCATENATION that reads another
  int64_t doubled = 0;            // an operator that reads one map twice
  int64_t shared_inputs = 0;      // an input of the graph with several readers
  int64_t shared_maps = 0;        // another map with three readers or more
  int64_t read_outputs = 0;       // an output of the graph that an operator reads
  int64_t constant_operands = 0;  // an 8-bit constant map added or joined
  int64_t chains = 0;             // maps with one reader, one after the other, at least three
  void add(const Knots& other);
};
Knots knots(const ir::Graph& graph);

}  // namespace peraxis::property
