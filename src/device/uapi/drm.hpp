// What programs and kernels exchange beside the NPU drivers' own calls: generic DRM, dma-buf and sync_file.
// Facts about binary interfaces, written down from their documentation: numbers, sizes, offsets. Plain
// structs without a constructor: they are filled from and copied to bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace peraxis::uapi {

// The parts of an ioctl number.
constexpr uint32_t kNone = 0, kWrite = 1, kRead = 2, kReadWrite = 3;  // as the program sees it
constexpr uint32_t ioctl_number(uint32_t direction, char type, uint32_t number, size_t size) {
  return direction << 30 | static_cast<uint32_t>(size) << 16 | static_cast<uint32_t>(type) << 8 | number;
}
constexpr uint32_t ioctl_size(uint32_t request) {
  return request >> 16 & 0x3FFF;
}
constexpr char ioctl_type(uint32_t request) {
  return static_cast<char>(request >> 8 & 0xFF);
}
constexpr uint32_t ioctl_index(uint32_t request) {
  return request & 0xFF;
}
constexpr uint32_t ioctl_direction(uint32_t request) {
  return request >> 30;
}

constexpr char kDrmType = 'd', kDmaBufType = 'b', kSyncType = '>';
constexpr uint32_t kDriverCalls = 0x40;  // the first number of a driver's own DRM calls
constexpr uint32_t kDriverCallsEnd = 0xA0;

struct DrmVersion {
  int32_t major, minor, patch;
  uint32_t pad;
  uint64_t name_length, name;
  uint64_t date_length, date;
  uint64_t description_length, description;
};
static_assert(sizeof(DrmVersion) == 64 && offsetof(DrmVersion, name) == 24);
struct DrmUnique {
  uint64_t length, unique;
};
static_assert(sizeof(DrmUnique) == 16);
struct DrmGetCap {
  uint64_t capability, value;
};
static_assert(sizeof(DrmGetCap) == 16);
struct DrmGemClose {
  uint32_t handle, pad;
};
static_assert(sizeof(DrmGemClose) == 8);
struct DrmPrimeHandle {
  uint32_t handle, flags;
  int32_t fd;
};
static_assert(sizeof(DrmPrimeHandle) == 12);
struct DrmSetVersion {
  int32_t interface_major, interface_minor, driver_major, driver_minor;
};
static_assert(sizeof(DrmSetVersion) == 16);

constexpr uint32_t kDrmVersion = ioctl_number(kReadWrite, kDrmType, 0x00, sizeof(DrmVersion));
constexpr uint32_t kDrmGetUnique = ioctl_number(kReadWrite, kDrmType, 0x01, sizeof(DrmUnique));
constexpr uint32_t kDrmSetVersion = ioctl_number(kReadWrite, kDrmType, 0x07, sizeof(DrmSetVersion));
constexpr uint32_t kDrmGemClose = ioctl_number(kWrite, kDrmType, 0x09, sizeof(DrmGemClose));
constexpr uint32_t kDrmGetCap = ioctl_number(kReadWrite, kDrmType, 0x0C, sizeof(DrmGetCap));
constexpr uint32_t kDrmPrimeHandleToFd = ioctl_number(kReadWrite, kDrmType, 0x2D, sizeof(DrmPrimeHandle));
constexpr uint32_t kDrmPrimeFdToHandle = ioctl_number(kReadWrite, kDrmType, 0x2E, sizeof(DrmPrimeHandle));
static_assert(kDrmVersion == 0xC0406400 && kDrmGetUnique == 0xC0106401 && kDrmGemClose == 0x40086409);
static_assert(kDrmGetCap == 0xC010640C && kDrmPrimeHandleToFd == 0xC00C642D);
static_assert(kDrmPrimeFdToHandle == 0xC00C642E);
constexpr uint32_t kDrmModeCreateDumb = 0xC02064B2, kDrmSyncobjCreate = 0xC00864BF;
constexpr uint64_t kCapPrime = 0x5, kCapSyncobj = 0x13, kCapSyncobjTimeline = 0x14;
constexpr uint32_t kPrimeCloexec = 02000000, kPrimeReadWrite = 2;  // O_CLOEXEC, O_RDWR

// dma-buf
struct DmaBufSync {
  uint64_t flags;
};
struct DmaBufSyncFile {
  uint32_t flags;
  int32_t fd;
};
static_assert(sizeof(DmaBufSync) == 8 && sizeof(DmaBufSyncFile) == 8);
constexpr uint32_t kDmaBufSync = ioctl_number(kWrite, kDmaBufType, 0, sizeof(DmaBufSync));
constexpr uint32_t kDmaBufExportSyncFile = ioctl_number(kReadWrite, kDmaBufType, 2, sizeof(DmaBufSyncFile));
constexpr uint32_t kDmaBufImportSyncFile = ioctl_number(kWrite, kDmaBufType, 3, sizeof(DmaBufSyncFile));
static_assert(kDmaBufExportSyncFile == 0xC0086202);

// sync_file
struct SyncFileInfo {
  char name[32];
  int32_t status;
  uint32_t flags, fence_count, pad;
  uint64_t fences;  // SyncFenceInfo[fence_count]
};
struct SyncFenceInfo {
  char object[32], driver[32];
  int32_t status;
  uint32_t flags;
  uint64_t timestamp_ns;
};
static_assert(sizeof(SyncFileInfo) == 56 && sizeof(SyncFenceInfo) == 80);
constexpr uint32_t kSyncFileInfo = ioctl_number(kReadWrite, kSyncType, 4, sizeof(SyncFileInfo));
static_assert(kSyncFileInfo == 0xC0383E04);

}  // namespace peraxis::uapi
