#include "plan/device_tensors.hpp"

#include <algorithm>

#include "lower/packed_input.hpp"

namespace peraxis::plan {

using program::Map;
using program::StepKind;
using rk3588::SymbolicAddress;

Map view_of(const ir::Tensor& tensor) {
  const ir::Nhwc map = ir::nhwc(tensor);
  return {map.n * map.h, map.w, map.c};
}

DeviceTensors::DeviceTensors(const ir::Graph& graph, const Placing& placing, program::Program& program)
    : graph_(graph), placing_(placing), program_(program), states_(graph.tensors.size()) {
  for (const int32_t t : graph.inputs) state(t).on_host = true;
  for (const ir::KeptState& kept : graph.states) state(kept.before).on_host = true;
  for (size_t t = 0; t < graph.tensors.size(); ++t)
    if (graph.tensors[t].is_constant) states_[t].on_host = true;
}

int32_t DeviceTensors::cube_of(int32_t tensor) const {
  const State& s = states_[static_cast<size_t>(tensor)];
  const ir::Tensor& t = graph_.tensor(tensor);
  for (const Cube& cube : s.on_device)
    if (!t.shape.empty() && cube.view.c == t.shape.back()) return cube.index;
  if (!s.on_device.empty()) return s.on_device.front().index;
  return s.scattered ? s.scattered->cube.index : -1;
}

void DeviceTensors::to_host(int32_t tensor) {
  State& s = state(tensor);
  if (s.on_host || (s.on_device.empty() && !s.scattered)) return;
  program::Step step;
  step.kind = StepKind::Download;
  step.tensor = s.on_device.empty() ? s.scattered->cube.index : s.on_device.front().index;
  step.reads = {step.tensor};
  step.host_writes = {tensor};
  touch(step.tensor);
  program_.steps.push_back(std::move(step));
  s.on_host = true;
}

Cube DeviceTensors::to_device(int32_t tensor, const Map& view, bool any_order) {
  State& s = state(tensor);
  if (s.scattered && s.scattered->cube.view.same_as(view) && s.on_device.empty() && !s.on_host)
    add_host_work(StepKind::Gather, tensor, s.scattered->cube.view, s.scattered->gather);
  for (const Cube& cube : s.on_device)
    if (cube.view.same_as(view) && (any_order || cube.layout.plain())) return cube;
  to_host(tensor);
  add_upload(add_own(tensor, view));
  return s.on_device.back();
}

int32_t DeviceTensors::to_packed(int32_t tensor, const lower::Geometry& g) {
  if (state(tensor).packed >= 0) return state(tensor).packed;
  to_host(tensor);
  const int32_t index = make(tensor, {{g.in_rows(), g.in_w, g.in_c}, -1, {g.in_c, {}}},
                             {memory_.add_activation(lower::packed_bytes(g)), 0});
  at(index).pitch = lower::packed_pitch(g.in_w);
  add_upload(index);
  return state(tensor).packed = index;
}

void DeviceTensors::add_upload(int32_t index) {
  program::Step step;
  step.kind = StepKind::Upload;
  step.tensor = index;
  step.writes = {index};
  if (!graph_.tensor(at(index).tensor).is_constant) step.host_reads = {at(index).tensor};
  touch(index);
  set_done(index, {static_cast<int32_t>(program_.steps.size()), -1});
  uploaded_.insert(index);
  program_.steps.push_back(std::move(step));
}

int32_t DeviceTensors::make(int32_t tensor, const Cube& cube, SymbolicAddress address) {
  program::DeviceTensor made;
  made.tensor = tensor;
  made.address = address;
  made.map = cube.view;
  made.layout = cube.layout;
  made.slots = cube.layout.slots;
  program_.tensors.push_back(std::move(made));
  done_.emplace_back();
  return static_cast<int32_t>(program_.tensors.size() - 1);
}

int32_t DeviceTensors::add(int32_t tensor, const Cube& cube, SymbolicAddress address, int32_t owner) {
  const int32_t index = make(tensor, cube, address);
  at(index).owner = owner;
  at(index).first = at(index).last = place_;
  state(tensor).on_device.push_back({cube.view, index, cube.layout});
  return index;
}

int32_t DeviceTensors::add_own(int32_t tensor, const Map& view) {
  const lower::Layout layout = lower::plain_layout(view.c);
  return add(tensor, {view, -1, layout}, {memory_.add_activation(view.h * view.w * layout.slots), 0});
}

int32_t DeviceTensors::add_scattered(int32_t tensor, const Cube& cube, program::HostWork gather) {
  const program::Region& first = gather.regions.front();
  const int32_t index = make(tensor, cube, {first.allocation, first.offset});
  at(index).owner = home_owner(tensor);
  at(index).first = at(index).last = place_;
  state(tensor).scattered = {{cube.view, index, cube.layout}, std::move(gather)};
  return index;
}

void DeviceTensors::add_host_work(StepKind kind, int32_t tensor, const Map& view, program::HostWork work) {
  const lower::Layout layout = lower::plain_layout(view.c);
  SymbolicAddress place = home_of(tensor);
  if (place.allocation < 0) place = {memory_.add_activation(view.h * view.w * layout.slots), 0};
  const int32_t index = add(tensor, {view, -1, layout}, place, home_owner(tensor));
  for (const program::Region& region : work.regions) touch_allocation(region.allocation);
  touch(index);
  // Where its sets lie as a tensor of their own, they are what is read.
  program::Step step;
  step.kind = kind;
  step.op = work.op;
  step.tensor = index;
  step.host_work = static_cast<int32_t>(program_.host_works.size());
  if (const State& s = state(tensor); s.scattered) {
    step.reads = {s.scattered->cube.index};
    touch(s.scattered->cube.index);
  }
  step.writes = {index};
  set_done(index, {static_cast<int32_t>(program_.steps.size()), -1});
  program_.host_works.push_back(std::move(work));
  program_.steps.push_back(std::move(step));
}

int32_t DeviceTensors::home_owner(int32_t tensor) const {
  const auto home = placing_.homes.find(tensor);
  return home == placing_.homes.end() ? -1 : home->second.tensor;
}

SymbolicAddress DeviceTensors::home_of(int32_t tensor) {
  const auto home = placing_.homes.find(tensor);
  if (home == placing_.homes.end()) return {};
  const Map view = view_of(graph_.tensor(tensor));
  const int32_t whole = home->second.tensor;
  SymbolicAddress place = place_for(whole, placing_.layouts[static_cast<size_t>(whole)].slots);
  place.offset += home->second.first_slot * view.h * view.w;
  return place;
}

SymbolicAddress DeviceTensors::place_for(int32_t tensor, int64_t slots) {
  if (const SymbolicAddress home = home_of(tensor); home.allocation >= 0) return home;
  const auto known = own_places_.find(tensor);
  if (known != own_places_.end()) return {known->second, 0};
  const Map view = view_of(graph_.tensor(tensor));
  return {own_places_[tensor] = memory_.add_activation(view.h * view.w * slots), 0};
}

void DeviceTensors::touch(int32_t index) {
  if (index < 0) return;
  program::DeviceTensor& tensor = at(index);
  memory_.touch(tensor.address.allocation, place_);
  if (tensor.first < 0) tensor.first = place_;
  tensor.last = place_;
}

void DeviceTensors::touch_since(int32_t first) {
  for (int32_t a = first; a < memory_.allocations(); ++a) memory_.touch(a, place_);
}

void DeviceTensors::write_completions() {
  for (size_t i = 0; i < program_.tensors.size(); ++i) {
    const auto index = static_cast<int32_t>(i);
    const Moment moment = done(index);
    if (moment.known() && !uploaded_.contains(index))
      program_.steps[static_cast<size_t>(moment.step)].completes.push_back({index, moment.task});
  }
}

}  // namespace peraxis::plan
