// The register table as tools need it: by stream target and offset, by name, with ranges of field values.
// Everything comes from registers.def; nothing about a register is written down here.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "target/rk3588/registers.hpp"

namespace peraxis::trace {

struct FieldEntry {
  const rk3588::FieldInfo* info = nullptr;
  std::string_view name;  // "CONV_X_STRIDE"
  uint32_t mask = 0;
  int64_t lowest = 0, highest = 0;  // values the field can say

  int64_t decode(uint32_t word) const { return info->decode(word); }
  // The field's bits for `value`, which lies in [lowest, highest].
  uint32_t encode(int64_t value) const;
};

struct RegisterEntry {
  const rk3588::RegisterInfo* info = nullptr;
  uint16_t target = 0;  // of a word that writes it
  size_t number = 0;    // dense, below kRegisterCount
  std::vector<FieldEntry> fields;
  uint32_t known = 0;    // bits that belong to a field
  bool address = false;  // holds a device address

  const FieldEntry* find(std::string_view field) const;
};

inline constexpr size_t kRegisterCount = std::size(rk3588::kRegisters);

// Registers that a stream can write; null for anything else.
const RegisterEntry* find_register(uint16_t target, uint16_t offset);
const RegisterEntry* find_register(std::string_view name);  // "CNA.CONV_CON3"
// The register at this offset whatever the target, for values already known to be registers.
const RegisterEntry* register_at(uint16_t offset);

// True for a command word of the kinds the chip's streams consist of: a write to a block's own range, the
// separator, the op-enable word. Zero words are not counted: they are everywhere.
bool looks_like_command(uint64_t word);

const char* source_name(rk3588::Source source);

}  // namespace peraxis::trace
