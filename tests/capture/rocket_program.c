/* A C program that uses the rocket kernel's interface directly, with declarations of its own: sizes and
 * numbers are those of the kernel's documentation, not of our headers. Every line "ok NAME" or "FAILED NAME"
 * is a check. With the argument "stress" it opens, maps, submits and forks from several threads; with "crash
 * N" it dies after N submits; "time N" prints the microseconds of one of N submits, "calls N" those of calls
 * that no NPU is behind. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "c_program.h"

#define NODE "/dev/accel/accel0"
struct create {
  uint32_t size, handle;
  uint64_t dma, offset;
};
struct submit {
  uint64_t jobs;
  uint32_t count, stride;
  uint64_t reserved;
};
struct job {
  uint64_t tasks, in, out;
  uint32_t task_count, task_stride, in_count, out_count;
};
struct task {
  uint32_t regcmd, count;
};
struct prep {
  uint32_t handle, reserved;
  int64_t deadline;
};
struct fini {
  uint32_t handle, reserved;
};
_Static_assert(sizeof(struct create) == 24 && sizeof(struct submit) == 24 && sizeof(struct job) == 40,
               "sizes");
_Static_assert(sizeof(struct task) == 8 && sizeof(struct prep) == 16 && sizeof(struct fini) == 8, "sizes");
enum {
  CREATE = 0xC0186440u,
  SUBMIT = 0x40186441u,
  PREP = 0x40106442u,
  FINI = 0x40086443u,
  GEM_CLOSE = 0x40086409u
};
enum { HANDLE_TO_FD = 0xC00C642Du };

/* qemu-user answers to a call it does not know itself, and with another number than a kernel. */
static int no_such_call(int number) {
  return errno == number || (getenv("UNDER_QEMU_USER") && errno == ENOSYS);
}

struct bo {
  uint32_t handle;
  uint64_t dma;
  uint32_t* at;
};
static int make(int fd, uint32_t size, struct bo* out) {
  struct create c = {.size = size};
  if (ioctl(fd, CREATE, &c)) return 0;
  out->handle = c.handle;
  out->dma = c.dma;
  out->at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)c.offset);
  return out->at != MAP_FAILED;
}
static uint64_t word(uint32_t target, uint32_t value, uint32_t offset) {
  return (uint64_t)target << 48 | (uint64_t)value << 16 | offset;
}
/* Test words: a ramp of 16 values from `seed`, then wait. */
static int fill(int fd, const struct bo* commands, const struct bo* out, uint32_t seed, uint32_t delay) {
  uint64_t words[] = {word(0xFFFF, delay, 0),
                      word(0xFFFF, 64, 8),
                      word(0xFFFF, seed, 16),
                      word(0x1001, (uint32_t)out->dma, 0x4020),
                      0,
                      word(0x0081, 0x1D, 8)};
  memcpy(commands->at, words, sizeof(words));
  struct fini f = {commands->handle, 0};
  struct task t = {(uint32_t)commands->dma, sizeof(words) / 8};
  struct job j = {(uint64_t)&t, (uint64_t)&commands->handle, (uint64_t)&out->handle, 1, sizeof(t), 1, 1};
  struct submit s = {(uint64_t)&j, 1, sizeof(j), 0};
  struct prep p = {out->handle, 0, INT64_MAX};
  if (ioctl(fd, FINI, &f) || ioctl(fd, SUBMIT, &s)) return 0;
  while (ioctl(fd, PREP, &p))
    if (errno != EINTR) return 0;
  return out->at[0] == seed && out->at[15] == seed + 15;
}
static void drop(int fd, struct bo* bo) {
  uint32_t handle[2] = {bo->handle, 0};
  munmap(bo->at, 4096);
  ioctl(fd, GEM_CLOSE, handle);
}
static int session(int fd, uint32_t seed) {
  struct bo commands, out;
  if (fd < 0 || !make(fd, 4096, &commands) || !make(fd, 4096, &out)) return 0;
  int good = fill(fd, &commands, &out, seed, 0);
  drop(fd, &commands);
  drop(fd, &out);
  return good;
}
static int run_and_close(int fd) {
  int good = session(fd, 11);
  return !close(fd) && good;
}

