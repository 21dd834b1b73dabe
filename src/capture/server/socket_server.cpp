// See socket_server.hpp. One thread a call, because some calls wait.
#include "capture/server/socket_server.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace peraxis::capture {
namespace {

bool receive(int fd, void* to, size_t bytes) {
  auto* at = static_cast<uint8_t*>(to);
  while (bytes > 0) {
    const ssize_t got = recv(fd, at, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<size_t>(got);
  }
  return true;
}
bool send_all(int fd, const void* from, size_t bytes) {
  const auto* at = static_cast<const uint8_t*>(from);
  while (bytes > 0) {
    const ssize_t sent = send(fd, at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    bytes -= static_cast<size_t>(sent);
  }
  return true;
}

// The memory that came with the request, and what is to be written back.
class RemoteCaller final : public Caller {
 public:
  RemoteCaller(int connection, const RequestHead& head, std::span<const uint8_t> segments)
      : connection_(connection), other_(head.other) {
    while (segments.size() >= sizeof(SegmentHead)) {
      SegmentHead segment;
      std::memcpy(&segment, segments.data(), sizeof(segment));
      segments = segments.subspan(sizeof(segment));
      const uint64_t padded = (segment.size + 7) / 8 * 8;
      if (padded < segment.size || padded > segments.size()) return;
      parts_.push_back({segment.address, segments.first(static_cast<size_t>(segment.size))});
      segments = segments.subspan(static_cast<size_t>(padded));
    }
  }
  bool read(uint64_t address, std::span<uint8_t> to) override {
    for (const auto& [start, bytes] : parts_) {
      if (address < start || address - start > bytes.size() || to.size() > bytes.size() - (address - start))
        continue;
      std::ranges::copy(bytes.subspan(static_cast<size_t>(address - start), to.size()), to.begin());
      return true;
    }
    return false;
  }
  bool write(uint64_t address, std::span<const uint8_t> from) override {
    if (address == 0) return false;
    const SegmentHead head{address, from.size()};
    const auto* raw = reinterpret_cast<const uint8_t*>(&head);
    out_.insert(out_.end(), raw, raw + sizeof(head));
    out_.insert(out_.end(), from.begin(), from.end());
    out_.resize((out_.size() + 7) / 8 * 8);
    return true;
  }
  Key object_of(int32_t) override { return other_; }
  bool still_there() override {
    pollfd state{connection_, POLLRDHUP, 0};
    return poll(&state, 1, 0) == 0;
  }
  const std::vector<uint8_t>& output() const { return out_; }

 private:
  int connection_;
  Key other_;
  std::vector<std::pair<uint64_t, std::span<const uint8_t>>> parts_;
  std::vector<uint8_t> out_;
};

bool send_reply(int fd, const ReplyHead& head, int descriptor, const std::vector<uint8_t>& segments) {
  iovec part{const_cast<ReplyHead*>(&head), sizeof(head)};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (descriptor >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* item = CMSG_FIRSTHDR(&message);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(item), &descriptor, sizeof(descriptor));
  }
  ssize_t sent = 0;
  do sent = sendmsg(fd, &message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  if (sent != static_cast<ssize_t>(sizeof(head))) return false;
  return send_all(fd, segments.data(), segments.size());
}

}  // namespace

Result<std::unique_ptr<SocketServer>> SocketServer::start(FakeKernel& kernel, const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path))
    return fail(ErrorCode::InvalidArgument, "socket path {} is too long", path);
  std::ranges::copy(path, address.sun_path);
  Descriptor listening(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  constexpr int kBacklog = 512;
  if (!listening.valid() ||
      bind(listening.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
      chmod(path.c_str(), 0666) != 0 || listen(listening.get(), kBacklog) != 0)
    return fail(ErrorCode::Io, "socket {}: {}", path, std::strerror(errno));
  return std::unique_ptr<SocketServer>(new SocketServer(kernel, std::move(listening), path));
}

SocketServer::SocketServer(FakeKernel& kernel, Descriptor listening, std::string path)
    : kernel_(kernel),
      listening_(std::move(listening)),
      stop_(eventfd(0, EFD_CLOEXEC)),
      path_(std::move(path)),
      thread_([this] { accept_calls(); }) {}

SocketServer::~SocketServer() {
  stopping_ = true;
  eventfd_write(stop_.get(), 1);
  thread_.join();
  while (running_ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  unlink(path_.c_str());
}

void SocketServer::accept_calls() {
  block_sigpipe();
  for (;;) {
    pollfd polled[2] = {{listening_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    if (poll(polled, 2, -1) < 0 && errno != EINTR) return;
    if ((polled[1].revents & POLLIN) != 0) return;
    if ((polled[0].revents & POLLIN) == 0) continue;
    Descriptor connection(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection.valid()) continue;
    ++running_;
    ++calls_;
    std::thread([this, fd = connection.release()] {
      block_sigpipe();
      serve(Descriptor(fd));
      --running_;
    }).detach();
  }
}

void SocketServer::serve(Descriptor connection) {
  const int fd = connection.get();
  const timeval patience{5, 0};  // of a program that stops in the middle of a call
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  RequestHead head;
  if (!receive(fd, &head, sizeof(head)) || head.magic != kRequestMagic || head.bytes > kMostMessageBytes)
    return;
  std::vector<uint8_t> segments(head.bytes);
  if (!receive(fd, segments.data(), segments.size())) return;
  RemoteCaller caller(fd, head, segments);
  ReplyHead reply{};
  reply.magic = kReplyMagic;
  CallResult result;
  MapResult mapped;
  switch (head.call) {
    case Call::Open:
      result = kernel_.open(static_cast<int>(head.a));
      break;
    case Call::Ioctl:
      result = kernel_.ioctl(head.object, static_cast<uint32_t>(head.a), head.b, caller);
      break;
    case Call::Map:
      mapped = kernel_.map(head.object, head.a, head.b, static_cast<int>(head.c), static_cast<int>(head.d));
      result.result = mapped.result;
      break;
    case Call::Size: {
      const int64_t size = kernel_.size_of(head.object);
      result.result = size < 0 ? -ESPIPE : 0;
      reply.value = static_cast<uint64_t>(size);
      break;
    }
    case Call::Kind:
      reply.value = static_cast<uint64_t>(kernel_.kind_of(head.object));
      break;
    default:
      return;
  }
  reply.result = static_cast<int32_t>(result.result);
  reply.descriptor_at = result.descriptor_at;
  reply.close_on_exec = result.close_on_exec ? 1 : 0;
  reply.bytes = static_cast<uint32_t>(caller.output().size());
  send_reply(fd, reply, mapped.memory != nullptr ? mapped.memory->fd() : result.descriptor.get(),
             caller.output());
}

}  // namespace peraxis::capture
