// Which paths belong to the fake kernel. Its server keeps a folder with what programs list and read; the
// library leads them there. Device files in it are plain files that stand for a device.
#pragma once

#include "capture/client/system.hpp"

namespace peraxis::capture::client {

void set_fake_root(const char* root);

// The path to use in place of `path`: in `room` (of kPathRoom bytes), or `path` itself.
constexpr size_t kPathRoom = 4096;
const char* redirected(const char* path, char* room);
// Removes the folder's name from a path that was found in it.
void unredirect(char* path);

// Whether opening the path opens an NPU: of the fake kernel, or on a board perhaps a real one.
bool is_fake_device(const char* path);
bool may_be_device(const char* path);
// Makes the status of a device file that of a device.
void become_device(const char* path, struct stat* status);
void become_device(struct stat* status);

}  // namespace peraxis::capture::client
