// PERAXIS_CHECK: for mistakes of the programmer, on in release builds too. Never for input: a fuzzer
// that reaches a CHECK has found a bug.
#pragma once

#include <cstdio>
#include <cstdlib>

#define PERAXIS_CHECK(condition, message)                                                             \
  do {                                                                                                \
    if (!(condition)) {                                                                               \
      std::fprintf(stderr, "%s:%d: check failed: %s: %s\n", __FILE__, __LINE__, #condition, message); \
      std::abort();                                                                                   \
    }                                                                                                 \
  } while (false)
