// Any bytes as the text form of a graph: refused with a message, or a graph that prints, reads back to the
// same text and can be verified.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "ir/graph.hpp"

using namespace peraxis;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto graph = ir::parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!graph) {
    PERAXIS_CHECK(!graph.error().message.empty(), "a refusal says why");
    return 0;
  }
  const Status status = ir::verify(*graph);
  PERAXIS_CHECK(status || !status.error().message.empty(), "a refusal says why");
  const std::string text = ir::print(*graph, true);
  const auto again = ir::parse(text);
  PERAXIS_CHECK(again && ir::print(*again, true) == text, "the text form reads back");
  return 0;
}
