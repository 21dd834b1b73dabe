// Calls to a fake kernel (capture/protocol.hpp).
#pragma once

#include "capture/client/system.hpp"

namespace peraxis::capture::client {

// Null: there is none. Read once from the environment.
const char* fake_socket();
void set_fake_socket(const char* path);

// All return what the kernel would: a value or a negative errno.
long remote_open(int flags);
long remote_ioctl(int fd, uint32_t request, void* argument);
// -ENODEV when the descriptor is no object of the fake kernel.
long remote_map(void* hint, size_t length, int protection, int flags, int fd, uint64_t offset);
long remote_size(int fd);
ObjectKind remote_kind(int fd);

}  // namespace peraxis::capture::client
