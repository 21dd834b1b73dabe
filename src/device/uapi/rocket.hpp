// The calls of the mainline driver `rocket` (/dev/accel/accelN) as binary facts: layouts and numbers.
#pragma once

#include "device/uapi/drm.hpp"

namespace peraxis::uapi::rocket {

struct CreateBo {
  uint32_t size;         // in: bytes
  uint32_t handle;       // out: of this file
  uint64_t dma_address;  // out: as the NPU sees it, below 4 GiB
  uint64_t offset;       // out: for mmap on the same file
};
static_assert(sizeof(CreateBo) == 24 && offsetof(CreateBo, offset) == 16);

struct Submit {
  uint64_t jobs;  // address of Job[job_count], job_struct_size apart
  uint32_t job_count, job_struct_size;
  uint64_t reserved;  // 0
};
static_assert(sizeof(Submit) == 24);

struct Job {
  uint64_t tasks;  // address of Task[task_count], task_struct_size apart
  uint64_t in_bo_handles, out_bo_handles;
  uint32_t task_count, task_struct_size;
  uint32_t in_bo_handle_count, out_bo_handle_count;
};
static_assert(sizeof(Job) == 40 && offsetof(Job, task_count) == 24);

struct Task {
  uint32_t regcmd;        // device address of the first command word
  uint32_t regcmd_count;  // 64-bit words
};
static_assert(sizeof(Task) == 8);

struct PrepBo {
  uint32_t handle, reserved;
  int64_t timeout_ns;  // an absolute time of CLOCK_MONOTONIC
};
static_assert(sizeof(PrepBo) == 16);

struct FiniBo {
  uint32_t handle, reserved;
};
static_assert(sizeof(FiniBo) == 8);

constexpr uint32_t kCreateBo = ioctl_number(kReadWrite, kDrmType, 0x40, sizeof(CreateBo));
constexpr uint32_t kSubmit = ioctl_number(kWrite, kDrmType, 0x41, sizeof(Submit));
constexpr uint32_t kPrepBo = ioctl_number(kWrite, kDrmType, 0x42, sizeof(PrepBo));
constexpr uint32_t kFiniBo = ioctl_number(kWrite, kDrmType, 0x43, sizeof(FiniBo));
static_assert(kCreateBo == 0xC0186440 && kSubmit == 0x40186441);
static_assert(kPrepBo == 0x40106442 && kFiniBo == 0x40086443);

constexpr char kName[] = "rocket", kDescription[] = "rocket DRM";
constexpr uint32_t kAccelMajor = 261;  // of the character device

}  // namespace peraxis::uapi::rocket
