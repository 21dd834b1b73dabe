// UNIDIRECTIONAL_SEQUENCE_LSTM of int8 with a cell state of int16, whose scale is a power of two. Gates are
// summed in int16 (Q3.12), one multiplier for the input's part and one for the recurrent part.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/reference/gates.hpp"
#include "kernels/reference/lstm.hpp"
#include "num/multiplier.hpp"

namespace peraxis::kernels::reference {
namespace {

constexpr ir::StoredRange kInt16{-32768, 32767}, kInt8{-128, 127};
constexpr float kGateScale = 1.0F / 4096.0F;

int16_t to_int16(int64_t v) {
  return clamp_to<int16_t>(v, kInt16);
}
int16_t wrapped(int64_t v) {
  return static_cast<int16_t>(static_cast<uint16_t>(static_cast<uint64_t>(v)));
}

// One matrix with its multiplier; sums start at `bias`, which holds the zero point of what it multiplies.
struct Part {
  const int8_t* weights = nullptr;
  int64_t width = 0;
  std::vector<int32_t> bias;
  num::Multiplier multiplier;

  int32_t operator()(int64_t row, const int8_t* values) const {
    int64_t sum = bias[static_cast<size_t>(row)];
    for (int64_t i = 0; i < width; ++i) sum += int32_t{weights[row * width + i]} * values[i];
    return num::multiply_two_roundings(num::wrap_int32(sum), multiplier);
  }
};

struct Gate {
  Part input, recurrent;
  const uint8_t* peephole = nullptr;
  num::Multiplier of_peephole;
};

class Int8Lstm {
 public:
  Int8Lstm(const Context& context, const ir::LstmAttributes& attributes, const LstmSizes& sizes)
      : context_(context),
        s_(sizes),
        // Before a projection LiteRT subtracts the zero point and adds it back; only where values clamp it
        // shows.
        hidden_zero_(context.has_input(ir::kLstmProjection) ? -attributes.hidden_zero_point
                                                            : attributes.hidden_zero_point) {
    const float cell_scale = quant_of(context.input(ir::kLstmCellState)).scale;
    cell_exponent_ = std::ilogb(cell_scale);
    const Quant x = quant_of(context.input(0)), state = quant_of(context.input(ir::kLstmOutputState));
    state_zero_ = state.zero_point;
    for (size_t g = sizes.coupled ? ir::kForgetGate : ir::kInputGate; g <= ir::kOutputGate; ++g) {
      gates_[g].input = part(ir::kLstmInputWeights + g, ir::kLstmBias + g, x, kGateScale);
      gates_[g].recurrent = part(ir::kLstmRecurrentWeights + g, SIZE_MAX, state, kGateScale);
      if (!sizes.peephole || g == ir::kCellGate) continue;
      gates_[g].peephole = context.inputs[ir::lstm_peephole(g)].data();
      const float weight = quant_of(context.input(ir::lstm_peephole(g))).scale;
      gates_[g].of_peephole = num::quantize_multiplier(static_cast<double>(cell_scale * weight / kGateScale));
    }
    of_hidden_ = num::quantize_multiplier(static_cast<double>(
        static_cast<float>(std::ldexp(1.0, -30) / static_cast<double>(attributes.hidden_scale))));
    if (context.has_input(ir::kLstmProjection)) {
      projection_ = part(ir::kLstmProjection, ir::kLstmProjectionBias,
                         {attributes.hidden_scale, hidden_zero_}, state.scale);
    }
    cell_clip_ = clip(attributes.cell_clip, cell_scale, 32767.0F);
    output_clip_ = clip(attributes.proj_clip, quant_of(context.output()).scale, 127.0F);
  }

