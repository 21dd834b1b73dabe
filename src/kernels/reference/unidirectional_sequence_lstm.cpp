// UNIDIRECTIONAL_SEQUENCE_LSTM of float32, with an input gate of its own or what the forget gate leaves,
// peephole weights, projection and clips. LiteRT takes logistic and tanh of another library here: equal but
// for last bits.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/reference/lanes.hpp"
#include "kernels/reference/lstm.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

LstmSizes lstm_sizes(const Context& context, const ir::LstmAttributes& attributes) {
  const std::vector<int32_t>& in = context.input(0).shape;
  LstmSizes s;
  s.time_major = attributes.time_major;
  s.batch = in[s.time_major ? 1 : 0];
  s.time = in[s.time_major ? 0 : 1];
  s.input = in[2];
  s.cells = context.input(ir::kLstmInputWeights + ir::kOutputGate).shape[0];
  s.outputs = context.input(ir::kLstmRecurrentWeights + ir::kOutputGate).shape[1];
  s.coupled = !context.has_input(ir::kLstmInputWeights + ir::kInputGate);
  s.peephole = context.has_input(ir::lstm_peephole(ir::kOutputGate));
  return s;
}

namespace {

float logistic(float x) {
  return 1.0F / (1.0F + std::exp(-x));
}

class FloatLstm {
 public:
  FloatLstm(const Context& context, const ir::LstmAttributes& attributes, const LstmSizes& sizes)
      : context_(context), a_(attributes), s_(sizes), hidden_(static_cast<size_t>(sizes.cells)) {}

  // One step of one sequence: `input` and `out` are rows, `state` and `cells` are changed.
  void step(const std::vector<float>& input, std::vector<float>& state, std::vector<float>& cells,
            std::vector<float>& out) {
    for (size_t c = 0; c < cells.size(); ++c) {
      const float old = cells[c];
      const float forget = logistic(gate(ir::kForgetGate, c, input, state, old));
      const float let_in = s_.coupled ? 1.0F - forget : logistic(gate(ir::kInputGate, c, input, state, old));
      const float value = std::tanh(gate(ir::kCellGate, c, input, state, old));
      const float kept = forget * old;
      const float added = value * let_in;
      cells[c] = clipped(kept + added, a_.cell_clip);
      hidden_[c] = logistic(gate(ir::kOutputGate, c, input, state, cells[c])) * std::tanh(cells[c]);
    }
    project(out);
    state = out;
  }

 private:
  static float clipped(float v, float clip) { return clip > 0.0F ? std::clamp(v, -clip, clip) : v; }

  // `start` plus the products of one row of weights.
  float add_row(float start, size_t slot, size_t row, const std::vector<float>& values) const {
    const Reader<float> weights(context_.inputs[slot]);
    const auto first = static_cast<int64_t>(row * values.size());
    return add_in_lanes(start, static_cast<int64_t>(values.size()),
                        [&](int64_t i) { return weights[first + i] * values[static_cast<size_t>(i)]; });
  }

  float gate(size_t gate, size_t cell, const std::vector<float>& input, const std::vector<float>& state,
             float own) const {
    float sum = Reader<float>(context_.inputs[ir::kLstmBias + gate])[static_cast<int64_t>(cell)];
    sum = add_row(sum, ir::kLstmInputWeights + gate, cell, input);
    sum = add_row(sum, ir::kLstmRecurrentWeights + gate, cell, state);
    if (!s_.peephole || gate == ir::kCellGate) return sum;
    const float peephole =
        Reader<float>(context_.inputs[ir::lstm_peephole(gate)])[static_cast<int64_t>(cell)] * own;
    return sum + peephole;
  }

  void project(std::vector<float>& out) const {
    if (!context_.has_input(ir::kLstmProjection)) {
      out = hidden_;
      return;
    }
    for (size_t o = 0; o < out.size(); ++o) {
      const bool biased = context_.has_input(ir::kLstmProjectionBias);
      const float bias =
          biased ? Reader<float>(context_.inputs[ir::kLstmProjectionBias])[static_cast<int64_t>(o)] : 0.0F;
      out[o] = clipped(add_row(bias, ir::kLstmProjection, o, hidden_), a_.proj_clip);
    }
  }

  const Context& context_;
  const ir::LstmAttributes& a_;
  const LstmSizes& s_;
  std::vector<float> hidden_;
};

std::vector<float> row_of(Values bytes, int64_t row, int64_t width) {
  std::vector<float> out(static_cast<size_t>(width));
  std::memcpy(out.data(), bytes.data() + row * width * int64_t{sizeof(float)}, out.size() * sizeof(float));
  return out;
}
void put_row(std::span<uint8_t> bytes, int64_t row, const std::vector<float>& values) {
  const auto size = values.size() * sizeof(float);
  std::memcpy(bytes.data() + static_cast<size_t>(row) * size, values.data(), size);
}

}  // namespace

Status unidirectional_sequence_lstm(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const auto* a = PERAXIS_TRY(attributes<ir::LstmAttributes>(context));
  const LstmSizes s = lstm_sizes(context, *a);
  if (context.output().type == ir::DataType::Int8) return int8_lstm(context, *a, s);
  FloatLstm lstm(context, *a, s);
  for (int64_t b = 0; b < s.batch; ++b) {
    std::vector<float> state = row_of(context.inputs[ir::kLstmOutputState], b, s.outputs);
    std::vector<float> cells = row_of(context.inputs[ir::kLstmCellState], b, s.cells);
    std::vector<float> out(static_cast<size_t>(s.outputs));
    for (int64_t t = 0; t < s.time; ++t) {
      lstm.step(row_of(context.inputs[0], s.row(b, t), s.input), state, cells, out);
      put_row(context.outputs[0], s.row(b, t), out);
    }
    put_row(context.outputs[1], b, state);
    put_row(context.outputs[2], b, cells);
  }
  return {};
}

}  // namespace peraxis::kernels::reference
