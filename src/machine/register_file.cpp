// The rules of a register write, from the register table alone: which offsets exist, which bits are
// reserved, which target a block answers to.
#include "machine/register_file.hpp"

#include <memory>

namespace peraxis::machine {
namespace {

using rk3588::Block;
using rk3588::kRegisters;

struct Lookup {
  std::array<int16_t, 0x4000> index;  // by offset / 4
  std::array<uint32_t, kRegisterCount> mask{};
  Lookup() {
    index.fill(-1);
    for (size_t i = 0; i < kRegisterCount; ++i) index[kRegisters[i].offset >> 2] = static_cast<int16_t>(i);
    for (const rk3588::FieldInfo& f : rk3588::kFields) {
      const uint64_t bits = ((uint64_t{1} << f.width) - 1) << f.low;
      mask[static_cast<size_t>(index[f.offset >> 2])] |= static_cast<uint32_t>(bits);
    }
  }
};

const Lookup& lookup() {
  static const Lookup table;
  return table;
}

// Why a stream may not write this register, or empty.
std::string_view forbidden(const rk3588::RegisterInfo& info) {
  const uint16_t low = info.offset & 0xFFF;
  switch (info.block) {
    case Block::PC:
      if (info.offset == rk3588::PC::BASE_ADDRESS::Reg::offset ||
          info.offset == rk3588::PC::REGISTER_AMOUNTS::Reg::offset)
        return {};
      return "only the kernel writes this register";
    case Block::DDMA:
    case Block::SDMA:
    case Block::GLOBAL:
      return "no command stream writes this block";
    default:
      break;
  }
  if (low == 0x000) return "a status register is read-only";
  if (low == 0x008) return "blocks are started by the op-enable word, not by their own start bit";
  if (info.offset == rk3588::CORE::MAC_GATING::Reg::offset) return "it must keep its reset value";
  if (info.offset == rk3588::DPU_RDMA::UNNAMED_5024::Reg::offset)
    return "what it does on this chip is unknown";
  return {};
}

}  // namespace

int register_index(uint16_t offset) {
  return (offset & 3) != 0 ? -1 : lookup().index[offset >> 2];
}

Status RegisterFile::write_pointer(int32_t task, size_t block, uint32_t value,
                                   const rk3588::RegisterInfo& info, int32_t core) {
  // CNA and CORE carry the core index; a wrong one hung 24 of 24 jobs.
  const bool has_core = info.block == Block::CNA || info.block == Block::CORE;
  if (has_core && static_cast<int32_t>(value >> 28) != core)
    return fail(ErrorCode::Device, "task {}: {}.CORE_INDEX is {} on core {}: hangs the chip", task, info.name,
                value >> 28, core);
  const uint32_t mode = has_core ? value & 0x0FFFFFFF : value;
  if (mode == 0xE) {
    fixed_[block] = false;
  } else if (mode == 0x30) {
    fixed_[block] = true;
    group_[block] = 0;
  } else {
    return fail(ErrorCode::Device,
                "task {}: {} is {:#x}: only 0xe (alternate) and 0x30 (cleared) are known to work", task,
                info.name, value);
  }
  return {};
}

// LUT_ACCESS_CFG says where the following words of LUT_ACCESS_DATA go; the position moves on by itself.
Status RegisterFile::write_lut(int32_t task, uint32_t value, const rk3588::RegisterInfo& info) {
  using namespace rk3588::DPU;
  if (info.offset == LUT_ACCESS_CFG::Reg::offset) {
    const bool write = LUT_ACCESS_CFG::LUT_ACCESS_TYPE.get(value) != 0;
    if (!write && value != 0)
      return fail(ErrorCode::Unsupported,
                  "task {}: {} is {:#x}: not modelled in this version: reading the table", task, info.name,
                  value);
    lut_table_ = static_cast<size_t>(LUT_ACCESS_CFG::LUT_TABLE_ID.get(value));
    lut_next_ = write ? LUT_ACCESS_CFG::LUT_ADDR.get(value) : -1;
    return {};
  }
  if (lut_next_ < 0) {
    if (value == 0) return {};
    return fail(ErrorCode::Device, "task {}: {} = {:#x}, but LUT_ACCESS_CFG.LUT_ACCESS_TYPE is 0 (read)",
                task, info.name, value);
  }
  if (lut_next_ >= kLutEntries)
    return fail(ErrorCode::Device, "task {}: {} = {:#x} for entry {} of a table of 513", task, info.name,
                value, lut_next_);
  LutTable& lut = lut_[lut_table_];
  lut.entries[static_cast<size_t>(lut_next_)] = static_cast<int16_t>(value);
  lut.known.set(static_cast<size_t>(lut_next_++));
  return {};
}

Status RegisterFile::write(int32_t task, uint16_t target, uint32_t value, uint16_t offset, int32_t core) {
  const int found = register_index(offset);
  if (found < 0)
    return fail(ErrorCode::Device, "task {}: target {:#06x} offset {:#06x} (value {:#x}): no such register",
                task, target, offset, value);
  const size_t index = static_cast<size_t>(found);
  const rk3588::RegisterInfo& info = kRegisters[index];
  const uint16_t expected = static_cast<uint16_t>(static_cast<uint16_t>(info.block) | rk3588::kWriteBit);
  if (target != expected || info.block == Block::DDMA || info.block == Block::SDMA)
    return fail(ErrorCode::Device,
                "task {}: {} is addressed through target {:#06x}: the block does not answer to it", task,
                info.name, target);
  if (const std::string_view why = forbidden(info); !why.empty())
    return fail(ErrorCode::Device, "task {}: write of {:#x} to {}: {}", task, value, info.name, why);
  const uint32_t reserved = value & ~lookup().mask[index];
  if (reserved != 0)
    return fail(ErrorCode::Device, "task {}: {} = {:#x} sets reserved bits {:#x}", task, info.name, value,
                reserved);
  const size_t block = offset >> 12;
  if ((offset & 0xFFF) == 0x004 && info.block != Block::PC)
    PERAXIS_TRY(write_pointer(task, block, value, info, core));
  const bool table = info.offset == rk3588::DPU::LUT_ACCESS_CFG::Reg::offset ||
                     info.offset == rk3588::DPU::LUT_ACCESS_DATA::Reg::offset;
  if (table) PERAXIS_TRY(write_lut(task, value, info));
  Group& group = groups_[group_[block]];
  if (!table && touched_[index] && group.values[index] != value)
    return fail(ErrorCode::Device, "task {}: {} is written twice, first {:#x}, then {:#x}", task, info.name,
                group.values[index], value);
  group.values[index] = value;
  group.known.set(index);
  touched_.set(index);
  return {};
}

void RegisterFile::end_task() {
  for (size_t b = 0; b < kBlocks; ++b)
    if (!fixed_[b]) group_[b] ^= 1;
}

std::optional<uint32_t> RegisterFile::value(uint16_t offset) const {
  const size_t index = static_cast<size_t>(register_index(offset));
  const Group& group = groups_[group_[offset >> 12]];
  if (!group.known[index]) return std::nullopt;
  return group.values[index];
}

bool RegisterFile::written_in_this_task(uint16_t offset) const {
  return touched_[static_cast<size_t>(register_index(offset))];
}

uint32_t Registers::word(uint16_t offset, std::string_view field) {
  const std::optional<uint32_t> value = file_.value(offset);
  if (!value) {
    refuse("{} is needed but was written neither in this task nor in the task two before it", field);
    return 0;
  }
  return *value;
}

}  // namespace peraxis::machine
