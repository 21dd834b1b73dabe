// A small delegate for LiteRT: takes a whole graph and runs an executable of it on an NPU through the
// kernel's interface. Options: driver (rocket, rknpu), executable (a file). Declarations of TensorFlow Lite's
// C structs are our own: members up to the last one used.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/file.hpp"
#include "kernel_devices.hpp"
#include "runtime/session.hpp"

using namespace peraxis;

namespace {

struct IntArray {
  int size;
  int data[];
};
struct Tensor {
  int type;
  void* data;
  IntArray* dims;
  struct {
    float scale;
    int32_t zero_point;
  } params;
  int allocation_type;
  size_t bytes;
  const void* allocation;
  const char* name;
  void* delegate;
  int buffer_handle;
  bool data_is_stale, is_variable;
  struct {
    int type;
    void* params;
  } quantization;
  void* sparsity;
  const IntArray* dims_signature;
};
struct Node {
  IntArray *inputs, *outputs, *intermediates, *temporaries;
  void* user_data;
};
struct Delegate;
struct Context;
struct Registration {
  void* (*init)(Context*, const char*, size_t);
  void (*free)(Context*, void*);
  int (*prepare)(Context*, Node*);
  int (*invoke)(Context*, Node*);
  const char* (*profiling_string)(const Context*, const Node*);
  int32_t builtin_code;
  const char* custom_name;
  int version;
  void *registration_external, *async_kernel;
  uint64_t inplace_operator;
};
struct Parameters {
  Delegate* delegate;
  IntArray *nodes_to_replace, *input_tensors, *output_tensors;
};
struct Context {
  size_t tensors_size;
  int (*get_execution_plan)(Context*, IntArray**);
  Tensor* tensors;
  void* impl;
  void* resize_tensor;
  void (*report_error)(Context*, const char*, ...);
  void* add_tensors;
  void* get_node_and_registration;
  int (*replace_nodes)(Context*, Registration, const IntArray*, Delegate*);
};
struct Delegate {
  void* data;
  int (*prepare)(Context*, Delegate*);
  void *copy_from, *copy_to, *free_handle;
  int64_t flags;
  void* builder;
};
static_assert(sizeof(Tensor) == 112 && offsetof(Tensor, quantization) == 80);
static_assert(sizeof(Registration) == 88 && sizeof(Delegate) == 56);
constexpr int kOk = 0, kError = 1, kConstant = 1;

struct Kernel {
  std::unique_ptr<capture_test::KernelDevice> device;
  std::unique_ptr<runtime::Session> session;
};
struct Settings {
  std::string driver = "rocket", executable;
};

void* init(Context* context, const char* buffer, size_t) {
  const auto* settings =
      static_cast<const Settings*>(reinterpret_cast<const Parameters*>(buffer)->delegate->data);
  const auto give_up = [&](const std::string& why) {
    context->report_error(context, "the test's delegate: %s", why.c_str());
    return nullptr;
  };
  const auto bytes = base::read_file(settings->executable);
  if (!bytes) return give_up(bytes.error().text());
  auto executable = exe::read(*bytes);
  if (!executable) return give_up(executable.error().text());
  auto kernel = std::make_unique<Kernel>();
  kernel->device = capture_test::open_device(settings->driver);
  if (!kernel->device->ready()) return give_up("no device");
  auto session = runtime::Session::create(std::move(*executable), *kernel->device);
  if (!session) return give_up(session.error().text());
  kernel->session = std::move(*session);
  return kernel.release();
}

int invoke(Context* context, Node* node) {
  auto* kernel = static_cast<Kernel*>(node->user_data);
  if (kernel == nullptr) return kError;
  std::vector<std::span<const uint8_t>> inputs;
  for (int i = 0; i < node->inputs->size; ++i) {
    const Tensor& tensor = context->tensors[node->inputs->data[i]];
    if (tensor.allocation_type != kConstant)
      inputs.emplace_back(static_cast<const uint8_t*>(tensor.data), tensor.bytes);
  }
  const auto outputs = kernel->session->run(inputs);
  if (!outputs) {
    context->report_error(context, "the test's delegate: %s", outputs.error().text().c_str());
    return kError;
  }
  for (int i = 0; i < node->outputs->size; ++i) {
    const Tensor& tensor = context->tensors[node->outputs->data[i]];
    const std::vector<uint8_t>& from = (*outputs)[static_cast<size_t>(i)];
    std::memcpy(tensor.data, from.data(), std::min(from.size(), tensor.bytes));
  }
  return kOk;
}

int prepare(Context* context, Delegate* delegate) {
  IntArray* plan = nullptr;
  if (context->get_execution_plan(context, &plan) != kOk) return kError;
  // A copy: the plan changes while nodes are replaced.
  std::vector<int> nodes{plan->size};
  nodes.insert(nodes.end(), plan->data, plan->data + plan->size);
  Registration registration{};
  registration.init = init;
  registration.free = [](Context*, void* kernel) { delete static_cast<Kernel*>(kernel); };
  registration.prepare = [](Context*, Node* node) { return node->user_data == nullptr ? kError : kOk; };
  registration.invoke = invoke;
  registration.custom_name = "CaptureTestDelegate";
  registration.version = 1;
  return context->replace_nodes(context, registration, reinterpret_cast<const IntArray*>(nodes.data()),
                                delegate);
}

}  // namespace

extern "C" [[gnu::visibility("default")]] Delegate* tflite_plugin_create_delegate(
    const char* const* keys, const char* const* values, size_t count, void (*report_error)(const char*)) {
  auto settings = std::make_unique<Settings>();
  for (size_t i = 0; i < count; ++i) {
    const std::string key = keys[i];
    if (key == "driver") {
      settings->driver = values[i];
    } else if (key == "executable") {
      settings->executable = values[i];
    } else {
      if (report_error != nullptr) report_error("the options are driver and executable");
      return nullptr;
    }
  }
  return new Delegate{settings.release(), prepare, nullptr, nullptr, nullptr, 0, nullptr};
}

extern "C" [[gnu::visibility("default")]] void tflite_plugin_destroy_delegate(Delegate* delegate) {
  if (delegate == nullptr) return;
  delete static_cast<Settings*>(delegate->data);
  delete delegate;
}
