#include "lower/repeat.hpp"

#include <algorithm>

#include "lower/layouts.hpp"
#include "lower/tiling.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::lower {
namespace {

using namespace rk3588;

constexpr int64_t kLargestConstant = int64_t{1} << 26;  // bytes; device addresses have 32 bits for everything
constexpr int64_t kWidest = 4096;  // pixels in a row of a copy; a cube's rows have up to 8191

TilingProblem channel_problem(const ir::Nhwc& map) {
  TilingProblem p;
  p.g.in_h = p.g.out_h = map.h;
  p.g.in_w = p.g.out_w = map.w;
  p.g.in_c = 1;
  p.g.out_c = map.c;
  p.in_channels = kAtomBytes;
  p.out_channels = round_up(map.c, kKernelGroup);
  return p;
}

}  // namespace

void copy_pixels(const PixelsAt& source, const PixelsAt& target, int64_t count, int64_t channels,
                 std::vector<Task>& tasks) {
  const auto at = [](const PixelsAt& place, int64_t pixel) {
    const rk3588::SymbolicAddress& start = place.cube.address;
    return rk3588::SymbolicAddress{start.allocation, start.offset + (place.pixel + pixel) * kAtomBytes};
  };
  for (int64_t done = 0; done < count;) {
    ElementTask task;
    task.width = std::min(count - done, kWidest);
    task.height = std::min((count - done) / task.width, kWidest);
    task.channels = channels;
    task.input = at(source, done);
    task.in_plane = source.cube.plane;
    task.output = at(target, done);
    task.out_plane = target.cube.plane;
    tasks.emplace_back(task);
    done += task.width * task.height;
  }
}

std::string constant_cube_refusal(const ir::Nhwc& map) {
  const int64_t bytes = map.n * map.h * map.w * round_up(map.c, kAtomBytes);
  if (bytes <= kLargestConstant) return {};
  return fmt::format("a constant at the size of the output takes {} bytes, up to {} are given", bytes,
                     kLargestConstant);
}

CubeAt constant_cube(const ir::Tensor& constant, const ir::Nhwc& map, MemoryPlan& memory) {
  const ir::Nhwc own = ir::nhwc(constant);
  const uint8_t flip = constant.type == ir::DataType::UInt8 ? 0x80 : 0;
  const int64_t pixels = map.n * map.h * map.w;
  std::vector<uint8_t> cube(static_cast<size_t>(pixels * round_up(map.c, kAtomBytes)));
  for (int64_t row = 0; row < map.n * map.h; ++row)
    for (int64_t x = 0; x < map.w; ++x)
      for (int64_t c = 0; c < map.c; ++c) {
        const int64_t n = own.n == 1 ? 0 : row / map.h, y = own.h == 1 ? 0 : row % map.h;
        const int64_t from = ((n * own.h + y) * own.w + (own.w == 1 ? 0 : x)) * own.c + (own.c == 1 ? 0 : c);
        const int64_t to = (c / kAtomBytes * pixels + row * map.w + x) * kAtomBytes + c % kAtomBytes;
        cube[static_cast<size_t>(to)] = constant.data[static_cast<size_t>(from)] ^ flip;
      }
  return {{memory.add_constant(std::move(cube)), 0}, pixels};
}

CubeAt repeat_pixel(const CubeAt& pixel, const ir::Nhwc& map, MemoryPlan& memory, std::vector<Task>& tasks) {
  const int64_t pixels = map.h * map.w, channels = round_up(map.c, kAtomBytes);
  const CubeAt whole{{memory.add_activation(pixels * channels), 0}, pixels};
  copy_pixels({pixel}, {whole}, 1, channels, tasks);
  for (int64_t there = 1; there < pixels; there *= 2)
    copy_pixels({whole}, {whole, there}, std::min(there, pixels - there), channels, tasks);
  return whole;
}

std::string repeat_channel_refusal(const ir::Nhwc& map) {
  if (map.w > kMaxInputExtent) return fmt::format("a map {} wide exceeds {} columns", map.w, kMaxInputExtent);
  if (round_up(map.c, kKernelGroup) > kMaxCubeChannels)
    return fmt::format("{} channels exceed {}", map.c, kMaxCubeChannels);
  const auto tiling = tile(channel_problem(map), {});
  return tiling ? std::string() : tiling.error().message;
}

Result<CubeAt> repeat_channel(const CubeAt& channel, const ir::Nhwc& map, MemoryPlan& memory,
                              std::vector<Task>& tasks) {
  const int64_t pixels = map.h * map.w, slots = round_up(map.c, kKernelGroup);
  const Tiling tiling = PERAXIS_TRY(tile(channel_problem(map), {}));
  const CubeAt whole{{memory.add_activation(pixels * slots), 0}, pixels};
  // The other lanes of the surface hold anything.
  const int32_t weights = memory.add_constant(
      pack_direct_weights(slots, kAtomBytes, 1, 1,
                          [](int64_t, int64_t, int64_t, int64_t in) -> int64_t { return in == 0 ? 1 : 0; }));
  const int32_t addends = memory.add_constant(std::vector<uint8_t>(static_cast<size_t>(slots * 4)));
  for (int64_t first = 0; first < slots; first += tiling.channels_per_task)
    for (const RowTile& rows : tiling.rows) {
      ConvTask task;
      task.in_width = task.out_width = map.w;
      task.in_height = rows.in_rows;
      task.in_plane = channel.plane;
      task.out_plane = whole.plane;
      task.in_channels = kAtomBytes;
      task.in_channels_real = 1;
      task.input = {channel.address.allocation, channel.address.offset + rows.in_first * map.w * kAtomBytes};
      task.kernel_width = task.kernel_height = 1;
      task.out_height = rows.rows;
      task.out_channels = task.kernels = std::min(tiling.channels_per_task, slots - first);
      task.out_channels_real = std::clamp<int64_t>(map.c - first, 1, task.out_channels);
      task.weight_bytes_per_kernel = kAtomBytes;
      task.weight_bytes = kAtomBytes * task.kernels;
      task.weights = {weights, kAtomBytes * first};
      task.operands = {addends, 4 * first};
      task.output = {whole.address.allocation,
                     whole.address.offset + (first / kAtomBytes * pixels + rows.first * map.w) * kAtomBytes};
      task.data_banks = tiling.data_banks;
      task.weight_banks = tiling.weight_banks;
      task.weight_reuse = tiling.weights_resident && &rows != &tiling.rows.front();
      tasks.emplace_back(task);
    }
  return whole;
}

}  // namespace peraxis::lower
