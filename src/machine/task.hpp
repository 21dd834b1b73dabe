// What the blocks make of their registers for one task that ends in the DPU, and the data that flows between
// them. One file a block: cna.cpp reads features, cbuf.cpp keeps them and the weights, weights.cpp knows the
// weight layouts, core.cpp multiplies, rdma.cpp and brdma.cpp read operands, lut.cpp looks up, dpu.cpp
// scales, wdma.cpp writes. flying.cpp puts together the tasks of the DPU alone, task.cpp the convolutions.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "machine/lut.hpp"
#include "machine/machine.hpp"
#include "machine/register_file.hpp"

namespace peraxis::machine {

inline constexpr int64_t kAtom = 16;            // bytes: 16 int8 channels of one pixel
inline constexpr int64_t kDirectGroup = 32;     // kernels the MAC array works on together
inline constexpr int64_t kDepthwiseGroup = 64;  // channels, in depthwise
inline constexpr int64_t kIcBlock = 32;         // input channels of one weight block
inline constexpr int64_t kBanks = 12;
inline constexpr int64_t kBankBytes = 32768;
inline constexpr int64_t kEntryBytes = 64;

// What becomes of a byte of a packed pixel, by lane.
struct PixelConverter {
  bool on = false, is_signed = true, offset_first = false, round = false;
  std::array<int64_t, 4> scale{}, offset{}, shift{};
};

struct CnaConfig {
  bool depthwise = false;
  bool line_mode = false;  // GROUP_LINE_OFF
  int64_t packed = 0;      // channels of a packed pixel; 0: a feature cube
  PixelConverter converter;
  int64_t in_width = 0, in_height = 0;          // the tile in memory
  int64_t deconv_x = 1, deconv_y = 1;           // distance of its samples on the plane that windows see
  int64_t width = 0, height = 0, channels = 0;  // that plane
  int64_t dma_width = 0, line_stride = 0, surf_stride = 0, feature_address = 0;
  int64_t pad_top = 0, pad_left = 0;
  uint32_t pad_value = 0;
  int64_t stride_x = 1, stride_y = 1, dilation_x = 1, dilation_y = 1;
  int64_t kernel_w = 0, kernel_h = 0, kernels = 0;
  int64_t weight_address = 0, weight_bytes = 0, kernel_bytes = 0;
  int64_t data_banks = 0, weight_banks = 0, entries = 0;
  bool data_reuse = false, weight_reuse = false;
  int64_t out_width = 0, out_atoms = 0;

