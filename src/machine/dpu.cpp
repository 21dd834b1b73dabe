// DPU: what happens to an accumulator on its way out (docs/hardware/dpu.md#order-of-the-stages):
//   CPEND     + OW * window sum
//   truncate  >> CLIP_TRUNCATE, to 32 bits
//   BS        (v + A) * C >> s, ReLU        the shift depends on the sign of the product
//   BN        (v * m + A) >> s, ReLU        multiply first, one shift after the addition
//   EW        look-up table, operation with an operand, ReLU (ew.cpp)
//   OUT_CVT   v * SCALE >> SHIFT, + OFFSET, to the output type
// Between stages values are 32 bits, saturating.
#include <algorithm>

#include "machine/stage.hpp"
#include "machine/task.hpp"

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

int64_t run_bn(const ScaleStage& s, const Switches& switches, int64_t v, int64_t& saturations) {
  if (!(s.prelu && v >= 0)) {
    int64_t p = s.mul ? v * s.mul_operand : v;
    const auto shifted = [&] {
      return shift_by(p, p >= 0 ? s.shift : s.shift_negative, switches.bn_ties, false);
    };
    if (s.mul && switches.bn_shift_first) p = shifted();
    if (s.alu) p = s.subtract ? p - s.alu_operand : p + s.alu_operand;
    if (s.mul && !switches.bn_shift_first) p = shifted();
    v = cut(p, saturations);
  }
  return relu(s, v);
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

DpuConfig decode_dpu(Registers& r, DpuSource source) {
  DpuConfig d;
  r.require(DPU::FEATURE_MODE_CFG::FLYING_MODE, source == DpuSource::Memory ? 1 : 0,
            "the blocks that the enable word starts");
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

bool needs_window_sum(const DpuTask& task) {
  return task.dpu.cpend && (task.dpu.ow_memory || task.dpu.ow != 0);
}

void run_dpu(const DpuTask& task, const Operands& operands, const Switches& switches, Accumulators& acc,
             TaskReport& report) {
  const DpuConfig& d = task.dpu;
  const bool cpend = needs_window_sum(task);
  const bool ew = d.ew_op != EwOp::None || d.ew_relu || d.lut != nullptr;
  const int64_t columns = acc.width();
  const int64_t pixels = static_cast<int64_t>(acc.values.size()) / columns;
  int64_t saturations = 0;
  for (int64_t p = 0; p < pixels; ++p) {
    int64_t* row = acc.values.data() + p * columns;
    for (int64_t i = 0; i < columns; ++i) {
      const size_t c = static_cast<size_t>(acc.columns[static_cast<size_t>(i)]);
      const auto truncated = [&](int64_t sum) {
        return task.core.truncate > 0
                   ? shift_by(sum, task.core.truncate, switches.clip_truncate_ties, task.core.truncate_round)
                   : sum;
      };
      const int64_t weighted = cpend ? (d.ow_memory ? operands.b[c] : d.ow) * acc.sum(p, i) : 0;
      int64_t v =
          switches.truncate_before_cpend ? truncated(row[i]) + weighted : truncated(row[i] + weighted);
      v = cut(v, saturations);
      if (d.bs.on)
        v = run_bs(d.bs, switches.bs_ties, v, d.bs.alu_memory ? operands.a[c] : d.bs.alu_operand,
                   d.bs.mul_memory ? operands.c[c] : d.bs.mul_operand, saturations);
      if (d.bn.on) v = run_bn(d.bn, switches, v, saturations);
      if (ew) {
        int64_t operand = d.ew_operand[c % 8];
        if (d.ew_memory)
          operand = convert_ew_operand(d.ew_converter, switches, operands.ew.at(static_cast<int64_t>(c), p),
                                       saturations);
        v = run_ew(d, switches, v, operand, saturations);
      }
      row[i] = run_out_cvt(d, switches, v);
    }
  }
  report.saturations += saturations;
}

}  // namespace peraxis::machine
