// A small emitter for the tests: one convolution layer as logical arrays, its program register by register
// in the order of the working drivers, its memory image, and the expected output from plain integer
// arithmetic. Shares nothing with the machine but the register table.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "target/rk3588/registers.hpp"

namespace peraxis::machine::test {

inline constexpr uint32_t kCommands = 0x10000, kFeatures = 0x100000, kWeights = 0x400000,
                          kOperands = 0x800000, kOutput = 0xA00000;

// Register writes in order; `set` replaces an earlier write of the same register.
class Program {
 public:
  template <class R>
  void set(rk3588::RegisterValue<R> value) {
    if (!value.bad_field.empty() || value.twice) bad_ = true;
    set(static_cast<uint16_t>(R::block), R::offset, value.bits);
  }
  void set(uint16_t block, uint16_t offset, uint32_t value);
  // One more write, also of a register written before.
  void push(uint16_t block, uint16_t offset, uint32_t value) { writes_.push_back({block, offset, value}); }
  void remove(uint16_t offset);
  uint32_t* find(uint16_t offset);
  bool bad() const { return bad_; }
  // Body and tail. next_words 0: last program, with an all-zero word for the address. A three-word tail has
  // none.
  std::vector<uint64_t> words(uint32_t next = 0, uint32_t next_words = 0, bool three = false) const;
  uint32_t enable = 0x1D;

 private:
  struct Write {
    uint16_t block, offset;
    uint32_t value;
  };
  std::vector<Write> writes_;
  bool bad_ = false;
};

struct Stage {  // BS or BN
  bool on = false, alu = false, mul = false, prelu = false, relu = false, relux = false, subtract = false;
  int32_t alu_operand = 0, mul_operand = 1, cmp = 0;
  int shift = 0, shift_negative = 0;
  bool alu_memory = false, mul_memory = false;
};

struct Layer {
  int64_t h = 5, w = 7, c = 16, n = 32;  // n: real output channels (depthwise: = c)
  int64_t kh = 3, kw = 3, sy = 1, sx = 1, dy = 1, dx = 1, pt = 1, pl = 1;
  int64_t ho = 5, wo = 7;
  bool depthwise = false, int32_output = false, line_mode = false;
  int64_t kernels = 0;      // programmed kernels, 0: rounded up to whole groups
  int64_t plane_extra = 0;  // atoms between input planes beyond h * w
  uint32_t pad = 0;
  int data_use = 1;
  bool ow_memory = false;
  int32_t ow = 0;
  int truncate = 0;
  Stage bs, bn;
  int ew_op = -1;  // 0 max 1 min 2 add 4 minus 100 mul
  int16_t ew_operand = 0;
  bool ew_relu = false, ew_relux = false;
  int32_t ew_cmp = 0;
  int32_t scale = 1, offset = 0;
  int shift = 0;
  bool round = false;
  int64_t data_banks = 6;
  bool data_reuse = false, weight_reuse = false;
  uint32_t enable = 0x1D;
  int weight_limit = 128;  // |w| below

  int64_t group() const { return depthwise ? 64 : 32; }
  int64_t cp() const { return (c + 15) / 16 * 16; }
  int64_t np() const { return (n + group() - 1) / group() * group(); }
  int64_t programmed_kernels() const { return depthwise ? 1 : (kernels != 0 ? kernels : np()); }
  int64_t plane() const { return h * w + plane_extra; }
};

// The layer as it is, with a conversion of its results.
inline Layer plain_layer() {
  Layer out;
  out.scale = 20001;
  out.shift = 22;
  out.offset = -3;
  return out;
}

// Logical data of a layer: features [h][w][cp], weights [n][kh][kw][c] (depthwise [c][kh][kw]).
struct Data {
  std::vector<int8_t> features, weights;
  std::vector<int32_t> a;
  std::vector<int16_t> b, c;
};
Data random_data(const Layer& layer, uint32_t seed);

// Output rows [first, first + rows) as one task; addresses given so that tasks can be chained.
struct Place {
  uint32_t features = kFeatures, weights = kWeights, operands = kOperands, output = kOutput;
};
Program make_program(const Layer& layer, int64_t first_row, int64_t rows, const Place& place = {});
inline Program make_program(const Layer& layer) {
  return make_program(layer, 0, layer.ho);
}

std::vector<uint8_t> pack_features(const Layer& layer, const Data& data);
std::vector<uint8_t> pack_weights(const Layer& layer, const Data& data);
std::vector<uint8_t> pack_operands(const Layer& layer, const Data& data);
// [pixel][np], by direct loops over the logical arrays.
std::vector<int64_t> expected(const Layer& layer, const Data& data);
// [pixel][np] from the output buffer.
std::vector<int64_t> unpack_output(const Layer& layer, const std::vector<uint8_t>& bytes);

// x / 2^n by the textbook definition. 0 even, 1 away from zero, 2 up.
int64_t round_shift(int64_t x, int n, int ties);

// A memory image and the machine on it.
class Bench {
 public:
  explicit Bench(Options options = {}) : machine_(options) {}
  void add(uint32_t address, std::vector<uint8_t> bytes, bool written, const std::string& name);
  void add_words(uint32_t address, const std::vector<uint64_t>& words);
  // All buffers of one layer; the output holds 0x55 bytes that nobody wrote.
  void load(const Layer& layer, const Data& data);
  Result<std::vector<TaskReport>> run(uint32_t words, int32_t tasks = 1, int32_t core = 0);
  std::vector<uint8_t>& bytes(uint32_t address);
  Machine& machine() { return machine_; }

 private:
  Machine machine_;
  std::vector<std::pair<uint32_t, std::unique_ptr<std::vector<uint8_t>>>> buffers_;
};

// Runs the layer as one task.
Result<std::vector<int64_t>> run_layer(const Layer& layer, const Data& data, Options options = {});

}  // namespace peraxis::machine::test
