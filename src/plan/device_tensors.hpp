// The tensors of a program while it is made: which are on the host, which on the device and where there. What
// an operator needs in another form is converted here, by steps of their own.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "lower/convolution.hpp"
#include "lower/memory_plan.hpp"
#include "plan/planner.hpp"
#include "program/program.hpp"

namespace peraxis::plan {

// When a device tensor has all its values: after `task` of step `step`, or after all of the step.
struct Moment {
  int32_t step = -1, task = -1;
  bool known() const { return step >= 0; }
  bool operator<(const Moment& other) const {
    return step != other.step ? step < other.step : task < other.task;
  }
};

// One form of a tensor on the device.
struct Cube {
  program::Map view;
  int32_t index = -1;  // in Program::tensors
  lower::Layout layout;
};

program::Map view_of(const ir::Tensor& tensor);

class DeviceTensors {
 public:
  DeviceTensors(const ir::Graph& graph, const Placing& placing, program::Program& program);

  // All that is placed from here on belongs to this place in the order of execution.
  void set_place(int32_t place) { place_ = place; }

  bool on_host(int32_t tensor) const { return states_[static_cast<size_t>(tensor)].on_host; }
  void set_on_host(int32_t tensor) { state(tensor).on_host = true; }
  // A cube of the tensor: the one whose channels are the tensor's last dimension, if there is one; -1: none.
  int32_t cube_of(int32_t tensor) const;

  void to_host(int32_t tensor);
  // The tensor as a cube; `any_order`: with its channels in whatever slots they are.
  Cube to_device(int32_t tensor, const program::Map& view, bool any_order);
  // The tensor as a picture lies, for all that read it so.
  int32_t to_packed(int32_t tensor, const lower::Geometry& geometry);

  // Places of a tensor that somebody will write: at an address, or in memory of its own, channels in order.
  int32_t add(int32_t tensor, const Cube& cube, rk3588::SymbolicAddress address, int32_t owner = -1);
  int32_t add_own(int32_t tensor, const program::Map& view);
  // Channel sets where their tasks wrote them, of a layer whose output is wanted in order: made plain by the
  // host (`gather`) only when an operator of the NPU needs it.
  int32_t add_scattered(int32_t tensor, const Cube& cube, program::HostWork gather);
  // The tensor made by the host from what tasks left.
  void add_host_work(program::StepKind kind, int32_t tensor, const program::Map& view,
                     program::HostWork work);

  // In the output of the concatenation that takes the tensor, or nowhere.
  rk3588::SymbolicAddress home_of(int32_t tensor);
  int32_t home_owner(int32_t tensor) const;  // that output, or -1
  // Its home, or one allocation of its own for all who ask.
  rk3588::SymbolicAddress place_for(int32_t tensor, int64_t slots);

  const program::DeviceTensor& at(int32_t index) const {
    return program_.tensors[static_cast<size_t>(index)];
  }
  program::DeviceTensor& at(int32_t index) { return program_.tensors[static_cast<size_t>(index)]; }
  rk3588::SymbolicAddress address_of(int32_t index) const { return at(index).address; }
  // It is read or written at the place of now.
  void touch(int32_t index);
  void touch_allocation(int32_t allocation) { memory_.touch(allocation, place_); }
  // Everything allocated since there were `first`.
  void touch_since(int32_t first);

  Moment done(int32_t index) const { return done_[static_cast<size_t>(index)]; }
  void set_done(int32_t index, Moment moment) { done_[static_cast<size_t>(index)] = moment; }
  // Tells the steps what each completes: all but what was uploaded, which the host has.
  void write_completions();

  lower::MemoryPlan& memory() { return memory_; }

 private:
  struct Scattered {
    Cube cube;
    program::HostWork gather;
  };
  struct State {
    bool on_host = false;
    std::vector<Cube> on_device;
    int32_t packed = -1;
    std::optional<Scattered> scattered;
  };
  State& state(int32_t tensor) { return states_[static_cast<size_t>(tensor)]; }
  int32_t make(int32_t tensor, const Cube& cube, rk3588::SymbolicAddress address);
  void add_upload(int32_t index);

  const ir::Graph& graph_;
  const Placing& placing_;
  program::Program& program_;
  lower::MemoryPlan memory_;
  std::vector<State> states_;
  std::map<int32_t, int32_t> own_places_;  // tensor -> allocation of what place_for made
  std::vector<Moment> done_;               // by device tensor
  std::set<int32_t> uploaded_;             // device tensors
  int32_t place_ = 0;
};

}  // namespace peraxis::plan
