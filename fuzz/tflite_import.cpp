// Any bytes as a TFLite file: refused with a message, or a graph whose text form reads back unchanged and
// whose verification ends; what the file leaves open is stated or refused. A file that is accepted never
// holds more than the importer's stated limits.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.hpp"
#include "import/import.hpp"
#include "ir/graph.hpp"
#include "passes/resolve_shapes.hpp"

using namespace peraxis;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto graph = import::import_tflite(std::span<const uint8_t>(data, size), "fuzz");
  if (!graph) {
    PERAXIS_CHECK(!graph.error().message.empty(), "a refusal says why");
    return 0;
  }
  for (const ir::Tensor& tensor : graph->tensors) {
    PERAXIS_CHECK(!tensor.is_constant || static_cast<int64_t>(tensor.data.size()) == tensor.bytes(),
                  "a constant has the size of its shape");
  }
  const Status status = ir::verify(*graph);
  PERAXIS_CHECK(status || !status.error().message.empty(), "a refusal says why");
  ir::Graph resolved = *graph;
  const auto computed = passes::resolve_shapes(resolved);
  PERAXIS_CHECK(!computed || ir::verify(resolved), "a resolved graph verifies");
  PERAXIS_CHECK(!status || computed, "a graph that verifies needs nothing resolved");
  const std::string text = ir::print(*graph, true);
  const auto again = ir::parse(text);
  PERAXIS_CHECK(again && ir::print(*again, true) == text, "the text form reads back");
  return 0;
}
