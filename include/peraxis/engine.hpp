// The C++ interface of peraxis: read a model, plan it, compile it for the NPU, run it, compare it with the
// reference kernels. No other library's type is in it. docs/engine.md tells it as a story.
//
//   auto engine = peraxis::Engine::open();                        // the machine model
//   auto model = engine->load("model.tflite");
//   auto compiled = engine->compile(*model, {.accuracy = "exact"});
//   auto session = engine->open_session(*compiled);
//   auto outputs = session->run(inputs);                          // dense bytes, in the model's order
//
// Every call that can fail returns Outcome: a value, or a Failure with its kind and a sentence. Nothing
// throws. Engine and Model are handles: copies share, any thread may call them. A Session is used by one
// thread at a time; sessions of one engine may run side by side. A session keeps its engine's device and its
// model alive: they may be destroyed in any order.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "peraxis/version.hpp"

#define PERAXIS_API __attribute__((visibility("default")))

namespace peraxis {
inline namespace v0 {

enum class FailureKind : uint8_t {
  InvalidModel,     // a file breaks its own rules
  InvalidArgument,  // an option or a buffer of the caller is wrong
  Unsupported,      // valid, but not something this version can do
  OutOfMemory,
  Device,      // the device refused or failed
  Timeout,     // a job took longer than it may; the next may succeed
  DeviceLost,  // the device is gone, and with it what it held
  Io,
  Internal,  // a fault of peraxis
};

struct Failure {
  FailureKind kind = FailureKind::Internal;
  std::string text;  // names the thing, the value and the limit; further lines say where it happened
};

// A value or a failure. Asking for what is not there ends the program: test first.
template <class T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value) : held_(std::move(value)) {}            // NOLINT: implicit
  Outcome(Failure failure) : held_(std::move(failure)) {}  // NOLINT: implicit

  bool ok() const { return held_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return checked<T>(); }
  const T& value() const& { return const_cast<Outcome*>(this)->template checked<T>(); }
  T&& value() && { return std::move(checked<T>()); }
  T& operator*() & { return checked<T>(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(checked<T>()); }
  T* operator->() { return &checked<T>(); }
  const T* operator->() const { return &value(); }
  const Failure& failure() const { return const_cast<Outcome*>(this)->template checked<Failure>(); }

 private:
  template <class U>
  U& checked() {
    U* held = std::get_if<U>(&held_);
    if (held == nullptr) __builtin_trap();
    return *held;
  }
  std::variant<T, Failure> held_;
};
struct Done {};

// How far a long call is, in operators. Called from the calling thread.
using ProgressFunction = std::function<void(int64_t done, int64_t total)>;

enum class ElementType : uint8_t { Float32, Int32, UInt8, Int64, Int8, Int16, Bool, Float16 };
PERAXIS_API std::string_view element_name(ElementType type);  // "int8"

// An input or output. Values are dense, in the order of the shape (maps are NHWC), little-endian;
// real = (stored - zero_point) * scale.
struct TensorInfo {
  std::string name;
  ElementType type = ElementType::Int8;
  std::vector<int32_t> shape;
  std::vector<float> scales;         // empty: not quantized; several: one an index of quantized_dimension
  std::vector<int64_t> zero_points;  // as many as scales
  int32_t quantized_dimension = 0;
  int64_t bytes = 0;  // of the whole tensor
};

// What of a TFLite file is read.
struct ReadOptions {
  std::string signature = {};  // key of the entry to take; empty: the first
  // Another size of an input, by its name or position.
  std::vector<std::pair<std::string, std::vector<int32_t>>> shapes = {};
};

struct CompileOptions {
  std::string accuracy = "fast";         // "fast" or "exact": equal to the reference in every value
  std::string strategy = "auto";         // or one of strategy_names() for every layer
  std::string reference = "litert-ref";  // the arithmetic that counts as right, or "single-rounding"
  std::string target = "rk3588";
  // Instead of accuracy: the share of outputs, 0..1, that may differ; an expectation, not a bound.
  std::optional<double> max_mismatch = {};
  bool no_fallback = false;        // fail where arithmetic of the model would run on the CPU
  bool convolutions_only = false;  // the NPU runs convolutions alone
  bool store_model_info = true;    // labels, head and anchors go into the executable
  // Of each set all inputs, as bytes of the model's inputs: accuracy is weighted by what they make.
  std::vector<std::vector<std::vector<uint8_t>>> calibration = {};
  ProgressFunction progress = {};
};
PERAXIS_API std::vector<std::string> strategy_names();
PERAXIS_API std::vector<std::string> target_names();

// How an operator runs.
struct OperatorInfo {
  int32_t index = 0;               // in the model
  std::string kind;                // "conv_2d"
  std::string name;                // of its first output
  std::string device;              // "npu" or "cpu"
  std::string strategy;            // of a convolution on the NPU
  std::string reason;              // why it is on the CPU, or not by the strategy asked for
  int64_t tasks = 0;               // of the NPU
  int64_t macs = 0;                // multiply-accumulates of a convolution
  double estimated_ms = 0;         // an estimate, of plan() only
  double expected_mismatch = 0;    // share of outputs expected to differ from the reference; of plan() only
  int32_t largest_difference = 0;  // proved: no output differs by more, in stored units; of plan() only
};

struct Plan {
  std::vector<OperatorInfo> operators;
  int64_t tasks = 0;
  double estimated_ms = 0;       // an estimate: no board was measured
  double expected_mismatch = 0;  // share, pooled over all operators that can differ
};

// What the outputs mean, where it is known (docs/model-info.md).
struct ModelMeaning {
  std::vector<std::string> labels;
  std::string labels_from;  // "labels.txt inside the model"; empty: there are none
  std::string head;         // "yolov5"; empty: told by the outputs' shapes
  std::string from;         // "model.json beside the model"; empty: nothing states it
};

// A TFLite model or an executable, read and checked.
class PERAXIS_API Model {
 public:
  bool compiled() const;  // an executable: open_session takes it
  const std::string& name() const;
  const std::vector<TensorInfo>& inputs() const;
  const std::vector<TensorInfo>& outputs() const;
  const std::vector<std::string>& warnings() const;  // what a user should know although nothing failed
  const ModelMeaning& meaning() const;
  // Of an executable: how each operator runs.
  std::vector<OperatorInfo> operators() const;
  // Of an executable: the file, and its command words as a device gets them.
  Outcome<std::vector<uint8_t>> file() const;
  Outcome<Done> save(const std::string& path) const;

