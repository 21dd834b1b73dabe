// See zip.hpp.
#include "base/zip.hpp"

#include <zlib.h>

#include <algorithm>
#include <string_view>

namespace peraxis::base {
namespace {

constexpr uint32_t kLocalSignature = 0x04034b50, kCentralSignature = 0x02014b50, kEndSignature = 0x06054b50;
constexpr size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22;
constexpr uint16_t kStored = 0, kDeflated = 8;
constexpr uint16_t kEncryptedFlag = 1;
constexpr uint64_t kMaxRatio = 1100;  // deflate reaches 1032:1 (RFC 1951: 258 bytes from two bits)

uint16_t u16(std::span<const uint8_t> b, size_t at) {
  return static_cast<uint16_t>(b[at] | b[at + 1] << 8);
}
uint32_t u32(std::span<const uint8_t> b, size_t at) {
  return static_cast<uint32_t>(u16(b, at)) | static_cast<uint32_t>(u16(b, at + 2)) << 16;
}

tl::unexpected<Error> broken(std::string_view what) {
  return fail(ErrorCode::InvalidModel, "broken zip archive: {}", what);
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

Result<ZipMember> parse_member(std::span<const uint8_t> bytes, size_t& at, size_t directory_end) {
  if (directory_end - at < kCentralBytes || u32(bytes, at) != kCentralSignature)
    return broken("a directory entry is missing");
  const size_t name_bytes = u16(bytes, at + 28), extra_bytes = u16(bytes, at + 30);
  const size_t comment_bytes = u16(bytes, at + 32);
  if (directory_end - at - kCentralBytes < name_bytes + extra_bytes + comment_bytes)
    return broken("a directory entry leaves the directory");
  ZipMember m;
  m.name.assign(reinterpret_cast<const char*>(bytes.data()) + at + kCentralBytes, name_bytes);
  m.method = u16(bytes, at + 10);
  m.crc = u32(bytes, at + 16);
  m.packed = u32(bytes, at + 20);
  m.unpacked = u32(bytes, at + 24);
  m.header = u32(bytes, at + 42);
  m.encrypted = (u16(bytes, at + 8) & kEncryptedFlag) != 0;
  at += kCentralBytes + name_bytes + extra_bytes + comment_bytes;
  if (m.packed == UINT32_MAX || m.unpacked == UINT32_MAX || m.header == UINT32_MAX) return zip64();
  if (m.unpacked > m.packed * kMaxRatio)
    return fail(ErrorCode::InvalidModel, "member '{}' claims {} bytes from {}, more than deflate can pack",
                m.name, m.unpacked, m.packed);
  return m;
}

// Sets ZipMember::data from the local header; `before` bytes lie before the archive and are not counted in
// its places, `limit` is where the directory begins.
Status locate(std::span<const uint8_t> bytes, ZipMember& m, size_t before, size_t limit) {
  m.header += before;
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

}  // namespace

bool ends_as_zip(std::span<const uint8_t> bytes) {
  return find_end_record(bytes).has_value();
}

Result<std::vector<ZipMember>> zip_members(std::span<const uint8_t> bytes) {
  const size_t end = PERAXIS_TRY(find_end_record(bytes));
  const size_t count = u16(bytes, end + 10);
  const size_t directory_bytes = u32(bytes, end + 12), directory = u32(bytes, end + 16);
  if (count == UINT16_MAX || directory_bytes == UINT32_MAX || directory == UINT32_MAX) return zip64();
  if (u16(bytes, end + 4) != 0 || u16(bytes, end + 6) != 0 || u16(bytes, end + 8) != count)
    return fail(ErrorCode::Unsupported, "zip archives in several parts are not supported");
  if (directory > end || end - directory < directory_bytes) return broken("the directory leaves the file");
  // The directory ends where the end record begins. An archive that was made alone and then appended counts
  // its places from its own beginning.
  const size_t begin = end - directory_bytes, before = begin - directory;

  std::vector<ZipMember> members;
  size_t at = begin;
  for (size_t i = 0; i < count; ++i) {
    members.push_back(PERAXIS_TRY(parse_member(bytes, at, end)));
    PERAXIS_TRY(locate(bytes, members.back(), before, begin));
  }
  if (at != end) return broken("bytes left over in the directory");

  std::vector<const ZipMember*> by_place;
  by_place.reserve(members.size());
  for (const ZipMember& m : members) by_place.push_back(&m);
  std::sort(by_place.begin(), by_place.end(),
            [](const ZipMember* a, const ZipMember* b) { return a->header < b->header; });
  for (size_t i = 1; i < by_place.size(); ++i)
    if (by_place[i]->header < by_place[i - 1]->data + by_place[i - 1]->packed)
      return fail(ErrorCode::InvalidModel, "members '{}' and '{}' overlap", by_place[i - 1]->name,
                  by_place[i]->name);
  return members;
}

Result<std::vector<uint8_t>> unzip(std::span<const uint8_t> bytes, const ZipMember& m, uint64_t max_bytes) {
  if (m.encrypted)
    return fail(ErrorCode::Unsupported, "member '{}' is encrypted, which is not supported", m.name);
  if (m.method != kStored && m.method != kDeflated)
    return fail(ErrorCode::Unsupported,
                "member '{}' uses zip method {}, only stored and deflate are supported", m.name, m.method);
  if (m.method == kStored && m.packed != m.unpacked)
    return fail(ErrorCode::InvalidModel, "stored member '{}' has two sizes, {} and {}", m.name, m.packed,
                m.unpacked);
  if (m.unpacked > max_bytes)
    return fail(ErrorCode::Unsupported, "member '{}' has {} bytes, the limit is {}", m.name, m.unpacked,
                max_bytes);
  const std::span<const uint8_t> packed = bytes.subspan(m.data, m.packed);
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

}  // namespace peraxis::base
