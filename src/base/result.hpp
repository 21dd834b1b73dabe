// Errors are expected data here (broken files, unsupported layers, missing devices): every fallible
// function returns Result<T>, and nothing throws. docs/decisions/0001-errors.md says why.
#pragma once

#include <fmt/core.h>

#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace peraxis {

enum class ErrorCode {
  InvalidModel,     // a file or graph breaks its own rules
  InvalidArgument,  // a caller's or user's option is wrong
  Unsupported,      // valid, but not something this version can do
  OutOfMemory,
  Device,      // the device or machine model refused or failed
  Timeout,     // a job took longer than it may
  DeviceLost,  // the device is gone; what it held is lost
  Io,
  Internal,
};

const char* error_code_name(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::Internal;
  std::string message;             // one sentence: the thing, the value, the limit
  std::vector<std::string> notes;  // added on the way up: "while lowering conv_2d 'stem'"

  // message, then one line a note.
  std::string text() const;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

template <class... Args>
tl::unexpected<Error> fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(Error{code, fmt::format(format, std::forward<Args>(args)...), {}});
}

inline tl::unexpected<Error> with_note(Error error, std::string note) {
  error.notes.push_back(std::move(note));
  return tl::unexpected<Error>(std::move(error));
}

namespace detail {
template <class T>
T take(Result<T>& result) {
  return std::move(*result);
}
inline void take(Status&) {}
}  // namespace detail

}  // namespace peraxis

// Evaluates a Result; returns its error from the enclosing function, else yields the value.
#define PERAXIS_TRY(expression)                                                         \
  ({                                                                                    \
    auto peraxis_result = (expression);                                                 \
    if (!peraxis_result) return tl::make_unexpected(std::move(peraxis_result).error()); \
    ::peraxis::detail::take(peraxis_result);                                            \
  })

// The same, adding a note for the reader of the error.
#define PERAXIS_TRY_NOTE(expression, ...)                                                       \
  ({                                                                                            \
    auto peraxis_result = (expression);                                                         \
    if (!peraxis_result)                                                                        \
      return ::peraxis::with_note(std::move(peraxis_result).error(), fmt::format(__VA_ARGS__)); \
    ::peraxis::detail::take(peraxis_result);                                                    \
  })
