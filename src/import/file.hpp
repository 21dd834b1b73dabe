// A TFLite file: FlatBuffers tables at its start and, in many files, data of buffers and options behind them,
// which the tables name by offset and size. A zip with metadata may follow; nobody looks at that here.
#pragma once

#include <tflite_generated.h>

#include <cstdint>
#include <span>

#include "base/result.hpp"

namespace peraxis::import {

// The bytes must live as long as the file and start at a multiple of 8.
class File {
 public:
  // Verifies the tables: every table and vector lies inside the bytes, and no data named by offset lies
  // inside the tables.
  static Result<File> open(std::span<const uint8_t> bytes);

  const tfl::Model& model() const { return *model_; }
  size_t bytes() const { return bytes_.size(); }

  // The data of buffer `index`, wherever they stand. Empty: it has none.
  Result<std::span<const uint8_t>> buffer(uint32_t index) const;
  // The options of a custom operator, wherever they stand.
  Result<std::span<const uint8_t>> custom_options(const tfl::Operator& op) const;

 private:
  File(std::span<const uint8_t> bytes, const tfl::Model* model) : bytes_(bytes), model_(model) {}

  std::span<const uint8_t> bytes_;
  const tfl::Model* model_;
};

}  // namespace peraxis::import
