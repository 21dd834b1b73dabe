// See facts.hpp. What the registers mean is told in docs/hardware.
#include "trace/facts.hpp"

#include <fmt/format.h>

namespace peraxis::trace {

using namespace rk3588;

namespace {

constexpr uint32_t kCna = 0x01, kDpu = 0x08, kRdma = 0x10, kPpu = 0x20;
constexpr int64_t kDeconvolution = 1;

// Typed access to the image; counts what the task did not write itself.
class Reader {
 public:
  Reader(const RegisterImage& image, Facts& facts) : image_(image), f_(facts) {}

  template <class R, unsigned L, unsigned W, class T>
  int64_t get(const Field<R, L, W, T>& field) {
    return field.get(word<R>());
  }
  template <class R>
  uint32_t word() {
    const auto value = image_.value(R::offset);
    if (value && !image_.written(R::offset) && !seen_[R::offset >> 2]) {
      seen_[R::offset >> 2] = true;
      ++f_.inherited;
    }
    return value.value_or(0);
  }
  template <class R>
  bool known() const {
    return image_.value(R::offset).has_value();
  }
  template <class R, unsigned L, unsigned W, class T>
  bool bypassed(const Field<R, L, W, T>& field) {
    return !known<R>() || get(field) != 0;
  }
  template <class R>
  void address(const char* name) {
    if (const uint32_t value = word<R>(); value != 0) f_.addresses.emplace_back(name, value);
  }

