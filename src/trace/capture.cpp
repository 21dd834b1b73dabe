// What a capture must keep to, and its commands as streams.
#include "trace/capture.hpp"

#include <algorithm>
#include <limits>
#include <set>

namespace peraxis::trace {
namespace {

constexpr int64_t kAddressEnd = int64_t{1} << 32;  // addresses in a stream have 32 bits
constexpr int32_t kMostChannels = 1 << 16, kMostPixels = 1 << 13;
constexpr int32_t kAtom = 16;

template <class... Args>
tl::unexpected<Error> bad(fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorCode::InvalidModel, format, std::forward<Args>(args)...);
}

Status verify_buffers(const Capture& capture) {
  struct Range {
    int64_t first, end;
    const std::string* name;
  };
  std::vector<Range> ranges;
  for (const CaptureBuffer& b : capture.buffers) {
    if (b.address < 0 || b.size < 0 || b.size > kAddressEnd || b.address > kAddressEnd - b.size)
      return bad("buffer '{}': {} bytes at {:#x} leave the 32-bit address space", b.name, b.size, b.address);
    for (const auto* data : {&b.before, &b.after})
      if (static_cast<int64_t>(data->size()) > b.size)
        return bad("buffer '{}' has {} bytes, {} are recorded", b.name, b.size, data->size());
    if (b.size > 0) ranges.push_back({b.address, b.address + b.size, &b.name});
  }
  std::ranges::sort(ranges, {}, &Range::first);
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].first < ranges[i - 1].end)
      return bad("the buffers '{}' and '{}' overlap at {:#x}", *ranges[i - 1].name, *ranges[i].name,
                 ranges[i].first);
  return {};
}

bool is_range(int64_t first, int64_t count, size_t size) {
  return first >= 0 && count >= 0 && first <= static_cast<int64_t>(size) &&
         count <= static_cast<int64_t>(size) - first;
}

// Names become members of archives: every tensor of a kind has its own, of printable characters.
Status verify_names(const Capture& capture) {
  std::set<std::pair<TensorUse, std::string_view>> names;
  for (const CaptureTensor& t : capture.tensors) {
    const bool printable =
        std::ranges::all_of(t.name, [](char c) { return static_cast<uint8_t>(c) >= 0x20 && c != 0x7F; });
    if (t.name.empty() || !printable) return bad("a tensor's name is empty or holds control characters");
    if (!names.emplace(t.use, t.name).second)
      return bad("two {} tensors are named '{}'", t.use == TensorUse::Input ? "input" : "expected", t.name);
  }
  return {};
}

Status verify_tensor(const Capture& capture, const CaptureTensor& t) {
  if (t.buffer < 0 || static_cast<size_t>(t.buffer) >= capture.buffers.size())
    return bad("tensor '{}' lies in buffer {} of {}", t.name, t.buffer, capture.buffers.size());
  if (t.h < 1 || t.w < 1 || t.c < 1 || t.h > kMostPixels || t.w > kMostPixels || t.c > kMostChannels)
    return bad("tensor '{}' is {}x{}x{}: extents are 1..{}, channels 1..{}", t.name, t.h, t.w, t.c,
               kMostPixels, kMostChannels);
  if (t.pixel_channels < 1 || t.pixel_channels > kAtom ||
      (t.pixel_channels < kAtom && t.c > t.pixel_channels))
    return bad("tensor '{}': {} bytes a pixel for {} channels", t.name, t.pixel_channels, t.c);
  const int64_t plane = int64_t{t.h} * t.w * t.pixel_channels;
  const int64_t surfaces = t.pixel_channels < kAtom ? 1 : (t.c + kAtom - 1) / kAtom;
  if (t.surface_bytes < 0 || t.surface_bytes > kAddressEnd || (surfaces > 1 && t.surface_bytes < plane))
    return bad("tensor '{}': surfaces of {} bytes every {} bytes", t.name, plane, t.surface_bytes);
  const int64_t size = capture.buffers[static_cast<size_t>(t.buffer)].size;
  const int64_t bytes = (surfaces - 1) * t.surface_bytes + plane;
  if (!is_range(t.offset, bytes, static_cast<size_t>(size)))
    return bad("tensor '{}': {} bytes at offset {} leave its buffer of {}", t.name, bytes, t.offset, size);
  if (t.bias < -255 || t.bias > 255)
    return bad("tensor '{}': the bias is {}, must be -255..255", t.name, t.bias);
  if (t.padding < -128 || t.padding > 127)
    return bad("tensor '{}': the padding is {}, must be -128..127", t.name, t.padding);
  if (t.tolerance < 0 || t.tolerance > 255)
    return bad("tensor '{}': the tolerance is {}, must be 0..255", t.name, t.tolerance);
  const bool may_be_empty = t.use == TensorUse::Input;
  if (static_cast<int64_t>(t.data.size()) != int64_t{t.h} * t.w * t.c && !(may_be_empty && t.data.empty()))
    return bad("tensor '{}' is {}x{}x{} and has {} values", t.name, t.h, t.w, t.c, t.data.size());
  return {};
}

