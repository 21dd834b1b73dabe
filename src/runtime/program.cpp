// See program.hpp. Addresses are known only after allocation, so command words carry zeros until here: a
// relocation puts a buffer's address into bits 47..16 of its word, the value field of every command.
#include "runtime/program.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace peraxis::runtime {
namespace {

constexpr size_t kWordBytes = 8;
constexpr size_t kValueByte = 2;  // bits 47..16 of a little-endian word

// Weights of operators that run on the device are not in the executable, so their tensors have no data.
// The verifier wants every constant whole: it sees a copy with zeros in their place.
Status verify_with_placeholders(ir::Graph graph) {
  constexpr int64_t kMaxBytes = int64_t{1} << 31;
  int64_t total = 0;
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    ir::Tensor& tensor = graph.tensors[i];
    if (!tensor.is_constant || !tensor.data.empty()) continue;
    int64_t bytes = ir::data_type_bytes(tensor.type);
    for (const int32_t extent : tensor.shape) {
      if (extent < 0 || (extent > 0 && bytes > kMaxBytes / extent))
        return fail(ErrorCode::InvalidModel,
                    "constant tensor {} '{}' has extent {}: larger than {} bytes or negative", i, tensor.name,
                    extent, kMaxBytes);
      bytes *= extent;
    }
    total += bytes;
    if (total > kMaxBytes)
      return fail(ErrorCode::InvalidModel, "the constants hold more than {} bytes", kMaxBytes);
    tensor.data.assign(static_cast<size_t>(bytes), 0);
  }
  return ir::verify(graph);
}

Status patch(const exe::Executable& executable, std::span<const device::Buffer> buffers, size_t commands) {
  const std::span<uint8_t> words = buffers[commands].bytes;
  for (const exe::Relocation& relocation : executable.relocations) {
    if (relocation.buffer < 0 || relocation.buffer >= static_cast<int32_t>(buffers.size()) ||
        relocation.word < 0 || relocation.word >= static_cast<int64_t>(words.size() / kWordBytes))
      return fail(ErrorCode::InvalidModel, "a relocation of word {} to buffer {} is outside the executable",
                  relocation.word, relocation.buffer);
    const int64_t address = buffers[static_cast<size_t>(relocation.buffer)].address;
    constexpr int64_t kMaxAddress = 0xFFFFFFFF;
    if (relocation.addend < -kMaxAddress || relocation.addend > kMaxAddress ||
        address + relocation.addend < 0 || address + relocation.addend > kMaxAddress)
      return fail(ErrorCode::InvalidModel, "the relocation of word {} gives {:#x} + {}, not a 32-bit address",
                  relocation.word, address, relocation.addend);
    const auto value = static_cast<uint32_t>(address + relocation.addend);
    uint8_t* to = words.data() + static_cast<size_t>(relocation.word) * kWordBytes + kValueByte;
    for (size_t byte = 0; byte < sizeof value; ++byte) to[byte] = static_cast<uint8_t>(value >> (8 * byte));
  }
  return {};
}

// A buffer of the device with the data of `source`, not yet handed over.
Result<device::Buffer> filled(const exe::Buffer& source, device::Device& device) {
  const device::Buffer buffer =
      PERAXIS_TRY_NOTE(device.allocate(source.size, source.name), "while allocating buffer '{}' of {} bytes",
                       source.name, source.size);
  if (static_cast<int64_t>(buffer.bytes.size()) < source.size ||
      source.data.size() > static_cast<size_t>(source.size))
    return fail(ErrorCode::Device, "device '{}' gave {} bytes for buffer '{}' of {}", device.name(),
                buffer.bytes.size(), source.name, source.size);
  std::copy(source.data.begin(), source.data.end(), buffer.bytes.begin());
  return buffer;
}

