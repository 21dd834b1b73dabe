// Buffers of the machine model: their places among the device's addresses, their bytes, and which jobs use
// them. Shared by the device and its buffers, which may outlive it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "device/device.hpp"
#include "machine/memory.hpp"

namespace peraxis::device {

class MachineMemory : public std::enable_shared_from_this<MachineMemory> {
 public:
  class Mapping;
  enum class Kind : uint8_t { Private, Exportable };

  // `end`: the first address that no buffer may reach.
  explicit MachineMemory(int64_t end) : end_(end) {}

  Result<Buffer> allocate(int64_t bytes, const std::string& name, Kind kind);
  Result<Buffer> import_memory(int fd, const std::string& name);
  Result<base::Descriptor> export_memory(const Buffer& buffer);
  AddressSpace space() const;

  // Refuse what a job in flight forbids; see Device::begin_cpu_access.
  Status check_readable(const Buffer& buffer) const;
  Status mark_written(const Buffer& buffer, int64_t offset, int64_t bytes);

  // What a job in flight holds. All of its buffers are of this memory, or nothing is counted.
  Status begin_use(const Job& job);
  void end_use(const Job& job);
  // The marked bytes of a buffer of a job in flight.
  std::shared_ptr<machine::MarkedBytes> block_of(const Buffer& buffer) const;

 private:
  Result<Buffer> place(std::shared_ptr<Mapping> mapping);
  int64_t find_gap(int64_t bytes) const;
  int64_t largest_gap() const;
  Result<Mapping*> find(const Buffer& buffer) const;

  struct Place {
    int64_t end = 0;  // with the page behind it that stays unmapped
    Mapping* mapping = nullptr;
  };
  const int64_t end_;
  mutable std::mutex mutex_;         // guards what follows and what mappings say of jobs
  std::map<int64_t, Place> places_;  // by address
  int64_t used_ = kFirstAddress;

  static constexpr int64_t kFirstAddress = 0x10000;
};

}  // namespace peraxis::device
