// Capture <-> file, in the envelope of the executable: a flatbuffer inside a flatbuffer that carries its
// checksum. Reading trusts nothing: envelope, version, flatbuffers' verifier, checksums, then values.
#include <zlib.h>

#include <cstring>

#include "base/hash.hpp"
#include "capture_generated.h"
#include "trace/capture.hpp"

namespace peraxis::trace {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

constexpr size_t kIdentifierAt = 4, kMinFileBytes = 16, kAlignment = 16;
constexpr int64_t kMaxDataBytes = (int64_t{1} << 31) - (int64_t{1} << 26);
// zlib never makes more of a byte; what claims to be larger is a lie, told before anything is allocated.
constexpr uint64_t kMostInflation = 1032;
// All blobs together, unpacked.
constexpr uint64_t kMostUnpacked = uint64_t{1} << 31;

template <class... Args>
tl::unexpected<Error> bad(fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorCode::InvalidModel, format, std::forward<Args>(args)...);
}

// ---- writing ----

Offset<file::Blob> make_blob(FlatBufferBuilder& builder, const std::vector<uint8_t>& data) {
  if (data.empty()) return 0;
  uLongf packed_size = compressBound(static_cast<uLong>(data.size()));
  std::vector<uint8_t> packed(packed_size);
  const bool smaller = compress2(packed.data(), &packed_size, data.data(), static_cast<uLong>(data.size()),
                                 Z_DEFAULT_COMPRESSION) == Z_OK &&
                       packed_size < data.size();
  packed.resize(smaller ? packed_size : 0);
  const auto stored = builder.CreateVector(smaller ? packed : data);
  return file::CreateBlob(builder, data.size(), base::hash64(data), smaller, stored);
}

Offset<file::Buffer> make_buffer(FlatBufferBuilder& builder, const CaptureBuffer& b) {
  const auto name = builder.CreateString(b.name), role = builder.CreateString(b.role);
  const auto before = make_blob(builder, b.before), after = make_blob(builder, b.after);
  return file::CreateBuffer(builder, name, role, b.handle, b.address, b.size, before, after);
}

Offset<file::Tensor> make_tensor(FlatBufferBuilder& builder, const CaptureTensor& t) {
  const auto name = builder.CreateString(t.name), origin = builder.CreateString(t.origin);
  const auto data = make_blob(builder, t.data);
  return file::CreateTensor(builder, name, origin, static_cast<file::TensorUse>(t.use), t.buffer, t.offset,
                            t.h, t.w, t.c, t.surface_bytes, t.pixel_channels, t.bias, t.padding, t.tolerance,
                            data);
}

template <class To, class From, class Make>
Offset<flatbuffers::Vector<Offset<To>>> tables(FlatBufferBuilder& builder, const std::vector<From>& items,
                                               const Make& make) {
  std::vector<Offset<To>> out;
  out.reserve(items.size());
  for (const From& item : items) out.push_back(make(builder, item));
  return builder.CreateVector(out);
}

Offset<file::Content> make_content(FlatBufferBuilder& builder, const Capture& c) {
  const auto buffers = tables<file::Buffer>(builder, c.buffers, make_buffer);
  std::vector<file::Task> tasks;
  for (const CaptureTask& t : c.tasks) tasks.emplace_back(t.address, t.words, t.core);
  const auto task_vector = builder.CreateVectorOfStructs(tasks);
  const auto jobs = tables<file::Job>(builder, c.jobs, [](FlatBufferBuilder& b, const CaptureJob& j) {
    const auto in = b.CreateVector(j.in_handles), out = b.CreateVector(j.out_handles);
    return file::CreateJob(b, j.first_task, j.task_count, in, out);
  });
  std::vector<file::Submit> submits;
  for (const CaptureSubmit& s : c.submits)
    submits.emplace_back(s.start_ns, s.end_ns, s.first_job, s.job_count);
  const auto submit_vector = builder.CreateVectorOfStructs(submits);
  const auto tensors = tables<file::Tensor>(builder, c.tensors, make_tensor);
  const auto name = builder.CreateString(c.name), driver = builder.CreateString(c.driver);
  const auto target = builder.CreateString(c.target), note = builder.CreateString(c.note);
  return file::CreateContent(builder, name, driver, target, note, buffers, task_vector, jobs, submit_vector,
                             tensors);
}

int64_t data_bytes(const Capture& c) {
  size_t bytes = c.tasks.size() * sizeof(file::Task) + c.submits.size() * sizeof(file::Submit);
  for (const CaptureBuffer& b : c.buffers)
    bytes += b.before.size() + b.after.size() + b.name.size() + b.role.size() + 256;
  for (const CaptureTensor& t : c.tensors) bytes += t.data.size() + t.name.size() + t.origin.size() + 256;
  for (const CaptureJob& j : c.jobs) bytes += 4 * (j.in_handles.size() + j.out_handles.size()) + 64;
  return static_cast<int64_t>(bytes);
}

