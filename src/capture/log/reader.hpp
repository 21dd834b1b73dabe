// Reads the logs of a recorded program (capture/log_format.hpp) and makes captures of them, one a submit.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "capture/log_format.hpp"
#include "trace/capture.hpp"

namespace peraxis::capture {

using Bytes = std::shared_ptr<const std::vector<uint8_t>>;

struct LoggedBuffer {
  log::BufferRecord facts{};
  Bytes content;  // null: not recorded
};
// One submit with everything its file had before and after.
struct LoggedSubmit {
  uint32_t process = 0, file = 0, number = 0;
  log::Driver driver = log::Driver::Rocket;
  int64_t begin_ns = 0;  // of the record, to sort by
  log::SubmitRecord head{};
  std::vector<log::JobPart> jobs;
  std::vector<log::TaskPart> tasks;
  std::vector<uint32_t> handles;
  std::map<uint32_t, LoggedBuffer> before;  // by handle
  std::map<uint32_t, Bytes> after;
  bool ended = false;
  log::EndRecord end{};
};

struct LoggedProcess {
  uint32_t process = 0, parent = 0;
  std::string name;
  int64_t files = 0, buffers = 0, submits = 0, jobs = 0, tasks = 0, failed = 0, bytes = 0;
  bool cut = false;                           // the log ends inside a record or with a damaged one
  std::map<uint32_t, log::CallRecord> calls;  // by request number
};

// Calls `each` for every submit of the log in its order; an unfinished one comes last.
Result<LoggedProcess> read_log(const std::filesystem::path& path,
                               const std::function<Status(const LoggedSubmit&)>& each);
// The logs of a folder, sorted by name.
Result<std::vector<std::filesystem::path>> logs_in(const std::filesystem::path& folder);

// Buffers that the submit neither names nor points to are left out.
trace::Capture capture_of(const LoggedSubmit& submit);

struct Conversion {
  std::vector<LoggedProcess> processes;
  std::vector<std::string> files;     // captures that were written
  std::vector<std::string> problems;  // submits no capture could be made of
};
// Writes `folder`/submit-<number>.pxc for every submit of the logs in `folder`/log.
Result<Conversion> convert(const std::filesystem::path& folder);

std::string summary_text(const std::vector<LoggedProcess>& processes);

}  // namespace peraxis::capture
