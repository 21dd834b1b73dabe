// The strategies: every way of handling per-axis scales turns a Layer into channel sets and a host step.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "requant/element.hpp"
#include "requant/layer.hpp"
#include "requant/parameters.hpp"

namespace peraxis::requant {

enum class Strategy : uint8_t {
#define PERAXIS_STRATEGY(identifier, name, function, sentence) identifier,
#include "requant/strategies.def"
#undef PERAXIS_STRATEGY
};
const char* strategy_name(Strategy strategy);
const char* strategy_sentence(Strategy strategy);
std::optional<Strategy> strategy_from_name(std::string_view name);
std::vector<Strategy> all_strategies();

// Settings of the strategies that have any.
struct StrategyOptions {
  bool correction = true;  // max-scale, groups, ...: the host multiplies int8 down to the channel's own scale
  bool multiply = false;   // groups, sorted-groups: the chip's per-channel multiplier inside a group instead
  bool bias_rescale = false;  // max-scale, groups: the bias in the largest scale, the sums in their own
  int32_t group_size = 16;    // groups, sorted-groups, hybrid: channels a group
  double max_ratio = 1e30;  // sorted-groups, hw-multiply: a set ends where its scale ratio would exceed this
  double hybrid_ratio = 4;  // hybrid: layers above this ratio run channel by channel
  bool vendor = false;      // hw-multiply: the vendor compiler's factors instead of ours
};

// What the host does after the tasks of a layer.
enum class HostWork : uint8_t {
  None,        // the one set wrote the tensor itself
  Gather,      // several sets, each wrote a cube of its channels: copied together
  Requantize,  // int32 sums: requantized by the reference arithmetic
  Correct,     // int8 with the wrong scale: multiplied by correction[c]
};

struct LayerParams {
  Strategy strategy = Strategy::Exact;
  std::vector<ChannelSet> sets;
  HostWork host = HostWork::None;
  std::vector<double> correction;  // Correct: M[c] / M of the task
  // The ADD behind the convolution that its tasks do as well (requant/fused_sum.hpp); the convolution is its
  // operand `a`.
  std::optional<ElementParams> sum;
};

// Parameters of `layer` under one strategy. Unsupported, with the reason as a sentence, when the strategy
// cannot express the layer; the caller then takes `exact`, which always can.
Result<LayerParams> choose_parameters(const Layer& layer, Strategy strategy,
                                      const StrategyOptions& options = {});

// One function a strategy, each in a file of its own.
#define PERAXIS_STRATEGY(identifier, name, function, sentence) \
  Result<LayerParams> function(const Layer& layer, const StrategyOptions& options);
#include "requant/strategies.def"
#undef PERAXIS_STRATEGY

// The multiplier inside given groups of channels, each with a gain of its own.
Result<LayerParams> multiply_groups(const Layer& layer, Strategy strategy, const StrategyOptions& options,
                                    const std::vector<std::vector<int32_t>>& groups);
// One set whose BS alone makes the layer's output: v = output - dpu.out_offset, in whole steps, kept to the
// activation's range by ReLU and its bound. Unsupported when a channel would differ by more than 1.
Result<LayerParams> multiply_to_steps(const Layer& layer);

// Shared by the strategies.
// Unsupported when a channel's accumulator or product leaves int32: LiteRT wraps there, the chip saturates.
Status require_no_wrap(const Layer& layer);
// True when (raw + a) and the factor's product stay in int32 for every reachable raw sum.
bool stays_in_int32(const Channel& channel, const ChannelParams& params, const rk3588::DpuParams& dpu);
// Parameters that write a constant channel's value with this OUT_CVT; Unsupported when there are none.
Result<ChannelParams> require_constant(const Layer& layer, int32_t c, const rk3588::DpuParams& dpu);
// Every set but one empties into Gather; with one set covering all channels, None.
HostWork host_work_of(const Layer& layer, const std::vector<ChannelSet>& sets);

}  // namespace peraxis::requant
