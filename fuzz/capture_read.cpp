// Any bytes: read_capture() refuses them, or yields a capture that verify() accepts, that survives a write
// and a read unchanged, whose streams can be read and which the machine replays to a result or a refusal.
// The checksum would stop nearly every mutation, so the bytes are also tried as content with a right one.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/check.hpp"
#include "base/hash.hpp"
#include "trace/capture.hpp"
#include "trace/replay.hpp"

namespace {

using namespace peraxis;

void try_file(std::span<const uint8_t> bytes) {
  const Result<trace::Capture> first = trace::read_capture(bytes);
  if (!first) return;
  PERAXIS_CHECK(trace::looks_like_capture(bytes), "read takes only what looks right");
  PERAXIS_CHECK(trace::verify(*first).has_value(), "read yields only what verify accepts");
  const Result<std::vector<uint8_t>> written = trace::write_capture(*first);
  PERAXIS_CHECK(written.has_value(), "what was read can be written");
  const Result<trace::Capture> second = trace::read_capture(*written);
  PERAXIS_CHECK(second.has_value(), "what was written can be read");
  PERAXIS_CHECK(*trace::write_capture(*second) == *written, "reading and writing change nothing");
  (void)trace::streams_of_capture(*first);
  int64_t memory = 0;
  for (const trace::CaptureBuffer& b : first->buffers) memory += b.size;
  constexpr int64_t kEnough = 1 << 22;  // the machine's time, not its correctness, is what this bounds
  if (memory > kEnough) return;
  trace::ReplayOptions options;
  options.max_task_macs = 1 << 20;
  (void)trace::replay(*first, options);
}

// The envelope as schemas/capture.fbs lays it out: root offset, identifier, vtable of three fields, the
// table, the content vector.
std::vector<uint8_t> wrap(std::span<const uint8_t> content) {
  std::vector<uint8_t> out(48);
  const auto put = [&out](size_t at, auto value) { std::memcpy(out.data() + at, &value, sizeof(value)); };
  put(0, uint32_t{20});  // root: the table
  std::memcpy(out.data() + 4, "PXC1", 4);
  put(10, uint16_t{10});  // vtable: its size, the table's size, three field offsets
  put(12, uint16_t{20});
  put(14, uint16_t{16});  // version
  put(16, uint16_t{4});   // checksum
  put(18, uint16_t{12});  // content
  put(20, int32_t{10});   // table: distance back to the vtable
  put(24, base::hash64(content));
  put(32, uint32_t{12});  // from here to the vector
  put(36, trace::kCaptureVersion);
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
