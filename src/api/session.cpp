// Sessions of the public interface.
#include <cstring>

#include "api/handles.hpp"
#include "runtime/program.hpp"

namespace peraxis {
inline namespace v0 {
namespace {

// The model's one picture input; the other inputs would have no values.
Outcome<engine::PictureInput> only_picture(const ir::Graph& graph) {
  const std::vector<engine::PictureInput> found = engine::picture_inputs(graph);
  if (graph.inputs.size() == 1 && found.size() == 1) return found.front();
  return api::failure(
      FailureKind::Unsupported,
      "a picture needs a model with one input, [1,h,w,1 or 3] or [1,1 or 3,h,w] in int8, uint8 "
      "or float32; this one has {}",
      engine::inputs_listed(graph));
}

Reading reading_of(engine::Interpretation found) {
  Reading out;
  if (found.choice.head != nullptr) out.head = found.choice.head->name;
  for (const vision::Detection& d : found.detections)
    out.boxes.push_back({d.class_id, d.label.value_or(""), d.score, d.box[0], d.box[1], d.box[2], d.box[3]});
  for (const vision::ClassScore& c : found.top)
    out.classes.push_back({c.class_id, c.label.value_or(""), c.score});
  out.note = std::move(found.note);
  out.assumed = std::move(found.assumed);
  return out;
}

}  // namespace

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

const std::vector<TensorInfo>& Session::inputs() const {
  return impl_->model->inputs;
}
const std::vector<TensorInfo>& Session::outputs() const {
  return impl_->model->outputs;
}

Outcome<std::vector<std::vector<uint8_t>>> Session::run(std::span<const std::span<const uint8_t>> inputs) {
  if (const auto wrong = api::misfit(this->inputs(), inputs, "input")) return *wrong;
  return PERAXIS_API_TRY(impl_->session->run(inputs));
}

Outcome<Done> Session::run(std::span<const std::span<const uint8_t>> inputs,
                           std::span<const std::span<uint8_t>> outputs) {
  if (const auto wrong = api::misfit(this->outputs(), outputs, "output")) return *wrong;
  const auto made = run(inputs);
  if (!made) return made.failure();
  for (size_t i = 0; i < outputs.size(); ++i)
    if (!outputs[i].empty()) std::memcpy(outputs[i].data(), (*made)[i].data(), outputs[i].size());
  return Done();
}

Outcome<Reading> Session::read(const Picture& picture) {
  const ir::Graph& graph = impl_->session->graph();
  const Outcome<engine::PictureInput> taken = only_picture(graph);
  if (!taken) return taken.failure();
  const vision::Image image{picture.width, picture.height, {picture.rgb.begin(), picture.rgb.end()}};
  PERAXIS_API_TRY(vision::check_image(image));
  const engine::PictureValue value = PERAXIS_API_TRY(engine::picture_value(graph, *taken, image));
  const std::span<const uint8_t> input(value.bytes);
  std::vector<std::vector<uint8_t>> outputs = PERAXIS_API_TRY(impl_->session->run({&input, 1}));
  const bool stated = !impl_->model->info.source.empty();
  Result<engine::Interpretation> found =
      engine::interpret(graph, outputs, impl_->model->info.info, value.geometry, stated);
  Reading out;
  if (found)
    out = reading_of(std::move(*found));
  else if (found.error().code == ErrorCode::Unsupported)
    out.note = found.error().text();  // the tensors are still what the caller asked for
  else
    return api::failure(found.error());
  out.outputs = std::move(outputs);
  return out;
}

void Session::reset_states() {
  impl_->session->reset_states();
}

RunCounters Session::counters() const {
  const runtime::RunCounters& from = impl_->session->counters();
  return {from.tasks, from.macs, from.cpu_ms, from.device_ms, from.upload_bytes};
}

}  // namespace v0
}  // namespace peraxis
