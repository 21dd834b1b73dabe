// The backends the conformance suite runs on.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "device/device.hpp"

namespace peraxis::device::test {

struct Backend {
  const char* name;
  std::unique_ptr<Device> (*open)(int64_t addresses);  // bytes of its address space
  // Takes the chip away; null: the backend has no such door.
  void (*lose)(Device& device) = nullptr;
};
// One line a backend (backends.cpp).
const std::vector<Backend>& backends();

class Conformance : public testing::TestWithParam<Backend> {
 protected:
  static std::unique_ptr<Device> open(int64_t addresses = int64_t{1} << 32) {
    return GetParam().open(addresses);
  }
};
// In each file of the suite.
#define PERAXIS_ON_EVERY_BACKEND(suite) \
  INSTANTIATE_TEST_SUITE_P(On, suite, testing::ValuesIn(backends()), backend_name)

inline std::string backend_name(const testing::TestParamInfo<Backend>& test) {
  return test.param.name;
}

}  // namespace peraxis::device::test
