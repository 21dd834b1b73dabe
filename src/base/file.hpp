// Whole files in and out. Writing is atomic: the bytes go to a new file beside the target, which is then
// renamed over it, so a reader (or a crash half-way) never sees half a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace peraxis::base {

// Larger files are refused before anything is allocated: nothing this program reads comes near.
inline constexpr int64_t kMaxFileBytes = int64_t{4} << 30;

// The whole of a regular file. Directories, FIFOs and devices are refused by name, never waited for.
Result<std::vector<uint8_t>> read_file(const std::filesystem::path& path, int64_t max_bytes = kMaxFileBytes);

// Replaces or creates `path`; an existing file keeps its permissions and a symbolic link its place. A
// device or FIFO (/dev/stdout) is written to directly.
Status write_file(const std::filesystem::path& path, std::span<const uint8_t> bytes);
// The same, with a last word of `check`: it gets the bytes as they are read back from the new file, before
// that takes the target's name. When it refuses them no file is made and an old one stays as it was. What
// cannot be read back (a device, a FIFO) is checked before it is written.
using FileCheck = std::function<Status(std::span<const uint8_t> stored)>;
Status write_file(const std::filesystem::path& path, std::span<const uint8_t> bytes, const FileCheck& check);
Status write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace peraxis::base
