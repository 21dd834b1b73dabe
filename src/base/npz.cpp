// .npz is a zip archive of .npy files. The central directory at the end of the file is the only source of
// sizes and places (numpy leaves placeholders in the local headers of large members), so everything in it
// is checked before a byte is allocated: members lie inside the file, do not overlap (overlapping members
// are how a small archive unpacks to terabytes), and promise no more than deflate can deliver.
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/file.hpp"
#include "base/npy.hpp"

namespace peraxis::base {
namespace {

constexpr uint32_t kLocalSignature = 0x04034b50, kCentralSignature = 0x02014b50, kEndSignature = 0x06054b50;
constexpr size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22;
constexpr uint16_t kStored = 0, kDeflated = 8;
constexpr uint16_t kEncryptedFlag = 1, kUtf8Flag = 1 << 11;
constexpr uint64_t kMaxRatio = 1100;  // deflate reaches 1032:1 (RFC 1951: 258 bytes from two bits)
constexpr uint64_t kMaxTotalBytes = static_cast<uint64_t>(kMaxFileBytes);
constexpr uint16_t kDosDate1980 = 0x0021;  // fixed, so that equal arrays give equal files

uint16_t u16(std::span<const uint8_t> b, size_t at) {
  return static_cast<uint16_t>(b[at] | b[at + 1] << 8);
}
uint32_t u32(std::span<const uint8_t> b, size_t at) {
  return static_cast<uint32_t>(u16(b, at)) | static_cast<uint32_t>(u16(b, at + 2)) << 16;
}
void put16(std::vector<uint8_t>& out, size_t value) {
  out.push_back(static_cast<uint8_t>(value));
  out.push_back(static_cast<uint8_t>(value >> 8));
}
void put32(std::vector<uint8_t>& out, size_t value) {
  put16(out, value & 0xffff);
  put16(out, value >> 16 & 0xffff);
}

struct Member {
  std::string name;  // with .npy
  uint16_t method = 0;
  uint32_t crc = 0;
  uint32_t packed = 0, unpacked = 0;
  uint32_t header = 0;  // place of the local header
  size_t data = 0;      // place of the packed bytes
};

tl::unexpected<Error> broken(std::string_view what) {
  return fail(ErrorCode::InvalidModel, "broken .npz file: {}", what);
}
tl::unexpected<Error> zip64() {
  return fail(ErrorCode::Unsupported,
              "zip64 archives (members of 4 GiB, or 65,535 members) are not supported");
}

// The end record is the last thing in the file but for a comment of at most 64 KiB.
Result<size_t> find_end_record(std::span<const uint8_t> bytes) {
  if (bytes.size() < kEndBytes) return broken("too short for a zip archive");
  const size_t last = bytes.size() - kEndBytes;
  const size_t first = last > 0xffff ? last - 0xffff : 0;
  for (size_t at = last + 1; at-- > first;)
    if (u32(bytes, at) == kEndSignature && u16(bytes, at + 20) == bytes.size() - at - kEndBytes) return at;
  return broken("no end-of-archive record");
}

Result<Member> parse_member(std::span<const uint8_t> bytes, size_t& at, size_t directory_end) {
  if (directory_end - at < kCentralBytes || u32(bytes, at) != kCentralSignature)
    return broken("a directory entry is missing");
  const size_t name_bytes = u16(bytes, at + 28), extra_bytes = u16(bytes, at + 30);
  const size_t comment_bytes = u16(bytes, at + 32);
  if (directory_end - at - kCentralBytes < name_bytes + extra_bytes + comment_bytes)
    return broken("a directory entry leaves the directory");
  Member m;
  m.name.assign(reinterpret_cast<const char*>(bytes.data()) + at + kCentralBytes, name_bytes);
  m.method = u16(bytes, at + 10);
  m.crc = u32(bytes, at + 16);
  m.packed = u32(bytes, at + 20);
  m.unpacked = u32(bytes, at + 24);
  m.header = u32(bytes, at + 42);
  const uint16_t flags = u16(bytes, at + 8);
  at += kCentralBytes + name_bytes + extra_bytes + comment_bytes;

  if (m.packed == UINT32_MAX || m.unpacked == UINT32_MAX || m.header == UINT32_MAX) return zip64();
  if ((flags & kEncryptedFlag) != 0)
    return fail(ErrorCode::Unsupported, "member '{}' is encrypted, which is not supported", m.name);
  if (m.method != kStored && m.method != kDeflated)
    return fail(ErrorCode::Unsupported,
                "member '{}' uses zip method {}, only stored and deflate are supported", m.name, m.method);
  if (m.method == kStored && m.packed != m.unpacked)
    return fail(ErrorCode::InvalidModel, "stored member '{}' has two sizes, {} and {}", m.name, m.packed,
                m.unpacked);
  if (m.unpacked > m.packed * kMaxRatio)
    return fail(ErrorCode::InvalidModel, "member '{}' claims {} bytes from {}, more than deflate can pack",
                m.name, m.unpacked, m.packed);
  if (!m.name.ends_with(".npy"))
    return fail(ErrorCode::Unsupported, "member '{}' is not a .npy file", m.name);
  return m;
}

// Sets Member::data from the local header; `limit` is where the directory begins.
Status locate(std::span<const uint8_t> bytes, Member& m, size_t limit) {
  if (m.header > limit || limit - m.header < kLocalBytes || u32(bytes, m.header) != kLocalSignature)
    return fail(ErrorCode::InvalidModel, "member '{}' has no local header at byte {}", m.name, m.header);
  const size_t name_bytes = u16(bytes, m.header + 26);
  m.data = m.header + kLocalBytes + name_bytes + u16(bytes, m.header + 28);
  if (m.data > limit || limit - m.data < m.packed)
    return fail(ErrorCode::InvalidModel, "member '{}' of {} bytes leaves the archive", m.name, m.packed);
  const std::string_view local_name(reinterpret_cast<const char*>(bytes.data()) + m.header + kLocalBytes,
                                    name_bytes);
  if (local_name != m.name)
    return fail(ErrorCode::InvalidModel, "member '{}' is named differently in its local header", m.name);
  return {};
}

Result<std::vector<Member>> parse_directory(std::span<const uint8_t> bytes) {
  const size_t end = PERAXIS_TRY(find_end_record(bytes));
  const size_t count = u16(bytes, end + 10);
  const size_t directory_bytes = u32(bytes, end + 12), directory = u32(bytes, end + 16);
  if (count == UINT16_MAX || directory_bytes == UINT32_MAX || directory == UINT32_MAX) return zip64();
  if (u16(bytes, end + 4) != 0 || u16(bytes, end + 6) != 0 || u16(bytes, end + 8) != count)
    return fail(ErrorCode::Unsupported, "zip archives in several parts are not supported");
  if (directory > end || end - directory < directory_bytes) return broken("the directory leaves the file");

  std::vector<Member> members;
  uint64_t total = 0;
  size_t at = directory;
  for (size_t i = 0; i < count; ++i) {
    members.push_back(PERAXIS_TRY(parse_member(bytes, at, directory + directory_bytes)));
    PERAXIS_TRY(locate(bytes, members.back(), directory));
    total += members.back().unpacked;
    if (total > kMaxTotalBytes)
      return fail(ErrorCode::Unsupported, "the .npz file unpacks to more than {} bytes, the limit",
                  kMaxTotalBytes);
  }
  if (at != directory + directory_bytes) return broken("bytes left over in the directory");

  std::vector<const Member*> by_place;
  by_place.reserve(members.size());
  for (const Member& m : members) by_place.push_back(&m);
  std::sort(by_place.begin(), by_place.end(),
            [](const Member* a, const Member* b) { return a->header < b->header; });
  for (size_t i = 1; i < by_place.size(); ++i)
    if (by_place[i]->header < by_place[i - 1]->data + by_place[i - 1]->packed)
      return fail(ErrorCode::InvalidModel, "members '{}' and '{}' overlap", by_place[i - 1]->name,
                  by_place[i]->name);
  return members;
}

Result<std::vector<uint8_t>> unpack(std::span<const uint8_t> packed, const Member& m) {
  std::vector<uint8_t> out;
  if (m.method == kStored) {
    out.assign(packed.begin(), packed.end());
  } else {
    out.resize(m.unpacked);
    uint8_t nothing = 0;  // zlib wants a place even for no bytes
    z_stream stream{};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return fail(ErrorCode::OutOfMemory, "zlib cannot start");
    stream.next_in = const_cast<Bytef*>(packed.data());  // zlib's interface; it does not write there
    stream.avail_in = m.packed;
    stream.next_out = out.empty() ? &nothing : out.data();
    stream.avail_out = m.unpacked;
    const int result = inflate(&stream, Z_FINISH);
    const bool complete = result == Z_STREAM_END && stream.avail_in == 0 && stream.avail_out == 0;
    inflateEnd(&stream);
    if (!complete)
      return fail(ErrorCode::InvalidModel, "member '{}' does not unpack to the {} bytes it claims", m.name,
                  m.unpacked);
  }
  if (crc32_z(0, out.data(), out.size()) != m.crc && !(out.empty() && m.crc == 0))
    return fail(ErrorCode::InvalidModel, "member '{}' has the wrong CRC", m.name);
  return out;
}

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
void put_common(std::vector<uint8_t>& out, const Member& m) {
  const bool ascii = std::all_of(m.name.begin(), m.name.end(), [](char c) { return (c & 0x80) == 0; });
  put16(out, 20);  // version needed: 2.0, deflate
  put16(out, ascii ? 0 : kUtf8Flag);
  put16(out, m.method);
  put16(out, 0);  // time
  put16(out, kDosDate1980);
  put32(out, m.crc);
  put32(out, m.packed);
  put32(out, m.unpacked);
  put16(out, m.name.size());
  put16(out, 0);  // no extra fields
}

Result<Member> append_member(std::vector<uint8_t>& out, const std::string& key, const Array& array) {
  PERAXIS_TRY_NOTE(check_array(array), "in array '{}'", key);
  Member m;
  m.name = key + ".npy";
  m.method = kDeflated;
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
  put32(out, kLocalSignature);
  put_common(out, m);
  out.insert(out.end(), m.name.begin(), m.name.end());
  out.insert(out.end(), packed.begin(), packed.end());
  return m;
}

}  // namespace

Result<ArrayMap> parse_npz(std::span<const uint8_t> bytes) {
  const std::vector<Member> members = PERAXIS_TRY(parse_directory(bytes));
  ArrayMap out;
  for (const Member& m : members) {
    const std::vector<uint8_t> npy = PERAXIS_TRY(unpack(bytes.subspan(m.data, m.packed), m));
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
    const Member m = PERAXIS_TRY(append_member(out, key, array));
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
