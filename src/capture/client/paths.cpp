// See paths.hpp.
#include "capture/client/paths.hpp"

#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

namespace peraxis::capture::client {
namespace {

const char* fake_root = nullptr;

bool starts_with(const char* text, const char* with) {
  return strncmp(text, with, strlen(with)) == 0;
}

constexpr const char* kFolders[] = {
    "/dev/accel",     "/dev/dri",           "/dev/rknpu",         "/sys/class/accel",
    "/sys/class/drm", "/sys/dev/char/261:", "/sys/dev/char/226:", "/sys/devices/platform/fdab0000.npu"};

// The numbers in the node's file, "261 0".
bool device_numbers(const char* path, unsigned& major_number, unsigned& minor_number) {
  char room[kPathRoom], text[32] = {};
  const char* file = redirected(path, room);
  if (file == path) return false;
  const long fd = sys_open(file, O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return false;
  const long got = raw(SYS_read, fd, as_long(text), sizeof(text) - 1);
  sys_close(static_cast<int>(fd));
  if (got <= 0) return false;
  char* end = text;
  major_number = static_cast<unsigned>(strtoul(text, &end, 10));
  minor_number = static_cast<unsigned>(strtoul(end, &end, 10));
  return major_number != 0;
}

unsigned opened_major = 0, opened_minor = 0;  // of the newest: a fake kernel has one device

}  // namespace

void set_fake_root(const char* root) {
  fake_root = root;
}

const char* redirected(const char* path, char* room) {
  if (fake_root == nullptr || path == nullptr || path[0] != '/') return path;
  for (const char* folder : kFolders) {
    if (!starts_with(path, folder)) continue;
    const size_t root = strlen(fake_root), rest = strlen(path);
    if (root + rest + 1 > kPathRoom) return path;
    memcpy(room, fake_root, root);
    memcpy(room + root, path, rest + 1);
    return room;
  }
  return path;
}

void unredirect(char* path) {
  if (fake_root == nullptr || path == nullptr || !starts_with(path, fake_root)) return;
  const size_t root = strlen(fake_root);
  memmove(path, path + root, strlen(path + root) + 1);
}

bool is_fake_device(const char* path) {
  if (fake_root == nullptr || path == nullptr || !starts_with(path, "/dev/")) return false;
  return device_numbers(path, opened_major, opened_minor);
}

bool may_be_device(const char* path) {
  return path != nullptr && (starts_with(path, "/dev/accel/accel") || starts_with(path, "/dev/dri/card") ||
                             starts_with(path, "/dev/dri/renderD") || strcmp(path, "/dev/rknpu") == 0);
}

void become_device(const char* path, struct stat* status) {
  unsigned major_number = 0, minor_number = 0;
  if (!S_ISREG(status->st_mode) || !starts_with(path, "/dev/") ||
      !device_numbers(path, major_number, minor_number))
    return;
  status->st_mode = S_IFCHR | 0666;
  status->st_rdev = makedev(major_number, minor_number);
  status->st_size = 0;
}
void become_device(struct stat* status) {
  status->st_mode = S_IFCHR | 0666;
  status->st_rdev = makedev(opened_major, opened_minor);
}

}  // namespace peraxis::capture::client
