// What keeps a convolution-like operator off the NPU, as data: the limit, the register field it comes from,
// and a sentence. `compile` and `run` put the operator's own numbers into the sentence, docs/operators.md an
// N.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "ir/operands.hpp"
#include "lower/geometry.hpp"
#include "lower/parts.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::lower {
namespace {

using namespace rk3588;

struct Subject {
  const ir::Graph& graph;
  const ir::Tensor& input;
  const ir::Tensor& weights;
  const ir::Tensor& output;
  Geometry g;
  int32_t bias;
};
using Numbers = std::vector<int64_t>;

struct Constraint {
  // {} is a number of the operator, {limit} the limit, {in} and {out} are types.
  std::string_view sentence;
  int64_t limit;           // 0: the sentence has none
  std::string_view field;  // whose width or measured reach is the limit; empty: none
  bool (*violated)(const Subject& subject, int64_t limit);
  Numbers (*numbers)(const Geometry& g);
};

// Whole groups of a depthwise task, with one slot to spare.
constexpr int64_t kMostOutputChannels = kMaxCubeChannels / kDepthwiseGroup * kDepthwiseGroup - 1;

Numbers none(const Geometry&) {
  return {};
}

constexpr std::array kConstraints = {
    Constraint{"the input is {in}; the NPU path takes int8 and uint8", 0, "",
               [](const Subject& s, int64_t) {
                 return s.input.type != ir::DataType::Int8 && s.input.type != ir::DataType::UInt8;
               },
               none},
    Constraint{"{in} input with {out} output times out on the chip", 0, "",
               [](const Subject& s, int64_t) { return s.output.type != s.input.type; }, none},
    Constraint{"the weights are computed at run time; they must be constants", 0, "",
               [](const Subject& s, int64_t) { return !s.weights.is_constant; }, none},
    Constraint{"the bias is computed at run time; it must be a constant", 0, "",
               [](const Subject& s, int64_t) {
                 return s.bias != ir::kAbsent && !s.graph.tensor(s.bias).is_constant;
               },
               none},
    Constraint{"the input is a constant; nothing is left for the NPU to do", 0, "",
               [](const Subject& s, int64_t) { return s.input.is_constant; }, none},
    Constraint{"dilation {}x{} exceeds {limit} columns", kMaxDilation, "CNA.CONV_CON3.ATROUS_X_DILATION",
               [](const Subject& s, int64_t limit) { return s.g.dilation_w > limit; },
               [](const Geometry& g) { return Numbers{g.dilation_h, g.dilation_w}; }},
    Constraint{"stride {}x{} of a transposed convolution: the chip has 1, 2, 4 and 8", 0,
               "CNA.CONV_CON3.DECONV_X_STRIDE",
               [](const Subject& s, int64_t) {
                 return !inserts_samples(s.g.insert_h) || !inserts_samples(s.g.insert_w);
               },
               [](const Geometry& g) { return Numbers{g.insert_h, g.insert_w}; }},
    Constraint{"a transposed convolution that drops more than a {}x{} kernel at its edges", 0, "",
               [](const Subject& s, int64_t) { return std::min(s.g.pad_top, s.g.pad_left) < 0; },
               [](const Geometry& g) { return Numbers{g.kernel_h, g.kernel_w}; }},
    Constraint{"kernel {}x{} exceeds {limit}", kMaxKernel, "CNA.WEIGHT_SIZE2.WEIGHT_WIDTH",
               [](const Subject& s, int64_t limit) { return std::max(s.g.kernel_h, s.g.kernel_w) > limit; },
               [](const Geometry& g) { return Numbers{g.kernel_h, g.kernel_w}; }},
    Constraint{"padding {} above, {} left exceeds twice {limit}", kMaxPad, "CNA.PAD_CON0.PAD_LEFT",
               [](const Subject& s, int64_t limit) {
                 const Margin margin = margin_of(s.g);
                 return std::max(margin.top, margin.left) > limit;
               },
               [](const Geometry& g) { return Numbers{g.pad_top, g.pad_left}; }},
    Constraint{"some windows of its {}x{} outputs hold padding alone", 0, "",
               [](const Subject& s, int64_t) {
                 return s.g.pad_top >= s.g.span_h() || s.g.pad_left >= s.g.span_w() ||
                        (s.g.out_h - 1) * s.g.stride_h - s.g.pad_top >= s.g.plane_h() ||
                        (s.g.out_w - 1) * s.g.stride_w - s.g.pad_left >= s.g.plane_w();
               },
               [](const Geometry& g) { return Numbers{g.out_h, g.out_w}; }},
    Constraint{"a map {} wide of a transposed convolution exceeds {limit} columns, which are not cut",
               kMaxOutputWidth, "CNA.DATA_SIZE2.DATAOUT_WIDTH",
               [](const Subject& s, int64_t limit) {
                 return s.g.inserts() && std::max(s.g.in_w, s.g.out_w) > limit;
               },
               [](const Geometry& g) { return Numbers{std::max(g.in_w, g.out_w)}; }},
    Constraint{"a map {} wide exceeds {limit} columns", kMaxCubeExtent, "DPU.DATA_CUBE_WIDTH.WIDTH",
               [](const Subject& s, int64_t limit) { return std::max(s.g.in_w, s.g.out_w) > limit; },
               [](const Geometry& g) { return Numbers{std::max(g.in_w, g.out_w)}; }},
    Constraint{"a map {} high exceeds {limit} rows", kMaxCubeExtent, "DPU.DATA_CUBE_HEIGHT.HEIGHT",
               [](const Subject& s, int64_t limit) { return std::max(s.g.in_h, s.g.out_h) > limit; },
               [](const Geometry& g) { return Numbers{std::max(g.in_h, g.out_h)}; }},
    Constraint{"{} input channels exceed {limit}", kMaxInputChannels, "CNA.DATA_SIZE1.DATAIN_CHANNEL_REAL",
               [](const Subject& s, int64_t limit) { return s.g.in_c > limit; },
               [](const Geometry& g) { return Numbers{g.in_c}; }},
    Constraint{"{} output channels exceed {limit}", kMostOutputChannels, "DPU.DATA_CUBE_CHANNEL.CHANNEL",
               [](const Subject& s, int64_t limit) { return s.g.out_c > limit; },
               [](const Geometry& g) { return Numbers{g.out_c}; }},
    // Every address is 32 bits: keep single cubes far from that.
    Constraint{"a map of {}x{}x{} exceeds the device's address space", 0, "",
               [](const Subject& s, int64_t) {
                 return s.g.in_rows() * s.g.in_w * (s.g.in_c + 64) > (int64_t{1} << 30) ||
                        s.g.out_rows() * s.g.out_w * (s.g.out_c + 64) > (int64_t{1} << 28);
               },
               [](const Geometry& g) { return Numbers{g.out_rows(), g.out_w, g.out_c}; }},
    Constraint{"stride {} makes a task of each of {} outputs, more than {limit}", kMostParts, "",
               [](const Subject& s, int64_t limit) {
                 return s.g.stride_w > kMaxStride &&
                        !cuts_into_windows(s.g, round_up(s.g.in_c, kAtomBytes)) &&
                        s.g.out_rows() * s.g.out_w > limit;
               },
               [](const Geometry& g) { return Numbers{g.stride_w, g.out_rows() * g.out_w}; }},
    Constraint{"{} input channels with a {}x{} kernel over rows {} wide do not fit the {limit} banks of CBUF",
               kCbufBanks, "CNA.CBUF_CON0.DATA_BANK",
               [](const Subject& s, int64_t) { return !fits_cbuf(s.g); },
               [](const Geometry& g) { return Numbers{g.in_c, g.kernel_h, g.kernel_w, g.in_w}; }},
};

// The sentence with what stands for its braces: `word` of a name, and of {} with the name empty.
template <class Word>
std::string filled(std::string_view sentence, const Word& word) {
  std::string out;
  while (true) {
    const size_t open = sentence.find('{');
    out += sentence.substr(0, open);
    if (open == std::string_view::npos) return out;
    const size_t close = sentence.find('}', open);
    out += word(sentence.substr(open + 1, close - open - 1));
    sentence.remove_prefix(close + 1);
  }
}

std::string sentence_of(const Constraint& constraint, const Subject& s) {
  const Numbers numbers = constraint.numbers(s.g);
  size_t next = 0;
  return filled(constraint.sentence, [&](std::string_view name) -> std::string {
    if (name == "limit") return std::to_string(constraint.limit);
    if (name == "in") return ir::data_type_name(s.input.type);
    if (name == "out") return ir::data_type_name(s.output.type);
    return std::to_string(numbers.at(next++));
  });
}

}  // namespace

std::string npu_refusal(const ir::Graph& graph, size_t op_index) {
  const ir::Op& op = graph.ops[op_index];
  const ir::ConvOperands operands = ir::conv_operands(op);
  const Subject subject{graph,
                        graph.tensor(operands.input),
                        graph.tensor(operands.weights),
                        graph.tensor(op.outputs[0]),
                        geometry(graph, op_index),
                        operands.bias};
  for (const Constraint& constraint : kConstraints)
    if (constraint.violated(subject, constraint.limit)) return sentence_of(constraint, subject);
  return {};
}

std::vector<NpuRefusal> npu_refusals() {
  std::vector<NpuRefusal> out;
  out.reserve(kConstraints.size());
  for (const Constraint& constraint : kConstraints)
    out.push_back({filled(constraint.sentence,
                          [&](std::string_view name) {
                            return name == "limit" ? std::to_string(constraint.limit) : std::string("N");
                          }),
                   constraint.limit, std::string(constraint.field)});
  return out;
}

}  // namespace peraxis::lower
