// Between dense NHWC arrays of the host and the channel-blocked cubes of the device, and the arithmetic the
// host does on cubes between two jobs. A cube holds 16 int8 channels (or 4 int32 channels) of a pixel side
// by side, pixels in row order, channel blocks ("surfaces") one after the other. Every function works on
// whole surfaces with strides known up front, so that a conversion costs about as much as a copy.
//
// uint8 tensors are stored as stored-128 on the device: for bytes that is one flipped top bit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/thread_pool.hpp"
#include "exe/executable.hpp"
#include "kernels/view.hpp"

namespace peraxis::runtime {

inline constexpr int64_t kInt8Lanes = 16;
inline constexpr int64_t kInt32Lanes = 4;

// How the kernels find the cube's elements. Refers to the placement's slots.
kernels::Layout kernel_layout(const exe::Placement& placement);

// Bytes of the cube, from its first byte to its last.
int64_t cube_bytes(const exe::Cube& cube);
// The same of a placement: of its cube, or of its packed rows.
int64_t placement_bytes(const exe::Placement& placement);

// `cube` starts at the placement's first byte and is placement_bytes long; `host` holds h*w*c bytes. The
// caller has checked both sizes. Packed pixels are rows that are copied.
void upload(std::span<const uint8_t> host, const exe::Placement& placement, std::span<uint8_t> cube,
            base::ThreadPool* pool = nullptr);
void download(std::span<const uint8_t> cube, const exe::Placement& placement, std::span<uint8_t> host,
              base::ThreadPool* pool = nullptr);

// regions[i]: the bytes of step.regions[i]. All regions have the placement's h and w. With a pool the
// surfaces are shared out among its threads; the result is the same.
using Regions = std::span<const std::span<const uint8_t>>;
void gather(const exe::HostStep& step, Regions regions, const exe::Placement& placement,
            std::span<uint8_t> cube, base::ThreadPool* pool = nullptr);
void requantize(const exe::HostStep& step, Regions regions, const exe::Placement& placement,
                std::span<uint8_t> cube, base::ThreadPool* pool = nullptr);
void correct(const exe::HostStep& step, Regions regions, const exe::Placement& placement,
             std::span<uint8_t> cube, base::ThreadPool* pool = nullptr);

// The int8 value of one accumulator: what requantize() does to every element. `offset`: 128 for uint8.
int8_t requantize_value(const exe::HostStep& step, const exe::HostChannel& channel, int64_t accumulator,
                        int32_t offset = 0);

}  // namespace peraxis::runtime
