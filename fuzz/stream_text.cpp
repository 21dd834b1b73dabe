// Any bytes as words: their text encodes to the same words; finding, describing and comparing them ends. Any
// bytes as text: words, whose text encodes to the same words, or an error that names the line.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "trace/diff.hpp"
#include "trace/input.hpp"
#include "trace/summary.hpp"
#include "trace/text.hpp"

namespace {

using namespace peraxis;

void expect_identity(const trace::Stream& stream) {
  const auto back = trace::parse_text(trace::print_text(stream));
  PERAXIS_CHECK(back.has_value() && back->size() == 1, "printed text can be parsed");
  PERAXIS_CHECK(back->front().words == stream.words && back->front().rest == stream.rest,
                "text says every word");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  const trace::Stream words = trace::stream_of_bytes("words", bytes);
  expect_identity(words);
  (void)trace::summary_text(trace::facts_of(words));
  (void)trace::sources_text(trace::sources_of({words}));
  (void)trace::find_streams("found", bytes);
  PERAXIS_CHECK(trace::diff_streams({words}, {words}).equal(), "a stream equals itself");

  // `nop N` may ask for a gigabyte: honest, but no use here.
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.find("nop") != std::string_view::npos) return 0;
  const auto streams = trace::parse_text(text);
  if (!streams) {
    PERAXIS_CHECK(streams.error().message.starts_with("line "), "errors name the line");
    return 0;
  }
  for (const trace::Stream& stream : *streams) expect_identity(stream);
  return 0;
}
