#include "base/result.hpp"

#include "base/printable.hpp"

namespace peraxis {

const char* error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidModel:
      return "invalid model";
    case ErrorCode::InvalidArgument:
      return "invalid argument";
    case ErrorCode::Unsupported:
      return "unsupported";
    case ErrorCode::OutOfMemory:
      return "out of memory";
    case ErrorCode::Device:
      return "device";
    case ErrorCode::Timeout:
      return "timeout";
    case ErrorCode::DeviceLost:
      return "device lost";
    case ErrorCode::Io:
      return "io";
    case ErrorCode::Internal:
      return "internal";
  }
  return "unknown";
}

std::string Error::text() const {
  std::string out = base::printable_message(message);
  for (const std::string& note : notes) out += "\n  " + base::printable_message(note);
  return out;
}

}  // namespace peraxis
