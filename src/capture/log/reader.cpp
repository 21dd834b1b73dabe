// See reader.hpp. A log may end anywhere and come from a program that was killed: everything is checked.
#include "capture/log/reader.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "base/file.hpp"

namespace peraxis::capture {

namespace {

struct FileState {
  log::Driver driver = log::Driver::Rocket;
  std::map<uint32_t, LoggedBuffer> buffers;
  std::unique_ptr<LoggedSubmit> running;
};

// A payload, taken from its front.
class Payload {
 public:
  explicit Payload(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  template <class T>
  bool take(T& out) {
    if (bytes_.size() < sizeof(T)) return false;
    std::memcpy(&out, bytes_.data(), sizeof(T));
    bytes_ = bytes_.subspan(sizeof(T));
    return true;
  }
  template <class T>
  bool take(std::vector<T>& out, size_t count) {
    if (count > bytes_.size() / sizeof(T)) return false;
    out.resize(count);
    if (count != 0) std::memcpy(out.data(), bytes_.data(), count * sizeof(T));
    bytes_ = bytes_.subspan(count * sizeof(T));
    return true;
  }
  std::span<const uint8_t> rest() const { return bytes_; }

 private:
  std::span<const uint8_t> bytes_;
};

class LogReader {
 public:
  explicit LogReader(const std::function<Status(const LoggedSubmit&)>& each) : each_(each) {}

  Status run(std::span<const uint8_t> bytes) {
    while (!bytes.empty()) {
      log::RecordHead head;
      if (bytes.size() < sizeof(head)) return cut();
      std::memcpy(&head, bytes.data(), sizeof(head));
      bytes = bytes.subspan(sizeof(head));
      if (head.magic != log::kMagic || head.bytes > bytes.size()) return cut();
      const auto payload = bytes.first(static_cast<size_t>(head.bytes));
      bytes = bytes.subspan(payload.size());
      if (!checks(head, payload)) return cut();
      if (!PERAXIS_TRY(take(head, payload))) return cut();
    }
    return finish();
  }
  LoggedProcess& process() { return process_; }

 private:
  // The writer's checksum goes over a record's head and its bytes one after the other.
  static bool checks(const log::RecordHead& head, std::span<const uint8_t> payload) {
    size_t first = payload.size();
    if (head.kind == log::Kind::Content) first = std::min(first, sizeof(log::ContentRecord));
    if (head.kind == log::Kind::Begin) first = std::min(first, sizeof(log::SubmitRecord));
    uint64_t sum = log::checksum(payload.data(), first);
    if (first < payload.size()) sum = log::checksum(payload.data() + first, payload.size() - first, sum);
    return sum == head.checksum;
  }
  Status cut() {
    process_.cut = true;
    return finish();
  }
  Status finish() {
    for (auto& [id, file] : files_)
      if (file.running != nullptr) PERAXIS_TRY(each_(*file.running));
    return {};
  }

  // False: the record is not what its kind says.
  Result<bool> take(const log::RecordHead& head, std::span<const uint8_t> bytes) {
    Payload payload(bytes);
    switch (head.kind) {
      case log::Kind::Process: {
        log::ProcessRecord record;
        if (!payload.take(record)) return false;
        process_.process = record.process;
        process_.parent = record.parent;
        process_.name.assign(payload.rest().begin(), payload.rest().end());
        return true;
      }
      case log::Kind::Open: {
        log::OpenRecord record;
        if (!payload.take(record)) return false;
        files_[record.file].driver = record.driver;
        ++process_.files;
        return true;
      }
      case log::Kind::Close: {
        uint32_t file = 0;
        if (!payload.take(file)) return false;
        if (auto found = files_.find(file); found != files_.end()) {
          if (found->second.running != nullptr) PERAXIS_TRY(each_(*found->second.running));
          files_.erase(found);
        }
        return true;
      }
      case log::Kind::Calls: {
        log::CallRecord record;
        if (!payload.take(record)) return false;
        process_.calls[record.request] = record;
        return true;
      }
      case log::Kind::Buffer:
      case log::Kind::BufferGone:
      case log::Kind::Content:
        return take_buffer(head.kind, payload);
      case log::Kind::Begin:
        return take_begin(head, payload);
      case log::Kind::End:
        return take_end(payload);
    }
    return false;
  }