  int64_t taps() const { return kernel_w * kernel_h; }
  int64_t span_x() const { return (kernel_w - 1) * dilation_x + 1; }
  int64_t span_y() const { return (kernel_h - 1) * dilation_y + 1; }
};

struct CoreConfig {
  int64_t width = 0, height = 0, channels = 0;
  bool window_sum = false;  // QD_EN
  int truncate = 0;
  bool truncate_round = false;
};

// BS and BN have the same controls; the order of their two operations differs.
struct ScaleStage {
  bool on = false, alu = false, mul = false, prelu = false, relu = false, relux = false;
  bool alu_memory = false, mul_memory = false, subtract = false;
  int64_t alu_operand = 0, mul_operand = 0, relux_cmp = 0;
  int shift = 0, shift_negative = 0;
};

enum class EwOp : uint8_t { None, Max, Min, Add, Minus, Mul };

// What becomes of an EW operand before the operation.
struct EwConverter {
  bool on = false, offset_first = false, round = false;
  int64_t offset = 0, scale = 1;
  int shift = 0;
};

// Where the DPU's main data come from.
enum class DpuSource : uint8_t { Convolution, Memory };

struct DpuConfig {
  int64_t width = 0, height = 0, channels = 0, orig_channels = 0;
  bool int32_output = false;
  bool cpend = false, ow_memory = false;
  int64_t ow = 0;
  ScaleStage bs, bn;
  std::shared_ptr<const Lut> lut;  // null: off
  EwOp ew_op = EwOp::None;
  bool ew_memory = false;  // the operand is a tensor
  EwConverter ew_converter;
  bool ew_relu = false, ew_relux = false;
  int64_t ew_operand[8] = {};
  int64_t ew_relux_cmp = 0;
  int64_t scale = 1, offset = 0;
  int shift = 0;
  bool cvt_round = false;
  int64_t dst_address = 0, dst_stride = 0;  // stride in atoms
};

// A tensor that a reader of the DPU takes from memory, surface by surface.
struct SurfaceSource {
  bool on = false;
  int64_t address = 0;
  int64_t pitch = 0;  // atoms from one surface to the next this reader takes
};

struct RdmaConfig {
  bool on = false;       // the block takes part in the task
  int64_t data_use = 0;  // of BRDMA, 0 when it is off
  int64_t address = 0;
  SurfaceSource main, ew;  // MRDMA, ERDMA
  bool shared = false;     // COMB_USE 5: both read the EW operand, MRDMA its even, ERDMA its odd surfaces
};

// A task that ends in the DPU.
struct DpuTask {
  int32_t index = 0;
  CoreConfig core;
  DpuConfig dpu;
  RdmaConfig rdma;
  int64_t pixels() const { return core.width * core.height; }
};

struct ConvTask : DpuTask {
  CnaConfig cna;
  int64_t group() const { return cna.depthwise ? kDepthwiseGroup : kDirectGroup; }
  int64_t macs() const { return pixels() * cna.taps() * core.channels * (cna.depthwise ? 1 : cna.channels); }
};

// Features as they lie in the CBUF: [channels / 16][height][width][16].
struct Features {
  int64_t width = 0, height = 0, channels = 0;
  std::vector<int8_t> bytes;
  const int8_t* atom(int64_t group, int64_t y, int64_t x) const {
    return bytes.data() + ((group * height + y) * width + x) * kAtom;
  }
};

// Weights as stored, with the layout rule.
struct Weights {
  bool depthwise = false;
  int64_t taps = 0, channels = 0, kernels = 0;
  std::vector<int8_t> bytes;
  // Stored position of kernel `oc` (depthwise: channel `oc`), tap ky * kw + kx, input channel `ic`.
  int64_t position(int64_t oc, int64_t tap, int64_t ic) const;
  // 0 for kernels and channels that are not stored.
  int8_t at(int64_t oc, int64_t tap, int64_t ic) const {
    if (oc >= (depthwise ? channels : kernels)) return 0;
    return bytes[static_cast<size_t>(position(oc, tap, ic))];
  }
};

// CBUF of one core: what the previous task of the job left there.
struct Cbuf {
  std::shared_ptr<const Features> features;
  std::shared_ptr<const Weights> weights;
  bool weights_whole = false;
  int64_t data_banks = 0, weight_banks = 0;
};

// A tensor in surfaces: [channels / 16][pixel][16].
struct Surfaces {
  int64_t pixels = 0;
  std::vector<int8_t> bytes;
  int8_t at(int64_t channel, int64_t pixel) const {
    return bytes[static_cast<size_t>((channel / kAtom * pixels + pixel) * kAtom + channel % kAtom)];
  }
};

// Operands of each channel for the BS stage, and the tensor operand of EW.
struct Operands {
  std::vector<int32_t> a;
  std::vector<int16_t> b, c;
  Surfaces ew;
};

// Accumulators of channels of one kernel group: [pixel][column], and the window sums of CPEND: [pixel] for
// direct, [pixel][column] for depthwise. `sums` is empty when nothing needs them.
struct Accumulators {
  std::vector<int64_t> columns;  // the output channel of each
  std::vector<int64_t> values, sums;
  int64_t width() const { return static_cast<int64_t>(columns.size()); }
  int64_t sum(int64_t pixel, int64_t column) const {
    return sums[static_cast<size_t>(sums.size() == values.size() ? pixel * width() + column : pixel)];
  }
};

// A range of device memory a task reads or writes.
struct Range {
  int64_t begin = 0, end = 0;
};

CnaConfig decode_cna(Registers& r);
void decode_packed(Registers& r, CnaConfig& cna);
void decode_deconv(Registers& r, CnaConfig& cna);
CoreConfig decode_core(Registers& r);
DpuConfig decode_dpu(Registers& r, DpuSource source);
// The operation of the EW stage, its operand and its activation.
void decode_ew(Registers& r, DpuConfig& dpu);
RdmaConfig decode_rdma(Registers& r, const DpuTask& task, DpuSource source, const Switches& switches,
                       bool enabled);
// MRDMA and ERDMA.
void decode_surface_readers(Registers& r, const DpuTask& task, DpuSource source, const Switches& switches,
                            RdmaConfig& rdma);
// All blocks, checked against each other.
Result<ConvTask> decode_conv(const RegisterFile& file, int32_t index, bool rdma, const Options& options);

class JobCache;  // fast.hpp

struct Context {
  const Options& options;
  Memory& memory;
  Cbuf& cbuf;
  JobCache& cache;  // for the fast path
  TaskReport& report;
  std::vector<Range> reads;
};

Status check_cbuf(const ConvTask& task, const Options& options);
Status check_reuse(const ConvTask& task, const Cbuf& cbuf);
// Fill the CBUF, or keep what the previous task left when a reuse flag is set.
Status load_features(const ConvTask& task, Context& context);
Result<std::shared_ptr<const Features>> read_packed(const ConvTask& task, const Memory& memory,
                                                    std::vector<Range>& ranges);
std::shared_ptr<const Features> insert_samples(const CnaConfig& cna, const Features& tile, bool zeros);
Status load_weights(const ConvTask& task, Context& context);
// Of all channels of whole groups, and the EW tensor.
Result<Operands> read_operands(const DpuTask& task, int64_t group, Context& context);
Result<Surfaces> read_main(const DpuTask& task, Context& context);
Result<Surfaces> read_ew(const DpuTask& task, Context& context);

// The padding byte channel `channel` sees.
int8_t pad_byte(const CnaConfig& cna, PadLanes lanes, int64_t channel);

// The MAC array for kernels [first, first + group). fast.hpp has another with the same results.
void run_core(const ConvTask& task, const Cbuf& cbuf, PadLanes lanes, int64_t first, Accumulators& out);
// True when some stage uses the window sum.
bool needs_window_sum(const DpuTask& task);

// Everything from CPEND to the output converter, in place: accumulators in, output values out.
void run_dpu(const DpuTask& task, const Operands& operands, const Switches& switches, Accumulators& values,
             TaskReport& report);
int64_t convert_ew_operand(const EwConverter& converter, const Switches& switches, int64_t operand,
                           int64_t& saturations);
int64_t run_ew(const DpuConfig& dpu, const Switches& switches, int64_t value, int64_t operand,
               int64_t& saturations);
// Addresses of the writer and its steps, for kernel groups of `atoms` 16-byte atoms a pixel.
void decode_writer(Registers& r, int64_t atoms, DpuTask& task);
Status write_output(const DpuTask& task, int64_t first, const Accumulators& values, Context& context);
// The bytes write_output will touch.
std::vector<Range> output_ranges(const DpuTask& task);
// Channels of an output atom.
int64_t channels_per_atom(const DpuTask& task);
// The memory of the atoms that start at output channel `channel`, marked as written; null when the write is
// dropped (Switches::drop_dummy_output).
Result<uint8_t*> claim_surface(const DpuTask& task, int64_t channel, Context& context);

// BS operands that the readers do not deliver.
void check_operands(Registers& r, const DpuTask& task);
// Sizes of the DPU, its readers and its writer that must equal those of the data that arrive.
void check_dpu_sizes(Registers& r, const DpuTask& task);
// `in_place`: an output range that equals an input range is fine.
Status check_no_overwrite(int32_t task, const std::vector<Range>& output, const Context& context,
                          bool in_place = false);
Status run_conv(const ConvTask& task, Context& context);

// A task of the DPU alone.
struct FlyingTask : DpuTask {};
Result<FlyingTask> decode_flying(const RegisterFile& file, int32_t index, const Options& options);
Status run_flying(const FlyingTask& task, Context& context);

}  // namespace peraxis::machine
