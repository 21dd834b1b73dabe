// POSIX calls rather than iostreams: an ifstream opens a directory without complaint, hangs on a FIFO and
// forgets errno.
#include "base/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <system_error>

namespace peraxis::base {
namespace {

std::string errno_text(int error) {
  return std::generic_category().message(error);
}

// Closes on scope exit; close() is separate so that its error can be seen after a write.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }
  int close() {
    const int result = ::close(fd_);
    fd_ = -1;
    return result;
  }

 private:
  int fd_;
};

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

Status write_all(int fd, const std::filesystem::path& path, std::span<const uint8_t> bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const size_t chunk = std::min<size_t>(bytes.size() - done, size_t{1} << 30);
    const ssize_t n = ::write(fd, bytes.data() + done, chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(ErrorCode::Io, "'{}': cannot write: {}", path.string(), errno_text(errno));
    done += static_cast<size_t>(n);
  }
  return {};
}

Status write_directly(const std::filesystem::path& path, std::span<const uint8_t> bytes) {
  FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (fd.get() < 0) return fail(ErrorCode::Io, "'{}': cannot open: {}", path.string(), errno_text(errno));
  PERAXIS_TRY(write_all(fd.get(), path, bytes));
  if (fd.close() != 0) return fail(ErrorCode::Io, "'{}': cannot close: {}", path.string(), errno_text(errno));
  return {};
}

// A name that no other process or thread uses; O_EXCL settles the rest.
std::filesystem::path temporary_name(const std::filesystem::path& path) {
  static std::atomic<unsigned> counter{0};
  std::filesystem::path out = path;
  out += fmt::format(".{}.{}.tmp", ::getpid(), counter.fetch_add(1));
  return out;
}

}  // namespace

Result<std::vector<uint8_t>> read_file(const std::filesystem::path& path, int64_t max_bytes) {
  // O_NONBLOCK: opening a FIFO without a writer would wait for ever. It changes nothing for regular files.
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) return fail(ErrorCode::Io, "'{}': cannot open: {}", path.string(), errno_text(errno));
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0)
    return fail(ErrorCode::Io, "'{}': cannot inspect: {}", path.string(), errno_text(errno));
  if (!S_ISREG(info.st_mode))
    return fail(ErrorCode::Io, "'{}' is {}, not a file", path.string(), kind_of(info.st_mode));
  if (info.st_size > max_bytes)
    return fail(ErrorCode::Io, "'{}' has {} bytes, the limit is {}", path.string(), info.st_size, max_bytes);

  // One byte more than the size: the read that fills nothing of it is the end of the file. Files of /proc
  // say 0 and grow here.
  std::vector<uint8_t> out(static_cast<size_t>(info.st_size) + 1);
  size_t used = 0;
  while (true) {
    if (used == out.size()) out.resize(std::max<size_t>(2 * out.size(), 4096));
    const size_t chunk = std::min<size_t>(out.size() - used, size_t{1} << 30);
    const ssize_t n = ::read(fd.get(), out.data() + used, chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(ErrorCode::Io, "'{}': cannot read: {}", path.string(), errno_text(errno));
    if (n == 0) break;
    used += static_cast<size_t>(n);
    if (static_cast<int64_t>(used) > max_bytes)
      return fail(ErrorCode::Io, "'{}' has more than {} bytes, the limit", path.string(), max_bytes);
  }
  out.resize(used);
  return out;
}

namespace {

Status check_stored(const std::filesystem::path& path, const FileCheck& check) {
  if (!check) return {};
  const std::vector<uint8_t> stored = PERAXIS_TRY(read_file(path));
  return check(stored);
}

}  // namespace

Status write_file(const std::filesystem::path& path, std::span<const uint8_t> bytes) {
  return write_file(path, bytes, nullptr);
}

Status write_file(const std::filesystem::path& requested, std::span<const uint8_t> bytes,
                  const FileCheck& check) {
  std::filesystem::path path = requested;
  mode_t mode = 0;
  struct stat info{};
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return fail(ErrorCode::Io, "'{}' is a directory, not a file", path.string());
    if (!S_ISREG(info.st_mode)) {
      if (check) PERAXIS_TRY(check(bytes));
      return write_directly(path, bytes);
    }
    mode = info.st_mode & 07777;
    std::error_code error;  // through a symbolic link: replace what it points to
    const std::filesystem::path real = std::filesystem::canonical(path, error);
    if (!error) path = real;
  }
  const std::filesystem::path temporary = temporary_name(path);
  FileDescriptor fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (fd.get() < 0) return fail(ErrorCode::Io, "'{}': cannot create: {}", path.string(), errno_text(errno));

  Status status = write_all(fd.get(), path, bytes);
  if (status && mode != 0 && ::fchmod(fd.get(), mode) != 0)
    status = fail(ErrorCode::Io, "'{}': cannot keep its permissions: {}", path.string(), errno_text(errno));
  if (status && fd.close() != 0)
    status = fail(ErrorCode::Io, "'{}': cannot close: {}", path.string(), errno_text(errno));
  if (status) status = check_stored(temporary, check);
  if (status && std::rename(temporary.c_str(), path.c_str()) != 0)
    status = fail(ErrorCode::Io, "'{}': cannot replace: {}", path.string(), errno_text(errno));
  if (!status) ::unlink(temporary.c_str());
  return status;
}

Status write_file(const std::filesystem::path& path, std::string_view text) {
  return write_file(path, std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
}

}  // namespace peraxis::base