 private:
  const RegisterImage& image_;
  Facts& f_;
  std::array<bool, 0x4000> seen_{};
};

int64_t precision_bits(int64_t code) {
  constexpr int64_t kBits[] = {8, 16, 16, 16, 32, 32, 4, 0};
  return kBits[code & 7];
}

void read_convolution(Reader& r, Facts& f) {
  namespace C1 = CNA::CONV_CON1;
  namespace C3 = CNA::CONV_CON3;
  const bool depthwise = r.get(C1::CONV_MODE) == 3;
  f.operation = r.get(C1::DECONV) == kDeconvolution ? Operation::Deconvolution
                : depthwise                         ? Operation::Depthwise
                                                    : Operation::Convolution;
  f.packed_input = r.get(C1::ARGB_IN) != 0;
  f.input_bits = precision_bits(r.get(C1::IN_PRECISION));
  f.in = {r.get(CNA::DATA_SIZE0::DATAIN_WIDTH), r.get(CNA::DATA_SIZE0::DATAIN_HEIGHT),
          r.get(CNA::DATA_SIZE1::DATAIN_CHANNEL)};
  f.kernel = {r.get(CNA::WEIGHT_SIZE2::WEIGHT_WIDTH), r.get(CNA::WEIGHT_SIZE2::WEIGHT_HEIGHT)};
  f.kernels = r.get(CNA::WEIGHT_SIZE2::WEIGHT_KERNELS);
  f.stride = f.operation == Operation::Deconvolution
                 ? Pair{r.get(C3::DECONV_X_STRIDE), r.get(C3::DECONV_Y_STRIDE)}
                 : Pair{r.get(C3::CONV_X_STRIDE), r.get(C3::CONV_Y_STRIDE)};
  f.dilation = {r.get(C3::ATROUS_X_DILATION), r.get(C3::ATROUS_Y_DILATION)};
  f.pad = {r.get(CNA::PAD_CON0::PAD_LEFT), r.get(CNA::PAD_CON0::PAD_TOP)};
  f.pad_value = static_cast<int8_t>(r.get(CNA::PAD_CON1::PAD_VALUE) & 0xFF);
  f.data_banks = r.get(CNA::CBUF_CON0::DATA_BANK);
  f.weight_banks = r.get(CNA::CBUF_CON0::WEIGHT_BANK);
  f.weight_reuse = r.get(CNA::CBUF_CON0::WEIGHT_REUSE) != 0;
  f.data_reuse = r.get(CNA::CBUF_CON0::DATA_REUSE) != 0;
  f.entries = r.get(CNA::CBUF_CON1::DATA_ENTRIES);
  f.grains = r.get(CNA::CONV_CON2::FEATURE_GRAINS);
  f.core_split = r.get(CNA::CONV_CON2::MULTICORE_TASK_KIND);
  r.address<CNA::FEATURE_DATA_ADDR::Reg>("features");
  r.address<CNA::DCOMP_ADDR0::Reg>("weights");
}

// "relu", "relu to N" or nothing, of a stage whose clamp is on.
template <class Bypass, class Limit, class Value>
std::string clamp_text(Reader& r, const Bypass& bypass, const Limit& limit, const Value& value) {
  if (r.get(bypass) != 0) return {};
  return r.get(limit) != 0 ? fmt::format("relu to {}", r.get(value)) : "relu";
}

std::string joined(std::initializer_list<std::string> parts) {
  std::string out;
  for (const std::string& part : parts)
    if (!part.empty()) out += fmt::format("{}{}", out.empty() ? "" : "+", part);
  return out.empty() ? "-" : out;
}

void read_stages(Reader& r, Facts& f) {
  namespace BS = DPU::BS_CFG;
  namespace BN = DPU::BN_CFG;
  f.bs_cfg = r.word<BS::Reg>();
  f.bn_cfg = r.word<BN::Reg>();
  f.bs_shift = r.get(DPU::BS_MUL_CFG::BS_MUL_SHIFT_VALUE);
  f.bs = f.bn = "-";
  std::string bs_clamp, bn_clamp;
  bool prelu = false;
  if (!r.bypassed(BS::BS_BYPASS)) {
    bs_clamp = clamp_text(r, BS::BS_RELU_BYPASS, BS::BS_RELUX_EN, DPU::BS_RELUX_CMP_VALUE::BS_RELUX_CMP_DAT);
    f.bs_factor = r.get(BS::BS_MUL_BYPASS) != 0             ? Factor::None
                  : r.get(DPU::BS_MUL_CFG::BS_MUL_SRC) != 0 ? Factor::Channel
                                                            : Factor::Scalar;
    prelu = r.get(BS::BS_MUL_PRELU) != 0;
    constexpr const char* kFactors[] = {"", "scalar", "mul"};
    f.bs = joined({r.get(BS::BS_ALU_BYPASS) != 0 ? ""
                   : r.get(BS::BS_ALU_SRC) != 0  ? "bias"
                                                 : "add",
                   kFactors[static_cast<size_t>(f.bs_factor)], prelu ? "prelu" : "", bs_clamp});
  }
  if (!r.bypassed(BN::BN_BYPASS)) {
    bn_clamp = clamp_text(r, BN::BN_RELU_BYPASS, BN::BN_RELUX_EN, DPU::BN_RELUX_CMP_VALUE::BN_RELUX_CMP_DAT);
    f.bn_multiplies = r.get(BN::BN_MUL_BYPASS) == 0;
    const bool bn_prelu = r.get(BN::BN_MUL_PRELU) != 0;
    prelu = prelu || bn_prelu;
    f.bn = joined({f.bn_multiplies ? "mul" : "", r.get(BN::BN_ALU_BYPASS) != 0 ? "" : "add",
                   bn_prelu ? "prelu" : "", bn_clamp});
  }
  const bool ew_on = !r.bypassed(DPU::EW_CFG::EW_BYPASS);
  f.table = ew_on && r.get(DPU::EW_CFG::EW_LUT_BYPASS) == 0;
  if (ew_on && r.get(DPU::EW_CFG::EW_OP_BYPASS) == 0) {
    constexpr const char* kNames[] = {"max", "min",    "add",   "divide", "subtract",
                                      "abs", "negate", "floor", "ceil"};
    const auto algorithm = static_cast<size_t>(r.get(DPU::EW_CFG::EW_ALU_ALGO));
    const std::string name = r.get(DPU::EW_CFG::EW_OP_TYPE) != 0 ? "multiply"
                             : algorithm < std::size(kNames)     ? kNames[algorithm]
                                                                 : fmt::format("operation {}", algorithm);
    if (r.get(DPU::EW_CFG::EW_OP_SRC) != 0) f.elementwise = name;
    f.ew = f.table ? "table+" + name : name;
  } else {
    f.ew = f.table ? "table" : "-";
  }
  f.activation = f.table             ? "table"
                 : prelu             ? "prelu"
                 : !bn_clamp.empty() ? bn_clamp
                 : !bs_clamp.empty() ? bs_clamp
                                     : "none";
}

void read_dpu(Reader& r, Facts& f) {
  f.out = {r.get(DPU::DATA_CUBE_WIDTH::WIDTH), r.get(DPU::DATA_CUBE_HEIGHT::HEIGHT),
           r.get(DPU::DATA_CUBE_CHANNEL::CHANNEL)};
  f.real_channels = r.get(DPU::DATA_CUBE_CHANNEL::ORIG_CHANNEL);
  f.output_bits = precision_bits(r.get(DPU::DATA_FORMAT::OUT_PRECISION));
  f.out_scale = r.get(DPU::OUT_CVT_SCALE::OUT_CVT_SCALE);
  f.out_shift = r.get(DPU::OUT_CVT_SHIFT::OUT_CVT_SHIFT);
  f.out_offset = r.get(DPU::OUT_CVT_OFFSET::OUT_CVT_OFFSET);
  f.ties_away = r.get(DPU::OUT_CVT_SHIFT::CVT_ROUND) != 0;
  read_stages(r, f);
  if (r.get(DPU_RDMA::BRDMA_CFG::BRDMA_DISABLE) == 0)
    f.brdma_use = r.get(DPU_RDMA::BRDMA_CFG::BRDMA_DATA_USE);
  if (r.get(DPU_RDMA::NRDMA_CFG::NRDMA_DISABLE) == 0)
    f.nrdma_use = r.get(DPU_RDMA::NRDMA_CFG::NRDMA_DATA_USE);
  f.erdma = r.known<DPU_RDMA::ERDMA_CFG::Reg>() && r.get(DPU_RDMA::ERDMA_CFG::ERDMA_DISABLE) == 0;
  f.mrdma =
      r.known<DPU_RDMA::FEATURE_MODE_CFG::Reg>() && r.get(DPU_RDMA::FEATURE_MODE_CFG::MRDMA_DISABLE) == 0;
  if (f.mrdma) r.address<DPU_RDMA::SRC_BASE_ADDR::Reg>("source");
  if (f.brdma_use != 0) r.address<DPU_RDMA::BS_BASE_ADDR::Reg>("operands");
  if (f.nrdma_use != 0) r.address<DPU_RDMA::BN_BASE_ADDR::Reg>("bn operands");
  if (f.erdma) r.address<DPU_RDMA::EW_BASE_ADDR::Reg>("second operand");
  r.address<DPU::DST_BASE_ADDR::Reg>("output");
}

void read_pooling(Reader& r, Facts& f) {
  f.operation = Operation::Pooling;
  f.in = {r.get(PPU::DATA_CUBE_IN_WIDTH::CUBE_IN_WIDTH), r.get(PPU::DATA_CUBE_IN_HEIGHT::CUBE_IN_HEIGHT),
          r.get(PPU::DATA_CUBE_IN_CHANNEL::CUBE_IN_CHANNEL)};
  f.out = {r.get(PPU::DATA_CUBE_OUT_WIDTH::CUBE_OUT_WIDTH), r.get(PPU::DATA_CUBE_OUT_HEIGHT::CUBE_OUT_HEIGHT),
           r.get(PPU::DATA_CUBE_OUT_CHANNEL::CUBE_OUT_CHANNEL)};
  namespace K = PPU::POOLING_KERNEL_CFG;
  f.kernel = {r.get(K::KERNEL_WIDTH), r.get(K::KERNEL_HEIGHT)};
  f.stride = {r.get(K::KERNEL_STRIDE_WIDTH), r.get(K::KERNEL_STRIDE_HEIGHT)};
  f.pad = {r.get(PPU::POOLING_PADDING_CFG::PAD_LEFT), r.get(PPU::POOLING_PADDING_CFG::PAD_TOP)};
  constexpr const char* kMethods[] = {"average", "max", "min", "method 3"};
  f.elementwise = kMethods[r.get(PPU::OPERATION_MODE_CFG::POOLING_METHOD) & 3];
  if (f.in.w == 1 && f.in.h == 1 && f.out.w == 1 && f.out.h == 1 && f.kernel == Pair{1, 1})
    f.operation = Operation::Barrier;
  f.bs = f.bn = f.ew = "-";
  f.activation = "none";
  r.address<PPU_RDMA::RDMA_SRC_BASE_ADDR::Reg>("source");
  r.address<PPU::DST_BASE_ADDR::Reg>("output");
}

// Other programs write the table's registers too, but never open it for writing.
bool loads_table(const Stream& stream, const TaskWords& task) {
  for (int64_t i = task.first; i < task.first + task.count; ++i) {
    const uint64_t word = stream.words[static_cast<size_t>(i)];
    if (target_of(word) == (static_cast<uint16_t>(Block::DPU) | kWriteBit) &&
        offset_of(word) == DPU::LUT_ACCESS_CFG::Reg::offset &&
        DPU::LUT_ACCESS_CFG::LUT_ACCESS_TYPE.get(value_of(word)) != 0)
      return true;
  }
  return false;
}

bool is_power_of_two(int64_t v) {
  return v > 0 && (v & (v - 1)) == 0;
}

Mechanism mechanism_of(const Facts& f) {
  if (f.operation == Operation::Pooling || f.operation == Operation::Barrier ||
      f.operation == Operation::LutLoad || f.operation == Operation::Unknown)
    return Mechanism::None;
  if (f.convolves() && f.output_bits == 32) return Mechanism::HostRequantize;
  // 16385 is a power of two that breaks ties outwards (docs/strategies/exponent-classes.md).
  if (f.bs_factor == Factor::Channel)
    return is_power_of_two(f.out_scale) || f.out_scale == 16385 ? Mechanism::ChannelMultiplyShift
                                                                : Mechanism::ChannelMultiply;
  if (f.bn_multiplies && !f.table) return Mechanism::BnMultiply;
  if (f.bs_factor == Factor::Scalar) return Mechanism::TwoScalar;
  if (f.out_scale == 1 && f.out_shift == 0) return Mechanism::None;
  return Mechanism::OneScale;
}

std::string pair_text(const char* name, const Pair& pair, const Pair& neutral) {
  if (pair == neutral) return {};
  return pair.x == pair.y ? fmt::format(" {}{}", name, pair.x)
                          : fmt::format(" {}{}x{}", name, pair.x, pair.y);
}

}  // namespace

const char* operation_name(Operation operation) {
  switch (operation) {
    case Operation::Unknown:
      return "unknown";
    case Operation::Convolution:
      return "convolution";
    case Operation::Depthwise:
      return "depthwise";
    case Operation::Deconvolution:
      return "deconvolution";
    case Operation::Elementwise:
      return "elementwise";
    case Operation::Copy:
      return "copy";
    case Operation::Resize:
      return "resize";
    case Operation::LutLoad:
      return "table-load";
    case Operation::Pooling:
      return "pooling";
    case Operation::Barrier:
      return "barrier";
  }
  return "?";
}

const char* mechanism_name(Mechanism mechanism) {
  switch (mechanism) {
    case Mechanism::None:
      return "none";
    case Mechanism::OneScale:
      return "one-scale";
    case Mechanism::TwoScalar:
      return "two-scalar";
    case Mechanism::ChannelMultiply:
      return "channel-multiply";
    case Mechanism::ChannelMultiplyShift:
      return "channel-multiply-shift";
    case Mechanism::HostRequantize:
      return "host-requantize";
    case Mechanism::BnMultiply:
      return "bn-multiply";
  }
  return "?";
}

Facts facts_of(const Stream& stream, const TaskWords& task, const RegisterImage& image) {
  Facts f;
  f.complete = task.complete;
  f.words = task.count;
  for (int64_t i = task.first; i < task.first + task.count; ++i) {
    const uint64_t word = stream.words[static_cast<size_t>(i)];
    if (find_register(target_of(word), offset_of(word)) != nullptr) ++f.writes;
    if (is_enable(word)) f.enable = value_of(word);
  }
  Reader r(image, f);
  if (image.written(PC::REGISTER_AMOUNTS::Reg::offset)) {
    f.barrier = r.get(PC::REGISTER_AMOUNTS::CORE_BARRIER);
    if (image.written(PC::BASE_ADDRESS::Reg::offset)) {
      f.next_address = r.get(PC::BASE_ADDRESS::PC_SOURCE_ADDR) * 16;
      f.next_words = 2 * (r.get(PC::REGISTER_AMOUNTS::PC_DATA_AMOUNT) + 1);
    }
  }
  // A stream that was cut before its op-enable word still shows by its writes what it was to start.
  uint32_t blocks = f.enable;
  if (!task.complete) {
    if (image.written(CNA::CONV_CON1::Reg::offset)) blocks |= kCna;
    if (image.written(DPU::DATA_CUBE_WIDTH::Reg::offset)) blocks |= kDpu | kRdma;
  }
  if ((blocks & kDpu) != 0) read_dpu(r, f);
  if ((blocks & kCna) != 0) {
    read_convolution(r, f);
  } else if ((blocks & kDpu) != 0) {
    f.in = {r.get(DPU_RDMA::DATA_CUBE_WIDTH::WIDTH), r.get(DPU_RDMA::DATA_CUBE_HEIGHT::HEIGHT),
            r.get(DPU_RDMA::DATA_CUBE_CHANNEL::CHANNEL)};
    f.input_bits = precision_bits(r.get(DPU::DATA_FORMAT::IN_PRECISION));
    f.operation = loads_table(stream, task)                         ? Operation::LutLoad
                  : !f.elementwise.empty()                          ? Operation::Elementwise
                  : r.get(DPU_RDMA::SRC_DMA_CFG::UNPOOLING_EN) != 0 ? Operation::Resize
                                                                    : Operation::Copy;
  } else if ((blocks & kPpu) != 0) {
    read_pooling(r, f);
  }
  f.mechanism = mechanism_of(f);
  return f;
}

std::vector<Facts> facts_of(const Stream& stream) {
  std::vector<Facts> out;
  RegisterImage image;
  for (const TaskWords& task : split_tasks(stream.words)) {
    image.begin_task();
    for (int64_t i = task.first; i < task.first + task.count; ++i)
      image.write(stream.words[static_cast<size_t>(i)]);
    out.push_back(facts_of(stream, task, image));
    image.end_task();
  }
  return out;
}

std::string core_split_text(int64_t core_split) {
  switch (core_split) {
    case 0:
      return "one core";
    case 1:
    case 2:
      return fmt::format("rows over {} cores", core_split + 1);
    case 4:
    case 5:
      return fmt::format("output channels over {} cores", core_split - 2);
    default:
      return fmt::format("kind {}", core_split);
  }
}

std::string brdma_text(int64_t data_use) {
  constexpr const char* kParts[] = {"A", "B", "C", "T"};
  std::string out;
  for (size_t i = 0; i < std::size(kParts); ++i)
    if ((data_use >> i & 1) != 0) out += fmt::format("{}{}", out.empty() ? "" : "+", kParts[i]);
  return out.empty() ? "-" : out;
}

std::string shape_text(const Facts& f) {
  std::string out;
  if (f.convolves() || f.operation == Operation::Pooling)
    out = fmt::format("{}x{}{}{}{}, ", f.kernel.x, f.kernel.y, pair_text("s", f.stride, {1, 1}),
                      pair_text("d", f.dilation, {1, 1}), pair_text("p", f.pad, {0, 0}));
  return out + fmt::format("{}x{}x{} -> {}x{}x{}", f.in.w, f.in.h, f.in.c, f.out.w, f.out.h, f.out.c);
}

std::string mechanism_text(const Facts& f) {
  std::string out = mechanism_name(f.mechanism);
  const std::string converter = fmt::format("*{}>>{}", f.out_scale, f.out_shift);
  switch (f.mechanism) {
    case Mechanism::None:
    case Mechanism::HostRequantize:
      return out;
    case Mechanism::ChannelMultiply:
    case Mechanism::ChannelMultiplyShift:
    case Mechanism::TwoScalar:
      return out + fmt::format(" >>{}, {}", f.bs_shift, converter);
    default:
      return out + " " + converter;
  }
}

std::string describe(const Facts& f) {
  if (f.operation == Operation::Unknown)
    return f.complete ? fmt::format("starts {:#x}: nothing known", f.enable) : "no op-enable word: cut off";
  std::string out = f.operation == Operation::Pooling || f.operation == Operation::Elementwise
                        ? f.elementwise + " " + operation_name(f.operation)
                        : operation_name(f.operation);
  out += " " + shape_text(f);
  if (f.real_channels != 0 && f.real_channels != f.out.c) out += fmt::format(" ({} real)", f.real_channels);
  if (f.convolves()) {
    out += fmt::format(", banks {}+{}", f.data_banks, f.weight_banks);
    if (f.weight_reuse) out += ", weights kept";
    if (f.packed_input) out += ", packed input";
    if (!f.elementwise.empty()) out += fmt::format(", fused {}", f.elementwise);
  }
  if (f.mechanism != Mechanism::None) out += fmt::format(", {}", mechanism_text(f));
  if (f.activation != "none" && !f.activation.empty()) out += fmt::format(", {}", f.activation);
  if (f.core_split != 0) out += fmt::format(", {}", core_split_text(f.core_split));
  if (f.barrier != 0) out += fmt::format(", {} cores wait", f.barrier + 1);
  if (f.inherited != 0) out += fmt::format(", {} registers inherited", f.inherited);
  if (!f.complete) out += ", cut off";
  return out;
}

}  // namespace peraxis::trace
