// See the header.
#include "program.hpp"

#include <algorithm>

namespace peraxis::machine::test {

using namespace rk3588;

void Program::set(uint16_t block, uint16_t offset, uint32_t value) {
  if (uint32_t* there = find(offset)) {
    *there = value;
    return;
  }
  writes_.push_back({block, offset, value});
}

void Program::remove(uint16_t offset) {
  std::erase_if(writes_, [&](const Write& w) { return w.offset == offset; });
}

uint32_t* Program::find(uint16_t offset) {
  for (Write& w : writes_)
    if (w.offset == offset) return &w.value;
  return nullptr;
}

std::vector<uint64_t> Program::words(uint32_t next, uint32_t next_words, bool three) const {
  std::vector<uint64_t> out;
  for (const Write& w : writes_)
    out.push_back(command_word(static_cast<uint16_t>(w.block | kWriteBit), w.value, w.offset));
  if (!three) out.push_back(next_words == 0 ? 0 : command_word(0x0101, next, 0x0010));
  out.push_back(command_word(0x0101, next_words == 0 ? 0 : (next_words + 1) / 2 - 1, 0x0014));
  out.push_back(command_word(kSeparatorTarget, 0, 0));
  out.push_back(command_word(kEnableTarget, enable, kEnableOffset));
  return out;
}

namespace {

void set_cna(Program& p, const Layer& l, int64_t top, int64_t in_rows, int64_t pad_top, int64_t rows,
             const Place& place) {
  const int64_t kernel_bytes = l.kh * l.kw * l.cp();
  p.set(CNA::CBUF_CON0::DATA_BANK(l.data_banks) | CNA::CBUF_CON0::WEIGHT_BANK(12 - l.data_banks) |
        CNA::CBUF_CON0::DATA_REUSE(l.data_reuse) | CNA::CBUF_CON0::WEIGHT_REUSE(l.weight_reuse));
  p.set(CNA::DCOMP_REGNUM::DCOMP_REGNUM(0));
  p.set(CNA::DCOMP_CTRL::DECOMP_CONTROL(0));
  p.set(CNA::CONV_CON1::CONV_MODE(l.depthwise ? 3 : 0) | CNA::CONV_CON1::GROUP_LINE_OFF(l.line_mode));
  p.set(DPU::S_POINTER::POINTER_PP_EN(1) | DPU::S_POINTER::EXECUTER_PP_EN(1) |
        DPU::S_POINTER::POINTER_PP_MODE(1));
  p.set(CNA::CONV_CON2::FEATURE_GRAINS(50 + l.sy + 1));
  p.set(CNA::CONV_CON3::CONV_X_STRIDE(l.sx) | CNA::CONV_CON3::CONV_Y_STRIDE(l.sy) |
        CNA::CONV_CON3::ATROUS_X_DILATION(l.dx) | CNA::CONV_CON3::ATROUS_Y_DILATION(l.dy));
  p.set(CNA::DATA_SIZE0::DATAIN_WIDTH(l.w) | CNA::DATA_SIZE0::DATAIN_HEIGHT(in_rows));
  p.set(CNA::DATA_SIZE1::DATAIN_CHANNEL(l.cp()) | CNA::DATA_SIZE1::DATAIN_CHANNEL_REAL((l.c - 1) % 64));
  p.set(CNA::DATA_SIZE2::DATAOUT_WIDTH(l.wo));
  p.set(CNA::DATA_SIZE3::DATAOUT_ATOMICS(l.wo * rows));
  p.set(CNA::WEIGHT_SIZE0::WEIGHT_BYTES(kernel_bytes * l.programmed_kernels()));
  p.set(CNA::WEIGHT_SIZE1::WEIGHT_BYTES_PER_KERNEL(kernel_bytes));
  p.set(CNA::WEIGHT_SIZE2::WEIGHT_WIDTH(l.kw) | CNA::WEIGHT_SIZE2::WEIGHT_HEIGHT(l.kh) |
        CNA::WEIGHT_SIZE2::WEIGHT_KERNELS(l.programmed_kernels()));
  p.set(CNA::CBUF_CON1::DATA_ENTRIES((l.w * l.cp() + 63) / 64));
  p.set(CNA::CVT_CON0::CVT_BYPASS(1) | CNA::CVT_CON0::CVT_TYPE(1) | CNA::CVT_CON0::DATA_SIGN(1));
  p.set(CNA::CVT_CON1::CVT_SCALE0(1));
  p.set(CNA::CVT_CON2::CVT_SCALE1(1));
  p.set(CNA::CVT_CON3::CVT_SCALE2(1));
  p.set(CNA::CVT_CON4::CVT_SCALE3(1));
  p.set(CNA::FC_CON0::FC_SKIP_EN(0));
  p.set(CNA::FC_CON1::DATA_OFFSET(0));
  p.set(CNA::PAD_CON0::PAD_TOP(pad_top) | CNA::PAD_CON0::PAD_LEFT(l.pl));
  p.set(CNA::FEATURE_DATA_ADDR::FEATURE_BASE_ADDR(place.features + 16 * l.w * top));
  p.set(CNA::FC_CON2::WEIGHT_OFFSET(0));
  p.set(CNA::DMA_CON0::DATA_BURST_LEN(15) | CNA::DMA_CON0::WEIGHT_BURST_LEN(15));
  p.set(CNA::DMA_CON1::LINE_STRIDE(l.line_mode ? l.w : 4 * l.w));
  p.set(CNA::DMA_CON2::SURF_STRIDE(l.plane() - (l.line_mode ? 1 : 4) * l.w));
  p.set(CNA::FC_DATA_SIZE0::DMA_WIDTH(l.w) | CNA::FC_DATA_SIZE0::DMA_HEIGHT(in_rows));
  p.set(CNA::FC_DATA_SIZE1::DMA_CHANNEL(l.cp()));
  p.set(CNA::DCOMP_ADDR0::DECOMPRESS_ADDR0(place.weights));
  for (uint16_t i = 0; i < 16; ++i)
    p.set(static_cast<uint16_t>(Block::CNA), static_cast<uint16_t>(0x1140 + 4 * i), 0);
  p.set(CNA::CVT_CON5::PER_CHANNEL_CVT_EN(0));
  p.set(CNA::PAD_CON1::PAD_VALUE(l.pad));
}

void set_bs(Program& p, const Layer& l) {
  const Stage& s = l.bs;
  p.set(DPU::BS_CFG::BS_BYPASS(!s.on) | DPU::BS_CFG::BS_ALU_BYPASS(!s.alu) |
        DPU::BS_CFG::BS_MUL_BYPASS(!s.mul) | DPU::BS_CFG::BS_MUL_PRELU(s.prelu) |
        DPU::BS_CFG::BS_RELU_BYPASS(!s.relu) | DPU::BS_CFG::BS_RELUX_EN(s.relux) |
        DPU::BS_CFG::BS_ALU_SRC(s.alu_memory) | DPU::BS_CFG::BS_ALU_ALGO(s.alu ? (s.subtract ? 4 : 2) : 0));
  p.set(DPU::BS_ALU_CFG::BS_ALU_OPERAND(s.alu_operand));
  p.set(DPU::BS_MUL_CFG::BS_MUL_SRC(s.mul_memory) | DPU::BS_MUL_CFG::BS_MUL_SHIFT_VALUE(s.shift) |
        DPU::BS_MUL_CFG::BS_MUL_OPERAND(s.mul_memory ? 0 : s.mul_operand));
  p.set(DPU::BS_RELUX_CMP_VALUE::BS_RELUX_CMP_DAT(s.cmp));
  const int64_t size_e = l.int32_output ? 7 : (l.depthwise ? 3 : 1);
  p.set(DPU::BS_OW_CFG::OW_SRC(l.ow_memory) | DPU::BS_OW_CFG::OD_BYPASS(l.int32_output) |
        DPU::BS_OW_CFG::SIZE_E_0(size_e) | DPU::BS_OW_CFG::SIZE_E_1(size_e) |
        DPU::BS_OW_CFG::SIZE_E_2(size_e));
  p.set(DPU::BS_OW_OP::OW_OP(l.ow));
}

void set_bn_ew(Program& p, const Layer& l) {
  const Stage& s = l.bn;
  p.set(DPU::BN_CFG::BN_BYPASS(!s.on) | DPU::BN_CFG::BN_ALU_BYPASS(!s.alu) |
        DPU::BN_CFG::BN_MUL_BYPASS(!s.mul) | DPU::BN_CFG::BN_MUL_PRELU(s.prelu) |
        DPU::BN_CFG::BN_RELU_BYPASS(!s.relu) | DPU::BN_CFG::BN_RELUX_EN(s.relux) |
        DPU::BN_CFG::BN_ALU_ALGO(s.alu ? (s.subtract ? 4 : 2) : 0));
  p.set(DPU::BN_ALU_CFG::BN_ALU_OPERAND(s.alu_operand));
  p.set(DPU::BN_MUL_CFG::BN_MUL_SHIFT_VALUE(s.shift) | DPU::BN_MUL_CFG::BN_MUL_OPERAND(s.mul_operand));
  p.set(DPU::BN_RELUX_CMP_VALUE::BN_RELUX_CMP_DAT(s.cmp));
  const bool op = l.ew_op >= 0, on = op || l.ew_relu;
  p.set(DPU::EW_CFG::EW_BYPASS(!on) | DPU::EW_CFG::EW_OP_BYPASS(!op) | DPU::EW_CFG::EW_LUT_BYPASS(1) |
        DPU::EW_CFG::EW_OP_CVT_BYPASS(1) | DPU::EW_CFG::EW_RELU_BYPASS(!l.ew_relu) |
        DPU::EW_CFG::EW_RELUX_EN(l.ew_relux) | DPU::EW_CFG::EW_OP_TYPE(l.ew_op == 100) |
        DPU::EW_CFG::EW_ALU_ALGO(op && l.ew_op < 100 ? l.ew_op : 0));
  p.set(DPU::EW_CVT_OFFSET_VALUE::EW_OP_CVT_OFFSET(0));
  p.set(DPU::EW_CVT_SCALE_VALUE::EW_OP_CVT_SCALE(1));
  p.set(DPU::EW_RELUX_CMP_VALUE::EW_RELUX_CMP_DAT(static_cast<uint32_t>(l.ew_cmp)));
  for (uint16_t i = 0; i < 8; ++i)
    p.set(static_cast<uint16_t>(Block::DPU), static_cast<uint16_t>(0x4090 + 4 * i),
          static_cast<uint16_t>(l.ew_operand));
}

void set_dpu(Program& p, const Layer& l, int64_t first, int64_t rows, const Place& place) {
  p.set(DPU::FEATURE_MODE_CFG::OUTPUT_MODE(2) | DPU::FEATURE_MODE_CFG::CONV_MODE(l.depthwise ? 3 : 0) |
        DPU::FEATURE_MODE_CFG::BURST_LEN(15));
  p.set(DPU::DATA_FORMAT::OUT_PRECISION(l.int32_output ? 4 : 0) |
        DPU::DATA_FORMAT::BS_MUL_SHIFT_VALUE_NEG(l.bs.shift_negative) |
        DPU::DATA_FORMAT::BN_MUL_SHIFT_VALUE_NEG(l.bn.shift_negative));
  p.set(DPU::OFFSET_PEND::OFFSET_PEND(0));
  p.set(DPU::DST_BASE_ADDR::DST_BASE_ADDR(place.output + 16 * l.wo * first));
  p.set(DPU::DST_SURF_STRIDE::DST_SURF_STRIDE(l.wo * l.ho));
  p.set(DPU::DATA_CUBE_WIDTH::WIDTH(l.wo));
  p.set(DPU::DATA_CUBE_HEIGHT::HEIGHT(rows));
  p.set(DPU::DATA_CUBE_NOTCH_ADDR::NOTCH_ADDR_0(0));
  p.set(DPU::DATA_CUBE_CHANNEL::CHANNEL(l.np()) | DPU::DATA_CUBE_CHANNEL::ORIG_CHANNEL(l.n));
  set_bs(p, l);
  p.set(DPU::WDMA_SIZE_0::CHANNEL_WDMA(l.np()));
  p.set(DPU::WDMA_SIZE_1::WIDTH_WDMA(l.wo) | DPU::WDMA_SIZE_1::HEIGHT_WDMA(rows));
  set_bn_ew(p, l);
  p.set(DPU::OUT_CVT_OFFSET::OUT_CVT_OFFSET(l.offset));
  p.set(DPU::OUT_CVT_SCALE::OUT_CVT_SCALE(l.scale));
  p.set(DPU::OUT_CVT_SHIFT::OUT_CVT_SHIFT(l.shift) | DPU::OUT_CVT_SHIFT::CVT_ROUND(l.round));
  const int64_t surfaces = l.int32_output ? 8 : (l.depthwise ? 4 : 2);
  p.set(DPU::SURFACE_ADD::SURF_ADD(surfaces * l.wo * l.ho));
  p.set(DPU::UNNAMED_40C4::VALUE(0));
  for (uint16_t i = 0; i < 12; ++i)
    p.set(static_cast<uint16_t>(Block::DPU), static_cast<uint16_t>(0x4100 + 4 * i), 0);
}

void set_rdma(Program& p, const Layer& l, int64_t rows, const Place& place) {
  p.set(DPU_RDMA::S_POINTER::POINTER_PP_EN(1) | DPU_RDMA::S_POINTER::EXECUTER_PP_EN(1) |
        DPU_RDMA::S_POINTER::POINTER_PP_MODE(1));
  p.set(DPU_RDMA::DATA_CUBE_WIDTH::WIDTH(l.wo));
  p.set(DPU_RDMA::DATA_CUBE_HEIGHT::HEIGHT(rows));
  p.set(DPU_RDMA::DATA_CUBE_CHANNEL::CHANNEL(l.np()));
  p.set(DPU_RDMA::SRC_BASE_ADDR::SRC_BASE_ADDR(0));
  p.set(DPU_RDMA::BRDMA_CFG::BRDMA_DATA_USE(l.data_use));
  p.set(DPU_RDMA::BS_BASE_ADDR::BS_BASE_ADDR(place.operands));
  p.set(DPU_RDMA::NRDMA_CFG::NRDMA_DATA_USE(0));
  p.set(DPU_RDMA::BN_BASE_ADDR::BN_BASE_ADDR(0));
  p.set(DPU_RDMA::ERDMA_CFG::ERDMA_DISABLE(1));
  p.set(DPU_RDMA::EW_BASE_ADDR::EW_BASE_ADDR(0));
  p.set(DPU_RDMA::EW_SURF_STRIDE::EW_SURF_STRIDE(0));
  p.set(DPU_RDMA::FEATURE_MODE_CFG::CONV_MODE(l.depthwise ? 3 : 0) |
        DPU_RDMA::FEATURE_MODE_CFG::MRDMA_DISABLE(1) | DPU_RDMA::FEATURE_MODE_CFG::BURST_LEN(15));
  p.set(DPU_RDMA::SRC_DMA_CFG::UNPOOLING_EN(0));
  p.set(DPU_RDMA::SURF_NOTCH::SURF_NOTCH_ADDR(0));
  p.set(DPU_RDMA::PAD_CFG::PAD_LEFT(0));
  p.set(DPU_RDMA::WEIGHT::M_WEIGHT(1) | DPU_RDMA::WEIGHT::B_WEIGHT(1) | DPU_RDMA::WEIGHT::N_WEIGHT(1) |
        DPU_RDMA::WEIGHT::E_WEIGHT(1));
  p.set(DPU_RDMA::EW_SURF_NOTCH::EW_SURF_NOTCH(0));
}

}  // namespace

Program make_program(const Layer& l, int64_t first, int64_t rows, const Place& place) {
  Program p;
  p.enable = l.enable;
  const int64_t start = first * l.sy - l.pt;
  const int64_t top = std::max<int64_t>(0, start);
  const int64_t bottom = std::min(l.h, (first + rows - 1) * l.sy - l.pt + (l.kh - 1) * l.dy + 1);
  set_cna(p, l, top, bottom - top, std::max<int64_t>(0, -start), rows, place);
  p.set(CORE::MISC_CFG::QD_EN(!l.int32_output) | CORE::MISC_CFG::DW_EN(l.depthwise));
  p.set(CORE::DATAOUT_SIZE_0::DATAOUT_WIDTH(l.wo) | CORE::DATAOUT_SIZE_0::DATAOUT_HEIGHT(rows));
  p.set(CORE::DATAOUT_SIZE_1::DATAOUT_CHANNEL(l.np()));
  p.set(CORE::CLIP_TRUNCATE::CLIP_TRUNCATE(l.truncate));
  p.set(CORE::UNNAMED_3030::VALUE(0));
  set_dpu(p, l, first, rows, place);
  set_rdma(p, l, rows, place);
  return p;
}

Data random_data(const Layer& l, uint32_t seed) {
  std::mt19937 rng(seed);
  const auto below = [&](int64_t limit) {  // in [-limit, limit)
    return std::uniform_int_distribution<int64_t>(-limit, limit - 1)(rng);
  };
  Data d;
  for (int64_t i = 0; i < l.h * l.w * l.cp(); ++i) d.features.push_back(static_cast<int8_t>(below(128)));
  const int64_t weights = l.kh * l.kw * (l.depthwise ? l.c : l.n * l.c);
  for (int64_t i = 0; i < weights; ++i) d.weights.push_back(static_cast<int8_t>(below(l.weight_limit)));
  for (int64_t i = 0; i < l.np(); ++i) {
    d.a.push_back(static_cast<int32_t>(below(20000)));
    d.b.push_back(static_cast<int16_t>(below(60)));
    d.c.push_back(static_cast<int16_t>(8192 + below(8192)));
  }
  return d;
}

std::vector<uint8_t> pack_features(const Layer& l, const Data& d) {
  std::vector<uint8_t> out(static_cast<size_t>(l.cp() / 16 * l.plane() * 16));
  for (int64_t y = 0; y < l.h; ++y)
    for (int64_t x = 0; x < l.w; ++x)
      for (int64_t c = 0; c < l.cp(); ++c)
        out[static_cast<size_t>((c / 16 * l.plane() + y * l.w + x) * 16 + c % 16)] =
            static_cast<uint8_t>(d.features[static_cast<size_t>((y * l.w + x) * l.cp() + c)]);
  return out;
}

std::vector<uint8_t> pack_weights(const Layer& l, const Data& d) {
  std::vector<uint8_t> out;
  const int64_t outer = l.depthwise ? l.cp() : l.programmed_kernels();
  const int64_t group = l.group();
  const int64_t taps = l.kh * l.kw;
  const auto weight = [&](int64_t oc, int64_t tap, int64_t ic) -> uint8_t {
    if (l.depthwise)
      return oc < l.c ? static_cast<uint8_t>(d.weights[static_cast<size_t>(oc * taps + tap)]) : 0;
    if (oc >= l.n || ic >= l.c) return 0;
    return static_cast<uint8_t>(d.weights[static_cast<size_t>((oc * taps + tap) * l.c + ic)]);
  };
  for (int64_t o = 0; o < outer; o += group)
    for (int64_t i = 0; i < (l.depthwise ? 1 : l.cp()); i += 32)
      for (int64_t tap = 0; tap < taps; ++tap)
        for (int64_t oc = o; oc < std::min(o + group, outer); ++oc)
          for (int64_t ic = i; ic < (l.depthwise ? 1 : std::min(i + 32, l.cp())); ++ic)
            out.push_back(weight(oc, tap, ic));
  return out;
}

std::vector<uint8_t> pack_operands(const Layer& l, const Data& d) {
  std::vector<uint8_t> out;
  const auto put = [&](int64_t v, int bytes) {
    for (int i = 0; i < bytes; ++i) out.push_back(static_cast<uint8_t>(static_cast<uint64_t>(v) >> (8 * i)));
  };
  const int64_t block = l.data_use == 7 ? 8 : 1;
  for (int64_t c = 0; c < l.np(); c += block) {
    for (int64_t i = c; i < c + block; ++i) put(d.a[static_cast<size_t>(i)], 4);
    if (l.data_use != 7) continue;
    for (int64_t i = c; i < c + block; ++i) put(d.b[static_cast<size_t>(i)], 2);
    for (int64_t i = c; i < c + block; ++i) put(d.c[static_cast<size_t>(i)], 2);
  }
  return out;
}

int64_t round_shift(int64_t x, int n, int ties) {
  const __int128 d = static_cast<__int128>(1) << n;
  __int128 q = x / d;
  if (q * d > x) --q;  // floor
  const __int128 twice = 2 * (x - q * d);
  if (twice > d) return static_cast<int64_t>(q + 1);
  if (twice < d) return static_cast<int64_t>(q);
  if (ties == 2) return static_cast<int64_t>(q + 1);
  if (ties == 1) return static_cast<int64_t>(x < 0 ? q : q + 1);
  return static_cast<int64_t>(q % 2 == 0 ? q : q + 1);
}

namespace {

int64_t cut32(int64_t v) {
  return std::clamp<int64_t>(v, INT32_MIN, INT32_MAX);
}

int64_t relu(const Stage& s, int64_t v) {
  if (s.relu) v = std::max<int64_t>(v, 0);
  return s.relu && s.relux ? std::min<int64_t>(v, s.cmp) : v;
}

int64_t post(const Layer& l, const Data& d, int64_t v, size_t c) {
  if (l.truncate > 0) v = round_shift(v, l.truncate, 0);
  v = cut32(v);
  if (l.bs.on) {
    const int64_t a = l.bs.alu_memory ? d.a[c] : l.bs.alu_operand;
    if (l.bs.alu) v = cut32(l.bs.subtract ? v - a : v + a);
    const int64_t p = v * (l.bs.mul_memory ? d.c[c] : l.bs.mul_operand);
    if (l.bs.mul && !(l.bs.prelu && v >= 0))
      v = cut32(round_shift(p, p < 0 ? l.bs.shift_negative : l.bs.shift, 0));
    v = relu(l.bs, v);
  }
  if (l.bn.on) {
    if (!(l.bn.prelu && v >= 0)) {
      int64_t p = v * (l.bn.mul ? l.bn.mul_operand : 1);
      if (l.bn.alu) p += l.bn.subtract ? -int64_t{l.bn.alu_operand} : int64_t{l.bn.alu_operand};
      v = cut32(round_shift(p, !l.bn.mul ? 0 : (p < 0 ? l.bn.shift_negative : l.bn.shift), 0));
    }
    v = relu(l.bn, v);
  }
  if (l.ew_op == 0) v = std::max<int64_t>(v, l.ew_operand);
  if (l.ew_op == 1) v = std::min<int64_t>(v, l.ew_operand);
  if (l.ew_op == 2) v = cut32(v + l.ew_operand);
  if (l.ew_op == 4) v = cut32(v - l.ew_operand);
  if (l.ew_op == 100) v = cut32(v * l.ew_operand);
  if (l.ew_relu) v = std::max<int64_t>(v, 0);
  if (l.ew_relu && l.ew_relux) v = std::min<int64_t>(v, l.ew_cmp);
  v = round_shift(v * l.scale, l.shift, l.round ? 1 : 0) + l.offset;
  return l.int32_output ? cut32(v) : std::clamp<int64_t>(v, -128, 127);
}

}  // namespace

std::vector<int64_t> expected(const Layer& l, const Data& d) {
  std::vector<int64_t> out;
  const int64_t taps = l.kh * l.kw;
  const auto input = [&](int64_t y, int64_t x, int64_t tap, int64_t c) -> int64_t {
    const int64_t iy = y * l.sy - l.pt + tap / l.kw * l.dy, ix = x * l.sx - l.pl + tap % l.kw * l.dx;
    if (iy >= 0 && ix >= 0 && iy < l.h && ix < l.w)
      return d.features[static_cast<size_t>((iy * l.w + ix) * l.cp() + c)];
    const bool second = l.depthwise && c % 64 < 32 && c % 2 == 1;  // two-lane rule
    return static_cast<int8_t>(second ? l.pad >> 8 : l.pad);
  };
  for (int64_t y = 0; y < l.ho; ++y)
    for (int64_t x = 0; x < l.wo; ++x)
      for (int64_t oc = 0; oc < l.np(); ++oc) {
        int64_t acc = 0, sum = 0;
        for (int64_t tap = 0; tap < taps; ++tap) {
          if (l.depthwise) {
            if (oc < l.c) acc += input(y, x, tap, oc) * d.weights[static_cast<size_t>(oc * taps + tap)];
            if (oc < l.cp()) sum += input(y, x, tap, oc);
            continue;
          }
          for (int64_t ic = 0; ic < l.cp(); ++ic) {
            const int64_t v = input(y, x, tap, ic);
            sum += v;
            if (oc < l.n && ic < l.c) acc += v * d.weights[static_cast<size_t>((oc * taps + tap) * l.c + ic)];
          }
        }
        const size_t c = static_cast<size_t>(oc);
        if (!l.int32_output) acc += (l.ow_memory ? d.b[c] : l.ow) * sum;
        out.push_back(post(l, d, acc, c));
      }
  return out;
}

std::vector<int64_t> unpack_output(const Layer& l, const std::vector<uint8_t>& bytes) {
  std::vector<int64_t> out;
  const int64_t pixels = l.ho * l.wo;
  for (int64_t p = 0; p < pixels; ++p)
    for (int64_t c = 0; c < l.np(); ++c) {
      if (!l.int32_output) {
        out.push_back(static_cast<int8_t>(bytes[static_cast<size_t>((c / 16 * pixels + p) * 16 + c % 16)]));
        continue;
      }
      uint32_t v = 0;
      for (int64_t i = 0; i < 4; ++i)
        v |= static_cast<uint32_t>(bytes[static_cast<size_t>((c / 4 * pixels + p) * 16 + c % 4 * 4 + i)])
             << (8 * i);
      out.push_back(static_cast<int32_t>(v));
    }
  return out;
}

void Bench::add(uint32_t address, std::vector<uint8_t> bytes, bool written, const std::string& name) {
  buffers_.emplace_back(address, std::make_unique<std::vector<uint8_t>>(std::move(bytes)));
  std::vector<uint8_t>& b = *buffers_.back().second;
  const Status mapped = machine_.memory().map(address, b, name);
  if (mapped && written) (void)machine_.memory().mark_written(address, static_cast<int64_t>(b.size()));
}

void Bench::add_words(uint32_t address, const std::vector<uint64_t>& words) {
  std::vector<uint8_t> bytes;
  for (const uint64_t w : words)
    for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<uint8_t>(w >> (8 * i)));
  add(address, std::move(bytes), true, "commands");
}

void Bench::load(const Layer& l, const Data& d) {
  add(kFeatures, pack_features(l, d), true, "features");
  add(kWeights, pack_weights(l, d), true, "weights");
  add(kOperands, pack_operands(l, d), true, "operands");
  const int64_t bytes = l.ho * l.wo * l.np() * (l.int32_output ? 4 : 1);
  add(kOutput, std::vector<uint8_t>(static_cast<size_t>(bytes), 0x55), false, "output");
}

Result<std::vector<TaskReport>> Bench::run(uint32_t words, int32_t tasks, int32_t core) {
  return machine_.run({kCommands, words, tasks, core});
}

std::vector<uint8_t>& Bench::bytes(uint32_t address) {
  for (auto& [a, b] : buffers_)
    if (a == address) return *b;
  std::abort();
}

Result<std::vector<int64_t>> run_layer(const Layer& l, const Data& d, Options options) {
  Bench bench(options);
  bench.load(l, d);
  const std::vector<uint64_t> words = make_program(l).words();
  bench.add_words(kCommands, words);
  PERAXIS_TRY(bench.run(static_cast<uint32_t>(words.size())));
  return unpack_output(l, bench.bytes(kOutput));
}

}  // namespace peraxis::machine::test