// Whether the 32-bit addresses of the device have room for a session, `with_constants` or beside them.
Status check_room(const exe::Executable& executable, const device::Device& device, bool with_constants) {
  const std::optional<device::AddressSpace> space = device.address_space();
  if (!space) return {};  // its allocations will say
  int64_t needed = 0;
  std::string sizes;
  for (const exe::Buffer& buffer : executable.buffers) {
    if (buffer.kind == exe::BufferKind::Constants && !with_constants) continue;
    needed += buffer.size;
    sizes += fmt::format("{}'{}' {}", sizes.empty() ? "" : ", ", buffer.name, buffer.size);
  }
  if (space->used <= space->bytes && needed <= space->bytes - space->used) return {};
  return fail(ErrorCode::OutOfMemory,
              "'{}' needs {} bytes on device '{}' ({}), of its {} bytes of addresses {} are taken",
              executable.model, needed, device.name(), sizes, space->bytes, space->used);
}

}  // namespace

Result<ir::Graph> load_graph(const exe::Executable& executable) {
  ir::Graph graph =
      PERAXIS_TRY_NOTE(ir::parse(executable.graph),
                       "in an executable made by {}; if that is an earlier build, compile the model again",
                       executable.compiler);
  for (const exe::Executable::Constant& constant : executable.constants) {
    if (constant.tensor < 0 || constant.tensor >= static_cast<int32_t>(graph.tensors.size()))
      return fail(ErrorCode::InvalidModel, "a constant is for tensor {}, the graph has {}", constant.tensor,
                  graph.tensors.size());
    ir::Tensor& tensor = graph.tensors[static_cast<size_t>(constant.tensor)];
    if (!tensor.is_constant)
      return fail(ErrorCode::InvalidModel, "the executable has data for tensor {}, which is no constant",
                  constant.tensor);
    tensor.data = constant.data;
  }
  PERAXIS_TRY(verify_with_placeholders(graph));
  return graph;
}

std::optional<size_t> commands_buffer(const exe::Executable& executable) {
  for (size_t i = 0; i < executable.buffers.size(); ++i)
    if (executable.buffers[i].kind == exe::BufferKind::Commands) return i;
  return std::nullopt;
}

Status Program::load_constants() {
  PERAXIS_TRY(check_room(executable_, device_, true));
  for (exe::Buffer& source : executable_.buffers) {
    constants_.emplace_back();
    if (source.kind != exe::BufferKind::Constants || source.size == 0) continue;
    constants_.back() = PERAXIS_TRY(filled(source, device_));
    PERAXIS_TRY(device_.end_cpu_access(constants_.back(), 0, source.size));
    std::vector<uint8_t>().swap(source.data);  // on the device now
  }
  if (!commands_buffer(executable_) && (!executable_.relocations.empty() || !executable_.tasks.empty()))
    return fail(ErrorCode::InvalidModel, "the executable has tasks but no buffer of command words");
  return {};
}

Result<std::vector<device::Buffer>> Program::session_buffers() const {
  PERAXIS_TRY(check_room(executable_, device_, false));
  std::vector<device::Buffer> buffers = constants_;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const exe::Buffer& source = executable_.buffers[i];
    // Without tasks there are no words.
    if (source.kind != exe::BufferKind::Constants && source.size > 0)
      buffers[i] = PERAXIS_TRY(filled(source, device_));
  }
  if (const std::optional<size_t> commands = commands_buffer(executable_)) {
    PERAXIS_TRY(patch(executable_, buffers, *commands));
    PERAXIS_TRY(device_.end_cpu_access(buffers[*commands], 0, executable_.buffers[*commands].size));
  }
  return buffers;
}

int64_t real_macs(const exe::Task& task, const device::TaskCounters& counters) {
  const int64_t positions = counters.output_pixels * counters.kernel_taps;
  const int64_t outputs = std::min<int64_t>(task.real_output_channels, counters.output_channels);
  if (task.kind > exe::TaskKind::BlockDiagonal) return 0;  // nothing is multiplied and added
  if (task.kind == exe::TaskKind::Depthwise) return positions * outputs;
  return positions * outputs * std::min<int64_t>(task.real_input_channels, counters.input_channels);
}

num::Reference reference_of(const exe::Executable& executable) {
  const auto known = std::ranges::find(num::kReferenceNames, executable.reference);  // verified
  return static_cast<num::Reference>(known - num::kReferenceNames.begin());
}

}  // namespace peraxis::runtime
