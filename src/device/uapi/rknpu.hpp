// The calls of Rockchip's driver `rknpu` as binary facts: layouts and numbers. It is a DRM device
// (/dev/dri/cardN) or, built without DRM, the device /dev/rknpu with the same structs and type 'r'.
#pragma once

#include "device/uapi/drm.hpp"

namespace peraxis::uapi::rknpu {

struct Action {
  uint32_t flags;  // which: ActionKind
  uint32_t value;  // in or out
};
static_assert(sizeof(Action) == 8);

struct MemCreate {
  uint32_t handle, flags;
  uint64_t size;       // in: bytes
  uint64_t obj_addr;   // out: names the object in other calls
  uint64_t dma_addr;   // out: as the NPU sees it
  uint64_t sram_size;  // out
  int32_t iommu_domain_id;
  uint32_t core_mask;
};
static_assert(sizeof(MemCreate) == 48 && offsetof(MemCreate, iommu_domain_id) == 40);
constexpr uint32_t kOldMemCreateSize = 40;  // ends before iommu_domain_id

struct MemMap {
  uint32_t handle, reserved;
  uint64_t offset;  // out: for mmap
};
static_assert(sizeof(MemMap) == 16);

struct MemDestroy {
  uint32_t handle, reserved;
  uint64_t obj_addr;
};
static_assert(sizeof(MemDestroy) == 16);

struct MemSync {
  uint32_t flags, reserved;
  uint64_t obj_addr, offset, size;
};
static_assert(sizeof(MemSync) == 32);

struct SubcoreTask {
  uint32_t start, number;
};
constexpr uint32_t kSubcores = 5;
struct Submit {
  uint32_t flags, timeout_ms, task_start, task_number;
  uint32_t task_counter;  // out: tasks finished
  int32_t priority;
  uint64_t task_obj_addr;  // the object that holds the list of tasks
  uint32_t iommu_domain_id, reserved;
  uint64_t task_base_addr;  // added to all addresses of the commands
  int64_t hw_elapse_time;   // out, ns
  uint32_t core_mask;       // 0: the driver chooses
  int32_t fence_fd;
  SubcoreTask subcore[kSubcores];
};
static_assert(sizeof(Submit) == 104 && offsetof(Submit, core_mask) == 56 && offsetof(Submit, subcore) == 64);

// An entry of the list of tasks, 40 bytes without gaps.
struct Task {
  uint32_t flags, op_index, enable_mask;
  uint32_t int_mask, int_clear;
  uint32_t int_status;     // out
  uint32_t regcfg_amount;  // 64-bit words without the tail of four
  uint32_t regcfg_offset;
  uint64_t regcmd_addr;  // device address of the first word
};
static_assert(sizeof(Task) == 40 && offsetof(Task, regcmd_addr) == 32);
constexpr uint32_t kTailWords = 4;

constexpr uint32_t kActionIndex = 0x40, kSubmitIndex = 0x41, kMemCreateIndex = 0x42, kMemMapIndex = 0x43,
                   kMemDestroyIndex = 0x44, kMemSyncIndex = 0x45;
constexpr uint32_t kAction = ioctl_number(kReadWrite, kDrmType, kActionIndex, sizeof(Action));
constexpr uint32_t kSubmit = ioctl_number(kReadWrite, kDrmType, kSubmitIndex, sizeof(Submit));
constexpr uint32_t kMemCreate = ioctl_number(kReadWrite, kDrmType, kMemCreateIndex, sizeof(MemCreate));
constexpr uint32_t kOldMemCreate = ioctl_number(kReadWrite, kDrmType, kMemCreateIndex, kOldMemCreateSize);
constexpr uint32_t kMemMap = ioctl_number(kReadWrite, kDrmType, kMemMapIndex, sizeof(MemMap));
constexpr uint32_t kMemDestroy = ioctl_number(kReadWrite, kDrmType, kMemDestroyIndex, sizeof(MemDestroy));
constexpr uint32_t kMemSync = ioctl_number(kReadWrite, kDrmType, kMemSyncIndex, sizeof(MemSync));
static_assert(kAction == 0xC0086440 && kSubmit == 0xC0686441);
static_assert(kMemCreate == 0xC0306442 && kOldMemCreate == 0xC0286442);
static_assert(kMemMap == 0xC0106443 && kMemDestroy == 0xC0106444 && kMemSync == 0xC0206445);
constexpr char kMiscType = 'r';  // of /dev/rknpu, whose call numbers start at 0

// Submit::flags
constexpr uint32_t kJobPc = 1, kJobNonBlock = 2, kJobPingPong = 4, kJobFenceIn = 8, kJobFenceOut = 16;
// MemCreate::flags
constexpr uint32_t kNonContiguous = 1, kCacheable = 2, kWriteCombine = 4, kKernelMapping = 8, kIommu = 0x10;
// MemSync::flags
constexpr uint32_t kSyncToDevice = 1, kSyncFromDevice = 2;
constexpr uint32_t kMostTasksOfKick = 4095;

enum class ActionKind : uint32_t {
  GetHwVersion = 0,
  GetDriverVersion = 1,
  GetFrequency = 2,
  SetFrequency = 3,
  GetVoltage = 4,
  SetVoltage = 5,
  Reset = 6,
  GetBwPriority = 7,
  SetBwPriority = 8,
  GetBwExpect = 9,
  SetBwExpect = 10,
  GetBwTw = 11,
  SetBwTw = 12,
  ClearTotalAmounts = 13,
  GetWriteAmount = 14,
  GetReadAmount = 15,
  GetWeightAmount = 16,
  GetTotalAmount = 17,
  GetIommuEnabled = 18,
  SetProcessNice = 19,
  PowerOn = 20,
  PowerOff = 21,
  GetTotalSram = 22,
  GetFreeSram = 23,
  GetIommuDomain = 24,
  SetIommuDomain = 25,
};

constexpr char kName[] = "rknpu", kDescription[] = "RKNPU driver";
constexpr uint32_t kDrmMajor = 226;  // of the character device

}  // namespace peraxis::uapi::rknpu
