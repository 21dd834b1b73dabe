// Puts wanted accumulators through the machine model: a 1x1 convolution whose 32 kernels all carry the DPU
// parameters of one output channel, with weights and inputs made so that kernel k of pixel p sums to exactly
// bases[p] + offsets[k]. What comes out was computed by real command words.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "machine/machine.hpp"
#include "requant/parameters.hpp"

namespace peraxis::property {

inline constexpr int64_t kSweepKernels = 32;

struct Batch {
  std::vector<int64_t> bases;  // one a pixel
  std::array<int64_t, kSweepKernels> offsets{};

  int64_t pixels() const { return static_cast<int64_t>(bases.size()); }
  int64_t value(int64_t pixel, int64_t kernel) const {
    return bases[static_cast<size_t>(pixel)] + offsets[static_cast<size_t>(kernel)];
  }
};
// offsets 0..31: every pixel sweeps 32 neighbours.
Batch neighbours();

class AccumulatorSweep {
 public:
  explicit AccumulatorSweep(machine::Switches switches = {});
  AccumulatorSweep(const AccumulatorSweep&) = delete;
  AccumulatorSweep& operator=(const AccumulatorSweep&) = delete;

  // Pixels of a batch with bases and offsets up to these magnitudes; 0 when not even a row fits CBUF.
  static int64_t capacity(int64_t base, int64_t offset);

  // Weights and inputs of the batch; run() may follow any number of times.
  Status load(const Batch& batch);
  Status run(const rk3588::DpuParams& dpu, const requant::ChannelParams& params);

  // Output of the last run: the 16 int8 of kernels [16 * half, 16 * half + 16) of a pixel.
  const int8_t* atom(int64_t pixel, int64_t half) const {
    return reinterpret_cast<const int8_t*>(output_.data()) + (half * padded_pixels_ + pixel) * 16;
  }
  int8_t int8_at(int64_t pixel, int64_t kernel) const { return atom(pixel, kernel / 16)[kernel % 16]; }
  int32_t int32_at(int64_t pixel, int64_t kernel) const;

 private:
  machine::Machine machine_;
  std::vector<uint8_t> commands_, features_, weights_, no_weights_, operands_, output_;
  int64_t in_channels_ = 0, padded_pixels_ = 0;
  Status mapped_;
};

}  // namespace peraxis::property
