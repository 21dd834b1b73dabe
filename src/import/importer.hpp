// The formats that are read. A new one is a folder of its own here and a line in importer.cpp.
#pragma once

#include <span>

#include "import/import.hpp"

namespace peraxis::import {

struct Importer {
  const char* format;  // "a TFLite model"
  // By the first bytes alone.
  bool (*looks_like)(std::span<const uint8_t> bytes);
  // As import_tflite: `name` becomes the graph's, shapes that the file leaves open stay so.
  Result<ir::Graph> (*read)(std::span<const uint8_t> bytes, std::string name, const ImportOptions& options);
  Result<Entries> (*entries)(std::span<const uint8_t> bytes, const ImportOptions& options);
};

// The importer whose format the bytes are of; null: none.
const Importer* importer_of(std::span<const uint8_t> bytes);
// "a TFLite model", with commas and "or" where there are several.
std::string formats_listed();

}  // namespace peraxis::import
