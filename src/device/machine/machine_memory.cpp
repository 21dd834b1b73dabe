// See the header.
#include "device/machine/machine_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "device/job.hpp"

namespace peraxis::device {
namespace {

constexpr int64_t kPage = 4096;
// Nobody can take pages away under the device.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

}  // namespace

class MachineMemory::Mapping {
 public:
  Mapping(std::shared_ptr<MachineMemory> memory, std::string name)
      : memory_(std::move(memory)), name_(std::move(name)) {}
  ~Mapping() {
    if (address >= 0) {
      const std::lock_guard lock(memory_->mutex_);
      const auto place = memory_->places_.find(address);
      memory_->used_ -= place->second.end - place->first;
      memory_->places_.erase(place);
    }
    if (descriptor_.valid()) munmap(bytes_.data(), bytes_.size());
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  // Memory of its own. After the place is taken: no memory is filled for what has none.
  void make_private() {
    own_.resize(static_cast<size_t>(size));
    adopt(own_);
  }
  Status make_exportable() {
    constexpr size_t kLongestName = 200;  // of a memfd: 249
    base::Descriptor fd(memfd_create(name_.substr(0, kLongestName).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!fd.valid() || ftruncate(fd.get(), size) != 0 || fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0)
      return fail(ErrorCode::OutOfMemory, "buffer '{}': no shared memory of {} bytes: {}", name_, size,
                  std::strerror(errno));
    return share(std::move(fd));
  }
  Status share(base::Descriptor fd) {
    void* at = mmap(nullptr, static_cast<size_t>(size), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (at == MAP_FAILED)
      return fail(ErrorCode::OutOfMemory, "buffer '{}': {} bytes cannot be mapped: {}", name_, size,
                  std::strerror(errno));
    descriptor_ = std::move(fd);
    adopt({static_cast<uint8_t*>(at), static_cast<size_t>(size)});
    return {};
  }
  const std::string& name() const { return name_; }
  std::span<uint8_t> bytes() const { return bytes_; }
  const base::Descriptor& descriptor() const { return descriptor_; }
  const std::shared_ptr<machine::MarkedBytes>& block() const { return block_; }

  int64_t address = -1;              // none yet
  int64_t size = 0;                  // bytes
  int32_t readers = 0, writers = 0;  // jobs in flight

 private:
  void adopt(std::span<uint8_t> bytes) {
    bytes_ = bytes;
    block_ = std::make_shared<machine::MarkedBytes>(bytes, name_);
  }

  std::shared_ptr<MachineMemory> memory_;
  std::string name_;
  std::vector<uint8_t> own_;
  std::span<uint8_t> bytes_;
  base::Descriptor descriptor_;  // of shared memory
  std::shared_ptr<machine::MarkedBytes> block_;
};

// The first gap of so many bytes; none: -1.
int64_t MachineMemory::find_gap(int64_t bytes) const {
  int64_t begin = kFirstAddress;
  for (const auto& [address, place] : places_) {
    if (bytes + kPage <= address - begin) return begin;
    begin = place.end;
  }
  return bytes <= end_ - begin ? begin : -1;
}

int64_t MachineMemory::largest_gap() const {
  int64_t begin = kFirstAddress, largest = 0;
  for (const auto& [address, place] : places_) {
    largest = std::max(largest, address - begin - kPage);
    begin = place.end;
  }
  return std::max(largest, end_ - begin);
}

AddressSpace MachineMemory::space() const {
  const std::lock_guard lock(mutex_);
  return {end_, used_};
}

Result<Buffer> MachineMemory::place(std::shared_ptr<Mapping> mapping) {
  const std::lock_guard lock(mutex_);
  const int64_t begin = mapping->size > end_ ? -1 : find_gap(mapping->size);
  if (begin < 0)
    return fail(ErrorCode::OutOfMemory,
                "buffer '{}': {} bytes do not fit: of the {} bytes of device addresses {} are taken, the "
                "largest gap has {}",
                mapping->name(), mapping->size, end_, used_, largest_gap());
  const int64_t end = (begin + mapping->size + kPage - 1) / kPage * kPage + kPage;
  places_[begin] = {end, mapping.get()};
  used_ += end - begin;
  mapping->address = begin;
  return Buffer{static_cast<uint32_t>(begin), {}, std::move(mapping)};
}

Result<Buffer> MachineMemory::allocate(int64_t bytes, const std::string& name, Kind kind) {
  if (bytes < 1) return fail(ErrorCode::InvalidArgument, "buffer '{}': {} bytes", name, bytes);
  try {
    const auto mapping = std::make_shared<Mapping>(shared_from_this(), name);
    mapping->size = bytes;
    Buffer buffer = PERAXIS_TRY(place(mapping));
    if (kind == Kind::Exportable)
      PERAXIS_TRY(mapping->make_exportable());
    else
      mapping->make_private();
    buffer.bytes = mapping->bytes();
    return buffer;
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::OutOfMemory, "buffer '{}': no memory for {} bytes", name, bytes);
  }
}

Result<Buffer> MachineMemory::import_memory(int fd, const std::string& name) {
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
    return fail(ErrorCode::InvalidArgument,
                "buffer '{}': descriptor {} is no memory that keeps its size (a memfd with F_SEAL_SHRINK)",
                name, fd);
  const auto mapping = std::make_shared<Mapping>(shared_from_this(), name);
  mapping->size = lseek(fd, 0, SEEK_END);
  if (mapping->size < 1)
    return fail(ErrorCode::InvalidArgument, "buffer '{}': descriptor {} has {} bytes", name, fd,
                mapping->size);
  Buffer buffer = PERAXIS_TRY(place(mapping));
  base::Descriptor own(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!own.valid())
    return fail(ErrorCode::OutOfMemory, "buffer '{}': no descriptor left: {}", name, std::strerror(errno));
  PERAXIS_TRY(mapping->share(std::move(own)));
  mapping->block()->mark_written(0, mapping->size);
  buffer.bytes = mapping->bytes();
  return buffer;
}

// The lock is held.
Result<MachineMemory::Mapping*> MachineMemory::find(const Buffer& buffer) const {
  const auto place = places_.find(buffer.address);
  if (place == places_.end() || place->second.mapping != buffer.owner.get())
    return fail(ErrorCode::InvalidArgument, "the buffer at {:#x} of {} bytes is of another device",
                buffer.address, buffer.bytes.size());
  return place->second.mapping;
}

Result<base::Descriptor> MachineMemory::export_memory(const Buffer& buffer) {
  const std::lock_guard lock(mutex_);
  const Mapping& mapping = *PERAXIS_TRY(find(buffer));
  if (!mapping.descriptor().valid())
    return fail(ErrorCode::InvalidArgument, "buffer '{}' was not allocated as exportable", mapping.name());
  base::Descriptor out(fcntl(mapping.descriptor().get(), F_DUPFD_CLOEXEC, 0));
  if (!out.valid())
    return fail(ErrorCode::OutOfMemory, "buffer '{}': no descriptor left: {}", mapping.name(),
                std::strerror(errno));
  return out;
}

Status MachineMemory::check_readable(const Buffer& buffer) const {
  const std::lock_guard lock(mutex_);
  const Mapping& mapping = *PERAXIS_TRY(find(buffer));
  if (mapping.writers > 0)
    return fail(ErrorCode::InvalidArgument, "buffer '{}': a job that writes it has not ended",
                mapping.name());
  return {};
}

Status MachineMemory::mark_written(const Buffer& buffer, int64_t offset, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  const Mapping& mapping = *PERAXIS_TRY(find(buffer));
  if (mapping.writers + mapping.readers > 0)
    return fail(ErrorCode::InvalidArgument, "buffer '{}': a job that uses it has not ended", mapping.name());
  mapping.block()->mark_written(offset, bytes);
  return {};
}

Status MachineMemory::begin_use(const Job& job) {
  const std::lock_guard lock(mutex_);
  for (const auto* list : {&job.reads, &job.writes})
    for (const Buffer& buffer : *list) PERAXIS_TRY(find(buffer));
  for (const Buffer& buffer : job.reads) ++(*find(buffer))->readers;
  for (const Buffer& buffer : job.writes) ++(*find(buffer))->writers;
  return {};
}

void MachineMemory::end_use(const Job& job) {
  const std::lock_guard lock(mutex_);
  for (const Buffer& buffer : job.reads) --(*find(buffer))->readers;
  for (const Buffer& buffer : job.writes) --(*find(buffer))->writers;
}

std::shared_ptr<machine::MarkedBytes> MachineMemory::block_of(const Buffer& buffer) const {
  const std::lock_guard lock(mutex_);
  return (*find(buffer))->block();
}

}  // namespace peraxis::device