// ---- reading ----

std::span<const uint8_t> aligned(std::span<const uint8_t> bytes, std::vector<uint8_t>& copy) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % kAlignment == 0) return bytes;
  copy.assign(bytes.begin(), bytes.end());
  return copy;
}

flatbuffers::Verifier make_verifier(std::span<const uint8_t> bytes) {
  return {bytes.data(), bytes.size(), 64, static_cast<flatbuffers::uoffset_t>(bytes.size() / 4 + 1)};
}

class Reader {
 public:
  Reader(const file::Content& content, size_t bytes) : f_(content), budget_(bytes) {}

  Result<Capture> run() {
    Capture c;
    for (const auto& [to, from] : {std::pair{&c.name, f_.name()},
                                   {&c.driver, f_.driver()},
                                   {&c.target, f_.target()},
                                   {&c.note, f_.note()}})
      PERAXIS_TRY(text(*from, *to));
    for (const file::Buffer* b : *f_.buffers()) PERAXIS_TRY(buffer(*b, c));
    PERAXIS_TRY(structs(*f_.tasks(), c.tasks,
                        [](const file::Task& t) { return CaptureTask{t.address(), t.words(), t.core()}; }));
    for (const file::Job* j : *f_.jobs()) PERAXIS_TRY(job(*j, c));
    PERAXIS_TRY(structs(*f_.submits(), c.submits, [](const file::Submit& s) {
      return CaptureSubmit{s.first_job(), s.job_count(), s.start_ns(), s.end_ns()};
    }));
    for (const file::Tensor* t : *f_.tensors()) PERAXIS_TRY(tensor(*t, c));
    return c;
  }

 private:
  // Our writer stores everything once: parts that are used again and again cannot fill memory.
  Status spend(size_t count, size_t bytes_each) {
    if (count > budget_ / bytes_each) return bad("parts of the file are used more than once");
    budget_ -= count * bytes_each;
    return {};
  }
  // The verifier checks where a vector begins and ends, but not that structs of eight bytes lie on such.
  template <class From, class To, class Fn>
  Status structs(const flatbuffers::Vector<const From*>& from, std::vector<To>& to, const Fn& convert) {
    if (from.size() == 0) return {};
    PERAXIS_TRY(spend(from.size(), sizeof(From)));
    if (reinterpret_cast<uintptr_t>(from.Data()) % alignof(From) != 0)
      return bad("a list of the capture is not aligned");
    for (const From* item : from) to.push_back(convert(*item));
    return {};
  }
  Status text(const flatbuffers::String& from, std::string& to) {
    PERAXIS_TRY(spend(from.size(), 1));
    to = from.str();
    return {};
  }
  Status integers(const flatbuffers::Vector<int32_t>& from, std::vector<int32_t>& to) {
    PERAXIS_TRY(spend(from.size(), sizeof(int32_t)));
    to.assign(from.begin(), from.end());
    return {};
  }

  Status blob(const file::Blob* from, const std::string& what, std::vector<uint8_t>& to) {
    if (from == nullptr) return {};
    const std::span<const uint8_t> stored(from->data()->data(), from->data()->size());
    PERAXIS_TRY(spend(stored.size(), 1));
    if (from->size() > kMostUnpacked - unpacked_)
      return bad("{}: with its {} bytes the capture has more than {}", what, from->size(), kMostUnpacked);
    unpacked_ += from->size();
    if (!from->packed()) {
      if (stored.size() != from->size())
        return bad("{}: {} bytes are stored, the file says {}", what, stored.size(), from->size());
      to.assign(stored.begin(), stored.end());
    } else {
      if (from->size() > stored.size() * kMostInflation)
        return bad("{}: {} stored bytes cannot hold {}", what, stored.size(), from->size());
      to.resize(from->size());
      auto size = static_cast<uLongf>(to.size());
      if (uncompress(to.data(), &size, stored.data(), static_cast<uLong>(stored.size())) != Z_OK ||
          size != to.size())
        return bad("{}: the stored bytes do not unpack to {}", what, from->size());
    }
    if (to.empty()) return bad("{}: an empty blob", what);
    if (const uint64_t found = base::hash64(to); found != from->checksum())
      return bad("{}: checksum {:016x}, the file says {:016x}: the file is damaged", what, found,
                 from->checksum());
    return {};
  }

  Status buffer(const file::Buffer& b, Capture& c) {
    CaptureBuffer out;
    PERAXIS_TRY(spend(1, 4));
    PERAXIS_TRY(text(*b.name(), out.name));
    PERAXIS_TRY(text(*b.role(), out.role));
    out.handle = b.handle();
    out.address = b.address();
    out.size = b.size();
    PERAXIS_TRY(blob(b.before(), fmt::format("buffer '{}' before", out.name), out.before));
    PERAXIS_TRY(blob(b.after(), fmt::format("buffer '{}' after", out.name), out.after));
    c.buffers.push_back(std::move(out));
    return {};
  }

