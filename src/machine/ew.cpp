// The EW stage: look-up table first, then one operation, then ReLU
// (docs/hardware/dpu.md#ew-a-second-operand). The operand comes from registers or, through ERDMA and a
// converter of its own, from a tensor.
#include <algorithm>

#include "machine/stage.hpp"
#include "machine/task.hpp"

namespace peraxis::machine {

using namespace rk3588;

namespace {

EwOp decode_operation(Registers& r) {
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
      r.not_modelled(DPU::EW_CFG::EW_ALU_ALGO, 0, "operations other than 0, 1, 2 and 4");
      return EwOp::None;
  }
}

void decode_register_operands(Registers& r, DpuConfig& d) {
  r.not_modelled(DPU::EW_CFG::EW_OP_CVT_BYPASS, 1, "the EW operand converter on register operands");
  const int64_t operands[8] = {
      r.get(DPU::EW_OP_VALUE_0::EW_OPERAND_0), r.get(DPU::EW_OP_VALUE_1::EW_OPERAND_1),
      r.get(DPU::EW_OP_VALUE_2::EW_OPERAND_2), r.get(DPU::EW_OP_VALUE_3::EW_OPERAND_3),
      r.get(DPU::EW_OP_VALUE_4::EW_OPERAND_4), r.get(DPU::EW_OP_VALUE_5::EW_OPERAND_5),
      r.get(DPU::EW_OP_VALUE_6::EW_OPERAND_6), r.get(DPU::EW_OP_VALUE_7::EW_OPERAND_7)};
  // 16 bits in the low half. That channel mod 8 is the lane is a guess; programs write all eight equal.
  for (int i = 0; i < 8; ++i) d.ew_operand[i] = static_cast<int16_t>(operands[i]);
}

void decode_tensor_operand(Registers& r, DpuConfig& d) {
  r.not_modelled(DPU::EW_CFG::EDATA_SIZE, 1, "EW operands other than 8 bits wide");
  r.not_modelled(DPU::EW_CFG::EW_DATA_MODE, 1, "EW operands of another shape than the output");
  d.ew_memory = true;
  EwConverter& c = d.ew_converter;
  c.on = !r.flag(DPU::EW_CFG::EW_OP_CVT_BYPASS);
  if (!c.on) return;
  c.offset_first = r.flag(DPU::EW_CFG::EW_CVT_TYPE);
  c.round = r.flag(DPU::EW_CFG::EW_CVT_ROUND);
  c.offset = r.get(DPU::EW_CVT_OFFSET_VALUE::EW_OP_CVT_OFFSET);
  c.scale = r.get(DPU::EW_CVT_SCALE_VALUE::EW_OP_CVT_SCALE);
  c.shift = static_cast<int>(r.get(DPU::EW_CVT_SCALE_VALUE::EW_OP_CVT_SHIFT));
}

}  // namespace

void decode_ew(Registers& r, DpuConfig& d) {
  if (r.flag(DPU::EW_CFG::EW_BYPASS)) return;
  if (!r.flag(DPU::EW_CFG::EW_LUT_BYPASS)) d.lut = decode_lut(r);
  if (!r.flag(DPU::EW_CFG::EW_OP_BYPASS)) {
    d.ew_op = decode_operation(r);
    if (r.flag(DPU::EW_CFG::EW_OP_SRC))
      decode_tensor_operand(r, d);
    else
      decode_register_operands(r, d);
  }
  d.ew_relu = !r.flag(DPU::EW_CFG::EW_RELU_BYPASS);
  d.ew_relux = d.ew_relu && r.flag(DPU::EW_CFG::EW_RELUX_EN);
  if (d.ew_relux) d.ew_relux_cmp = static_cast<int32_t>(r.get(DPU::EW_RELUX_CMP_VALUE::EW_RELUX_CMP_DAT));
}

int64_t convert_ew_operand(const EwConverter& c, const Switches& switches, int64_t e, int64_t& saturations) {
  if (!c.on) return e;
  const Ties ties = switches.ew_cvt_ties;
  if (c.offset_first) return cut(shift_by((e + c.offset) * c.scale, c.shift, ties, c.round), saturations);
  return cut(shift_by(e * c.scale, c.shift, ties, c.round) + c.offset, saturations);
}

int64_t run_ew(const DpuConfig& d, const Switches& switches, int64_t v, int64_t operand,
               int64_t& saturations) {
  const auto looked_up = [&](int64_t x) { return cut(d.lut->at(x, switches.lut_ties), saturations); };
  if (d.lut != nullptr && !switches.lut_after_op) v = looked_up(v);
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
  if (d.lut != nullptr && switches.lut_after_op) v = looked_up(v);
  if (d.ew_relu) v = std::max<int64_t>(v, 0);
  if (d.ew_relux) v = std::min(v, d.ew_relux_cmp);
  return v;
}

}  // namespace peraxis::machine
