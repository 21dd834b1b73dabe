// See remote.hpp.
#include "capture/client/remote.hpp"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "device/uapi/rknpu.hpp"
#include "device/uapi/rocket.hpp"

namespace peraxis::capture::client {
namespace {

const char* socket_path = nullptr;

struct Reply {
  ReplyHead head;
  int descriptor = -1;
};

int connect_to_server() {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  size_t length = 0;
  for (; socket_path[length] != 0 && length + 1 < sizeof(address.sun_path); ++length)
    address.sun_path[length] = socket_path[length];
  const long fd = raw(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  for (;;) {
    const long result = raw(SYS_connect, fd, as_long(&address), sizeof(address));
    if (result == 0) return static_cast<int>(fd);
    if (result != -EINTR && result != -EAGAIN) break;
  }
  sys_close(static_cast<int>(fd));
  return -1;
}

bool send_bytes(int fd, const void* from, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const long sent = raw(SYS_sendto, fd, as_long(static_cast<const char*>(from) + done),
                          static_cast<long>(bytes - done), MSG_NOSIGNAL);
    if (sent == -EINTR) continue;
    if (sent <= 0) return false;
    done += static_cast<size_t>(sent);
  }
  return true;
}
bool receive_bytes(int fd, void* to, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const long got =
        raw(SYS_recvfrom, fd, as_long(static_cast<char*>(to) + done), static_cast<long>(bytes - done), 0);
    if (got == -EINTR) continue;
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

// The head and the descriptor that may come with it. 0, or -EINTR when a signal ended a call that may end so.
long receive_head(int fd, Reply& reply, bool interruptible) {
  iovec part = {&reply.head, sizeof(reply.head)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  long got = 0;
  do got = raw(SYS_recvmsg, fd, as_long(&message), MSG_CMSG_CLOEXEC);
  while (got == -EINTR && !interruptible);
  if (got == -EINTR) return -EINTR;
  if (got != static_cast<long>(sizeof(reply.head)) || reply.head.magic != kReplyMagic) return -ENODEV;
  const cmsghdr* item = CMSG_FIRSTHDR(&message);
  if (item != nullptr && item->cmsg_level == SOL_SOCKET && item->cmsg_type == SCM_RIGHTS)
    __builtin_memcpy(&reply.descriptor, CMSG_DATA(item), sizeof(reply.descriptor));
  return 0;
}

// The lowest free number, as a real call would have chosen it, with the flag that was asked for.
int settle(int fd, bool close_on_exec) {
  const long lowest = raw(SYS_fcntl, fd, close_on_exec ? F_DUPFD_CLOEXEC : F_DUPFD, 0);
  if (lowest >= 0 && lowest < fd) {
    sys_close(fd);
    return static_cast<int>(lowest);
  }
  if (lowest >= 0) sys_close(static_cast<int>(lowest));
  if (!close_on_exec) raw(SYS_fcntl, fd, F_SETFD, 0);
  return fd;
}

bool write_back(int fd, const ReplyHead& head) {
  if (head.bytes == 0) return true;
  Arena arena(head.bytes);
  void* all = arena.take(head.bytes);
  if (all == nullptr || !receive_bytes(fd, all, head.bytes)) return false;
  SafeCopy safe;
  const auto* at = static_cast<const uint8_t*>(all);
  const uint8_t* end = at + head.bytes;
  while (static_cast<size_t>(end - at) >= sizeof(SegmentHead)) {
    SegmentHead segment;
    __builtin_memcpy(&segment, at, sizeof(segment));
    at += sizeof(segment);
    if (segment.size > static_cast<uint64_t>(end - at)) return false;
    if (!safe.copy(reinterpret_cast<void*>(segment.address), at, segment.size)) return false;
    at += (segment.size + 7) / 8 * 8;
  }
  return true;
}

// Sends, waits, writes what came back into the program's memory. `reply.descriptor` is left to the caller.
long exchange(RequestHead& head, const void* segments, Reply& reply, bool interruptible) {
  const int fd = connect_to_server();
  if (fd < 0) return -ENODEV;
  head.magic = kRequestMagic;
  head.process = process_id();
  long result = -ENODEV;
  if (send_bytes(fd, &head, sizeof(head)) && send_bytes(fd, segments, head.bytes))
    result = receive_head(fd, reply, interruptible);
  if (result == 0) result = write_back(fd, reply.head) ? reply.head.result : -EFAULT;
  sys_close(fd);
  return result;
}

// Collects pieces of the program's memory.
class Segments {
 public:
  explicit Segments(size_t room) : arena_(room) {}
  // The copy, or null: then the kernel will not find it either.
  const void* add(uint64_t address, uint64_t bytes) {
    if (bytes == 0 || bytes > kMostMessageBytes / 2) return nullptr;
    auto* head = static_cast<SegmentHead*>(arena_.take(sizeof(SegmentHead) + bytes));
    if (head == nullptr) return nullptr;
    *head = {address, bytes};
    if (safe_.copy(head + 1, reinterpret_cast<const void*>(address), bytes)) return head + 1;
    head->address = 0;  // a hole: no address of a program
    return nullptr;
  }
  const void* begin() const { return arena_.begin(); }
  uint32_t bytes() const { return static_cast<uint32_t>(arena_.used()); }

 private:
  Arena arena_;
  SafeCopy safe_;
};

void add_rocket_jobs(Segments& segments, const uapi::rocket::Submit& submit) {
  if (submit.job_struct_size < sizeof(uapi::rocket::Job)) return;
  const auto* jobs = static_cast<const uint8_t*>(
      segments.add(submit.jobs, uint64_t{submit.job_count} * submit.job_struct_size));
  if (jobs == nullptr) return;
  for (uint32_t i = 0; i < submit.job_count; ++i) {
    uapi::rocket::Job job;
    __builtin_memcpy(&job, jobs + uint64_t{i} * submit.job_struct_size, sizeof(job));
    segments.add(job.tasks, uint64_t{job.task_count} * job.task_struct_size);
    segments.add(job.in_bo_handles, uint64_t{job.in_bo_handle_count} * sizeof(uint32_t));
    segments.add(job.out_bo_handles, uint64_t{job.out_bo_handle_count} * sizeof(uint32_t));
  }
}

}  // namespace

const char* fake_socket() {
  return socket_path;
}
void set_fake_socket(const char* path) {
  socket_path = path;
}

long remote_open(int flags) {
  RequestHead head = {};
  head.call = Call::Open;
  head.a = static_cast<uint64_t>(flags);
  Reply reply = {};
  reply.descriptor = -1;
  const long result = exchange(head, nullptr, reply, false);
  if (result < 0) return result;
  return reply.descriptor < 0 ? -ENODEV : settle(reply.descriptor, reply.head.close_on_exec != 0);
}

long remote_ioctl(int fd, uint32_t request, void* argument) {
  using namespace uapi;
  RequestHead head = {};
  head.object = key_of(fd);
  if (head.object.inode == 0) return -ENOTTY;
  head.call = Call::Ioctl;
  head.a = request;
  const auto address = reinterpret_cast<uint64_t>(argument);
  head.b = address;
  const bool rocket_submit = request == rocket::kSubmit;
  Segments segments(rocket_submit ? kMostMessageBytes : 1U << 16);
  const void* copy = segments.add(address, ioctl_size(request));
  if (rocket_submit && copy != nullptr) add_rocket_jobs(segments, *static_cast<const rocket::Submit*>(copy));
  if (request == kDrmPrimeFdToHandle && copy != nullptr)
    head.other = key_of(static_cast<const DrmPrimeHandle*>(copy)->fd);
  if (request == rknpu::kSubmit && copy != nullptr)
    head.other = key_of(static_cast<const rknpu::Submit*>(copy)->fence_fd);
  head.bytes = segments.bytes();
  Reply reply = {};
  reply.descriptor = -1;
  const long result = exchange(head, segments.begin(), reply, request == rocket::kPrepBo);
  if (reply.descriptor < 0) return result;
  const int number = settle(reply.descriptor, reply.head.close_on_exec != 0);
  SafeCopy safe;
  if (result >= 0 && safe.copy(reinterpret_cast<void*>(reply.head.descriptor_at), &number, sizeof(number)))
    return result;
  sys_close(number);
  return result < 0 ? result : -EFAULT;
}

long remote_map(void* hint, size_t length, int protection, int flags, int fd, uint64_t offset) {
  RequestHead head = {};
  head.object = key_of(fd);
  if (head.object.inode == 0) return -ENODEV;
  head.call = Call::Map;
  head.a = offset;
  head.b = length;
  head.c = static_cast<uint64_t>(protection);
  head.d = static_cast<uint64_t>(flags);
  Reply reply = {};
  reply.descriptor = -1;
  const long result = exchange(head, nullptr, reply, false);
  if (result < 0) return result;
  if (reply.descriptor < 0) return -ENODEV;
  const long at = raw(SYS_mmap, as_long(hint), static_cast<long>(length), protection, flags, reply.descriptor,
                      static_cast<long>(reply.head.value));
  sys_close(reply.descriptor);
  return at;
}

long remote_size(int fd) {
  RequestHead head = {};
  head.object = key_of(fd);
  if (head.object.inode == 0) return -ESPIPE;
  head.call = Call::Size;
  Reply reply = {};
  const long result = exchange(head, nullptr, reply, false);
  return result < 0 ? -ESPIPE : static_cast<long>(reply.head.value);
}

ObjectKind remote_kind(int fd) {
  RequestHead head = {};
  head.object = key_of(fd);
  if (head.object.inode == 0) return ObjectKind::None;
  head.call = Call::Kind;
  Reply reply = {};
  return exchange(head, nullptr, reply, false) < 0 ? ObjectKind::None
                                                   : static_cast<ObjectKind>(reply.head.value);
}

}  // namespace peraxis::capture::client
