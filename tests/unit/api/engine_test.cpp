// The public C++ interface, by the shipped detector: what is right is told by `exact` beside the reference
// kernels, and those are held against LiteRT elsewhere.
#include "peraxis/engine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>
#include <thread>

namespace {

using peraxis::CompileOptions;
using peraxis::Engine;
using peraxis::FailureKind;
using peraxis::Model;
using peraxis::Session;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kDemo = "examples/demo/shapes_yolo_raw_int8.tflite";
using Bytes = std::vector<uint8_t>;

Bytes file_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<Bytes> drawn_inputs(const Model& model, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Bytes> out;
  for (const peraxis::TensorInfo& input : model.inputs()) {
    Bytes& values = out.emplace_back(static_cast<size_t>(input.bytes));
    for (uint8_t& value : values) value = static_cast<uint8_t>(random());
  }
  return out;
}
std::vector<std::span<const uint8_t>> spans(const std::vector<Bytes>& values) {
  return {values.begin(), values.end()};
}

class Api : public testing::Test {
 protected:
  Engine engine = *Engine::open();
  Model model = *engine.load(kDemo);
};

void expect_failure(const auto& outcome, FailureKind kind, auto text) {
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.failure().kind, kind) << outcome.failure().text;
  EXPECT_THAT(outcome.failure().text, text);
}

TEST_F(Api, TellsWhatAModelIs) {
  EXPECT_EQ(peraxis::version(), PERAXIS_VERSION);
  EXPECT_EQ(engine.device(), "sim");
  EXPECT_EQ(engine.cores(), 3);
  EXPECT_FALSE(model.compiled());
  ASSERT_EQ(model.inputs().size(), 1U);
  const peraxis::TensorInfo& input = model.inputs()[0];
  EXPECT_EQ(input.type, peraxis::ElementType::Int8);
  EXPECT_EQ(peraxis::element_name(input.type), "int8");
  EXPECT_THAT(input.shape, ElementsAre(1, 160, 160, 3));
  EXPECT_EQ(input.bytes, 160 * 160 * 3);
  EXPECT_EQ(input.scales.size(), 1U);
  EXPECT_EQ(input.zero_points.size(), 1U);
  EXPECT_EQ(model.outputs().size(), 2U);
  // Of the .json beside it, which people wrote.
  EXPECT_THAT(model.meaning().labels, ElementsAre("circle", "square", "triangle", "star"));
  EXPECT_EQ(model.meaning().head, "yolov5");
  EXPECT_THAT(peraxis::strategy_names(), testing::Contains("hw-multiply"));
  EXPECT_THAT(peraxis::target_names(), ElementsAre("rk3588"));
}

TEST_F(Api, ExactIsEqualToTheReference) {
  const std::vector<Bytes> values = drawn_inputs(model, 1);
  const auto compared = engine.compare(model, spans(values), {.accuracy = "exact"});
  ASSERT_TRUE(compared) << compared.failure().text;
  ASSERT_EQ(compared->outputs.size(), 2U);
  for (const peraxis::Difference& output : compared->outputs) {
    EXPECT_GT(output.elements, 0);
    EXPECT_EQ(output.differing, 0);
  }
  int alone = 0;
  for (const auto& one : compared->operators) alone += one.alone ? 1 : 0;
  EXPECT_GT(alone, 5);
}

TEST_F(Api, MaxScaleDiffersAndSaysSo) {
  const std::vector<Bytes> values = drawn_inputs(model, 1);
  const auto compared = engine.compare(model, spans(values), {.strategy = "max-scale"});
  ASSERT_TRUE(compared) << compared.failure().text;
  int64_t differing = 0;
  for (const auto& one : compared->operators) {
    if (!one.alone) continue;
    differing += one.alone->differing;
    EXPECT_LE(one.alone->largest, one.info.largest_difference) << one.info.name;
  }
  EXPECT_GT(differing, 0);
}

