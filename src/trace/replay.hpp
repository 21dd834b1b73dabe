// A capture executed on the machine model, and what came out beside what was recorded.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.hpp"
#include "trace/capture.hpp"

namespace peraxis::trace {

struct ReplayOptions {
  machine::Switches switches;
  std::map<std::string, std::vector<uint8_t>> inputs;  // dense values of Input tensors, by name
  int64_t max_task_macs = int64_t{1} << 36;
};

struct TensorResult {
  std::string name, origin;
  int64_t elements = 0, equal = 0;
  int32_t max = 0, tolerance = 0;
  int64_t unwritten = 0;  // elements no task has written; they count as different
  int32_t h = 0, w = 0, c = 0;
  std::vector<uint8_t> values;  // what came out, dense; 0 where unwritten

  bool ok() const { return unwritten == 0 && max <= tolerance; }
};
struct BufferResult {  // buffers with recorded contents `after`
  std::string name;
  int64_t bytes = 0, equal = 0;
  int64_t first = -1;  // offset of the first difference
};
struct Replay {
  int64_t tasks = 0;         // executed
  std::string refusal;       // why the machine stopped; empty: it did not
  bool unsupported = false;  // it stopped at something that is not modelled
  std::vector<TensorResult> tensors;
  std::vector<BufferResult> buffers;
  std::vector<std::string> notes;

  bool ok() const;  // ran, and agrees with everything recorded
};

// Buffers get device addresses of their own, far apart, so that what leaves a buffer is noticed; the address
// registers in the commands follow. Fails only for captures that cannot be set up.
Result<Replay> replay(const Capture& capture, const ReplayOptions& options = {});

// One of machine::Switches by name: "bs_ties=up", "drop_dummy_output=on".
Status set_switch(machine::Switches& switches, std::string_view text);
std::string switch_names();

}  // namespace peraxis::trace
