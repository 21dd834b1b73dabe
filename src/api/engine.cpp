// The engine of the public interface: what the command line does, by way of src/engine.
#include <fmt/format.h>

#include <algorithm>

#include "api/handles.hpp"
#include "device/open.hpp"
#include "engine/calibration.hpp"
#include "engine/layer_compare.hpp"
#include "engine/run.hpp"
#include "exe/names.hpp"
#include "plan/describe.hpp"

namespace peraxis {
inline namespace v0 {
namespace {

std::string listed(std::span<const std::string> names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

// The place of `value` among the names.
Result<size_t> chosen(const char* option, const std::string& value, std::span<const std::string> names) {
  const auto found = std::ranges::find(names, value);
  if (found == names.end())
    return fail(ErrorCode::InvalidArgument, "{} '{}' is not known; valid are {}", option, value,
                listed(names));
  return static_cast<size_t>(found - names.begin());
}

Result<size_t> chosen(const char* option, const std::string& value, exe::Names names) {
  const std::vector<std::string> all(names.begin(), names.end());
  return chosen(option, value, all);
}

Status contradictions(const CompileOptions& options) {
  if (options.strategy != "auto" && options.strategy != "exact" && options.accuracy == "exact")
    return fail(ErrorCode::InvalidArgument, "strategy '{}' and accuracy 'exact' contradict each other",
                options.strategy);
  if (!options.max_mismatch) return {};
  if (options.strategy != "auto" || options.accuracy == "exact")
    return fail(ErrorCode::InvalidArgument,
                "max_mismatch chooses strategies itself; strategy '{}' and accuracy '{}' leave no choice",
                options.strategy, options.accuracy);
  if (!(*options.max_mismatch >= 0 && *options.max_mismatch <= 1))
    return fail(ErrorCode::InvalidArgument, "max_mismatch {} is no share of 0..1", *options.max_mismatch);
  return {};
}

Status calibrate(const Model::Impl& model, const CompileOptions& options, compiler::Options& build) {
  std::vector<engine::CalibrationSet> sets;
  for (size_t s = 0; s < options.calibration.size(); ++s) {
    const auto& values = options.calibration[s];
    const auto buffers = engine::spans(values);
    if (const auto wrong = api::misfit<const uint8_t>(model.inputs, buffers, "input"))
      return fail(ErrorCode::InvalidArgument, "calibration set {}: {}", s, wrong->text);
    sets.push_back({&values, fmt::format("calibration set {}", s)});
  }
  return engine::calibrate(model.model(), sets, 1, build);
}

Result<compiler::Options> options_of(const Model::Impl& model, const CompileOptions& options) {
  if (model.loaded.executable)
    return fail(ErrorCode::InvalidArgument, "'{}' is an executable, already compiled", model.loaded.path);
  compiler::Options out;
  PERAXIS_TRY(chosen("target", options.target, exe::target_names()));
  out.target = options.target;
  PERAXIS_TRY(chosen("strategy", options.strategy, exe::requested_names()));
  out.strategy = options.strategy;
  out.accuracy = static_cast<compiler::Accuracy>(
      PERAXIS_TRY(chosen("accuracy", options.accuracy, exe::accuracy_names())));
  out.reference = static_cast<num::Reference>(
      PERAXIS_TRY(chosen("reference", options.reference, exe::reference_names())));
  PERAXIS_TRY(contradictions(options));
  out.max_mismatch = options.max_mismatch;
  out.no_fallback = options.no_fallback;
  out.convolutions_only = options.convolutions_only;
  out.model_hash = model.loaded.hash;
  PERAXIS_TRY(calibrate(model, options, out));
  out.progress = options.progress;
  return out;
}

OperatorInfo planned(const ir::Graph& graph, size_t op, const program::Operator& from) {
  OperatorInfo out = api::operator_info(graph, static_cast<int32_t>(op));
  out.device = from.variant == program::Variant::Cpu ? "cpu" : "npu";
  out.strategy = from.strategy;
  out.reason = from.reason;
  out.tasks = from.cost.tasks;
  out.estimated_ms = from.cost.ms();
  out.expected_mismatch = from.certificate.expected;
  out.largest_difference = from.certificate.max;
  return out;
}

peraxis::v0::Difference difference_of(const engine::Difference& from) {
  return {from.elements, from.differing, from.max};
}

}  // namespace

std::string_view version() {
  return PERAXIS_VERSION;
}
std::vector<std::string> strategy_names() {
  return compiler::strategy_names();
}
std::vector<std::string> target_names() {
  const exe::Names names = exe::target_names();
  return {names.begin(), names.end()};
}

Result<std::shared_ptr<const runtime::Program>> Engine::Impl::program_of(
    const std::shared_ptr<const Model::Impl>& model) {
  const std::lock_guard lock(mutex);
  std::erase_if(programs, [](const Entry& entry) { return entry.program.expired(); });
  for (const Entry& entry : programs)
    if (entry.model.lock() == model)
      if (auto there = entry.program.lock()) return there;
  std::shared_ptr<const runtime::Program> made =
      PERAXIS_TRY(runtime::load(*model->loaded.executable, *device));
  programs.push_back({model, made});
  return made;
}

Outcome<Engine> Engine::open(const std::string& device) {
  auto impl = std::make_shared<Impl>();
  impl->name = device;
  impl->device = PERAXIS_API_TRY(device::open_device(device));
  return Engine(std::move(impl));
}

const std::string& Engine::device() const {
  return impl_->name;
}
int Engine::cores() const {
  return impl_->device->cores();
}

Outcome<Model> Engine::load(const std::string& path, const ReadOptions& options) const {
  engine::Loaded loaded = PERAXIS_API_TRY(engine::load(path, {options.signature, options.shapes}));
  return Model(PERAXIS_API_TRY(api::make_model(std::move(loaded))));
}

Outcome<Model> Engine::load(std::span<const uint8_t> file, const std::string& name,
                            const ReadOptions& options) const {
  engine::Loaded loaded = PERAXIS_API_TRY(engine::load(file, name, {options.signature, options.shapes}));
  return Model(PERAXIS_API_TRY(api::make_model(std::move(loaded))));
}

Outcome<Plan> Engine::plan(const Model& model, const CompileOptions& options) const {
  const compiler::Options build = PERAXIS_API_TRY(options_of(*model.impl_, options));
  plan::PlannerOptions planning = PERAXIS_API_TRY(compiler::planner_options(build));
  planning.progress = build.progress;
  const ir::Graph& graph = model.impl_->model();
  const plan::Plan made = PERAXIS_API_TRY(plan::make_plan(graph, planning));
  Plan out;
  const std::vector<program::Operator> described = plan::describe_operators(graph, made, planning.cost);
  for (size_t op = 0; op < described.size(); ++op) out.operators.push_back(planned(graph, op, described[op]));
  out.tasks = made.cost.tasks;
  out.estimated_ms = made.cost.ms();
  out.expected_mismatch = made.expected;
  return out;
}

Outcome<Model> Engine::compile(const Model& model, const CompileOptions& options) const {
  const compiler::Options build = PERAXIS_API_TRY(options_of(*model.impl_, options));
  compiler::Compiled made = PERAXIS_API_TRY(engine::build(model.impl_->model(), build, options.progress));
  engine::Loaded loaded;
  loaded.path = model.impl_->loaded.path;
  loaded.hash = model.impl_->loaded.hash;
  if (options.store_model_info) PERAXIS_API_TRY(engine::store_model_info(model.impl_->info, made.executable));
  loaded.executable = std::move(made.executable);
  if (!loaded.executable->model_info.empty()) loaded.stored = model.impl_->info;
  return Model(PERAXIS_API_TRY(api::make_model(std::move(loaded))));
}

Outcome<Session> Engine::open_session(const Model& model, const SessionOptions& options) const {
  if (!model.compiled())
    return api::failure(FailureKind::InvalidArgument, "'{}' is a model; compile it first", model.name());
  if (options.threads < 1 || options.threads > 256)
    return api::failure(FailureKind::InvalidArgument, "{} threads, valid are 1 to 256", options.threads);
  if (options.core < -1 || options.core >= cores())
    return api::failure(FailureKind::InvalidArgument,
                        "core {}: the device '{}' has {}, counted from 0; -1: any", options.core, device(),
                        cores());
  auto impl = std::make_unique<Session::Impl>();
  impl->device = impl_->device;
  impl->model = model.impl_;
  impl->program = PERAXIS_API_TRY(impl_->program_of(model.impl_));
  runtime::SessionOptions running;
  running.threads = options.threads;
  running.core = options.core < 0 ? device::kAnyCore : options.core;
  running.job_timeout = options.job_timeout;
  impl->session = PERAXIS_API_TRY(runtime::Session::create(impl->program, running));
  return Session(std::move(impl));
}

Outcome<Comparison> Engine::compare(const Model& model, std::span<const std::span<const uint8_t>> inputs,
                                    const CompileOptions& options) const {
  if (const auto wrong = api::misfit(model.inputs(), inputs, "input")) return *wrong;
  const compiler::Options build = PERAXIS_API_TRY(options_of(*model.impl_, options));
  const ir::Graph& graph = model.impl_->model();
  const plan::PlannerOptions planning = PERAXIS_API_TRY(compiler::planner_options(build));
  const plan::Plan made = PERAXIS_API_TRY(plan::make_plan(graph, planning));
  kernels::Options judging;
  judging.reference = build.reference;
  const engine::TensorMap reference = PERAXIS_API_TRY(engine::reference_activations(graph, inputs, judging));
  Comparison out;
  const std::vector<program::Operator> described = plan::describe_operators(graph, made, planning.cost);
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    if (options.progress) options.progress(static_cast<int64_t>(op), static_cast<int64_t>(graph.ops.size()));
    const engine::LayerComparison one =
        PERAXIS_API_TRY(engine::compare_isolated(graph, op, reference, build, made, 1));
    Comparison::Operator& entry = out.operators.emplace_back();
    entry.info = planned(graph, op, described[op]);
    if (one.isolated) entry.alone = difference_of(*one.isolated);
  }
  engine::CompiledModel whole = PERAXIS_API_TRY(engine::CompiledModel::create(graph, build, made, 1));
  const std::vector<std::vector<uint8_t>> got = PERAXIS_API_TRY(whole.run(inputs, nullptr));
  for (size_t i = 0; i < got.size(); ++i) {
    const int32_t t = graph.outputs[i];
    const auto want = reference.find(t);
    if (want == reference.end())
      return api::failure(FailureKind::Internal, "the reference run has no output {}", i);
    out.outputs.push_back(difference_of(engine::difference(graph.tensor(t).type, got[i], want->second)));
  }
  return out;
}

}  // namespace v0
}  // namespace peraxis
