// See input.hpp.
#include "trace/input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "exe/executable.hpp"
#include "trace/capture.hpp"

namespace peraxis::trace {

using namespace rk3588;

namespace {

constexpr std::string_view kVendorMagic = "RKNN";
constexpr size_t kWordBytes = 8;
// Programs start at multiples of 64 bytes: at most seven zero words lie between two, one more in a tail.
constexpr size_t kMostZeros = 8;

uint64_t word_at(std::span<const uint8_t> bytes, size_t at) {
  uint64_t word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof(word));  // every host we build for is little-endian
  return word;
}

Stream stream_of_executable(const exe::Executable& e, const exe::Buffer& buffer) {
  Stream out = stream_of_bytes(e.model.empty() ? buffer.name : e.model, buffer.data);
  for (const exe::Relocation& r : e.relocations)
    out.relocations[r.word] = {e.buffers[static_cast<size_t>(r.buffer)].name, r.addend};
  for (const exe::Task& task : e.tasks) {
    std::string& origin = out.origins[task.first_word];
    origin = fmt::format("operator {}, rows {}..{}, {} of the layer's channels, set {}", task.op,
                         task.first_row, task.first_row + task.rows - 1, task.real_output_channels, task.set);
    for (const exe::LayerPlan& layer : e.layers)
      if (layer.op == task.op && !layer.strategy.empty()) origin += ", strategy " + layer.strategy;
  }
  return out;
}

Result<Input> read_executable(std::span<const uint8_t> bytes) {
  const exe::Executable e = PERAXIS_TRY(exe::read(bytes));
  Input out{InputKind::Executable, {}};
  for (const exe::Buffer& buffer : e.buffers)
    if (buffer.kind == exe::BufferKind::Commands) out.streams.push_back(stream_of_executable(e, buffer));
  return out;
}

Result<Input> read_capture_input(std::span<const uint8_t> bytes) {
  const Capture capture = PERAXIS_TRY(read_capture(bytes));
  return Input{InputKind::Capture, PERAXIS_TRY(streams_of_capture(capture))};
}

// Longest run of commands from `at` on; its words, up to the last op-enable word (0: none).
size_t run_length(std::span<const uint8_t> bytes, size_t at, size_t& scanned) {
  size_t length = 0, n = 0, zeros = 0;
  bool separated = false;
  for (; at + (n + 1) * kWordBytes <= bytes.size(); ++n) {
    const uint64_t word = word_at(bytes, at + n * kWordBytes);
    zeros = word == 0 ? zeros + 1 : 0;
    if (word == 0 ? zeros > kMostZeros : !looks_like_command(word)) break;
    if (is_enable(word) && separated) length = n + 1;
    separated = target_of(word) == kSeparatorTarget;
  }
  scanned = n;
  return length;
}

}  // namespace

const char* input_kind_name(InputKind kind) {
  switch (kind) {
    case InputKind::Words:
      return "words";
    case InputKind::Executable:
      return "executable";
    case InputKind::Capture:
      return "capture";
    case InputKind::VendorModel:
      return "vendor model";
  }
  return "?";
}

bool looks_like_words(std::span<const uint8_t> bytes) {
  for (size_t at = 0; at + kWordBytes <= bytes.size(); at += kWordBytes)
    if (looks_like_command(word_at(bytes, at))) return true;
  return false;
}

bool looks_like_vendor_model(std::span<const uint8_t> bytes) {
  return bytes.size() >= kVendorMagic.size() &&
         std::memcmp(bytes.data(), kVendorMagic.data(), kVendorMagic.size()) == 0;
}

std::vector<Stream> find_streams(const std::string& name, std::span<const uint8_t> bytes) {
  std::vector<std::pair<size_t, size_t>> found;  // place, words
  for (size_t phase = 0; phase < kWordBytes; ++phase)
    for (size_t at = phase; at + kWordBytes <= bytes.size();) {
      if (!looks_like_command(word_at(bytes, at))) {
        at += kWordBytes;
        continue;
      }
      size_t scanned = 0;
      const size_t words = run_length(bytes, at, scanned);
      if (words > 0) found.emplace_back(at, words);
      at += std::max<size_t>(scanned, 1) * kWordBytes;
    }
  std::sort(found.begin(), found.end());
  std::vector<Stream> out;
  for (const auto& [at, words] : found)
    out.push_back(stream_of_bytes(fmt::format("{}@{:#x}", name, at), bytes.subspan(at, words * kWordBytes)));
  return out;
}

Result<Input> read_input(const std::string& name, std::span<const uint8_t> bytes) {
  if (exe::looks_like_executable(bytes)) return read_executable(bytes);
  if (looks_like_capture(bytes)) return read_capture_input(bytes);
  if (looks_like_vendor_model(bytes)) {
    Input out{InputKind::VendorModel, find_streams(name, bytes)};
    if (out.streams.empty())
      return fail(ErrorCode::InvalidModel, "no command stream for the RK3588 is in this model");
    return out;
  }
  if (!looks_like_words(bytes))
    return fail(ErrorCode::InvalidModel, "none of its {} words is a command of the RK3588's NPU",
                bytes.size() / kWordBytes);
  return Input{InputKind::Words, {stream_of_bytes(name, bytes)}};
}

}  // namespace peraxis::trace
