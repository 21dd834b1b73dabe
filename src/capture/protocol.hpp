// What the preloaded library and the fake kernel say to each other. One connection a call: the library
// connects, sends a request, reads the reply and closes; so threads, forks and killed processes need no
// bookkeeping.
//
// A kernel object in the program (device file, dma-buf, sync_file) is the reading end of a pipe whose writing
// end the server holds. Its inode names it, whatever the descriptor's number, and in every process that
// inherits or receives it; its lifetime is the real kernel's business; when the last copy is closed, the
// server's end reports an error; a byte in it makes poll() wake.
#pragma once

#include <cstdint>

namespace peraxis::capture {

struct Key {  // st_dev and st_ino of a descriptor; zero: none
  uint64_t device, inode;
};
inline bool operator==(const Key& a, const Key& b) {
  return a.device == b.device && a.inode == b.inode;
}
inline bool operator<(const Key& a, const Key& b) {
  return a.device != b.device ? a.device < b.device : a.inode < b.inode;
}

enum class Call : uint32_t {
  Open = 1,  // a: flags. The reply carries the new descriptor.
  Ioctl,     // a: request number, b: address of the argument
  Map,   // a: offset, b: length, c: PROT_ bits, d: MAP_ bits. The reply carries the memory, value: offset in
         // it
  Size,  // the reply's value: bytes of a dma-buf
  Kind,  // the reply's value: ObjectKind, 0 when the key is none of ours
};
enum class ObjectKind : uint32_t { None, File, DmaBuf, SyncFile };

constexpr uint32_t kRequestMagic = 0x51525850, kReplyMagic = 0x50525850;  // "PXRQ", "PXRP"
constexpr uint32_t kMostMessageBytes = 64U << 20;

struct RequestHead {
  uint32_t magic;
  Call call;
  Key object;  // what the call is made on
  Key other;   // the object behind a descriptor inside the argument (PRIME_FD_TO_HANDLE, fences)
  uint64_t a, b, c, d;
  uint32_t process;  // pid, for the report
  uint32_t bytes;    // of the segments that follow
};
// A piece of the program's memory. In a request: what the kernel may read, already copied; what could not be
// copied is left out, and the kernel answers EFAULT. In a reply: what the kernel writes.
struct SegmentHead {
  uint64_t address;
  uint64_t size;  // followed by so many bytes, padded to a multiple of 8
};
struct ReplyHead {
  uint32_t magic;
  int32_t result;  // of the call: >= 0 or a negative errno
  uint64_t value;
  uint64_t descriptor_at;  // where the number of the descriptor that comes along is written; 0: nowhere
  uint32_t close_on_exec;  // of that descriptor
  uint32_t bytes;          // of the segments that follow
};

// What the library reads in its environment.
constexpr char kSocketVariable[] = "PERAXIS_CAPTURE_SOCKET";  // path; set: a fake kernel is there
constexpr char kRootVariable[] = "PERAXIS_CAPTURE_ROOT";      // a folder with the fake /dev and /sys
constexpr char kLogVariable[] = "PERAXIS_CAPTURE_LOG";        // a folder; set: calls are recorded there
constexpr char kRegcmdVariable[] = "PERAXIS_CAPTURE_REGCMD_ONLY";

}  // namespace peraxis::capture
