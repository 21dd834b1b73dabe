// Any bytes: read() refuses them, or yields an executable that verify() accepts and that survives a write
// and a read unchanged. The checksums would stop nearly every mutation at the door, so the bytes are also
// tried as the content of a file whose checksum is right.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/check.hpp"
#include "base/hash.hpp"
#include "exe/executable.hpp"

namespace {

using namespace peraxis;

void try_file(std::span<const uint8_t> bytes) {
  const Result<exe::Executable> first = exe::read(bytes);
  if (!first) return;
  PERAXIS_CHECK(exe::looks_like_executable(bytes), "read takes only what looks right");
  PERAXIS_CHECK(exe::verify(*first).has_value(), "read yields only what verify accepts");
  const Result<std::vector<uint8_t>> written = exe::write(*first);
  PERAXIS_CHECK(written.has_value(), "what was read can be written");
  const Result<exe::Executable> second = exe::read(*written);
  PERAXIS_CHECK(second.has_value(), "what was written can be read");
  PERAXIS_CHECK(*exe::write(*second) == *written, "reading and writing change nothing");
}

// The envelope as schemas/executable.fbs lays it out: root offset, identifier, vtable of three fields,
// the table, the content vector.
std::vector<uint8_t> wrap(std::span<const uint8_t> content) {
  std::vector<uint8_t> out(48);
  const auto put = [&out](size_t at, auto value) { std::memcpy(out.data() + at, &value, sizeof(value)); };
  put(0, uint32_t{20});  // root: the table
  std::memcpy(out.data() + 4, "PAX1", 4);
  put(10, uint16_t{10});  // vtable: its size, the table's size, three field offsets
  put(12, uint16_t{20});
  put(14, uint16_t{16});  // version
  put(16, uint16_t{4});   // checksum
  put(18, uint16_t{12});  // content
  put(20, int32_t{10});   // table: distance back to the vtable
  put(24, base::hash64(content));
  put(32, uint32_t{12});  // from here to the vector
  put(36, exe::kFormatVersion);
  put(44, static_cast<uint32_t>(content.size()));
  out.insert(out.end(), content.begin(), content.end());
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  try_file(bytes);
  try_file(wrap(bytes));
  return 0;
}
