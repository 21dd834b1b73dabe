// Forms of operators that must be found without an error; a refusal is none.
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "lower/device_op.hpp"

namespace peraxis::lower {

inline DeviceForm form_of(const ir::Graph& graph, size_t op, bool exact, ChipBlocks blocks = {},
                          requant::SeenOperands seen = {}) {
  auto form = device_form(graph, op, {exact, blocks, seen});
  EXPECT_TRUE(form) << form.error().text();
  return form ? *std::move(form) : DeviceForm{};
}

}  // namespace peraxis::lower
