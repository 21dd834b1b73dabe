// See importer.hpp. One line a format.
#include "import/importer.hpp"

#include <array>

namespace peraxis::import {
namespace {

constexpr std::array kImporters{Importer{"a TFLite model", looks_like_tflite, import_tflite, read_entries}};

}  // namespace

const Importer* importer_of(std::span<const uint8_t> bytes) {
  for (const Importer& importer : kImporters)
    if (importer.looks_like(bytes)) return &importer;
  return nullptr;
}

std::string formats_listed() {
  std::string out;
  for (size_t i = 0; i < kImporters.size(); ++i)
    out += fmt::format("{}{}",
                       i == 0                       ? ""
                       : i + 1 == kImporters.size() ? " or "
                                                    : ", ",
                       kImporters[i].format);
  return out;
}

}  // namespace peraxis::import