  void step(const int8_t* input, std::vector<int8_t>& state, std::vector<int16_t>& cells) const {
    std::vector<int8_t> hidden(cells.size());
    for (size_t c = 0; c < cells.size(); ++c) {
      const auto row = static_cast<int64_t>(c);
      const int16_t old = cells[c];
      const int16_t forget = gate_logistic(sum(ir::kForgetGate, row, input, state, old));
      const int16_t value = gate_tanh(sum(ir::kCellGate, row, input, state, old), 3);
      const int16_t let_in =
          s_.coupled ? wrapped(32767 - forget) : gate_logistic(sum(ir::kInputGate, row, input, state, old));
      const int16_t kept = wrapped(num::shift_ties_away(int32_t{forget} * old, 15));
      const int16_t added = wrapped(num::shift_ties_away(int32_t{let_in} * value, 30 + cell_exponent_));
      cells[c] = to_int16(int32_t{kept} + added);
      if (cell_clip_ > 0)
        cells[c] = static_cast<int16_t>(std::clamp<int32_t>(cells[c], -cell_clip_, cell_clip_));
      const int16_t let_out = gate_logistic(sum(ir::kOutputGate, row, input, state, cells[c]));
      const int16_t level = gate_tanh(cells[c], 15 + cell_exponent_);
      hidden[c] = clamp_to<int8_t>(
          int64_t{num::multiply_two_roundings(int32_t{let_out} * level, of_hidden_)} + hidden_zero_, kInt8);
    }
    if (!projection_.weights) {
      state = std::move(hidden);
      return;
    }
    for (size_t o = 0; o < state.size(); ++o) {
      const int32_t projected = projection_(static_cast<int64_t>(o), hidden.data());
      state[o] = clamp_to<int8_t>(int64_t{projected} + state_zero_, kInt8);
      if (output_clip_ > 0)
        state[o] = static_cast<int8_t>(std::clamp<int32_t>(state[o], -output_clip_, output_clip_));
    }
  }

 private:
  static int32_t clip(float real, float scale, float most) {
    return real > 0.0F ? static_cast<int32_t>(std::min(real / scale, most)) : 0;
  }

  // Zero points are multiplied into the bias once: minus `source`'s times the row's sum.
  Part part(size_t slot, size_t bias_slot, Quant source, float target_scale) const {
    Part out;
    const ir::Tensor& tensor = context_.input(slot);
    out.weights = reinterpret_cast<const int8_t*>(context_.inputs[slot].data());
    out.width = tensor.shape[1];
    const bool biased = bias_slot != SIZE_MAX && context_.has_input(bias_slot);
    for (int64_t row = 0; row < tensor.shape[0]; ++row) {
      int64_t sum = 0;
      for (int64_t i = 0; i < out.width; ++i) sum += out.weights[row * out.width + i];
      const int64_t bias = biased ? Reader<int32_t>(context_.inputs[bias_slot])[row] : 0;
      out.bias.push_back(num::wrap_int32(bias - source.zero_point * sum));
    }
    out.multiplier =
        num::quantize_multiplier(static_cast<double>(quant_of(tensor).scale * source.scale / target_scale));
    return out;
  }

  int16_t sum(size_t g, int64_t row, const int8_t* input, const std::vector<int8_t>& state,
              int16_t cell) const {
    const Gate& gate = gates_[g];
    int16_t total = to_int16(gate.input(row, input));
    total = to_int16(int64_t{gate.recurrent(row, state.data())} + total);
    if (gate.peephole == nullptr) return total;
    int16_t weight = 0;
    std::memcpy(&weight, gate.peephole + row * int64_t{sizeof(weight)}, sizeof(weight));
    return to_int16(int64_t{num::multiply_two_roundings(int32_t{weight} * cell, gate.of_peephole)} + total);
  }

  const Context& context_;
  const LstmSizes& s_;
  std::array<Gate, 4> gates_;
  Part projection_;
  num::Multiplier of_hidden_;
  int32_t hidden_zero_, state_zero_ = 0;
  int cell_exponent_ = 0;
  int32_t cell_clip_ = 0, output_clip_ = 0;
};

}  // namespace

Status int8_lstm(const Context& context, const ir::LstmAttributes& attributes, const LstmSizes& s) {
  const Int8Lstm lstm(context, attributes, s);
  const auto* input = reinterpret_cast<const int8_t*>(context.inputs[0].data());
  const auto outputs = static_cast<size_t>(s.outputs), cells = static_cast<size_t>(s.cells);
  for (int64_t b = 0; b < s.batch; ++b) {
    std::vector<int8_t> state(outputs);
    std::vector<int16_t> cell(cells);
    const auto first = static_cast<size_t>(b);
    std::memcpy(state.data(), context.inputs[ir::kLstmOutputState].data() + first * outputs, outputs);
    std::memcpy(cell.data(), context.inputs[ir::kLstmCellState].data() + first * cells * 2, cells * 2);
    for (int64_t t = 0; t < s.time; ++t) {
      lstm.step(input + s.row(b, t) * s.input, state, cell);
      std::memcpy(context.outputs[0].data() + static_cast<size_t>(s.row(b, t)) * outputs, state.data(),
                  outputs);
    }
    std::memcpy(context.outputs[1].data() + first * outputs, state.data(), outputs);
    std::memcpy(context.outputs[2].data() + first * cells * 2, cell.data(), cells * 2);
  }
  return {};
}

}  // namespace peraxis::kernels::reference
