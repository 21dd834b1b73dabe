// Any bytes as a head's name, shapes, parameters and values of outputs: refused with a message, or boxes that
// are numbers. fuzz/make_seeds.py writes the form down.
#include "vision/heads.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.hpp"

using namespace peraxis;

namespace {

constexpr size_t kMostElements = size_t{1} << 16;

struct Bytes {
  const uint8_t* data;
  size_t size;
  size_t at = 0;

  uint8_t next() { return at < size ? data[at++] : 0; }
};

// The values: what is left of the input, over and over.
std::vector<uint8_t> values_of(const Bytes& bytes, const std::vector<int64_t>& shape, size_t width) {
  size_t count = width;
  for (const int64_t side : shape) count *= static_cast<size_t>(side);
  std::vector<uint8_t> values(std::min(count, kMostElements * width));
  const size_t rest = bytes.size - bytes.at;
  for (size_t i = 0; i < values.size() && rest > 0; ++i) values[i] = bytes.data[bytes.at + i % rest];
  return values;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Bytes bytes{data, size};
  vision::ModelInfo info;
  const uint8_t head = bytes.next();  // 0: by the shapes
  if (head > 0) info.head = vision::heads()[(head - 1u) % vision::heads().size()]->name;
  const vision::InputGeometry input{bytes.next(), bytes.next(), {}};
  info.labels.resize(bytes.next() % 128, "label");
  const uint8_t kind = bytes.next();
  info.labels_background = (kind & 4) != 0;
  info.labels_numbered = (kind & 8) != 0;
  info.anchors_stated = (kind & 16) != 0;
  if (kind & 32) info.box_order = "yxhw";
  if (kind & 64) info.boxes = "cells";
  static constexpr const char* kTypes[] = {"int8", "uint8", "float32", "int16"};
  static constexpr size_t kWidths[] = {1, 1, 4, 2};
  const uint8_t scale_byte = bytes.next();
  const float scale = static_cast<float>(scale_byte) / 64;
  std::vector<vision::OutputTensor> outputs(bytes.next() % 8);
  for (vision::OutputTensor& output : outputs) {
    if (kind & 128) output.detection_output = static_cast<int>(&output - outputs.data());
    output.shape.resize(bytes.next() % 6);
    for (int64_t& side : output.shape) side = bytes.next();
    output.type = kTypes[kind % 4];
    output.scale = scale;
  }
  std::vector<std::vector<uint8_t>> values;
  for (vision::OutputTensor& output : outputs) {
    values.push_back(values_of(bytes, output.shape, kWidths[kind % 4]));
    output.data = values.back();
  }
  const int64_t classes = (kind & 128) != 0 ? scale_byte : 0;
  const auto found = vision::decode_detections({outputs, info, input, classes});
  if (!found) {
    PERAXIS_CHECK(!found.error().message.empty(), "a refusal says why");
    return 0;
  }
  PERAXIS_CHECK(found->size() <= static_cast<size_t>(info.max_detections), "no more boxes than asked for");
  for (const vision::Detection& detection : *found) {
    PERAXIS_CHECK(detection.class_id >= 0 && std::isfinite(detection.score), "a class and a score");
    PERAXIS_CHECK(static_cast<double>(detection.score) > info.score * 0.999,
                  "the score is above the threshold");
    for (const float side : detection.box) PERAXIS_CHECK(std::isfinite(side), "a box is of numbers");
  }
  return 0;
}
