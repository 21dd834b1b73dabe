// A convolution-like operator as requantization sees it: per output channel the real multiplier, the term
// that turns the chip's raw sum into LiteRT's accumulator, and the range the raw sum can reach.
//
// All values are in the int8 domain: uint8 tensors count as stored - 128 (docs/hardware/weights.md#values).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "ir/graph.hpp"
#include "num/multiplier.hpp"
#include "num/reference.hpp"

namespace peraxis::requant {

// How the reference rounds this operator (docs/arithmetic.md#convolutions-in-common).
enum class Rounding : uint8_t {
  Two,     // high multiply, then a rounding shift: LiteRT's convolutions
  Once,    // the Q31 product rounded once, ties up: the single-rounding reference
  Double,  // round(double(acc) * multiplier): LiteRT's FULLY_CONNECTED
};

struct Channel {
  double multiplier = 0;  // s_in * s_w / s_out
  num::Multiplier fixed;  // the same as Q31 mantissa and exponent
  int32_t bias = 0;
  int64_t addend = 0;                // bias - z_in * sum(w - z_w): accumulator = raw + addend
  int64_t raw_min = 0, raw_max = 0;  // raw = sum x * (w - z_w), over every int8 input
  bool wraps = false;                // the accumulator or the product can leave int32: LiteRT's result wraps
  bool constant = false;             // the reference's output is the same over the whole reachable range
  int32_t constant_value = 0;
  // Calibrated share of outputs at value q - (-128), 256 entries summing to 1; empty: the default model.
  std::vector<float> histogram;
  // reference_thresholds, when keep_thresholds has found them; nothing of the channel changes after that.
  std::shared_ptr<const std::vector<int64_t>> thresholds;

  int64_t acc_min() const { return raw_min + addend; }
  int64_t acc_max() const { return raw_max + addend; }
};

struct Layer {
  std::string label;
  ir::OpKind kind = ir::OpKind::Conv2D;
  Rounding rounding = Rounding::Two;
  int32_t z_in = 0, z_w = 0, z_out = 0;
  int32_t low = -128, high = 127;  // activation range of the output
  // RELU6, RELU_N1_TO_1: outputs spread over the whole range instead of crowding at the zero point.
  bool bounded = false;
  int32_t stored_offset = 0;  // 128 for uint8: LiteRT adds the zero point, and wraps, in stored values
  std::vector<Channel> channels;
};

// Weights and quantization of operator `op` (which must be convolution-like and verified).
Result<Layer> describe(const ir::Graph& graph, size_t op, num::Reference reference);

// Calibration: how often each output value was seen. counts[c * 256 + q + 128] for channel c. The stored
// histograms are smoothed, so that a value never seen still counts a little.
Status set_histograms(Layer& layer, const std::vector<int64_t>& counts);

// Activations of trained detectors fall off about exponentially from the zero point, this many values to a
// factor of e (chosen on the models of docs/accuracy.md).
inline constexpr double kActivationDecay = 32.0;

// Index of output value q in a histogram.
constexpr size_t output_index(int32_t q) {
  return static_cast<uint8_t>(q + 128);
}

// Share of the channel's outputs expected next to the step from q - 1 to q, per LSB of output: from the
// histogram, else falling off exponentially with the distance from the zero point (kActivationDecay).
class OutputDensity {
 public:
  OutputDensity(const Layer& layer, const Channel& channel);
  double at_step(int32_t q) const { return steps_[output_index(q)]; }

 private:
  std::array<double, 256> steps_{};
};

// The reference's output for accumulator `acc` (raw + addend) of channel c.
int32_t reference_output(const Layer& layer, const Channel& channel, int64_t acc);

// thresholds[i] = the smallest accumulator in [acc_min, acc_max + 1] whose reference output is at least
// low + 1 + i; acc_max + 1 where none is. high - low entries. The channel must not wrap.
std::vector<int64_t> reference_thresholds(const Layer& layer, const Channel& channel);
// They are asked for by every strategy and every certificate of a layer: finds them once, for all channels
// that do not wrap, or lets go of them.
void keep_thresholds(Layer& layer);
void drop_thresholds(Layer& layer);

}  // namespace peraxis::requant