  bool take_buffer(log::Kind kind, Payload payload) {
    if (kind == log::Kind::Buffer) {
      log::BufferRecord record;
      if (!payload.take(record)) return false;
      files_[record.file].buffers[record.handle] = {record, nullptr};
      ++process_.buffers;
      return true;
    }
    log::ContentRecord record;
    if (!payload.take(record)) return false;
    FileState& file = files_[record.file];
    const auto found = file.buffers.find(record.handle);
    if (found == file.buffers.end()) return true;
    if (kind == log::Kind::BufferGone) {
      file.buffers.erase(found);
      return true;
    }
    found->second.content =
        std::make_shared<const std::vector<uint8_t>>(payload.rest().begin(), payload.rest().end());
    process_.bytes += static_cast<int64_t>(payload.rest().size());
    if (file.running != nullptr) file.running->after[record.handle] = found->second.content;
    return true;
  }

  Result<bool> take_begin(const log::RecordHead& head, Payload payload) {
    auto submit = std::make_unique<LoggedSubmit>();
    if (!payload.take(submit->head) || !payload.take(submit->jobs, submit->head.jobs) ||
        !payload.take(submit->tasks, submit->head.tasks) ||
        !payload.take(submit->handles, submit->head.handles))
      return false;
    for (const log::JobPart& job : submit->jobs) {
      const auto inside = [](uint64_t first, uint64_t count, size_t all) { return first + count <= all; };
      if (!inside(job.first_task, job.task_count, submit->tasks.size()) ||
          !inside(job.first_in, job.in_count, submit->handles.size()) ||
          !inside(job.first_out, job.out_count, submit->handles.size()))
        return false;
    }
    FileState& file = files_[submit->head.file];
    if (file.running != nullptr) PERAXIS_TRY(each_(*file.running));
    submit->process = process_.process;
    submit->file = submit->head.file;
    submit->number = submit->head.number;
    submit->driver = file.driver;
    submit->begin_ns = head.time_ns;
    submit->before = file.buffers;
    ++process_.submits;
    process_.jobs += submit->head.jobs;
    process_.tasks += submit->head.tasks;
    file.running = std::move(submit);
    return true;
  }

  Result<bool> take_end(Payload payload) {
    log::EndRecord record;
    if (!payload.take(record)) return false;
    FileState& file = files_[record.file];
    if (file.running == nullptr || file.running->number != record.number) return true;
    file.running->ended = true;
    file.running->end = record;
    process_.failed += record.result < 0 ? 1 : 0;
    const std::unique_ptr<LoggedSubmit> done = std::move(file.running);
    PERAXIS_TRY(each_(*done));
    return true;
  }

  const std::function<Status(const LoggedSubmit&)>& each_;
  LoggedProcess process_;
  std::map<uint32_t, FileState> files_;
};

}  // namespace

Result<LoggedProcess> read_log(const std::filesystem::path& path,
                               const std::function<Status(const LoggedSubmit&)>& each) {
  constexpr int64_t kMostLogBytes = int64_t{16} << 30;
  const std::vector<uint8_t> bytes = PERAXIS_TRY(base::read_file(path, kMostLogBytes));
  LogReader reader(each);
  PERAXIS_TRY_NOTE(reader.run(bytes), "in {}", path.string());
  return std::move(reader.process());
}

Result<std::vector<std::filesystem::path>> logs_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> out;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(folder, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
    if (entry->path().extension() == ".plog") out.push_back(entry->path());
  if (error) return fail(ErrorCode::Io, "{}: {}", folder.string(), error.message());
  std::ranges::sort(out);
  return out;
}

}  // namespace peraxis::capture
