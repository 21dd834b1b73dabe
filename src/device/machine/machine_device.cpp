// See the header.
#include "device/machine/machine_device.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <new>
#include <utility>

namespace peraxis::device {
namespace {

constexpr int64_t kPage = 4096;
constexpr int64_t kFirstAddress = 0x10000;
constexpr int64_t kAddressSpace = int64_t{1} << 32;

Status check_range(const Buffer& buffer, int64_t offset, int64_t bytes) {
  const int64_t size = static_cast<int64_t>(buffer.bytes.size());
  if (offset < 0 || bytes < 0 || offset > size || bytes > size - offset)
    return fail(ErrorCode::InvalidArgument, "bytes {}..{} of the buffer at {:#x}, which has {}", offset,
                offset + bytes, buffer.address, size);
  return {};
}

}  // namespace

struct MachineDevice::State {
  explicit State(machine::Options options) : machine(options) {}

  // The first gap of so many bytes; none: -1.
  int64_t find_gap(int64_t bytes) const {
    int64_t begin = kFirstAddress;
    for (const auto& [address, end] : taken) {
      if (bytes + kPage <= address - begin) return begin;
      begin = end;
    }
    return bytes <= kAddressSpace - begin ? begin : -1;
  }
  int64_t largest_gap() const {
    int64_t begin = kFirstAddress, largest = 0;
    for (const auto& [address, end] : taken) {
      largest = std::max(largest, address - begin - kPage);
      begin = end;
    }
    return std::max(largest, kAddressSpace - begin);
  }

  std::mutex mutex;  // guards what follows
  machine::Machine machine;
  std::map<int64_t, int64_t> taken;  // address -> end, with the page behind it that stays unmapped
  int64_t used = kFirstAddress;
};

// The memory of one buffer, and its place among the device's addresses.
class MachineDevice::Mapping {
 public:
  explicit Mapping(std::shared_ptr<State> state) : state_(std::move(state)) {}
  ~Mapping() {
    if (address_ < 0) return;
    const std::lock_guard lock(state_->mutex);
    state_->machine.memory().unmap(static_cast<uint32_t>(address_));
    const auto place = state_->taken.find(address_);
    state_->used -= place->second - place->first;
    state_->taken.erase(place);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  // Takes its place first: no memory is filled for what has none.
  Status map(int64_t bytes, const std::string& name) {
    PERAXIS_TRY(take_place(bytes, name));
    bytes_.resize(static_cast<size_t>(bytes));
    const std::lock_guard lock(state_->mutex);
    return state_->machine.memory().map(address(), bytes_, name);
  }
  uint32_t address() const { return static_cast<uint32_t>(address_); }
  std::span<uint8_t> bytes() { return bytes_; }

 private:
  Status take_place(int64_t bytes, const std::string& name) {
    const std::lock_guard lock(state_->mutex);
    const int64_t begin = state_->find_gap(bytes);
    if (begin < 0)
      return fail(ErrorCode::OutOfMemory,
                  "buffer '{}': {} bytes do not fit below 4 GiB (the largest gap has {})", name, bytes,
                  state_->largest_gap());
    const int64_t end = (begin + bytes + kPage - 1) / kPage * kPage + kPage;
    state_->taken.emplace(begin, end);
    state_->used += end - begin;
    address_ = begin;
    return {};
  }

  std::shared_ptr<State> state_;
  std::vector<uint8_t> bytes_;
  int64_t address_ = -1;  // none yet
};

MachineDevice::MachineDevice(machine::Options options) : state_(std::make_shared<State>(options)) {}

int64_t MachineDevice::used_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->used;
}

Result<Buffer> MachineDevice::allocate(int64_t bytes, const std::string& name) {
  if (bytes < 1) return fail(ErrorCode::InvalidArgument, "buffer '{}': {} bytes", name, bytes);
  if (bytes > kAddressSpace)
    return fail(ErrorCode::OutOfMemory, "buffer '{}': {} bytes do not fit below 4 GiB", name, bytes);
  try {
    const auto mapping = std::make_shared<Mapping>(state_);
    PERAXIS_TRY(mapping->map(bytes, name));
    return Buffer{mapping->address(), mapping->bytes(), mapping};
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::OutOfMemory, "buffer '{}': no memory for {} bytes", name, bytes);
  }
}

Status MachineDevice::sync_to_device(const Buffer& buffer, int64_t offset, int64_t bytes) {
  PERAXIS_TRY(check_range(buffer, offset, bytes));
  const std::lock_guard lock(state_->mutex);
  return state_->machine.memory().mark_written(buffer.address + offset, bytes);
}

Status MachineDevice::sync_from_device(const Buffer& buffer, int64_t offset, int64_t bytes) {
  return check_range(buffer, offset, bytes);
}

Status MachineDevice::run(std::span<const TaskEntry> tasks, std::vector<TaskCounters>& counters) {
  if (tasks.empty()) return fail(ErrorCode::InvalidArgument, "a job without tasks");
  const std::lock_guard lock(state_->mutex);
  const machine::Kick kick{tasks[0].address, tasks[0].words, static_cast<int32_t>(tasks.size()), 0};
  const std::vector<machine::TaskReport> reports = PERAXIS_TRY(state_->machine.run(kick));
  for (const machine::TaskReport& r : reports)
    counters.push_back({r.output_pixels, r.kernel_taps, r.input_channels, r.output_channels, r.depthwise});
  return {};
}

}  // namespace peraxis::device
