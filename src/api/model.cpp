// Models and executables of the public interface.
#include "api/handles.hpp"
#include "base/file.hpp"
#include "runtime/program.hpp"

namespace peraxis::api {

Result<std::shared_ptr<const Model::Impl>> make_model(engine::Loaded loaded) {
  auto out = std::make_shared<Model::Impl>();
  out->loaded = std::move(loaded);
  if (out->loaded.executable)
    out->graph = PERAXIS_TRY(runtime::load_graph(*out->loaded.executable));
  else
    engine::simplify(out->loaded);
  const ir::Graph& graph = out->model();
  out->warnings = engine::model_warnings(graph, out->loaded);
  if (out->loaded.executable)
    for (std::string& warning : engine::strategy_warnings(graph, out->loaded.executable->layers))
      out->warnings.push_back(std::move(warning));
  out->info = PERAXIS_TRY(engine::find_model_info(out->loaded, {}, out->warnings));
  out->meaning = {out->info.info.labels, out->info.labels_source, out->info.info.head, out->info.source};
  out->inputs = tensor_infos(graph, graph.inputs);
  out->outputs = tensor_infos(graph, graph.outputs);
  return std::shared_ptr<const Model::Impl>(std::move(out));
}

}  // namespace peraxis::api

namespace peraxis {
inline namespace v0 {

bool Model::compiled() const {
  return impl_->loaded.executable.has_value();
}
const std::string& Model::name() const {
  return impl_->model().name;
}
const std::vector<TensorInfo>& Model::inputs() const {
  return impl_->inputs;
}
const std::vector<TensorInfo>& Model::outputs() const {
  return impl_->outputs;
}
const std::vector<std::string>& Model::warnings() const {
  return impl_->warnings;
}
const ModelMeaning& Model::meaning() const {
  return impl_->meaning;
}

std::vector<OperatorInfo> Model::operators() const {
  if (compiled()) return api::operator_infos(impl_->graph, *impl_->loaded.executable);
  std::vector<OperatorInfo> out;
  for (size_t op = 0; op < impl_->model().ops.size(); ++op)
    out.push_back(api::operator_info(impl_->model(), static_cast<int32_t>(op)));
  return out;
}

Outcome<std::vector<uint8_t>> Model::file() const {
  if (!compiled())
    return api::failure(FailureKind::InvalidArgument, "'{}' is a model; compile it first", name());
  return PERAXIS_API_TRY(exe::write(*impl_->loaded.executable));
}

Outcome<Done> Model::save(const std::string& path) const {
  const Outcome<std::vector<uint8_t>> bytes = file();
  if (!bytes) return bytes.failure();
  PERAXIS_API_TRY(base::write_file(path, *bytes));
  return Done();
}

}  // namespace v0
}  // namespace peraxis
