// Captures of logs. See reader.hpp.
#include <algorithm>
#include <optional>
#include <set>

#include "base/file.hpp"
#include "base/table.hpp"
#include "capture/log/reader.hpp"
#include "capture/server/words.hpp"
#include "device/uapi/rknpu.hpp"
#include "device/uapi/rocket.hpp"

namespace peraxis::capture {
namespace {

// The buffer at a device address.
const LoggedBuffer* buffer_at(const LoggedSubmit& submit, uint64_t address) {
  for (const auto& [handle, buffer] : submit.before)
    if (address >= buffer.facts.address && address - buffer.facts.address < buffer.facts.size) return &buffer;
  return nullptr;
}

// Handles of the buffers that the job's commands lie in and point to, and of those that it names.
struct Used {
  std::set<uint32_t> all, commands, outputs;
};
Used used_buffers(const LoggedSubmit& submit) {
  Used used;
  for (const log::JobPart& job : submit.jobs) {
    for (uint32_t i = 0; i < job.in_count; ++i) used.all.insert(submit.handles[job.first_in + i]);
    for (uint32_t i = 0; i < job.out_count; ++i) used.outputs.insert(submit.handles[job.first_out + i]);
  }
  for (const log::TaskPart& task : submit.tasks) {
    const LoggedBuffer* commands = buffer_at(submit, task.address);
    if (commands == nullptr) continue;
    used.commands.insert(commands->facts.handle);
    if (commands->content == nullptr) continue;
    const std::vector<uint8_t>& bytes = *commands->content;
    const uint64_t start = task.address - commands->facts.address;
    for (uint64_t at = start; at + 8 <= bytes.size() && at < start + uint64_t{task.words} * 8; at += 8) {
      uint64_t word = 0;
      for (size_t b = 0; b < 8; ++b) word |= uint64_t{bytes[at + b]} << (8 * b);
      if (const auto address = address_in(word))
        if (const LoggedBuffer* buffer = buffer_at(submit, *address)) used.all.insert(buffer->facts.handle);
    }
  }
  for (const auto& [handle, content] : submit.after)
    if (used.all.contains(handle)) used.outputs.insert(handle);
  used.all.insert(used.commands.begin(), used.commands.end());
  used.all.insert(used.outputs.begin(), used.outputs.end());
  return used;
}

}  // namespace

trace::Capture capture_of(const LoggedSubmit& submit) {
  trace::Capture out;
  const bool rocket = submit.driver == log::Driver::Rocket;
  out.name = fmt::format("process {} file {} submit {}", submit.process, submit.file, submit.number);
  out.driver = rocket ? uapi::rocket::kName : uapi::rknpu::kName;
  if (!submit.ended)
    out.note = "the program ended before the submit was done";
  else if (submit.end.result < 0)
    out.note = fmt::format("the submit failed with errno {}", -submit.end.result);
  const Used used = used_buffers(submit);
  for (const uint32_t handle : used.all) {
    const auto found = submit.before.find(handle);
    if (found == submit.before.end()) continue;  // imported or unknown: no device address
    const LoggedBuffer& buffer = found->second;
    trace::CaptureBuffer to;
    to.name = fmt::format("bo{}", handle);
    to.role = used.commands.contains(handle) ? "commands" : used.outputs.contains(handle) ? "output" : "data";
    to.handle = static_cast<int32_t>(handle);
    to.address = static_cast<int64_t>(buffer.facts.address);
    to.size = static_cast<int64_t>(buffer.facts.size);
    if (buffer.content != nullptr) to.before = *buffer.content;
    if (submit.ended && used.outputs.contains(handle)) {
      const auto changed = submit.after.find(handle);
      to.after = changed != submit.after.end() ? *changed->second : to.before;
    }
    out.buffers.push_back(std::move(to));
  }
  for (const log::TaskPart& task : submit.tasks)
    out.tasks.push_back({static_cast<int64_t>(task.address & ~uint64_t{0xF}),
                         static_cast<int32_t>(task.words), static_cast<int32_t>(task.core)});
  for (const log::JobPart& job : submit.jobs) {
    trace::CaptureJob to;
    to.first_task = static_cast<int32_t>(job.first_task);
    to.task_count = static_cast<int32_t>(job.task_count);
    for (uint32_t i = 0; i < job.in_count; ++i)
      to.in_handles.push_back(static_cast<int32_t>(submit.handles[job.first_in + i]));
    for (uint32_t i = 0; i < job.out_count; ++i)
      to.out_handles.push_back(static_cast<int32_t>(submit.handles[job.first_out + i]));
    out.jobs.push_back(std::move(to));
  }
  out.submits.push_back({0, static_cast<int32_t>(out.jobs.size()), submit.ended ? submit.end.start_ns : 0,
                         submit.ended ? submit.end.end_ns : 0});
  return out;
}

Result<Conversion> convert(const std::filesystem::path& folder) {
  Conversion out;
  // Two passes: submits of several processes are numbered in the order of their time.
  std::vector<std::pair<int64_t, std::pair<size_t, size_t>>> order;  // time, log, submit in it
  const std::vector<std::filesystem::path> logs = PERAXIS_TRY(logs_in(folder / "log"));
  for (size_t i = 0; i < logs.size(); ++i) {
    size_t count = 0;
    const auto note = [&](const LoggedSubmit& submit) -> Status {
      order.push_back({submit.begin_ns, {i, count++}});
      return {};
    };
    out.processes.push_back(PERAXIS_TRY(read_log(logs[i], note)));
  }
  std::ranges::sort(order);
  std::map<std::pair<size_t, size_t>, size_t> number;
  for (size_t i = 0; i < order.size(); ++i) number[order[i].second] = i + 1;
  for (size_t i = 0; i < logs.size(); ++i) {
    size_t count = 0;
    const auto write = [&](const LoggedSubmit& submit) -> Status {
      const std::string name = fmt::format("submit-{:05}.pxc", number[{i, count++}]);
      const auto bytes = trace::write_capture(capture_of(submit));
      if (!bytes) {
        out.problems.push_back(fmt::format("{}: {}", name, bytes.error().message));
        return {};
      }
      PERAXIS_TRY(base::write_file(folder / name, std::span<const uint8_t>(*bytes)));
      out.files.push_back(name);
      return {};
    };
    PERAXIS_TRY(read_log(logs[i], write));
  }
  std::ranges::sort(out.files);
  return out;
}

namespace {

struct NamedCall {
  uint32_t index;
  const char* rocket;
  const char* rknpu;
};
constexpr NamedCall kDriverNames[] = {{0x40, "CREATE_BO", "ACTION"},
                                      {0x41, "SUBMIT", "SUBMIT"},
                                      {0x42, "PREP_BO", "MEM_CREATE"},
                                      {0x43, "FINI_BO", "MEM_MAP"},
                                      {0x44, "", "MEM_DESTROY"},
                                      {0x45, "", "MEM_SYNC"},
                                      {0x00, "VERSION", "VERSION"},
                                      {0x09, "GEM_CLOSE", "GEM_CLOSE"},
                                      {0x0C, "GET_CAP", "GET_CAP"},
                                      {0x2D, "PRIME_HANDLE_TO_FD", "PRIME_HANDLE_TO_FD"},
                                      {0x2E, "PRIME_FD_TO_HANDLE", "PRIME_FD_TO_HANDLE"}};

std::string call_text(uint32_t request) {
  const bool rocket = request == uapi::rocket::kCreateBo || request == uapi::rocket::kSubmit ||
                      request == uapi::rocket::kPrepBo || request == uapi::rocket::kFiniBo;
  for (const NamedCall& call : kDriverNames)
    if (call.index == uapi::ioctl_index(request)) {
      const std::string name = rocket ? call.rocket : call.rknpu;
      if (!name.empty()) return name;
    }
  return fmt::format("{:#010x}", request);
}

}  // namespace

std::string summary_text(const std::vector<LoggedProcess>& processes) {
  base::Table table(
      {"process", "program", "files", "buffers", "submits", "failed", "jobs", "tasks", "bytes", "log"});
  std::map<uint32_t, log::CallRecord> calls;
  for (const LoggedProcess& p : processes) {
    table.add_row({std::to_string(p.process), p.name, std::to_string(p.files), std::to_string(p.buffers),
                   std::to_string(p.submits), std::to_string(p.failed), std::to_string(p.jobs),
                   std::to_string(p.tasks), base::with_thousands(p.bytes), p.cut ? "cut off" : "whole"});
    for (const auto& [request, record] : p.calls) {
      log::CallRecord& sum = calls[request];
      sum.request = request;
      sum.known = record.known;
      sum.times += record.times;
    }
  }
  std::string text = table.text();
  for (const bool known : {true, false})
    for (const auto& [request, record] : calls)
      if ((record.known != 0) == known)
        text += known ? fmt::format("{:>8} {}\n", record.times, call_text(request))
                      : fmt::format("{:>8} unknown call {:#010x}\n", record.times, request);
  return text;
}

}  // namespace peraxis::capture