TEST_F(Api, AnExecutableRunsAsItWasCompiled) {
  const auto compiled = engine.compile(model, {.accuracy = "exact"});
  ASSERT_TRUE(compiled) << compiled.failure().text;
  EXPECT_TRUE(compiled->compiled());
  const std::string path = testing::TempDir() + "api_test.pax";
  ASSERT_TRUE(compiled->save(path));
  const auto loaded = engine.load(path);
  ASSERT_TRUE(loaded) << loaded.failure().text;
  EXPECT_EQ(loaded->meaning().labels, model.meaning().labels) << "no .json lies beside it";
  EXPECT_EQ(file_of(path), *loaded->file());
  const auto from_bytes = engine.load(file_of(path), "bytes");
  ASSERT_TRUE(from_bytes);

  const std::vector<Bytes> values = drawn_inputs(model, 2);
  auto one = engine.open_session(*compiled), two = engine.open_session(*from_bytes);
  ASSERT_TRUE(one) << one.failure().text;
  ASSERT_TRUE(two) << two.failure().text;
  const auto got = one->run(spans(values)), again = two->run(spans(values));
  ASSERT_TRUE(got) << got.failure().text;
  EXPECT_EQ(*got, *again);
  EXPECT_GT(one->counters().tasks, 10);

  // Into the caller's memory, with threads: the same.
  std::vector<Bytes> mine;
  std::vector<std::span<uint8_t>> places;
  for (const peraxis::TensorInfo& output : one->outputs())
    mine.emplace_back(static_cast<size_t>(output.bytes));
  for (Bytes& values_of_one : mine) places.emplace_back(values_of_one);
  auto threads = engine.open_session(*compiled, {.threads = 2, .core = 2});
  ASSERT_TRUE(threads);
  ASSERT_TRUE(threads->run(spans(values), places));
  EXPECT_EQ(mine, *got);
}

TEST_F(Api, APlanSaysWhatACompileDoes) {
  int64_t last = -1, total = 0;
  CompileOptions options{.accuracy = "exact"};
  options.progress = [&](int64_t done, int64_t all) { last = done, total = all; };
  const auto plan = engine.plan(model, options);
  ASSERT_TRUE(plan) << plan.failure().text;
  EXPECT_GE(last, 0);
  EXPECT_EQ(total, static_cast<int64_t>(plan->operators.size()));
  EXPECT_GT(plan->estimated_ms, 0);
  EXPECT_EQ(plan->expected_mismatch, 0);
  const auto compiled = engine.compile(model, {.accuracy = "exact"});
  ASSERT_TRUE(compiled);
  const std::vector<peraxis::OperatorInfo> operators = compiled->operators();
  ASSERT_EQ(operators.size(), plan->operators.size());
  for (size_t i = 0; i < operators.size(); ++i) {
    EXPECT_EQ(operators[i].device, plan->operators[i].device) << operators[i].name;
    EXPECT_EQ(operators[i].strategy, plan->operators[i].strategy) << operators[i].name;
  }
}

TEST_F(Api, CalibrationTakesWholeSets) {
  CompileOptions options;
  options.calibration = {drawn_inputs(model, 3), drawn_inputs(model, 4)};
  EXPECT_TRUE(engine.compile(model, options));
  options.calibration[1][0].pop_back();
  expect_failure(engine.compile(model, options), FailureKind::InvalidArgument,
                 AllOf(HasSubstr("calibration set 1"), HasSubstr("76800"), HasSubstr("76799")));
}

TEST_F(Api, AnyOrderOfDestruction) {
  const std::vector<Bytes> values = drawn_inputs(model, 5);
  std::optional<Engine> own(*Engine::open());
  std::optional<Model> compiled(*own->compile(model));
  std::optional<Session> session(*own->open_session(*compiled));
  const auto before = session->run(spans(values));
  own.reset();
  compiled.reset();
  const auto after = session->run(spans(values));
  ASSERT_TRUE(after) << after.failure().text;
  EXPECT_EQ(*before, *after);
}

