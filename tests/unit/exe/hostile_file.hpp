// Files made by hand around contents of all kinds.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "exe/executable.hpp"
#include "executable_generated.h"

namespace peraxis::exe {

// A file around `content` whose checksum is right: only the checks after it can refuse it.
inline std::vector<uint8_t> wrap(std::span<const uint8_t> content, uint32_t version = kFormatVersion) {
  flatbuffers::FlatBufferBuilder builder;
  builder.ForceVectorAlignment(content.size(), 1, 16);
  const auto inner = builder.CreateVector(content.data(), content.size());
  file::FinishFileBuffer(builder, file::CreateFile(builder, version, base::hash64(content), inner));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}
inline std::vector<uint8_t> content_of(const std::vector<uint8_t>& bytes) {
  const auto* content = file::GetFile(bytes.data())->content();
  return {content->begin(), content->end()};
}
inline void expect_refused(const std::vector<uint8_t>& bytes, ErrorCode code, const std::string& part) {
  const auto result = read(bytes);
  ASSERT_FALSE(result) << part;
  EXPECT_EQ(result.error().code, code);
  EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().text();
}

}  // namespace peraxis::exe
