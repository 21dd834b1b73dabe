// A plan is placed (plan/place_program.hpp), its tasks become words (program.hpp), and what describes the
// model and what was decided goes beside them.
#include "compiler/compile.hpp"

#include <algorithm>

#include "compiler/program.hpp"
#include "exe/names.hpp"
#include "peraxis/version.hpp"
#include "plan/place_program.hpp"
#include "program/verify.hpp"

namespace peraxis::compiler {
namespace {

// Arithmetic, other than between the model's own inputs or outputs and 8-bit values.
bool computes_inside(const ir::Graph& graph, size_t index) {
  const ir::Op& op = graph.ops[index];
  if (ir::is_convolution_like(op.kind)) return true;
  const auto is_in = [](const std::vector<int32_t>& list, int32_t t) {
    return std::ranges::count(list, t) > 0;
  };
  const bool edge = (op.kind == ir::OpKind::Quantize && is_in(graph.inputs, op.inputs[0])) ||
                    (op.kind == ir::OpKind::Dequantize && is_in(graph.outputs, op.outputs[0]));
  return !edge && !ir::only_moves_data(graph, op);
}

// Where nothing may fall back to the CPU: what does, and why.
Status refuse_fallback(const ir::Graph& graph, const program::Program& program) {
  for (const int32_t index : program.order) {
    const auto op = static_cast<size_t>(index);
    const program::Operator& chosen = program.operators[op];
    if (chosen.variant != program::Variant::Cpu || !computes_inside(graph, op)) continue;
    return fail(ErrorCode::Unsupported, "{} would run on the CPU: {}", graph.op_label(op),
                chosen.reason.empty() ? "the plan has no place for it" : chosen.reason);
  }
  return {};
}

// The tasks there are: alone, a layer can have others than in its network, where its input may be scattered.
void count_tasks(const program::Program& program, std::vector<exe::LayerPlan>& layers) {
  std::vector<int32_t> tasks(program.operators.size(), 0);
  for (const program::Task& task : program.tasks) ++tasks[static_cast<size_t>(task.op)];
  for (exe::LayerPlan& layer : layers) layer.tasks = tasks[static_cast<size_t>(layer.op)];
}

}  // namespace

Result<Compiled> compile_measured(const ir::Graph& graph, const Options& options, const plan::Plan& plan) {
  const plan::PlannerOptions planning = PERAXIS_TRY(planner_options(options));
  plan::PlacedProgram placed = PERAXIS_TRY(plan::place_program(graph, plan, planning));
  const program::Program& program = placed.program;
  PERAXIS_TRY_NOTE(program::verify(graph, program), "in a program this planner made");
  if (options.no_fallback) PERAXIS_TRY(refuse_fallback(graph, program));
  exe::Executable out = PERAXIS_TRY(assemble(graph, program, std::move(placed.constants)));
  out.target = options.target;
  out.compiler = "peraxis " PERAXIS_VERSION;
  out.model = graph.name;
  out.model_hash = options.model_hash;
  out.accuracy = exe::accuracy_names()[static_cast<size_t>(options.accuracy)];
  out.reference = num::reference_name(options.reference);
  out.strategy = options.strategy;
  out.graph = ir::print(graph);
  for (const int32_t t : program.host_constants) out.constants.push_back({t, graph.tensor(t).data});
  out.layers = layer_records(graph, program.operators);
  count_tasks(program, out.layers);
  out.operators = operator_records(graph, program.operators);
  PERAXIS_TRY_NOTE(exe::verify(out), "in an executable this compiler made");
  return Compiled{std::move(out), std::move(placed.program)};
}

Result<exe::Executable> compile(const ir::Graph& graph, const Options& options, const plan::Plan& plan) {
  return PERAXIS_TRY(compile_measured(graph, options, plan)).executable;
}

Result<exe::Executable> compile(const ir::Graph& graph, const Options& options) {
  const plan::PlannerOptions planning = PERAXIS_TRY(planner_options(options));
  const plan::Plan plan = PERAXIS_TRY(plan::make_plan(graph, planning));
  return compile(graph, options, plan);
}

}  // namespace peraxis::compiler