  Status job(const file::Job& j, Capture& c) {
    CaptureJob out{j.first_task(), j.task_count(), {}, {}};
    PERAXIS_TRY(spend(1, 4));
    PERAXIS_TRY(integers(*j.in_handles(), out.in_handles));
    PERAXIS_TRY(integers(*j.out_handles(), out.out_handles));
    c.jobs.push_back(std::move(out));
    return {};
  }

  Status tensor(const file::Tensor& t, Capture& c) {
    CaptureTensor out;
    PERAXIS_TRY(spend(1, 4));
    PERAXIS_TRY(text(*t.name(), out.name));
    PERAXIS_TRY(text(*t.origin(), out.origin));
    if (t.use() > file::TensorUse::MAX)
      return bad("tensor '{}': use {}", out.name, static_cast<int>(t.use()));
    out.use = static_cast<TensorUse>(t.use());
    out.buffer = t.buffer();
    out.offset = t.offset();
    out.h = t.h();
    out.w = t.w();
    out.c = t.c();
    out.surface_bytes = t.surface_bytes();
    out.pixel_channels = t.pixel_channels();
    out.bias = t.bias();
    out.padding = t.padding();
    out.tolerance = t.tolerance();
    PERAXIS_TRY(blob(t.data(), fmt::format("tensor '{}'", out.name), out.data));
    c.tensors.push_back(std::move(out));
    return {};
  }

  const file::Content& f_;
  size_t budget_;
  uint64_t unpacked_ = 0;
};

}  // namespace

bool looks_like_capture(std::span<const uint8_t> bytes) {
  return bytes.size() >= kIdentifierAt + 4 &&
         std::memcmp(bytes.data() + kIdentifierAt, file::FileIdentifier(), 4) == 0;
}

Result<std::vector<uint8_t>> write_capture(const Capture& capture) {
  PERAXIS_TRY_NOTE(verify(capture), "while writing the capture '{}'", capture.name);
  if (data_bytes(capture) > kMaxDataBytes)
    return fail(ErrorCode::Unsupported, "the capture has {} bytes, a file holds {}", data_bytes(capture),
                kMaxDataBytes);
  FlatBufferBuilder content;
  content.Finish(make_content(content, capture));
  FlatBufferBuilder out;
  out.ForceVectorAlignment(content.GetSize(), 1, kAlignment);
  const auto stored = out.CreateVector(content.GetBufferPointer(), content.GetSize());
  const uint64_t checksum = base::hash64(std::span(content.GetBufferPointer(), content.GetSize()));
  file::FinishFileBuffer(out, file::CreateFile(out, kCaptureVersion, checksum, stored));
  return std::vector<uint8_t>(out.GetBufferPointer(), out.GetBufferPointer() + out.GetSize());
}

Result<Capture> read_capture(std::span<const uint8_t> bytes) {
  if (!looks_like_capture(bytes)) return bad("this is no capture of peraxis: it does not begin with 'PXC1'");
  if (bytes.size() < kMinFileBytes) return bad("the capture ends after {} bytes", bytes.size());
  if (bytes.size() > FLATBUFFERS_MAX_BUFFER_SIZE)
    return bad("the capture has {} bytes, the limit is {}", bytes.size(), FLATBUFFERS_MAX_BUFFER_SIZE);
  std::vector<uint8_t> file_copy, content_copy;
  bytes = aligned(bytes, file_copy);
  flatbuffers::Verifier file_verifier = make_verifier(bytes);
  if (!file::VerifyFileBuffer(file_verifier)) return bad("the capture is damaged or cut off");
  const file::File& envelope = *file::GetFile(bytes.data());
  if (envelope.version() != kCaptureVersion)
    return fail(ErrorCode::Unsupported, "the capture has format version {}, this program reads {}",
                envelope.version(), kCaptureVersion);
  const std::span<const uint8_t> stored(envelope.content()->data(), envelope.content()->size());
  if (const uint64_t found = base::hash64(stored); found != envelope.checksum())
    return bad("the capture's checksum is {:016x}, the file says {:016x}: the file is damaged", found,
               envelope.checksum());
  const std::span<const uint8_t> content = aligned(stored, content_copy);
  flatbuffers::Verifier content_verifier = make_verifier(content);
  if (content.size() < kMinFileBytes || !content_verifier.VerifyBuffer<file::Content>(nullptr))
    return bad("the capture's content is not well-formed");
  Capture capture =
      PERAXIS_TRY(Reader(*flatbuffers::GetRoot<file::Content>(content.data()), content.size()).run());
  PERAXIS_TRY_NOTE(verify(capture), "while reading the capture '{}'", capture.name);
  return capture;
}

}  // namespace peraxis::trace
