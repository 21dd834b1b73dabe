// A fake kernel's calls made in the process that holds it: for tests, and for drivers that take the kernel as
// a parameter. Descriptors are real ones of this process.
#pragma once

#include "capture/server/fake_kernel.hpp"

namespace peraxis::capture {

class InProcess {
 public:
  explicit InProcess(FakeKernel& kernel) : kernel_(kernel) {}

  // Results as of the system calls, with negative errno values; descriptors are closed with close().
  int open(int flags) const;
  int ioctl(int fd, uint32_t request, void* argument) const;
  // The memory, which stays mapped while the object lives; or a negative errno.
  MapResult map(int fd, uint64_t offset, uint64_t length, int protection, int flags) const;

 private:
  FakeKernel& kernel_;
};

}  // namespace peraxis::capture