TEST_F(Api, SessionsInThreads) {
  const Model compiled = *engine.compile(model);
  const std::vector<Bytes> values = drawn_inputs(model, 6);
  const auto want = engine.open_session(compiled)->run(spans(values));
  ASSERT_TRUE(want);
  std::vector<std::vector<Bytes>> got(4);
  {
    std::vector<std::jthread> threads;
    for (size_t t = 0; t < got.size(); ++t)
      threads.emplace_back([&, t] {
        auto session = engine.open_session(compiled, {.core = static_cast<int>(t % 3)});
        for (int i = 0; session && i < 2; ++i)
          if (auto run = session->run(spans(values))) got[t] = std::move(*run);
      });
  }
  for (const std::vector<Bytes>& outputs : got) EXPECT_EQ(outputs, *want);
}

TEST_F(Api, MistakesOfTheCallerAreNamed) {
  expect_failure(Engine::open("npu9"), FailureKind::InvalidArgument,
                 AllOf(HasSubstr("npu9"), HasSubstr("sim")));
  expect_failure(engine.load("no/such.tflite"), FailureKind::Io, HasSubstr("no/such.tflite"));
  expect_failure(engine.load(file_of("README.md"), "README.md"), FailureKind::InvalidModel,
                 HasSubstr("README.md"));
  expect_failure(engine.load(std::span<const uint8_t>(), "nothing"), FailureKind::InvalidModel,
                 HasSubstr("empty"));
  expect_failure(engine.load(kDemo, {.signature = "other", .shapes = {}}), FailureKind::InvalidArgument,
                 HasSubstr("other"));
  const auto wrong = [&](CompileOptions options, const char* text) {
    expect_failure(engine.compile(model, options), FailureKind::InvalidArgument, HasSubstr(text));
    expect_failure(engine.plan(model, options), FailureKind::InvalidArgument, HasSubstr(text));
  };
  wrong({.accuracy = "best"}, "accuracy 'best' is not known; valid are fast, exact");
  wrong({.strategy = "magic"}, "strategy 'magic'");
  wrong({.reference = "xnnpack"}, "reference 'xnnpack'");
  wrong({.target = "rk9999"}, "target 'rk9999' is not known; valid are rk3588");
  wrong({.accuracy = "exact", .strategy = "groups"}, "contradict");
  wrong({.strategy = "groups", .max_mismatch = 0.1}, "max_mismatch");
  wrong({.max_mismatch = 1.5}, "1.5");
  expect_failure(engine.open_session(model), FailureKind::InvalidArgument, HasSubstr("compile it first"));
  const Model compiled = *engine.compile(model);
  expect_failure(engine.compile(compiled), FailureKind::InvalidArgument, HasSubstr("already compiled"));
  expect_failure(engine.open_session(compiled, {.threads = 0}), FailureKind::InvalidArgument,
                 HasSubstr("0 threads"));
  expect_failure(engine.open_session(compiled, {.core = 3}), FailureKind::InvalidArgument,
                 HasSubstr("core 3"));
  Session session = *engine.open_session(compiled);
  std::vector<Bytes> values = drawn_inputs(model, 7);
  values[0].push_back(0);
  expect_failure(session.run(spans(values)), FailureKind::InvalidArgument,
                 AllOf(HasSubstr("76800"), HasSubstr("76801")));
  expect_failure(session.run({}), FailureKind::InvalidArgument, HasSubstr("0 inputs given, the model has 1"));
  expect_failure(session.read({10, 10, values[0]}), FailureKind::InvalidArgument, HasSubstr("10"));
}

TEST(ApiDeathTest, AskingForWhatIsNotThereEnds) {
  const auto outcome = Engine::open("nothing");
  EXPECT_DEATH((void)outcome.value(), "");
}

}  // namespace
