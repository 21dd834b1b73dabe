#include "import/file.hpp"

#include <algorithm>
#include <limits>

#include "import/import.hpp"

namespace peraxis::import {

namespace {

constexpr uint32_t kSchemaVersion = 3;
constexpr size_t kMostTableBytes = FLATBUFFERS_MAX_BUFFER_SIZE - 1;

// Writers put 1 where they have not stated the offset yet; an empty buffer keeps it.
bool stands_behind(uint64_t offset) {
  return offset > 1;
}

bool tables_verify(std::span<const uint8_t> bytes, size_t length) {
  flatbuffers::Verifier verifier(bytes.data(), std::min(length, kMostTableBytes));
  return tfl::VerifyModelBuffer(verifier);
}

// The bytes [offset, offset + size) of the file, which `what` names.
Result<std::span<const uint8_t>> behind(std::span<const uint8_t> file, const std::string& what,
                                        uint64_t offset, uint64_t size) {
  if (offset > file.size() || size > file.size() - offset) {
    return fail(ErrorCode::InvalidModel,
                "{}: {} bytes at offset {}, but the file has {} bytes; it is damaged or cut off", what, size,
                offset, file.size());
  }
  return file.subspan(static_cast<size_t>(offset), static_cast<size_t>(size));
}

// What stands first behind the tables.
struct First {
  uint64_t offset = std::numeric_limits<uint64_t>::max();
  uint64_t size = 0;
  std::string what;

  void consider(uint64_t other, uint64_t other_size, const auto& name) {
    if (!stands_behind(other) || other >= offset) return;
    offset = other;
    size = other_size;
    what = name();
  }
};

First first_behind(const tfl::Model& model) {
  First first;
  for (flatbuffers::uoffset_t i = 0; model.buffers() != nullptr && i < model.buffers()->size(); ++i) {
    const tfl::Buffer* buffer = model.buffers()->Get(i);
    if (buffer == nullptr || buffer->data() != nullptr) continue;
    first.consider(buffer->offset(), buffer->size(), [&] { return fmt::format("buffer {}", i); });
  }
  if (model.subgraphs() == nullptr) return first;
  for (const tfl::SubGraph* subgraph : *model.subgraphs()) {
    if (subgraph == nullptr || subgraph->operators() == nullptr) continue;
    for (flatbuffers::uoffset_t i = 0; i < subgraph->operators()->size(); ++i) {
      const tfl::Operator& op = *subgraph->operators()->Get(i);
      first.consider(op.large_custom_options_offset(), op.large_custom_options_size(),
                     [&] { return fmt::format("the custom options of operator {}", i); });
    }
  }
  return first;
}

}  // namespace

Result<File> File::open(std::span<const uint8_t> bytes) {
  if (!looks_like_tflite(bytes)) {
    return fail(ErrorCode::InvalidModel,
                "not a TensorFlow Lite file: the identifier TFL3 is missing ({} bytes)", bytes.size());
  }
  if (!tables_verify(bytes, bytes.size())) {
    return fail(ErrorCode::InvalidModel,
                "the file is damaged or cut off: its tables do not verify ({} bytes)", bytes.size());
  }
  const tfl::Model* model = tfl::GetModel(bytes.data());
  if (model->version() != kSchemaVersion) {
    return fail(ErrorCode::Unsupported, "schema version {}; only {} is supported", model->version(),
                kSchemaVersion);
  }
  // Tables that verify in the bytes before the first data end before them.
  const First first = first_behind(*model);
  if (first.offset < bytes.size() && !tables_verify(bytes, static_cast<size_t>(first.offset))) {
    return fail(ErrorCode::InvalidModel,
                "{}: {} bytes at offset {}, inside the file's own tables ({} bytes in all)", first.what,
                first.size, first.offset, bytes.size());
  }
  return File(bytes, model);
}

Result<std::span<const uint8_t>> File::buffer(uint32_t index) const {
  std::span<const uint8_t> none;
  if (index == 0) return none;  // by convention the empty buffer
  const auto* buffers = model_->buffers();
  if (buffers == nullptr || index >= buffers->size() || buffers->Get(index) == nullptr) {
    return fail(ErrorCode::InvalidModel, "buffer {} does not exist; the file has {}", index,
                buffers == nullptr ? 0 : buffers->size());
  }
  const tfl::Buffer& buffer = *buffers->Get(index);
  // As LiteRT does it: data inside the tables count before any offset.
  if (const auto* inside = buffer.data(); inside != nullptr && inside->size() > 0)
    return std::span(inside->data(), inside->size());
  if (!stands_behind(buffer.offset())) return none;
  if (buffer.size() == 0 || buffer.data() != nullptr) {
    return fail(ErrorCode::InvalidModel, "buffer {} is at offset {} but has {}", index, buffer.offset(),
                buffer.size() == 0 ? "the size 0" : "empty data inside the tables, too");
  }
  return behind(bytes_, fmt::format("buffer {}", index), buffer.offset(), buffer.size());
}

Result<std::span<const uint8_t>> File::custom_options(const tfl::Operator& op) const {
  if (stands_behind(op.large_custom_options_offset())) {
    return behind(bytes_, "its options", op.large_custom_options_offset(), op.large_custom_options_size());
  }
  const auto* inside = op.custom_options();
  return inside == nullptr ? std::span<const uint8_t>() : std::span(inside->data(), inside->size());
}

}  // namespace peraxis::import