// The buffer's recorded bytes at an address, up to `words` words.
Status append_words(const Capture& capture, const CaptureTask& task, Stream& out) {
  for (const CaptureBuffer& b : capture.buffers) {
    const int64_t offset = task.address - b.address;
    if (offset < 0 || offset >= b.size) continue;
    const int64_t bytes = int64_t{task.words} * 8;
    if (offset + bytes > static_cast<int64_t>(b.before.size()))
      return bad("the {} command words at {:#x} are not recorded: of buffer '{}' {} bytes are", task.words,
                 task.address, b.name, b.before.size());
    const Stream words = stream_of_bytes(
        "", std::span(b.before).subspan(static_cast<size_t>(offset), static_cast<size_t>(bytes)));
    out.words.insert(out.words.end(), words.words.begin(), words.words.end());
    return {};
  }
  return bad("the command words at {:#x} lie in no buffer", task.address);
}

}  // namespace

Status verify(const Capture& capture) {
  PERAXIS_TRY(verify_buffers(capture));
  for (size_t i = 0; i < capture.tasks.size(); ++i) {
    const CaptureTask& t = capture.tasks[i];
    if (t.core < 0 || t.core > 2) return bad("task {} runs on core {}, must be 0..2", i, t.core);
    if (t.address < 0 || t.words < 1 || int64_t{t.words} * 8 > kAddressEnd - t.address)
      return bad("task {}: {} words at {:#x} are not within 32-bit addresses", i, t.words, t.address);
  }
  for (size_t i = 0; i < capture.jobs.size(); ++i) {
    const CaptureJob& j = capture.jobs[i];
    if (!is_range(j.first_task, j.task_count, capture.tasks.size()))
      return bad("job {} has {} tasks from {} on, there are {}", i, j.task_count, j.first_task,
                 capture.tasks.size());
  }
  for (size_t i = 0; i < capture.submits.size(); ++i) {
    const CaptureSubmit& s = capture.submits[i];
    if (!is_range(s.first_job, s.job_count, capture.jobs.size()))
      return bad("submit {} has {} jobs from {} on, there are {}", i, s.job_count, s.first_job,
                 capture.jobs.size());
    if (s.start_ns < 0 || s.end_ns < 0 || (s.end_ns != 0 && s.end_ns < s.start_ns))
      return bad("submit {} lasts from {} ns to {} ns", i, s.start_ns, s.end_ns);
  }
  PERAXIS_TRY(verify_names(capture));
  for (const CaptureTensor& t : capture.tensors) PERAXIS_TRY(verify_tensor(capture, t));
  return {};
}

Result<std::vector<Stream>> streams_of_capture(const Capture& capture) {
  // Every word of a stream is recorded, but tasks may name the same words again and again.
  int64_t words = 0;
  constexpr int64_t kMostWords = int64_t{1} << 24;
  constexpr size_t kMostPairs = size_t{1} << 24;
  if (capture.jobs.size() * capture.buffers.size() > kMostPairs)
    return bad("{} jobs and {} buffers are too many", capture.jobs.size(), capture.buffers.size());
  std::vector<Stream> out;
  // Without jobs the tasks are one.
  std::vector<CaptureJob> jobs = capture.jobs;
  if (jobs.empty() && !capture.tasks.empty())
    jobs.push_back({0, static_cast<int32_t>(capture.tasks.size()), {}, {}});
  for (size_t j = 0; j < jobs.size(); ++j) {
    const CaptureJob& job = jobs[j];
    Stream stream;
    stream.name = fmt::format("{} job {}", capture.name, j);
    for (const CaptureBuffer& b : capture.buffers) stream.buffers.push_back({b.name, b.address, b.size});
    for (int32_t t = job.first_task; t < job.first_task + job.task_count; ++t) {
      const CaptureTask& task = capture.tasks[static_cast<size_t>(t)];
      stream.origins[static_cast<int64_t>(stream.words.size())] =
          fmt::format("job {}, core {}, at {:#x}", j, task.core, task.address);
      words += task.words;
      if (words > kMostWords) return bad("the jobs have more than {} command words", kMostWords);
      PERAXIS_TRY(append_words(capture, task, stream));
    }
    out.push_back(std::move(stream));
  }
  return out;
}

}  // namespace peraxis::trace
