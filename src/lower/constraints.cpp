// What keeps a convolution-like operator off the NPU. One predicate and one sentence each: the sentence is
// what `compile`, `run` and docs/operators.md say. Limits are in target/rk3588/limits.hpp.
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

struct Constraint {
  bool (*violated)(const Subject&);
  std::string (*sentence)(const Subject&);
};

// Whole groups of a depthwise task, with one slot to spare.
constexpr int64_t kMostOutputChannels = kMaxCubeChannels / kDepthwiseGroup * kDepthwiseGroup - 1;

// Transposed convolutions are not cut into columns.
int64_t widest(const Geometry& g) {
  return g.inserts() ? kMaxOutputWidth : kMaxCubeExtent;
}

constexpr std::array kConstraints = {
    Constraint{[](const Subject& s) {
                 return s.input.type != ir::DataType::Int8 && s.input.type != ir::DataType::UInt8;
               },
               [](const Subject& s) {
                 return fmt::format("the input is {}; the NPU path takes int8 and uint8",
                                    ir::data_type_name(s.input.type));
               }},
    Constraint{[](const Subject& s) { return s.output.type != s.input.type; },
               [](const Subject& s) {
                 return fmt::format("{} input with {} output times out on the chip",
                                    ir::data_type_name(s.input.type), ir::data_type_name(s.output.type));
               }},
    Constraint{[](const Subject& s) { return !s.weights.is_constant; },
               [](const Subject&) {
                 return std::string("the weights are computed at run time; they must be constants");
               }},
    Constraint{[](const Subject& s) { return s.bias != ir::kAbsent && !s.graph.tensor(s.bias).is_constant; },
               [](const Subject&) {
                 return std::string("the bias is computed at run time; it must be a constant");
               }},
    Constraint{[](const Subject& s) { return s.input.is_constant; },
               [](const Subject&) {
                 return std::string("the input is a constant; nothing is left for the NPU to do");
               }},
    Constraint{[](const Subject& s) { return s.g.dilation_w > kMaxDilation; },
               [](const Subject& s) {
                 return fmt::format("dilation {}x{} exceeds {} columns", s.g.dilation_h, s.g.dilation_w,
                                    kMaxDilation);
               }},
    Constraint{
        [](const Subject& s) { return !inserts_samples(s.g.insert_h) || !inserts_samples(s.g.insert_w); },
        [](const Subject& s) {
          return fmt::format("stride {}x{} of a transposed convolution: the chip has 1, 2, 4 and 8",
                             s.g.insert_h, s.g.insert_w);
        }},
    Constraint{[](const Subject& s) { return std::min(s.g.pad_top, s.g.pad_left) < 0; },
               [](const Subject& s) {
                 return fmt::format(
                     "a transposed convolution that drops more than a {}x{} kernel at its edges",
                     s.g.kernel_h, s.g.kernel_w);
               }},
    Constraint{[](const Subject& s) { return s.g.kernel_h > kMaxKernel || s.g.kernel_w > kMaxKernel; },
               [](const Subject& s) {
                 return fmt::format("kernel {}x{} exceeds {}", s.g.kernel_h, s.g.kernel_w, kMaxKernel);
               }},
    Constraint{[](const Subject& s) {
                 const Margin margin = margin_of(s.g);
                 return std::max(margin.top, margin.left) > kMaxPad;
               },
               [](const Subject& s) {
                 return fmt::format("padding {} above, {} left exceeds twice {}", s.g.pad_top, s.g.pad_left,
                                    kMaxPad);
               }},
    Constraint{[](const Subject& s) {
                 return s.g.pad_top >= s.g.span_h() || s.g.pad_left >= s.g.span_w() ||
                        (s.g.out_h - 1) * s.g.stride_h - s.g.pad_top >= s.g.plane_h() ||
                        (s.g.out_w - 1) * s.g.stride_w - s.g.pad_left >= s.g.plane_w();
               },
               [](const Subject& s) {
                 return fmt::format("some windows of its {}x{} outputs hold padding alone", s.g.out_h,
                                    s.g.out_w);
               }},
    Constraint{[](const Subject& s) { return std::max(s.g.in_w, s.g.out_w) > widest(s.g); },
               [](const Subject& s) {
                 return fmt::format("a map {} wide exceeds {} columns", std::max(s.g.in_w, s.g.out_w),
                                    widest(s.g));
               }},
    Constraint{[](const Subject& s) { return std::max(s.g.in_h, s.g.out_h) > kMaxCubeExtent; },
               [](const Subject& s) {
                 return fmt::format("a map {} high exceeds {} rows", s.g.in_h, kMaxCubeExtent);
               }},
    Constraint{[](const Subject& s) { return s.g.in_c > kMaxInputChannels; },
               [](const Subject& s) {
                 return fmt::format("{} input channels exceed {}", s.g.in_c, kMaxInputChannels);
               }},
    Constraint{[](const Subject& s) { return s.g.out_c > kMostOutputChannels; },
               [](const Subject& s) {
                 return fmt::format("{} output channels exceed {}", s.g.out_c, kMostOutputChannels);
               }},
    // Every address is 32 bits: keep single cubes far from that.
    Constraint{[](const Subject& s) {
                 return s.g.in_rows() * s.g.in_w * (s.g.in_c + 64) > (int64_t{1} << 30) ||
                        s.g.out_rows() * s.g.out_w * (s.g.out_c + 64) > (int64_t{1} << 28);
               },
               [](const Subject& s) {
                 return fmt::format("a map of {}x{}x{} exceeds the device's address space", s.g.out_rows(),
                                    s.g.out_w, s.g.out_c);
               }},
    Constraint{[](const Subject& s) {
                 return s.g.stride_w > kMaxStride &&
                        !cuts_into_windows(s.g, round_up(s.g.in_c, kAtomBytes)) &&
                        s.g.out_rows() * s.g.out_w > kMostParts;
               },
               [](const Subject& s) {
                 return fmt::format("stride {} makes a task of each of {} outputs, more than {}",
                                    s.g.stride_w, s.g.out_rows() * s.g.out_w, kMostParts);
               }},
    Constraint{
        [](const Subject& s) { return !fits_cbuf(s.g); },
        [](const Subject& s) {
          return fmt::format(
              "{} input channels with a {}x{} kernel over rows {} wide do not fit the {} banks of CBUF",
              s.g.in_c, s.g.kernel_h, s.g.kernel_w, s.g.in_w, kCbufBanks);
        }},
};

