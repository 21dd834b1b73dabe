// .npz is a zip archive of .npy files: zip.cpp reads it, this file packs and writes.
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/file.hpp"
#include "base/npy.hpp"
#include "base/zip.hpp"

namespace peraxis::base {
namespace {

constexpr uint32_t kLocalFileSignature = 0x04034b50, kCentralSignature = 0x02014b50,
                   kEndSignature = 0x06054b50;
constexpr size_t kEndBytes = 22;
constexpr uint16_t kDeflated = 8;
constexpr uint16_t kUtf8Flag = 1 << 11;
constexpr uint64_t kMaxTotalBytes = static_cast<uint64_t>(kMaxFileBytes);
constexpr uint16_t kDosDate1980 = 0x0021;  // fixed, so that equal arrays give equal files

void put16(std::vector<uint8_t>& out, size_t value) {
  out.push_back(static_cast<uint8_t>(value));
  out.push_back(static_cast<uint8_t>(value >> 8));
}
void put32(std::vector<uint8_t>& out, size_t value) {
  put16(out, value & 0xffff);
  put16(out, value >> 16 & 0xffff);
}

struct Written {
  std::string name;  // with .npy
  uint32_t crc = 0;
  uint32_t packed = 0, unpacked = 0;
  uint32_t header = 0;  // place of the local header
};

Result<std::vector<uint8_t>> pack(std::span<const uint8_t> bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return fail(ErrorCode::OutOfMemory, "zlib cannot start");
  std::vector<uint8_t> out(deflateBound(&stream, bytes.size()));
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(std::min<size_t>(out.size(), UINT32_MAX));
  const int result = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) return fail(ErrorCode::Internal, "zlib did not pack {} bytes", bytes.size());
  return out;
}

// The fields that local header and directory entry share, from "version needed" to the name's length.
void put_common(std::vector<uint8_t>& out, const Written& m) {
  const bool ascii = std::all_of(m.name.begin(), m.name.end(), [](char c) { return (c & 0x80) == 0; });
  put16(out, 20);  // version needed: 2.0, deflate
  put16(out, ascii ? 0 : kUtf8Flag);
  put16(out, kDeflated);
  put16(out, 0);  // time
  put16(out, kDosDate1980);
  put32(out, m.crc);
  put32(out, m.packed);
  put32(out, m.unpacked);
  put16(out, m.name.size());
  put16(out, 0);  // no extra fields
}

Result<Written> append_member(std::vector<uint8_t>& out, const std::string& key, const Array& array) {
  PERAXIS_TRY_NOTE(check_array(array), "in array '{}'", key);
  Written m;
  m.name = key + ".npy";
  if (m.name.size() > UINT16_MAX)
    return fail(ErrorCode::InvalidArgument, "an array's name has {} bytes, the limit is {}", m.name.size(),
                UINT16_MAX);
  const std::vector<uint8_t> bytes = format_npy(array);
  if (bytes.size() > UINT32_MAX / 2)  // half: deflateBound and the archive must stay in 32 bits too
    return fail(ErrorCode::Unsupported, "array '{}' has {} bytes, the limit in a .npz file is {}", key,
                bytes.size(), UINT32_MAX / 2);
  const std::vector<uint8_t> packed = PERAXIS_TRY(pack(bytes));
  m.crc = static_cast<uint32_t>(crc32_z(0, bytes.data(), bytes.size()));
  m.packed = static_cast<uint32_t>(packed.size());
  m.unpacked = static_cast<uint32_t>(bytes.size());
  if (out.size() + packed.size() > UINT32_MAX - (uint32_t{1} << 24))  // room for headers and the directory
    return fail(ErrorCode::Unsupported, "the .npz file would pass 4 GiB at array '{}'", key);
  m.header = static_cast<uint32_t>(out.size());
  put32(out, kLocalFileSignature);
  put_common(out, m);
  out.insert(out.end(), m.name.begin(), m.name.end());
  out.insert(out.end(), packed.begin(), packed.end());
  return m;
}

}  // namespace

Result<ArrayMap> parse_npz(std::span<const uint8_t> bytes) {
  const std::vector<ZipMember> members = PERAXIS_TRY(zip_members(bytes));
  uint64_t total = 0;
  for (const ZipMember& m : members) {
    if (!m.name.ends_with(".npy"))
      return fail(ErrorCode::Unsupported, "member '{}' is not a .npy file", m.name);
    total += m.unpacked;
  }
  if (total > kMaxTotalBytes)
    return fail(ErrorCode::Unsupported, "the .npz file unpacks to {} bytes, the limit is {}", total,
                kMaxTotalBytes);
  ArrayMap out;
  for (const ZipMember& m : members) {
    const std::vector<uint8_t> npy = PERAXIS_TRY(unzip(bytes, m, kMaxTotalBytes));
    Array array = PERAXIS_TRY_NOTE(parse_npy(npy), "in member '{}'", m.name);
    const std::string key = m.name.substr(0, m.name.size() - 4);
    if (!out.emplace(key, std::move(array)).second)
      return fail(ErrorCode::InvalidModel, "two members are named '{}'", m.name);
  }
  return out;
}

Result<std::vector<uint8_t>> format_npz(const ArrayMap& arrays) {
  if (arrays.size() >= UINT16_MAX)
    return fail(ErrorCode::Unsupported, "{} arrays, the limit in a .npz file is {}", arrays.size(),
                UINT16_MAX - 1);
  std::vector<uint8_t> out, directory;
  for (const auto& [key, array] : arrays) {
    const Written m = PERAXIS_TRY(append_member(out, key, array));
    put32(directory, kCentralSignature);
    put16(directory, 20);  // made by: 2.0
    put_common(directory, m);
    put16(directory, 0);  // comment
    put16(directory, 0);  // disk
    put16(directory, 0);  // internal attributes
    put32(directory, 0);  // external attributes
    put32(directory, m.header);
    directory.insert(directory.end(), m.name.begin(), m.name.end());
  }
  if (out.size() + directory.size() > UINT32_MAX - kEndBytes)
    return fail(ErrorCode::Unsupported, "the .npz file would pass 4 GiB");
  const size_t directory_at = out.size();
  out.insert(out.end(), directory.begin(), directory.end());
  put32(out, kEndSignature);
  put32(out, 0);  // disks
  put16(out, arrays.size());
  put16(out, arrays.size());
  put32(out, directory.size());
  put32(out, directory_at);
  put16(out, 0);  // comment
  return out;
}

Result<ArrayMap> read_npz(const std::filesystem::path& path) {
  const std::vector<uint8_t> bytes = PERAXIS_TRY(read_file(path));
  return PERAXIS_TRY_NOTE(parse_npz(bytes), "while reading '{}'", path.string());
}

Status write_npz(const std::filesystem::path& path, const ArrayMap& arrays) {
  const std::vector<uint8_t> bytes =
      PERAXIS_TRY_NOTE(format_npz(arrays), "while writing '{}'", path.string());
  return write_file(path, bytes);
}

}  // namespace peraxis::base