  struct Impl;

 private:
  friend class Engine;
  friend class Session;
  explicit Model(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

struct SessionOptions {
  int threads = 1;                           // of CPU operators; results do not depend on it
  int core = -1;                             // of all jobs; -1: any
  std::chrono::milliseconds job_timeout{0};  // 0: the device's
};

// Of the last run.
struct RunCounters {
  int64_t tasks = 0;            // of the NPU
  std::optional<int64_t> macs;  // executed; none: the device does not count them
  double cpu_ms = 0;            // CPU operators and conversions
  double device_ms = 0;         // jobs; of the machine model: its time on this computer
  int64_t upload_bytes = 0;
};

// Pixels: rows of red, green and blue bytes.
struct Picture {
  int width = 0, height = 0;
  std::span<const uint8_t> rgb = {};  // width * height * 3
};
struct Box {
  int class_id = 0;
  std::string label;  // empty: none is known
  float score = 0;
  float x1 = 0, y1 = 0, x2 = 0, y2 = 0;  // pixels of the picture, not clipped to it
};
struct ClassScore {
  int class_id = 0;
  std::string label;
  float score = 0;
};
// A picture's outputs, read. Neither boxes nor classes: the outputs stay tensors, `note` says why.
struct Reading {
  std::string head;
  std::vector<Box> boxes;           // of a detector
  std::vector<ClassScore> classes;  // of a classifier: the best five
  std::string note;
  std::vector<std::string> assumed;  // what nothing but the outputs' form and values said
  std::vector<std::vector<uint8_t>> outputs;
};

class PERAXIS_API Session {
 public:
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  const std::vector<TensorInfo>& inputs() const;
  const std::vector<TensorInfo>& outputs() const;
  // inputs[i]: the bytes of inputs()[i], all of them. Returns the outputs in the model's order.
  Outcome<std::vector<std::vector<uint8_t>>> run(std::span<const std::span<const uint8_t>> inputs);
  // The same into the caller's memory: outputs[i] takes the bytes of outputs()[i].
  Outcome<Done> run(std::span<const std::span<const uint8_t>> inputs,
                    std::span<const std::span<uint8_t>> outputs);
  // Letterboxes the picture into the model's one picture input, runs, and reads the outputs.
  Outcome<Reading> read(const Picture& picture);
  // The states of a session that has not run.
  void reset_states();
  RunCounters counters() const;

  struct Impl;

 private:
  friend class Engine;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// One tensor or operator beside the reference kernels, element by element.
struct Difference {
  int64_t elements = 0, differing = 0;
  double largest = 0;  // of |got - want|, in stored units
};
struct Comparison {
  std::vector<Difference> outputs;  // the whole compiled model, by output
  struct Operator {
    OperatorInfo info;
    std::optional<Difference> alone;  // of operators on the NPU: with the reference's inputs
  };
  std::vector<Operator> operators;
};

class PERAXIS_API Engine {
 public:
  // "sim": the machine model. InvalidArgument lists the names that are known.
  static Outcome<Engine> open(const std::string& device = "sim");

  const std::string& device() const;
  int cores() const;

  // Told apart by content: a TFLite model or an executable.
  Outcome<Model> load(const std::string& path, const ReadOptions& options = {}) const;
  // `name` stands for the path in texts. The bytes are not used after the call.
  Outcome<Model> load(std::span<const uint8_t> file, const std::string& name,
                      const ReadOptions& options = {}) const;

  // What compile would do, and estimates; nothing is made.
  Outcome<Plan> plan(const Model& model, const CompileOptions& options = {}) const;
  Outcome<Model> compile(const Model& model, const CompileOptions& options = {}) const;
  // Of an executable. Sessions of one model share its constants on the device.
  Outcome<Session> open_session(const Model& model, const SessionOptions& options = {}) const;
  // The model under these options beside the reference kernels, on the machine model.
  Outcome<Comparison> compare(const Model& model, std::span<const std::span<const uint8_t>> inputs,
                              const CompileOptions& options = {}) const;

  struct Impl;

 private:
  explicit Engine(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

PERAXIS_API std::string_view version();  // PERAXIS_VERSION of the library

}  // namespace v0
}  // namespace peraxis