// `text` with N wherever it has `value`.
std::string with_n(std::string_view text, std::string_view value) {
  std::string out;
  size_t at = 0;
  for (size_t next = text.find(value); next != std::string_view::npos; next = text.find(value, at)) {
    out.append(text.substr(at, next - at));
    out.push_back('N');
    at = next + value.size();
  }
  out.append(text.substr(at));
  return out;
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
    if (constraint.violated(subject)) return constraint.sentence(subject);
  return {};
}

namespace {
constexpr int64_t kNumber = 9973;  // the one number of npu_refusals' operator
}

std::vector<std::string> npu_refusals() {
  // An operator all of whose numbers are kNumber, the output's channels its square, and whose types are bool;
  // the same as a transposed convolution for the sentences that speak of one.
  ir::Graph graph;
  graph.tensors.resize(3);
  graph.tensors[0].type = graph.tensors[2].type = ir::DataType::Bool;
  Geometry g{.in_h = kNumber, .in_w = kNumber, .in_c = kNumber};
  g.out_h = g.out_w = g.kernel_h = g.kernel_w = kNumber;
  g.stride_h = g.stride_w = g.dilation_h = g.dilation_w = g.pad_top = g.pad_left = kNumber;
  g.out_c = kNumber * kNumber;
  const Subject subject{graph, graph.tensors[0], graph.tensors[1], graph.tensors[2], g, ir::kAbsent};
  Subject transposed = subject;
  transposed.g.insert_h = transposed.g.insert_w = kNumber;
  std::vector<std::string> out;
  for (const Constraint& constraint : kConstraints) {
    std::string sentence = constraint.sentence(transposed);
    if (sentence.find("transposed") == std::string::npos) sentence = constraint.sentence(subject);
    for (const std::string& value : {fmt::to_string(g.out_c), fmt::to_string(kNumber),
                                     std::string(ir::data_type_name(ir::DataType::Bool))})
      sentence = with_n(sentence, value);
    out.push_back(std::move(sentence));
  }
  return out;
}

}  // namespace peraxis::lower
