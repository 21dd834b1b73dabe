#include "emit/writer.hpp"

namespace peraxis::emit {

using namespace rk3588;

void Writer::tail(uint32_t blocks) {
  // An even number of words: the PC fetches pairs (docs/hardware/pc.md#the-tail-of-a-program).
  if (program_.words.size() % 2 != 0) raw(0);
  program_.next_address_word = static_cast<int32_t>(program_.words.size());
  raw(0);
  program_.next_amount_word = static_cast<int32_t>(program_.words.size());
  write(PC::REGISTER_AMOUNTS::PC_DATA_AMOUNT[0]);
  raw(command_word(kSeparatorTarget, 0, 0));
  raw(command_word(kEnableTarget, blocks, kEnableOffset));
}

void write_no_register_operands(Writer& w) {
  w.write(DPU::EW_OP_VALUE_0::EW_OPERAND_0[0]);
  w.write(DPU::EW_OP_VALUE_1::EW_OPERAND_1[0]);
  w.write(DPU::EW_OP_VALUE_2::EW_OPERAND_2[0]);
  w.write(DPU::EW_OP_VALUE_3::EW_OPERAND_3[0]);
  w.write(DPU::EW_OP_VALUE_4::EW_OPERAND_4[0]);
  w.write(DPU::EW_OP_VALUE_5::EW_OPERAND_5[0]);
  w.write(DPU::EW_OP_VALUE_6::EW_OPERAND_6[0]);
  w.write(DPU::EW_OP_VALUE_7::EW_OPERAND_7[0]);
}

void write_no_table(Writer& w) {
  w.write(DPU::UNNAMED_40C4::VALUE[0]);
  w.write(DPU::LUT_ACCESS_CFG::LUT_ADDR[0]);
  w.write(DPU::LUT_ACCESS_DATA::LUT_ACCESS_DATA[0]);
  w.write(DPU::LUT_CFG::LUT_ROAD_SEL[0]);
  w.write(DPU::LUT_INFO::LUT_LE_INDEX_SELECT[0]);
  w.write(DPU::LUT_LE_START::LUT_LE_START[0]);
  w.write(DPU::LUT_LE_END::LUT_LE_END[0]);
  w.write(DPU::LUT_LO_START::LUT_LO_START[0]);
  w.write(DPU::LUT_LO_END::LUT_LO_END[0]);
  w.write(DPU::LUT_LE_SLOPE_SCALE::LUT_LE_SLOPE_UFLOW_SCALE[0]);
  w.write(DPU::LUT_LE_SLOPE_SHIFT::LUT_LE_SLOPE_UFLOW_SHIFT[0]);
  w.write(DPU::LUT_LO_SLOPE_SCALE::LUT_LO_SLOPE_UFLOW_SCALE[0]);
  w.write(DPU::LUT_LO_SLOPE_SHIFT::LUT_LO_SLOPE_UFLOW_SHIFT[0]);
}

uint64_t next_address() {
  return command_word(static_cast<uint16_t>(static_cast<uint16_t>(Block::PC) | kWriteBit), 0,
                      PC::BASE_ADDRESS::Reg::offset);
}

Result<uint64_t> next_amount(int64_t words) {
  return command(PC::REGISTER_AMOUNTS::PC_DATA_AMOUNT((words + 1) / 2 - 1));
}

}  // namespace peraxis::emit
