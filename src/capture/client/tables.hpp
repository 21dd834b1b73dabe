// Open files and their buffers, as the recorder knows them.
#pragma once

#include "capture/client/system.hpp"
#include "capture/log_format.hpp"

namespace peraxis::capture::client {

struct RecordedFile {
  uint32_t id;  // 0: free
  log::Driver driver;
  uint32_t copies;   // descriptors
  uint32_t submits;  // so far
  uint64_t inode, device;
  Lock lock;  // one submit at a time: contents before and after belong to it
};

struct RecordedBo {
  uint32_t file, handle;  // file 0: free
  uint64_t address, size, object;
  uint32_t flags;
  bool recorded;  // the log has its content
  uint64_t checksum;
  void* map;
  size_t map_bytes;
};

class Tables {
 public:
  // Null when the table is full.
  RecordedFile* open(int fd, log::Driver driver) {
    if (fd < 0 || static_cast<size_t>(fd) >= kDescriptors) return nullptr;
    for (size_t i = 0; i < kFiles; ++i) {
      if (files_[i].id != 0) continue;
      files_[i] = {++last_id_, driver, 1, 0, 0, 0, {}};
      struct stat status;
      if (sys_fstat(fd, &status) == 0) {
        files_[i].inode = status.st_ino;
        files_[i].device = status.st_dev;
      }
      file_of_[fd] = static_cast<uint16_t>(i + 1);
      return &files_[i];
    }
    return nullptr;
  }
  RecordedFile* file_of(int fd) {
    if (fd < 0 || static_cast<size_t>(fd) >= kDescriptors || file_of_[fd] == 0) return nullptr;
    RecordedFile& file = files_[file_of_[fd] - 1];
    struct stat status;  // the number may have been closed where no hook saw it
    if (file.id == 0 || sys_fstat(fd, &status) != 0 || status.st_ino != file.inode ||
        status.st_dev != file.device) {
      file_of_[fd] = 0;
      return nullptr;
    }
    return &file;
  }
  void copy(int from, int to) {
    RecordedFile* file = file_of(from);
    if (file == nullptr || to < 0 || static_cast<size_t>(to) >= kDescriptors) return;
    file_of_[to] = file_of_[from];
    ++file->copies;
  }
  // The id of the file when this was its last descriptor, else 0.
  uint32_t close(int fd) {
    RecordedFile* file = file_of(fd);
    if (file == nullptr) return 0;
    file_of_[fd] = 0;
    if (--file->copies > 0) return 0;
    const uint32_t id = file->id;
    file->id = 0;
    return id;
  }

  RecordedBo* add_bo() {
    for (size_t i = 0; i < kBos; ++i)
      if (bos_[i].file == 0) {
        if (i >= bos_used_) bos_used_ = i + 1;
        return &bos_[i];
      }
    return nullptr;
  }
  RecordedBo* find_bo(uint32_t file, uint32_t handle) {
    for (size_t i = 0; i < bos_used_; ++i)
      if (bos_[i].file == file && bos_[i].handle == handle) return &bos_[i];
    return nullptr;
  }
  RecordedBo* find_object(uint32_t file, uint64_t object) {
    for (size_t i = 0; i < bos_used_; ++i)
      if (bos_[i].file == file && bos_[i].object == object) return &bos_[i];
    return nullptr;
  }
  template <class Each>
  void for_each_file(const Each& each) {
    for (RecordedFile& file : files_)
      if (file.id != 0) each(file);
  }
  template <class Each>
  void for_each_bo(const Each& each) {
    for (size_t i = 0; i < bos_used_; ++i)
      if (bos_[i].file != 0) each(bos_[i]);
  }

 private:
  static constexpr size_t kFiles = 1024, kBos = 65536, kDescriptors = 65536;
  RecordedFile files_[kFiles];
  RecordedBo bos_[kBos];
  uint16_t file_of_[kDescriptors];
  size_t bos_used_;
  uint32_t last_id_;
};

}  // namespace peraxis::capture::client
