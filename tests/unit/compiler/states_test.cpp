// States of compiled models: each session's own, kept from run to run, begun anew on demand, untouched by a
// run that fails. The graph's output is the value of the run before plus ten times that of this one.
#include <gtest/gtest.h>

#include <cstring>

#include "../ir/recurrent_graphs.hpp"
#include "compiler/compile.hpp"
#include "device/open.hpp"
#include "exe/executable.hpp"
#include "runtime/session.hpp"

namespace peraxis::compiler {
namespace {

float run(runtime::Session& session, float value) {
  std::vector<uint8_t> bytes(sizeof(float));
  std::memcpy(bytes.data(), &value, sizeof(float));
  const std::span<const uint8_t> input(bytes);
  const auto outputs = session.run({&input, 1});
  EXPECT_TRUE(outputs) << outputs.error().text();
  if (!outputs) return 0;
  std::memcpy(&value, (*outputs)[0].data(), sizeof(float));
  return value;
}

exe::Executable compiled() {
  auto executable = compile(ir::test::svdf(), Options{});
  EXPECT_TRUE(executable) << executable.error().text();
  // What was written is what is read.
  auto read = exe::read(exe::write(*executable).value());
  EXPECT_TRUE(read) << read.error().text();
  return *read;
}

TEST(States, AreKeptBetweenRunsOfASession) {
  const auto device = device::open_device("sim").value();
  const auto session = runtime::Session::create(compiled(), *device).value();
  EXPECT_EQ(run(*session, 1), 10);
  EXPECT_EQ(run(*session, 2), 21);
  EXPECT_EQ(run(*session, 3), 32);
  session->reset_states();
  EXPECT_EQ(run(*session, 4), 40);
}

TEST(States, AreEachSessionsOwn) {
  const auto device = device::open_device("sim").value();
  const auto program = runtime::load(compiled(), *device).value();
  const auto a = runtime::Session::create(program).value();
  const auto b = runtime::Session::create(program).value();
  EXPECT_EQ(run(*a, 1), 10);
  EXPECT_EQ(run(*b, 5), 50);
  EXPECT_EQ(run(*a, 2), 21);
  b->reset_states();
  EXPECT_EQ(run(*b, 5), 50);
  EXPECT_EQ(run(*a, 2), 22);
}

TEST(States, OutliveARunThatFails) {
  const auto device = device::open_device("sim").value();
  const auto session = runtime::Session::create(compiled(), *device).value();
  EXPECT_EQ(run(*session, 1), 10);
  EXPECT_FALSE(session->run({}));
  EXPECT_EQ(run(*session, 2), 21);
}

}  // namespace
}  // namespace peraxis::compiler
