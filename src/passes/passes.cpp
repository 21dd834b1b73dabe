#include "passes/passes.hpp"

#include "passes/cancel_transposes.hpp"
#include "passes/fold_constants.hpp"
#include "passes/fold_pads.hpp"
#include "passes/fuse_activations.hpp"
#include "passes/merge_moves.hpp"
#include "passes/remove_quantize_pairs.hpp"

namespace peraxis::passes {

std::vector<Change> run_all(ir::Graph& graph) {
  std::vector<Change> changes;
  const auto run = [&](const char* pass, const char* what, int64_t (*change)(ir::Graph&)) {
    if (const int64_t count = change(graph); count > 0) changes.push_back({pass, what, count});
  };
  // Constants first: orders and shapes may be made of them. What follows hides behind changes of scale and
  // moves, so those go before activations and padding are looked for.
  run("fold_constants", "operators of constants computed", fold_constants);
  run("remove_quantize_pairs", "changes of scale taken out", remove_quantize_pairs);
  run("merge_moves", "reshapes and transposes merged", merge_moves);
  run("cancel_transposes", "pairs of transposes cancelled", cancel_transposes);
  run("fuse_activations", "activations taken into the operator before", fuse_activations);
  run("fold_pads", "paddings taken into convolutions", fold_pads);
  return changes;
}

}  // namespace peraxis::passes
