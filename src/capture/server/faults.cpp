// See faults.hpp.
#include "capture/server/faults.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>

namespace peraxis::capture {
namespace {

struct ErrnoName {
  const char* name;
  int value;
};
constexpr ErrnoName kErrnoNames[] = {
    {"EPERM", EPERM},          {"ENOENT", ENOENT}, {"EINTR", EINTR},         {"EIO", EIO},
    {"EBADF", EBADF},          {"EAGAIN", EAGAIN}, {"ENOMEM", ENOMEM},       {"EACCES", EACCES},
    {"EFAULT", EFAULT},        {"EBUSY", EBUSY},   {"ENODEV", ENODEV},       {"EINVAL", EINVAL},
    {"ENFILE", ENFILE},        {"EMFILE", EMFILE}, {"ENOSPC", ENOSPC},       {"ENOSYS", ENOSYS},
    {"ETIME", ETIME},          {"ENOTTY", ENOTTY}, {"ETIMEDOUT", ETIMEDOUT}, {"ECANCELED", ECANCELED},
    {"EOPNOTSUPP", EOPNOTSUPP}};
constexpr std::string_view kCalls[] = {"open",   "create", "submit", "prep",    "fini", "map", "export",
                                       "import", "close",  "action", "destroy", "sync", "any"};

std::optional<int64_t> number_in(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::optional<int64_t> bytes_in(std::string_view text) {
  int64_t scale = 1;
  if (!text.empty()) {
    if (text.back() == 'K') scale = int64_t{1} << 10;
    if (text.back() == 'M') scale = int64_t{1} << 20;
    if (text.back() == 'G') scale = int64_t{1} << 30;
  }
  const auto value = number_in(scale == 1 ? text : text.substr(0, text.size() - 1));
  if (!value || *value > (int64_t{1} << 32) / scale) return std::nullopt;
  return *value * scale;
}

}  // namespace

std::string fault_help() {
  return "CALL@N=ERRNO, hang@N, stale@N, lost@N, space=BYTES, slow=MS or cores=ORDER";
}

std::string errno_name(int error) {
  for (const ErrnoName& known : kErrnoNames)
    if (known.value == error) return known.name;
  return std::to_string(error);
}

Status Faults::add(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return fail(ErrorCode::InvalidArgument, "'{}': {}; a fault is {}", text, why, fault_help());
  };
  const size_t equals = text.find('=');
  const std::string_view left = text.substr(0, equals);
  const std::string_view right =
      equals == std::string_view::npos ? std::string_view() : text.substr(equals + 1);
  const size_t at = left.find('@');
  if (at == std::string_view::npos) {
    if (left == "space") {
      const auto bytes = bytes_in(right);
      if (!bytes || *bytes < 4096) return wrong("the address space must be 4K to 4G");
      space_ = *bytes / 4096 * 4096;
      return {};
    }
    if (left == "slow") {
      const auto ms = number_in(right);
      if (!ms || *ms > 60000) return wrong("must be 0 to 60000 ms");
      slow_us_ = *ms * 1000;
      return {};
    }
    if (left == "cores") {
      std::string sorted(right);
      std::ranges::sort(sorted);
      if (sorted != "012") return wrong("the order must name cores 0, 1 and 2");
      for (size_t i = 0; i < 3; ++i) cores_[i] = right[i] - '0';
      return {};
    }
    return wrong("unknown");
  }
  const std::string_view name = left.substr(0, at);
  const auto number = number_in(left.substr(at + 1));
  if (!number || *number < 1) return wrong("the number after @ must be 1 or more");
  if (name == "hang" || name == "stale" || name == "lost") {
    if (equals != std::string_view::npos) return wrong("nothing may follow the number");
    if (name == "hang") hangs_.insert(*number);
    if (name == "stale") stale_.insert(*number);
    if (name == "lost") lost_ = *number;
    return {};
  }
  if (std::ranges::find(kCalls, name) == std::end(kCalls)) return wrong("no such call");
  for (const ErrnoName& known : kErrnoNames)
    if (right == known.name) {
      errors_.push_back({std::string(name), *number, known.value});
      return {};
    }
  return wrong("no such errno");
}

int Faults::error_of(std::string_view call) {
  const std::lock_guard lock(*lock_);
  const auto count = [&](std::string_view name) {
    auto found = calls_.find(name);
    if (found == calls_.end()) found = calls_.emplace(name, 0).first;
    return ++found->second;
  };
  const int64_t number = count(call), of_all = count("any");
  if (lost_ != 0 && of_all >= lost_) return ENODEV;
  for (const CallError& error : errors_)
    if ((error.call == call && error.number == number) || (error.call == "any" && error.number == of_all))
      return error.error;
  return 0;
}
bool Faults::hangs() {
  const std::lock_guard lock(*lock_);
  return hangs_.contains(++tasks_);
}
bool Faults::reads_stale() {
  const std::lock_guard lock(*lock_);
  return stale_.contains(++followers_);
}

void Findings::add(FindingKind kind, std::string text) {
  const std::lock_guard lock(lock_);
  for (Entry& entry : entries_)
    if (entry.kind == kind && entry.text == text) {
      ++entry.times;
      return;
    }
  if (entries_.size() < kMost)
    entries_.push_back({kind, std::move(text), 1});
  else
    ++left_out_;
}
std::vector<Findings::Entry> Findings::entries() const {
  const std::lock_guard lock(lock_);
  return entries_;
}
int64_t Findings::count(FindingKind kind) const {
  int64_t out = 0;
  for (const Entry& entry : entries()) out += entry.kind == kind ? entry.times : 0;
  return out;
}
std::string Findings::text() const {
  constexpr const char* kKinds[] = {"punished silently", "the machine stopped", "fault"};
  std::string out;
  for (const Entry& entry : entries())
    out += fmt::format("{}: {}{}\n", kKinds[static_cast<size_t>(entry.kind)], entry.text,
                       entry.times > 1 ? fmt::format(" ({} times)", entry.times) : std::string());
  if (left_out_ > 0) out += fmt::format("and {} more\n", left_out_);
  return out;
}

}  // namespace peraxis::capture
