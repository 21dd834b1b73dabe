// What a task does, read from its registers: operation, shapes, tiles, how scales are applied. A reader for
// people: it explains whatever a stream holds and judges nothing; what the chip would do with it is the
// machine model's business.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/stream.hpp"

namespace peraxis::trace {

enum class Operation : uint8_t {
  Unknown,  // no op-enable word, or one that starts nothing known
  Convolution,
  Depthwise,
  Deconvolution,
  Elementwise,
  Copy,     // DPU without convolution and second operand: copies, requantizes, activates
  Resize,   // the same with un-pooling
  LutLoad,  // fills the look-up table; its data path runs idle
  Pooling,
  Barrier,  // a 1x1 pooling that ends a core's part in the vendor's multi-core lists
};
const char* operation_name(Operation operation);

// Which way the different scales of the output channels reach the result (docs/strategies).
enum class Mechanism : uint8_t {
  None,                  // nothing to requantize: pooling, raw copies
  OneScale,              // OUT_CVT alone: one scale for all channels of the task
  TwoScalar,             // a scalar factor in BS, then OUT_CVT
  ChannelMultiply,       // each channel's own factor in BS, then OUT_CVT
  ChannelMultiplyShift,  // the same with an OUT_CVT that is a power of two: a second rounding, no scale
  HostRequantize,        // int32 output: the host requantizes
  BnMultiply,            // a factor in BN
};
const char* mechanism_name(Mechanism mechanism);

// What BS multiplies by.
enum class Factor : uint8_t { None, Scalar, Channel };

struct Extent {
  int64_t w = 0, h = 0, c = 0;
  bool operator==(const Extent&) const = default;
};
struct Pair {
  int64_t x = 0, y = 0;
  bool operator==(const Pair&) const = default;
};

struct Facts {
  Operation operation = Operation::Unknown;
  Mechanism mechanism = Mechanism::None;
  bool complete = true;  // ends with an op-enable word
  uint32_t enable = 0;
  int64_t words = 0, writes = 0, inherited = 0;  // inherited: registers used here that an earlier task wrote

  Extent in, out;
  int64_t real_channels = 0;                 // of the output; 0: not said
  int64_t kernels = 0;                       // stored in memory
  Pair kernel, stride, dilation{1, 1}, pad;  // pad: left, top
  int64_t pad_value = 0;
  bool packed_input = false;  // few channels, pixels side by side
  int64_t data_banks = 0, weight_banks = 0, entries = 0, grains = 0;
  bool weight_reuse = false, data_reuse = false;
  int64_t input_bits = 8, output_bits = 8;

  int64_t core_split = 0;  // CNA CONV_CON2 task kind
  int64_t barrier = 0;     // cores wait for each other after the task
  int64_t next_address = 0;
  int64_t next_words = 0;  // that the tail makes the program counter fetch next

  Factor bs_factor = Factor::None;
  bool bn_multiplies = false;
  bool table = false;       // the look-up table, in EW
  std::string bs, bn, ew;   // "bias+mul", "relu", "add"; "-" when bypassed
  std::string activation;   // "none", "relu", "relu to 123", "prelu", "table"
  std::string elementwise;  // "add", "multiply", ... with a second tensor, fused or not
  uint32_t bs_cfg = 0, bn_cfg = 0;
  int64_t brdma_use = 0, nrdma_use = 0;  // 0: off
  bool erdma = false, mrdma = false;
  int64_t bs_shift = 0;
  int64_t out_scale = 0, out_shift = 0, out_offset = 0;
  bool ties_away = false;

  std::vector<std::pair<std::string, int64_t>> addresses;  // "features", "weights", ...: those in use
  bool convolves() const {
    return operation == Operation::Convolution || operation == Operation::Depthwise ||
           operation == Operation::Deconvolution;
  }
};

// `image` holds the registers after the task's words were written.
Facts facts_of(const Stream& stream, const TaskWords& task, const RegisterImage& image);
std::vector<Facts> facts_of(const Stream& stream);

std::string describe(const Facts& facts);         // one line
std::string shape_text(const Facts& facts);       // "3x3 s2, 10x10x16 -> 5x5x32"
std::string mechanism_text(const Facts& facts);   // "channel-multiply >>14, *24561>>38"
std::string core_split_text(int64_t core_split);  // "rows over 2 cores"
std::string brdma_text(int64_t data_use);         // "A+B+C"

}  // namespace peraxis::trace
