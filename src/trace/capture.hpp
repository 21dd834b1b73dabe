// A capture: what a driver submitted, with the memory it pointed to. Jobs and tasks as the kernel saw them,
// buffers as they were before and after, dense tensors that belong to buffers. docs/capture.md describes the
// file. Recorders write it, decode and diff read it, replay executes it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "trace/stream.hpp"

namespace peraxis::trace {

inline constexpr uint32_t kCaptureVersion = 1;

struct CaptureBuffer {
  std::string name;
  std::string role;  // "commands", "weights", "operands", "input", "output", ... as its recorder says
  int32_t handle = 0;
  int64_t address = 0, size = 0;       // on the device
  std::vector<uint8_t> before, after;  // at most `size` bytes from the start; empty: not recorded
};
struct CaptureTask {
  int64_t address = 0;  // of its first word
  int32_t words = 0;
  int32_t core = 0;
};
struct CaptureJob {
  int32_t first_task = 0, task_count = 0;
  std::vector<int32_t> in_handles, out_handles;
};
struct CaptureSubmit {
  int32_t first_job = 0, job_count = 0;
  int64_t start_ns = 0, end_ns = 0;  // 0: not recorded
};
enum class TensorUse : uint8_t { Input, Expected };
// A dense array [h][w][c] that lies in a buffer as a cube [c/16][surface][16], int8. `bias` is what the cube
// holds less than the array (128 for uint8 tensors, which are stored minus 128).
struct CaptureTensor {
  std::string name;
  std::string origin;  // what computed the values: "TFLite reference kernels", "board", ...
  TensorUse use = TensorUse::Input;
  int32_t buffer = 0;
  int64_t offset = 0;  // bytes
  int32_t h = 0, w = 0, c = 0;
  int64_t surface_bytes = 0;    // from one 16-channel surface to the next; 16 * h * w when tight
  int32_t pixel_channels = 16;  // bytes a pixel takes; fewer than 16: pixels side by side, one surface
  int32_t bias = 0;
  int32_t padding = 0;        // Input: what the cube's spare channels hold, in the cube's domain
  int32_t tolerance = 0;      // Expected: the difference that counts as agreement
  std::vector<uint8_t> data;  // h * w * c bytes; Input: empty when left out (give it with --input)
};
struct Capture {
  std::string name, driver, target = "rk3588", note;
  std::vector<CaptureBuffer> buffers;
  std::vector<CaptureTask> tasks;
  std::vector<CaptureJob> jobs;
  std::vector<CaptureSubmit> submits;
  std::vector<CaptureTensor> tensors;
};

// Every index, range and size. read_capture and write_capture call it.
Status verify(const Capture& capture);
Result<std::vector<uint8_t>> write_capture(const Capture& capture);
Result<Capture> read_capture(std::span<const uint8_t> bytes);
bool looks_like_capture(std::span<const uint8_t> bytes);

// The commands of each job as a stream; buffers are known by name. Fails when they were not recorded.
Result<std::vector<Stream>> streams_of_capture(const Capture& capture);

}  // namespace peraxis::trace
