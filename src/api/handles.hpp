// What the handles of the public interface hold.
#pragma once

#include <memory>
#include <mutex>

#include "api/convert.hpp"
#include "device/device.hpp"
#include "engine/inputs.hpp"
#include "engine/model.hpp"
#include "engine/outputs.hpp"
#include "runtime/session.hpp"

namespace peraxis {
inline namespace v0 {

struct Model::Impl {
  engine::Loaded loaded;  // a model has its passes behind it
  ir::Graph graph;        // of an executable: that of its text; else empty
  vision::SourcedInfo info;
  ModelMeaning meaning;
  std::vector<TensorInfo> inputs, outputs;
  std::vector<std::string> warnings;

  const ir::Graph& model() const { return loaded.model ? *loaded.model : graph; }
};

struct Engine::Impl {
  std::string name;
  std::shared_ptr<device::Device> device;
  // Programs on the device, by the model they were loaded from, as long as a session uses them.
  struct Entry {
    std::weak_ptr<const Model::Impl> model;
    std::weak_ptr<const runtime::Program> program;
  };
  std::mutex mutex;  // of `programs`
  std::vector<Entry> programs;

  Result<std::shared_ptr<const runtime::Program>> program_of(const std::shared_ptr<const Model::Impl>& model);
};

// Members are destroyed from the last to the first: the session before what it stands on.
struct Session::Impl {
  std::shared_ptr<device::Device> device;
  std::shared_ptr<const Model::Impl> model;
  std::shared_ptr<const runtime::Program> program;
  std::unique_ptr<runtime::Session> session;
};

}  // namespace v0
}  // namespace peraxis

namespace peraxis::api {

// Settles everything that is asked of a model later.
Result<std::shared_ptr<const Model::Impl>> make_model(engine::Loaded loaded);

}  // namespace peraxis::api