static void ways_to_open(void) {
  volatile int flags = O_RDWR | O_CLOEXEC; /* not known to the compiler: the fortified forms are called */
  int directory = open("/", O_RDONLY);
  check(run_and_close(open(NODE, O_RDWR)), "open");
  check(run_and_close(open64(NODE, flags)), "open64");
  check(run_and_close(openat(AT_FDCWD, NODE, flags)), "openat");
  check(run_and_close(openat64(directory, NODE, flags)), "openat64");
  check(run_and_close((int)syscall(SYS_openat, AT_FDCWD, NODE, O_RDWR, 0)), "syscall(openat)");
  int (*open_2)(const char*, int) = (int (*)(const char*, int))dlsym(RTLD_DEFAULT, "__open_2");
  int (*open64_2)(const char*, int) = (int (*)(const char*, int))dlsym(RTLD_DEFAULT, "__open64_2");
  check(run_and_close(open_2(NODE, O_RDWR)) && run_and_close(open64_2(NODE, O_RDWR)), "__open_2");
  close(directory);
}
static void copies(void) {
  int fd = open(NODE, O_RDWR), a = dup(fd), b = fcntl(fd, F_DUPFD_CLOEXEC, 100), c = dup2(fd, 77);
  close(fd);
  int fresh = open("/dev/null", O_RDONLY); /* takes the first number */
  check(fresh == fd, "the lowest free number is reused");
  check(ioctl(fresh, CREATE, &(struct create){.size = 64}) == -1 && no_such_call(ENOTTY),
        "another file is no NPU");
  check(session(a, 1) && session(b, 2) && session(c, 3), "copies of the descriptor");
  pid_t child = fork();
  if (child == 0) _exit(session(a, 4) ? 0 : 1);
  int status = 1;
  waitpid(child, &status, 0);
  check(status == 0, "the child of a fork uses the file");
  check(session(a, 5), "and the parent after it");
  close(a);
  close(b);
  close(c);
  close(fresh);
}
static void listing(void) {
  struct stat status;
  check(!stat(NODE, &status) && S_ISCHR(status.st_mode) && major(status.st_rdev) == 261, "stat of the node");
  int fd = open(NODE, O_RDWR), found = 0;
  check(!fstat(fd, &status) && S_ISCHR(status.st_mode) && major(status.st_rdev) == 261, "fstat of the file");
  close(fd);
  DIR* directory = opendir("/dev/accel");
  for (struct dirent* entry; directory && (entry = readdir(directory));)
    found |= !strcmp(entry->d_name, "accel0");
  if (directory) closedir(directory);
  check(found, "the node is listed");
  check(!access(NODE, R_OK | W_OK), "access");
  char link[256];
  ssize_t n = readlink("/sys/dev/char/261:0/device/subsystem", link, sizeof(link) - 1);
  check(n > 8 && !memcmp(link + n - 8, "platform", 8), "sysfs names the bus");
}
static void exported(void) {
  int fd = open(NODE, O_RDWR);
  struct bo commands, out;
  check(make(fd, 4096, &commands) && make(fd, 8192, &out), "buffers");
  struct {
    uint32_t handle, flags;
    int32_t fd;
  } prime = {out.handle, O_RDWR | O_CLOEXEC, -1};
  check(!ioctl(fd, HANDLE_TO_FD, &prime) && lseek(prime.fd, 0, SEEK_END) == 8192, "export and size");
  uint32_t* other = mmap(NULL, 8192, PROT_READ, MAP_SHARED, prime.fd, 0);
  check(other != MAP_FAILED && fill(fd, &commands, &out, 900, 30000) && other[3] == 903,
        "the export shows the same");
  struct pollfd polled = {prime.fd, POLLIN, 0};
  check(poll(&polled, 1, 0) == 1, "idle memory is readable");
  munmap(other, 8192);
  close(prime.fd);
  drop(fd, &out);
  drop(fd, &commands);
  close(fd);
  check(ioctl(0x7FFF, CREATE, NULL) == -1 && no_such_call(EBADF), "a bad descriptor is a bad descriptor");
}
static void through_libdrm(void) {
  void* lib = dlopen("libdrm.so.2", RTLD_NOW);
  if (!lib) {
    printf("skipped libdrm\n");
    return;
  }
  struct version {
    int a, b, c, name_len;
    char* name;
  }* v;
  struct version* (*get)(int) = (struct version * (*)(int)) dlsym(lib, "drmGetVersion");
  int (*to_fd)(int, uint32_t, uint32_t, int*) =
      (int (*)(int, uint32_t, uint32_t, int*))dlsym(lib, "drmPrimeHandleToFD");
  int (*to_handle)(int, int, uint32_t*) = (int (*)(int, int, uint32_t*))dlsym(lib, "drmPrimeFDToHandle");
  int (*cap)(int, uint64_t, uint64_t*) = (int (*)(int, uint64_t, uint64_t*))dlsym(lib, "drmGetCap");
  int (*command)(int, unsigned long, void*, unsigned long) =
      (int (*)(int, unsigned long, void*, unsigned long))dlsym(lib, "drmCommandWriteRead");
  int fd = open(NODE, O_RDWR), other = -1;
  uint64_t value = 0;
  v = get(fd);
  check(v && !strcmp(v->name, "rocket"), "libdrm: drmGetVersion");
  check(!cap(fd, 5, &value) && value == 3, "libdrm: drmGetCap");
  struct create c = {.size = 4096};
  check(!command(fd, 0, &c, sizeof(c)) && c.handle == 1, "libdrm: drmCommandWriteRead");
  uint32_t handle = 0;
  check(!to_fd(fd, c.handle, O_CLOEXEC, &other) && !to_handle(fd, other, &handle) && handle == c.handle,
        "libdrm: prime");
  close(other);
  uint32_t gone[2] = {handle, 0};
  ioctl(fd, GEM_CLOSE, gone);
  close(fd);
}

