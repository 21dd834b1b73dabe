/* What the C programs share: checks that print a line, and threads that count what went well. */
#ifndef PERAXIS_TESTS_C_PROGRAM_H
#define PERAXIS_TESTS_C_PROGRAM_H
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

static int failures;
static void check(int good, const char* name) {
  printf("%s %s\n", good ? "ok" : "FAILED", name);
  fflush(stdout);
  failures += !good;
}

/* Four threads with numbers from 0; each returns how many of its sessions went well. */
static void run_threads(void* (*thread)(void*), uintptr_t wanted_of_each) {
  pthread_t threads[4];
  uintptr_t good = 0;
  void* one;
  for (uintptr_t i = 0; i < 4; i++) pthread_create(&threads[i], NULL, thread, (void*)i);
  for (int i = 0; i < 4; i++) {
    pthread_join(threads[i], &one);
    good += (uintptr_t)one;
  }
  check(good == 4 * wanted_of_each, "every session of every thread and child");
}
#endif
