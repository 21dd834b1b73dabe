// Reads zip archives: .npz files, and what exporters append to a model. The central directory at the end of
// the file is the only source of sizes and places (numpy leaves placeholders in the local headers of large
// members), so everything in it is checked before a byte is allocated: members lie inside the file, do not
// overlap (overlapping members are how a small archive unpacks to terabytes), and promise no more than
// deflate can deliver. Bytes before the archive are allowed, whether the places count them or not.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace peraxis::base {

struct ZipMember {
  std::string name;
  uint16_t method = 0;
  bool encrypted = false;
  uint32_t crc = 0;
  uint32_t packed = 0, unpacked = 0;
  size_t header = 0;  // place of the local header
  size_t data = 0;    // place of the packed bytes
};

// Whether the bytes end as an archive does.
bool ends_as_zip(std::span<const uint8_t> bytes);

// Every member, in the order of the directory.
Result<std::vector<ZipMember>> zip_members(std::span<const uint8_t> bytes);

// The member's content. `bytes` is the whole file; more than `max_bytes` are refused before they are
// unpacked.
Result<std::vector<uint8_t>> unzip(std::span<const uint8_t> bytes, const ZipMember& member,
                                   uint64_t max_bytes);

}  // namespace peraxis::base
