// Records what a program submits (capture/log_format.hpp): buffers before and after, jobs, tasks, results,
// times.
#pragma once

#include "capture/client/system.hpp"

namespace peraxis::capture::client {

// `folder`: where the log goes; null: nothing is recorded.
void start_recorder(const char* folder, bool commands_only);

long recorded_ioctl(int fd, uint32_t request, void* argument);
void recorder_opened(int fd, const char* path);
void recorder_copied(int from, int to);
void recorder_closing(int fd);

}  // namespace peraxis::capture::client
