/* A C program that uses Rockchip's kernel interface directly, with declarations of its own. Every line "ok
 * NAME" or "FAILED NAME" is a check. With the argument "stress" four threads submit on files of their own,
 * and fork. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "c_program.h"

#define NODE "/dev/dri/card1"
struct action {
  uint32_t flags, value;
};
struct create {
  uint32_t handle, flags;
  uint64_t size, object, dma, sram;
  int32_t domain;
  uint32_t core_mask;
};
struct map {
  uint32_t handle, reserved;
  uint64_t offset;
};
struct destroy {
  uint32_t handle, reserved;
  uint64_t object;
};
struct sync {
  uint32_t flags, reserved;
  uint64_t object, offset, size;
};
struct task {
  uint32_t flags, op, enable, mask, clear, status, amount, offset;
  uint64_t words;
} __attribute__((packed));
struct submit {
  uint32_t flags, timeout, start, number, counter;
  int32_t priority;
  uint64_t list;
  uint32_t domain, reserved;
  uint64_t base;
  int64_t elapsed;
  uint32_t cores;
  int32_t fence;
  uint32_t part[5][2];
};
_Static_assert(sizeof(struct action) == 8 && sizeof(struct create) == 48 && sizeof(struct map) == 16,
               "sizes");
_Static_assert(sizeof(struct destroy) == 16 && sizeof(struct sync) == 32, "sizes");
_Static_assert(sizeof(struct task) == 40 && sizeof(struct submit) == 104, "sizes");
enum {
  ACTION = 0xC0086440u,
  SUBMIT = 0xC0686441u,
  CREATE = 0xC0306442u,
  OLD_CREATE = 0xC0286442u, /* without the last two members */
  MAP = 0xC0106443u,
  DESTROY = 0xC0106444u,
  SYNC = 0xC0206445u
};
enum { PC = 1, NONBLOCK = 2, FENCE_OUT = 16, CACHED = 0x403, KERNEL_MAPPING = 8 };

struct bo {
  struct create facts;
  void* at;
};
static int make(int fd, uint32_t flags, unsigned long request, struct bo* out) {
  memset(out, 0, sizeof(*out));
  out->facts.size = 4096;
  out->facts.flags = flags;
  if (ioctl(fd, request, &out->facts)) return 0;
  struct map where = {.handle = out->facts.handle};
  if (ioctl(fd, MAP, &where)) return 0;
  out->at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)where.offset);
  return out->at != MAP_FAILED;
}
static int flush(int fd, const struct bo* bo) {
  struct sync s = {.flags = 1, .object = bo->facts.object, .size = 4096};
  return ioctl(fd, SYNC, &s);
}
static int drop(int fd, struct bo* bo) {
  struct destroy d = {.handle = bo->facts.handle, .object = bo->facts.object};
  munmap(bo->at, 4096);
  return ioctl(fd, DESTROY, &d);
}
static uint64_t word(uint32_t target, uint32_t value, uint32_t offset) {
  return (uint64_t)target << 48 | (uint64_t)value << 16 | offset;
}
/* Test words: a ramp of 16 values from `seed`, after `delay` microseconds. */
static struct submit order(int fd, struct bo* list, struct bo* commands, const struct bo* out, uint32_t seed,
                           uint32_t delay) {
  uint64_t words[] = {word(0xFFFF, delay, 0),
                      word(0xFFFF, 64, 8),
                      word(0xFFFF, seed, 16),
                      word(0x1001, (uint32_t)out->facts.dma, 0x4020),
                      0,
                      0,
                      word(0x0041, 0, 0),
                      word(0x0081, 0x1D, 8)};
  memcpy(commands->at, words, sizeof(words));
  struct task task = {
      .enable = 0xD, .mask = 0x300, .clear = 0x1FFFF, .amount = 4, .words = commands->facts.dma};
  memcpy(list->at, &task, sizeof(task));
  flush(fd, list);
  flush(fd, commands);
  struct submit s = {
      .flags = PC, .timeout = 1000, .number = 1, .list = list->facts.object, .cores = 0, .fence = -1};
  for (int i = 0; i < 5; i++) s.part[i][1] = 1; /* whichever core it is */
  return s;
}
static int session(int fd, uint32_t seed) {
  struct bo list, commands, out;
  if (fd < 0 || !make(fd, CACHED | KERNEL_MAPPING, CREATE, &list) ||
      !make(fd, CACHED, OLD_CREATE, &commands) || !make(fd, CACHED, CREATE, &out))
    return 0;
  struct submit s = order(fd, &list, &commands, &out, seed, 0);
  int good = !ioctl(fd, SUBMIT, &s) && s.counter == 1;
  const uint32_t* got = out.at;
  good = good && got[0] == seed && got[15] == seed + 15;
  return !drop(fd, &list) && !drop(fd, &commands) && !drop(fd, &out) && good;
}
static void* stress_thread(void* argument) {
  uintptr_t id = (uintptr_t)argument, good = 0;
  for (uint32_t i = 0; i < 10; i++) {
    int fd = open(NODE, O_RDWR | O_CLOEXEC), status = 1;
    good += (uintptr_t)session(fd, (uint32_t)id * 1000 + i);
    if (i == 5) {
      pid_t child = fork();
      if (child == 0) _exit(session(fd, 77) ? 0 : 1);
      waitpid(child, &status, 0);
      good += status == 0;
    }
    close(fd);
  }
  return (void*)good;
}

int main(int argc, char** argv) {
  if (argc > 1 && !strcmp(argv[1], "stress")) {
    run_threads(stress_thread, 11);
    return failures ? 1 : 0;
  }
  int fd = open(NODE, O_RDWR);
  struct action ask = {.flags = 1};
  check(!ioctl(fd, ACTION, &ask) && ask.value == 908, "the driver's version");
  check(session(fd, 3), "a blocking submit");
  struct bo list, commands, out;
  check(make(fd, CACHED | KERNEL_MAPPING, CREATE, &list) && make(fd, CACHED, OLD_CREATE, &commands) &&
            make(fd, CACHED, CREATE, &out),
        "buffers");
  const uint32_t* got = out.at;
  struct submit s = order(fd, &list, &commands, &out, 9, 60000);
  s.flags = PC | NONBLOCK | FENCE_OUT;
  check(!ioctl(fd, SUBMIT, &s) && s.fence >= 0 && got[0] == 0, "a submit that does not block");
  struct pollfd polled = {s.fence, POLLIN, 0};
  check(poll(&polled, 1, 0) == 0 && poll(&polled, 1, 5000) == 1 && got[0] == 9, "its fence");
  close(s.fence);
  s = order(fd, &list, &commands, &out, 5, 60000);
  s.timeout = 20;
  check(ioctl(fd, SUBMIT, &s) == -1 && errno == ETIMEDOUT, "a task that takes longer than the submit allows");
  s.number = 0;
  check(ioctl(fd, SUBMIT, &s) == -1 && errno == EINVAL, "no task");
  check(!drop(fd, &list) && !drop(fd, &commands) && !drop(fd, &out), "buffers go");
  return failures ? 1 : 0;
}
