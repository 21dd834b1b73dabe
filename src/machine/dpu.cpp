// DPU: what happens to an accumulator on its way out (npu/hardware.md 9.1, with the corrections):
//   CPEND     + OW * window sum
//   truncate  >> CLIP_TRUNCATE, to 32 bits
//   BS        (v + A) * C >> s, ReLU        the shift depends on the sign of the product
//   BN        (v * m + A) >> s, ReLU        multiply first, one shift after the addition
//   EW        operation with a register operand, ReLU
//   OUT_CVT   v * SCALE >> SHIFT, + OFFSET, to the output type
// Between stages values are 32 bits, saturating.
#include <algorithm>

#include "machine/task.hpp"
#include "num/rounding.hpp"

namespace peraxis::machine {

using namespace rk3588;

namespace {

ScaleStage decode_bs(Registers& r) {
  ScaleStage s;
  s.on = !r.flag(DPU::BS_CFG::BS_BYPASS);
  s.alu = s.on && !r.flag(DPU::BS_CFG::BS_ALU_BYPASS);
  s.mul = s.on && !r.flag(DPU::BS_CFG::BS_MUL_BYPASS);
  s.relu = s.on && !r.flag(DPU::BS_CFG::BS_RELU_BYPASS);
  s.prelu = s.mul && r.flag(DPU::BS_CFG::BS_MUL_PRELU);
  s.relux = s.relu && r.flag(DPU::BS_CFG::BS_RELUX_EN);
  if (s.alu) {
    const int64_t algorithm = r.get(DPU::BS_CFG::BS_ALU_ALGO);
    if (algorithm != 2 && algorithm != 4)
      r.refuse("DPU.BS_CFG.BS_ALU_ALGO is {}, must be 2 (add) or 4 (subtract)", algorithm);
    s.subtract = algorithm == 4;
    s.alu_memory = r.flag(DPU::BS_CFG::BS_ALU_SRC);
    if (!s.alu_memory) s.alu_operand = r.get(DPU::BS_ALU_CFG::BS_ALU_OPERAND);
  }
  if (s.mul) {
    r.not_modelled(DPU::BS_MUL_CFG::BS_TRUNCATE_SRC, 0, "shift amounts from memory");
    s.mul_memory = r.flag(DPU::BS_MUL_CFG::BS_MUL_SRC);
    if (!s.mul_memory) s.mul_operand = r.get(DPU::BS_MUL_CFG::BS_MUL_OPERAND);
    s.shift = static_cast<int>(r.get(DPU::BS_MUL_CFG::BS_MUL_SHIFT_VALUE));
    s.shift_negative = static_cast<int>(r.get(DPU::DATA_FORMAT::BS_MUL_SHIFT_VALUE_NEG));
  }
  if (s.relux) s.relux_cmp = r.get(DPU::BS_RELUX_CMP_VALUE::BS_RELUX_CMP_DAT);
  return s;
}

ScaleStage decode_bn(Registers& r) {
  ScaleStage s;
  s.on = !r.flag(DPU::BN_CFG::BN_BYPASS);
  s.alu = s.on && !r.flag(DPU::BN_CFG::BN_ALU_BYPASS);
  s.mul = s.on && !r.flag(DPU::BN_CFG::BN_MUL_BYPASS);
  s.relu = s.on && !r.flag(DPU::BN_CFG::BN_RELU_BYPASS);
  s.prelu = s.mul && r.flag(DPU::BN_CFG::BN_MUL_PRELU);
  s.relux = s.relu && r.flag(DPU::BN_CFG::BN_RELUX_EN);
  if (s.alu) {
    const int64_t algorithm = r.get(DPU::BN_CFG::BN_ALU_ALGO);
    if (algorithm != 2 && algorithm != 4)
      r.refuse("DPU.BN_CFG.BN_ALU_ALGO is {}, must be 2 (add) or 4 (subtract)", algorithm);
    s.subtract = algorithm == 4;
    r.not_modelled(DPU::BN_CFG::BN_ALU_SRC, 0, "BN operands from memory");
    s.alu_operand = r.get(DPU::BN_ALU_CFG::BN_ALU_OPERAND);
    if (s.prelu) r.not_modelled(DPU::BN_CFG::BN_MUL_PRELU, 0, "BN PReLU together with the BN ALU");
  }
  if (s.mul) {
    r.not_modelled(DPU::BN_MUL_CFG::BN_MUL_SRC, 0, "BN operands from memory");
    r.not_modelled(DPU::BN_MUL_CFG::BN_TRUNCATE_SRC, 0, "shift amounts from memory");
    s.mul_operand = r.get(DPU::BN_MUL_CFG::BN_MUL_OPERAND);
    s.shift = static_cast<int>(r.get(DPU::BN_MUL_CFG::BN_MUL_SHIFT_VALUE));
    s.shift_negative = static_cast<int>(r.get(DPU::DATA_FORMAT::BN_MUL_SHIFT_VALUE_NEG));
  }
  if (s.relux) s.relux_cmp = r.get(DPU::BN_RELUX_CMP_VALUE::BN_RELUX_CMP_DAT);
  return s;
}

EwOp decode_ew_operation(Registers& r) {
  r.not_modelled(DPU::EW_CFG::EW_OP_SRC, 0, "EW operands from memory");
  r.not_modelled(DPU::EW_CFG::EW_OP_CVT_BYPASS, 1, "the EW operand converter");
  r.not_modelled(DPU::EW_CFG::EW_BINARY_EN, 0, "EW binary mode");
  r.not_modelled(DPU::EW_CVT_SCALE_VALUE::EW_TRUNCATE, 0, "the EW result shift");
  r.not_modelled(DPU::DATA_FORMAT::EW_TRUNCATE_NEG, 0, "the EW result shift");
  const bool equal = r.flag(DPU::EW_CFG::EW_EQUAL_EN);
  const int64_t algorithm = r.get(DPU::EW_CFG::EW_ALU_ALGO);
  if (r.flag(DPU::EW_CFG::EW_OP_TYPE)) {
    r.not_modelled(DPU::EW_CFG::EW_MUL_PRELU, 0, "EW PReLU");
    if (equal)
      r.refuse("DPU.EW_CFG.EW_EQUAL_EN is set on a multiplication: known for maximum and minimum only");
    return EwOp::Mul;
  }
  if (equal && algorithm > 1)
    r.refuse("DPU.EW_CFG.EW_EQUAL_EN is set on operation {}: known for maximum and minimum only", algorithm);
  switch (algorithm) {
    case 0:
      return EwOp::Max;
    case 1:
      return EwOp::Min;
    case 2:
      return EwOp::Add;
    case 4:
      return EwOp::Minus;
    default:
      r.refuse("DPU.EW_CFG.EW_ALU_ALGO is {}: not modelled in this version: only 0, 1, 2 and 4 are",
               algorithm);
      return EwOp::None;
  }
}

void decode_ew(Registers& r, DpuConfig& d) {
  if (r.flag(DPU::EW_CFG::EW_BYPASS)) return;
  r.not_modelled(DPU::EW_CFG::EW_LUT_BYPASS, 1, "the lookup table");
  if (!r.flag(DPU::EW_CFG::EW_OP_BYPASS)) {
    d.ew_op = decode_ew_operation(r);
    const int64_t operands[8] = {
        r.get(DPU::EW_OP_VALUE_0::EW_OPERAND_0), r.get(DPU::EW_OP_VALUE_1::EW_OPERAND_1),
        r.get(DPU::EW_OP_VALUE_2::EW_OPERAND_2), r.get(DPU::EW_OP_VALUE_3::EW_OPERAND_3),
        r.get(DPU::EW_OP_VALUE_4::EW_OPERAND_4), r.get(DPU::EW_OP_VALUE_5::EW_OPERAND_5),
        r.get(DPU::EW_OP_VALUE_6::EW_OPERAND_6), r.get(DPU::EW_OP_VALUE_7::EW_OPERAND_7)};
    // 16 bits in the low half, lane = channel mod 8 (11.7; programs write all eight equal).
    for (int i = 0; i < 8; ++i) d.ew_operand[i] = static_cast<int16_t>(operands[i]);
  }
  d.ew_relu = !r.flag(DPU::EW_CFG::EW_RELU_BYPASS);
  d.ew_relux = d.ew_relu && r.flag(DPU::EW_CFG::EW_RELUX_EN);
  if (d.ew_relux) d.ew_relux_cmp = static_cast<int32_t>(r.get(DPU::EW_RELUX_CMP_VALUE::EW_RELUX_CMP_DAT));
}

void decode_out_cvt(Registers& r, DpuConfig& d) {
  d.offset = r.get(DPU::OUT_CVT_OFFSET::OUT_CVT_OFFSET);
  d.scale = r.get(DPU::OUT_CVT_SCALE::OUT_CVT_SCALE);
  r.not_modelled(DPU::OUT_CVT_SCALE::FP32TOFP16_EN, 0, "float output");
  const int64_t shift = r.get(DPU::OUT_CVT_SHIFT::OUT_CVT_SHIFT);
  if (shift > 63) r.refuse("DPU.OUT_CVT_SHIFT.OUT_CVT_SHIFT is {}, at most 63", shift);
  d.shift = static_cast<int>(shift);
  d.cvt_round = r.flag(DPU::OUT_CVT_SHIFT::CVT_ROUND);
}

void refuse_other_modes(Registers& r) {
  r.not_modelled(DPU::FEATURE_MODE_CFG::FLYING_MODE, 0, "main data from memory");
  r.not_modelled(DPU::FEATURE_MODE_CFG::OUTPUT_MODE, 2, "output other than to memory");
  r.not_modelled(DPU::FEATURE_MODE_CFG::NONALIGN, 0, "non-aligned output");
  r.not_modelled(DPU::FEATURE_MODE_CFG::RGP_TYPE, 0, "regrouped output");
  r.not_modelled(DPU::FEATURE_MODE_CFG::TP_EN, 0, "transposed output");
  r.not_modelled(DPU::FEATURE_MODE_CFG::COMB_USE, 0, "combined operand streams");
  r.not_modelled(DPU::DATA_FORMAT::PROC_PRECISION, 0, "types other than int8");
  r.not_modelled(DPU::DATA_FORMAT::IN_PRECISION, 0, "types other than int8");
  r.not_modelled(DPU::DATA_FORMAT::MC_SURF_OUT, 0, "multi-surface output");
  r.require(DPU::OFFSET_PEND::OFFSET_PEND, 0, "its effect is unknown");
  r.not_modelled(DPU::DATA_CUBE_HEIGHT::MINMAX_CTL, 0, "minimum/maximum search");
  r.not_modelled(DPU::DATA_CUBE_NOTCH_ADDR::NOTCH_ADDR_0, 0, "row notches");
  r.not_modelled(DPU::DATA_CUBE_NOTCH_ADDR::NOTCH_ADDR_1, 0, "row notches");
  r.not_modelled(DPU::BS_OW_CFG::TP_ORG_EN, 0, "transposed output");
  r.not_modelled(DPU::BS_OW_CFG::RGP_CNTER, 0, "regrouped output");
  r.require(DPU::UNNAMED_40C4::VALUE, 0, "its effect is unknown");
  r.not_modelled(DPU::LUT_ACCESS_CFG::LUT_ADDR, 0, "the lookup table");
  r.not_modelled(DPU::LUT_ACCESS_CFG::LUT_TABLE_ID, 0, "the lookup table");
  r.not_modelled(DPU::LUT_ACCESS_CFG::LUT_ACCESS_TYPE, 0, "the lookup table");
  r.not_modelled(DPU::LUT_ACCESS_DATA::LUT_ACCESS_DATA, 0, "the lookup table");
}

int64_t shift_by(int64_t x, int n, Ties ties, bool away) {
  n = std::min(n, 62);  // operands are below 2^62: a shift by 63 gives the same 0
  if (ties == Ties::Up) return num::shift_ties_up(x, n);
  if (ties == Ties::ByRegister && away) return num::shift_ties_away(x, n);
  return num::shift_ties_even(x, n);
}

int64_t cut(int64_t x, int64_t& saturations) {
  const int64_t y = num::saturate_int32(x);
  saturations += x != y ? 1 : 0;
  return y;
}

int64_t relu(const ScaleStage& s, int64_t v) {
  if (s.relu) v = std::max<int64_t>(v, 0);
  if (s.relux) v = std::min(v, s.relux_cmp);
  return v;
}

int64_t run_bs(const ScaleStage& s, Ties ties, int64_t v, int64_t a, int64_t c, int64_t& saturations) {
  if (s.alu) v = cut(s.subtract ? v - a : v + a, saturations);
  if (s.mul && !(s.prelu && v >= 0)) {
    const int64_t p = v * c;
    v = cut(shift_by(p, p >= 0 ? s.shift : s.shift_negative, ties, false), saturations);
  }
  return relu(s, v);
}

int64_t run_bn(const ScaleStage& s, Ties ties, int64_t v, int64_t& saturations) {
  if (!(s.prelu && v >= 0)) {
    int64_t p = s.mul ? v * s.mul_operand : v;
    if (s.alu) p = s.subtract ? p - s.alu_operand : p + s.alu_operand;
    if (s.mul) p = shift_by(p, p >= 0 ? s.shift : s.shift_negative, ties, false);
    v = cut(p, saturations);
  }
  return relu(s, v);
}

int64_t run_ew(const DpuConfig& d, int64_t v, int64_t operand, int64_t& saturations) {
  switch (d.ew_op) {
    case EwOp::None:
      break;
    case EwOp::Max:
      v = std::max(v, operand);
      break;
    case EwOp::Min:
      v = std::min(v, operand);
      break;
    case EwOp::Add:
      v = cut(v + operand, saturations);
      break;
    case EwOp::Minus:
      v = cut(v - operand, saturations);
      break;
    case EwOp::Mul:
      v = cut(v * operand, saturations);
      break;
  }
  if (d.ew_relu) v = std::max<int64_t>(v, 0);
  if (d.ew_relux) v = std::min(v, d.ew_relux_cmp);
  return v;
}

int64_t run_out_cvt(const DpuConfig& d, const Switches& switches, int64_t v) {
  const int64_t q = v * d.scale;
  int64_t t;
  if (switches.out_cvt_offset_inside && d.shift > 0) {
    // |offset| < 2^31 and a shift of more than 30 leaves |q| below one half: no need for wider integers.
    const int n = std::min(d.shift, 62);
    const int64_t whole = q >> n;
    const int64_t rest = q - (whole << n);  // in [0, 2^n)
    // Adding the same integer to quotient and offset keeps the fraction; parity and sign are the sum's.
    const int64_t base = whole + d.offset;
    const int64_t half = int64_t{1} << (n - 1);
    const bool tie_up =
        switches.out_cvt_ties == Ties::Up ||
        (switches.out_cvt_ties == Ties::ByRegister && d.cvt_round ? base >= 0 : (base & 1) != 0);
    t = base + ((rest > half || (rest == half && tie_up)) ? 1 : 0);
  } else {
    t = shift_by(q, d.shift, switches.out_cvt_ties, d.cvt_round) + d.offset;
  }
  return d.int32_output ? num::saturate_int32(t) : num::saturate_int8(t);
}

}  // namespace

DpuConfig decode_dpu(Registers& r) {
  DpuConfig d;
  refuse_other_modes(r);
  d.width = r.get(DPU::DATA_CUBE_WIDTH::WIDTH);
  d.height = r.get(DPU::DATA_CUBE_HEIGHT::HEIGHT);
  d.channels = r.get(DPU::DATA_CUBE_CHANNEL::CHANNEL);
  d.orig_channels = r.get(DPU::DATA_CUBE_CHANNEL::ORIG_CHANNEL);
  const int64_t type = r.get(DPU::DATA_FORMAT::OUT_PRECISION);
  if (type != 0) r.not_modelled(DPU::DATA_FORMAT::OUT_PRECISION, 4, "output types other than int8 and int32");
  d.int32_output = type == 4;
  d.cpend = !r.flag(DPU::BS_OW_CFG::OD_BYPASS);
  if (d.cpend) {
    d.ow_memory = r.flag(DPU::BS_OW_CFG::OW_SRC);
    if (!d.ow_memory) d.ow = r.get(DPU::BS_OW_OP::OW_OP);
  }
  d.bs = decode_bs(r);
  d.bn = decode_bn(r);
  decode_ew(r, d);
  decode_out_cvt(r, d);
  return d;
}

bool needs_window_sum(const ConvTask& task) {
  return task.dpu.cpend && (task.dpu.ow_memory || task.dpu.ow != 0);
}

void run_dpu(const ConvTask& task, const Operands& operands, const Switches& switches, Accumulators& acc,
             TaskReport& report) {
  const DpuConfig& d = task.dpu;
  const bool cpend = needs_window_sum(task);
  const int64_t columns = acc.width();
  const int64_t pixels = static_cast<int64_t>(acc.values.size()) / columns;
  int64_t saturations = 0;
  for (int64_t p = 0; p < pixels; ++p) {
    int64_t* row = acc.values.data() + p * columns;
    for (int64_t i = 0; i < columns; ++i) {
      const size_t c = static_cast<size_t>(acc.columns[static_cast<size_t>(i)]);
      int64_t v = row[i];
      if (cpend) v += (d.ow_memory ? operands.b[c] : d.ow) * acc.sum(p, i);
      if (task.core.truncate > 0)
        v = shift_by(v, task.core.truncate, switches.clip_truncate_ties, task.core.truncate_round);
      v = cut(v, saturations);
      if (d.bs.on)
        v = run_bs(d.bs, switches.bs_ties, v, d.bs.alu_memory ? operands.a[c] : d.bs.alu_operand,
                   d.bs.mul_memory ? operands.c[c] : d.bs.mul_operand, saturations);
      if (d.bn.on) v = run_bn(d.bn, switches.bn_ties, v, saturations);
      if (d.ew_op != EwOp::None || d.ew_relu) v = run_ew(d, v, d.ew_operand[c % 8], saturations);
      row[i] = run_out_cvt(d, switches, v);
    }
  }
  report.saturations += saturations;
}

}  // namespace peraxis::machine