static void* stress_thread(void* argument) {
  uint32_t id = (uint32_t)(uintptr_t)argument, good = 0;
  for (uint32_t i = 0; i < 20; i++) {
    int fd = open(NODE, O_RDWR | O_CLOEXEC);
    good += (uint32_t)session(fd, id * 1000 + i);
    if (i % 10 == 5) {
      pid_t child = fork();
      if (child == 0) _exit(session(fd, 77) ? 0 : 1);
      int status = 1;
      waitpid(child, &status, 0);
      good += status == 0;
    }
    close(fd);
  }
  return (void*)(uintptr_t)good;
}
static struct timespec started;
static void print_microseconds(const char* what, int times) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  double ns = (double)(now.tv_sec - started.tv_sec) * 1e9 + (double)(now.tv_nsec - started.tv_nsec);
  printf("%s%.2f\n", what, ns / 1e3 / times);
  clock_gettime(CLOCK_MONOTONIC, &started);
}
static int time_submits(int n) {
  int fd = open(NODE, O_RDWR), good = 0;
  struct bo commands, out;
  if (!make(fd, 4096, &commands) || !make(fd, 4096, &out)) return 1;
  clock_gettime(CLOCK_MONOTONIC, &started);
  for (int i = 0; i < n; i++) good += fill(fd, &commands, &out, (uint32_t)i, 0);
  print_microseconds("", n);
  return good == n ? 0 : 1;
}
static int time_calls(int n) {
  int fd = open("/dev/null", O_RDONLY), size = 0;
  clock_gettime(CLOCK_MONOTONIC, &started);
  for (int i = 0; i < n; i++) close(open("/dev/null", O_RDONLY));
  print_microseconds("open and close: ", n);
  for (int i = 0; i < n; i++) munmap(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
  print_microseconds("mmap and munmap: ", n);
  for (int i = 0; i < n; i++) ioctl(fd, FIONREAD, &size);
  print_microseconds("ioctl: ", n);
  return 0;
}

int main(int argc, char** argv) {
  if (argc > 1 && !strcmp(argv[1], "stress")) {
    run_threads(stress_thread, 22);
  } else if (argc > 2 && !strcmp(argv[1], "crash")) {
    int fd = open(NODE, O_RDWR);
    struct bo commands, out;
    if (!make(fd, 4096, &commands) || !make(fd, 4096, &out)) return 1;
    for (int i = 0; i < atoi(argv[2]); i++) fill(fd, &commands, &out, 100 * (uint32_t)i, 0);
    raise(SIGKILL);
  } else if (argc > 2 && !strcmp(argv[1], "time")) {
    return time_submits(atoi(argv[2]));
  } else if (argc > 2 && !strcmp(argv[1], "calls")) {
    return time_calls(atoi(argv[2]));
  } else {
    ways_to_open();
    copies();
    listing();
    exported();
    through_libdrm();
  }
  return failures ? 1 : 0;
}
