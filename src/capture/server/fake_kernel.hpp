// A DRM driver without hardware: files, buffer objects, fences, dma-bufs and sync_files as programs see them.
// What all drivers share is here; rocket/ and rknpu/ add their own calls. Nothing here knows how the calls
// come: socket_server.hpp brings them from other processes, tests and device back-ends make them directly.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "capture/server/addresses.hpp"
#include "capture/server/executor.hpp"
#include "capture/server/faults.hpp"
#include "device/uapi/drm.hpp"

namespace peraxis::capture {

// The program behind a call.
class Caller {
 public:
  virtual ~Caller() = default;
  // Its memory. False: not accessible.
  virtual bool read(uint64_t address, std::span<uint8_t> to) = 0;
  virtual bool write(uint64_t address, std::span<const uint8_t> from) = 0;
  // The object behind a descriptor that the argument holds.
  virtual Key object_of(int32_t fd) = 0;
  // The call waits; false: the program is gone, give up.
  virtual bool still_there() { return true; }
};

struct CallResult {
  int64_t result = 0;     // >= 0 or a negative errno
  Descriptor descriptor;  // a new one for the program
  uint64_t descriptor_at = 0;
  bool close_on_exec = true;
};
struct MapResult {
  int32_t result = 0;  // 0 or a negative errno
  std::shared_ptr<SharedMemory> memory;
};

struct KernelOptions {
  std::unique_ptr<Executor> executor;
  Faults faults;
  bool strict = false;
  std::chrono::milliseconds job_time{500};
};

class FakeKernel {
 public:
  explicit FakeKernel(KernelOptions options);
  virtual ~FakeKernel();
  FakeKernel(const FakeKernel&) = delete;
  FakeKernel& operator=(const FakeKernel&) = delete;

  virtual const char* driver_name() const = 0;
  // A new open file, `flags` as of open(). The descriptor stays the file while a copy of it is open.
  CallResult open(int flags);
  CallResult ioctl(Key object, uint32_t request, uint64_t argument, Caller& caller);
  MapResult map(Key object, uint64_t offset, uint64_t length, int protection, int flags);
  ObjectKind kind_of(Key object);
  int64_t size_of(Key dma_buf);  // -1: no dma-buf
  Findings& findings() { return findings_; }
  // Waits until no file is open; for tests and for the end of a run.
  bool wait_closed(std::chrono::milliseconds time);

 protected:
  using Lock = std::unique_lock<std::mutex>;
  struct File {
    uint64_t id = 0;
    int flags = 0;
    std::map<uint32_t, std::shared_ptr<Bo>> handles;
    std::set<uint64_t> exported;  // objects with a dma-buf of this file
  };

  // The driver's own calls; `index` counts from 0x40. `lock` is held.
  virtual CallResult driver_call(File& file, uint32_t request, uint64_t argument, Caller& caller,
                                 Lock& lock) = 0;
  // What faults call the driver's own calls; the base knows those that all drivers share.
  virtual std::string_view call_name(uint32_t request) const;
  virtual std::string_view description() const = 0;
  struct Version {
    int32_t major = 0, minor = 0, patch = 0;
    const char* date = "0";
  };
  virtual Version driver_version() const { return {}; }
  virtual void opened(File&) {}
  // The last descriptor is closed. `lock` is held; handles are still there.
  virtual void released(File&) {}
  // A handle or its file is gone, others may still have the object.
  virtual void handle_closed(File&, const std::shared_ptr<Bo>&) {}
  virtual uint64_t object_bytes(const Bo& bo) const { return static_cast<uint64_t>(whole_pages(bo.size)); }

  // Kernel structs of programs that know shorter or longer ones: what is missing is zero.
  template <class T>
  static bool get(Caller& caller, uint32_t request, uint64_t argument, T& out) {
    out = T{};
    const size_t bytes = std::min<size_t>(uapi::ioctl_size(request), sizeof(T));
    return caller.read(argument, {reinterpret_cast<uint8_t*>(&out), bytes});
  }
  template <class T>
  static bool put(Caller& caller, uint32_t request, uint64_t argument, const T& value) {
    const size_t bytes = std::min<size_t>(uapi::ioctl_size(request), sizeof(T));
    return caller.write(argument, {reinterpret_cast<const uint8_t*>(&value), bytes});
  }
  static CallResult error(int number) {
    CallResult out;
    out.result = -number;
    return out;
  }

  uint32_t new_handle(File& file, std::shared_ptr<Bo> bo);
  std::shared_ptr<Bo> find_handle(const File& file, uint32_t handle) const;
  // `memory` of whole pages and a place for mmap.
  Result<std::shared_ptr<Bo>> new_bo(File& file, int64_t size);
  // `bo` gets a new writer; its dma-buf becomes readable when it ends.
  void set_writer(const std::shared_ptr<Bo>& bo, const std::shared_ptr<Fence>& fence);
  CallResult new_sync_file(const std::shared_ptr<Fence>& fence, uint64_t descriptor_at);
  std::shared_ptr<Fence> fence_of(Key sync_file) const;
  File* find_file(uint64_t id);

  KernelOptions options_;
  Findings findings_;
  mutable std::mutex lock_;          // guards everything below and the drivers' own state
  std::condition_variable changed_;  // a fence finished, a job came, a file was released, the end

 private:
  struct Object {
    ObjectKind kind = ObjectKind::None;
    std::unique_ptr<Pipe> pipe;
    File file;
    std::shared_ptr<Bo> bo;
    std::shared_ptr<Fence> fence;
  };
  CallResult generic_call(File& file, uint32_t request, uint64_t argument, Caller& caller);
  CallResult version(uint32_t request, uint64_t argument, Caller& caller);
  CallResult export_handle(File& file, uint32_t request, uint64_t argument, Caller& caller);
  CallResult import_handle(File& file, uint32_t request, uint64_t argument, Caller& caller);
  CallResult dma_buf_call(Object& object, uint32_t request, uint64_t argument, Caller& caller);
  CallResult sync_file_call(Object& object, uint32_t request, uint64_t argument, Caller& caller);
  CallResult injected(std::string_view call);
  // Registers the object under its pipe; the result has that key and the program's end.
  Result<std::pair<Key, Descriptor>> add_object(Object object);
  Object* find(Key key);
  void reap();
  void release(Key key);

  std::map<Key, Object> objects_;
  uint64_t next_file_ = 1, next_map_offset_ = 0x100000000;
  bool stopping_ = false;
  Descriptor wake_;  // eventfd: the set of pipes changed
  std::thread reaper_;

 protected:
  bool stopping() const { return stopping_; }
  // Called first by the destructors of the drivers: their threads end.
  void stop();
};

// Blocks SIGPIPE in the calling thread: writing to a pipe whose reader is just going is no error here.
void block_sigpipe();

}  // namespace peraxis::capture
