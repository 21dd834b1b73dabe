// What hooks and recorder share.
#pragma once

#include "capture/client/system.hpp"

namespace peraxis::capture::client {

// The calls as they would be without the recorder: the kernel's or the fake kernel's.
long pass_ioctl(int fd, uint32_t request, void* argument);
// The recorder's own view of a buffer, read-only; null when it cannot be mapped.
void* pass_map(size_t bytes, int fd, uint64_t offset);

long do_open(int directory, const char* path, int flags, unsigned mode);
long do_stat(int directory, const char* path, struct stat* status, int flags);
long do_fstat(int fd, struct stat* status);

}  // namespace peraxis::capture::client
