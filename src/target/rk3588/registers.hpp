// The register table as types. registers.def is the one place where a register or field is described;
// this header turns it into checked writers (the emitter), readers (the machine model) and a table (the
// decoder, the docs, the tests).
//
//   CNA::CONV_CON3::CONV_X_STRIDE[1]        a constant: one that does not fit does not compile
//   CNA::CONV_CON3::CONV_X_STRIDE(stride)   a run-time value: checked, the error names the field
//   CNA::CONV_CON3::CONV_X_STRIDE.get(word) the decoded value
//
// Values are in the field's own meaning: a MinusOne field takes and yields 112 for "112 wide".
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/result.hpp"

namespace peraxis::rk3588 {

// Stream targets (docs/hardware/pc.md#command-words). Bit 0 of the target marks a register write.
enum class Block : uint16_t {
  PC = 0x0100,
  CNA = 0x0200,
  CORE = 0x0800,
  DPU = 0x1000,
  DPU_RDMA = 0x2000,
  PPU = 0x4000,
  PPU_RDMA = 0x8000,
  DDMA = 0xFFFD,  // no stream target is known for the last three: never written by a stream
  SDMA = 0xFFFE,
  GLOBAL = 0x0080,
};

enum class Source : uint8_t { SILICON, OBSERVED, MAINLINE, TRM, GUESS };
enum class Effect : uint8_t { FUNCTIONAL, INERT };

struct Uint {
  static constexpr bool fits(int64_t v, unsigned w) { return v >= 0 && v < (int64_t{1} << w); }
  static constexpr uint64_t encode(int64_t v) { return static_cast<uint64_t>(v); }
  static constexpr int64_t decode(uint64_t bits, unsigned) { return static_cast<int64_t>(bits); }
};
struct Sint {
  static constexpr bool fits(int64_t v, unsigned w) {
    return v >= -(int64_t{1} << (w - 1)) && v < (int64_t{1} << (w - 1));
  }
  static constexpr uint64_t encode(int64_t v) { return static_cast<uint64_t>(v); }
  static constexpr int64_t decode(uint64_t bits, unsigned w) {
    return static_cast<int64_t>(bits << (64 - w)) >> (64 - w);
  }
};
struct MinusOne {
  static constexpr bool fits(int64_t v, unsigned w) { return Uint::fits(v - 1, w); }
  static constexpr uint64_t encode(int64_t v) { return static_cast<uint64_t>(v - 1); }
  static constexpr int64_t decode(uint64_t bits, unsigned) { return static_cast<int64_t>(bits) + 1; }
};

template <Block B, uint16_t Offset>
struct Register {
  static constexpr Block block = B;
  static constexpr uint16_t offset = Offset;
};

// One or more fields of register R, joined with |.
template <class R>
struct RegisterValue {
  uint32_t bits = 0;
  uint32_t written = 0;
  std::string_view bad_field{};  // first field whose value did not fit
  int64_t bad_value = 0;
  bool twice = false;

  friend constexpr RegisterValue operator|(RegisterValue a, RegisterValue b) {
    RegisterValue out{a.bits | b.bits, a.written | b.written, a.bad_field, a.bad_value,
                      a.twice || b.twice || (a.written & b.written) != 0};
    if (out.bad_field.empty()) {
      out.bad_field = b.bad_field;
      out.bad_value = b.bad_value;
    }
    return out;
  }
};

template <class R, unsigned Low, unsigned Width, class Type>
struct Field {
  static constexpr uint32_t mask = static_cast<uint32_t>(((uint64_t{1} << Width) - 1) << Low);
  static constexpr unsigned low = Low;
  static constexpr unsigned width = Width;
  std::string_view name;  // "CNA.CONV_CON3.CONV_X_STRIDE"

  consteval RegisterValue<R> operator[](int64_t v) const {
    if (!Type::fits(v, Width)) throw "the constant does not fit the field";
    return {static_cast<uint32_t>(Type::encode(v) << Low) & mask, mask};
  }
  constexpr RegisterValue<R> operator()(int64_t v) const {
    if (!Type::fits(v, Width)) return {0, mask, name, v};
    return {static_cast<uint32_t>(Type::encode(v) << Low) & mask, mask};
  }
  constexpr int64_t get(uint32_t word) const { return Type::decode((word & mask) >> Low, Width); }
};

#define PERAXIS_REG(block_, reg_, offset_)      \
  namespace block_::reg_ {                      \
  using Reg = Register<Block::block_, offset_>; \
  }
#define PERAXIS_FIELD(block_, reg_, field_, low_, width_, type_, source_, effect_, meaning_) \
  namespace block_::reg_ {                                                                   \
  inline constexpr Field<Reg, low_, width_, type_> field_{#block_ "." #reg_ "." #field_};    \
  }
#include "target/rk3588/registers.def"
#undef PERAXIS_REG
#undef PERAXIS_FIELD

struct FieldInfo {
  Block block;
  uint16_t offset;
  uint8_t low, width;
  std::string_view name;  // "CNA.CONV_CON3.CONV_X_STRIDE"
  Source source;
  Effect effect;
  std::string_view meaning;
  int64_t (*decode)(uint32_t word);
};
struct RegisterInfo {
  Block block;
  uint16_t offset;
  std::string_view name;  // "CNA.CONV_CON3"
};

inline constexpr FieldInfo kFields[] = {
#define PERAXIS_REG(block_, reg_, offset_)
#define PERAXIS_FIELD(block_, reg_, field_, low_, width_, type_, source_, effect_, meaning_) \
  {Block::block_,                                                                            \
   block_::reg_::Reg::offset,                                                                \
   low_,                                                                                     \
   width_,                                                                                   \
   block_::reg_::field_.name,                                                                \
   Source::source_,                                                                          \
   Effect::effect_,                                                                          \
   meaning_,                                                                                 \
   [](uint32_t word) { return block_::reg_::field_.get(word); }},
#include "target/rk3588/registers.def"
#undef PERAXIS_REG
#undef PERAXIS_FIELD
};
inline constexpr RegisterInfo kRegisters[] = {
#define PERAXIS_REG(block_, reg_, offset_) {Block::block_, offset_, #block_ "." #reg_},
#define PERAXIS_FIELD(block_, reg_, field_, low_, width_, type_, source_, effect_, meaning_)
#include "target/rk3588/registers.def"
#undef PERAXIS_REG
#undef PERAXIS_FIELD
};

// The register at `offset` of `block`, or null. Linear: for tools and start-up tables.
constexpr const RegisterInfo* find_register(Block block, uint16_t offset) {
  for (const RegisterInfo& r : kRegisters)
    if (r.block == block && r.offset == offset) return &r;
  return nullptr;
}

// A command word: target [63:48] | value [47:16] | offset [15:0] (docs/hardware/pc.md#command-words).
constexpr uint64_t command_word(uint16_t target, uint32_t value, uint16_t offset) {
  return uint64_t{target} << 48 | uint64_t{value} << 16 | offset;
}
inline constexpr uint16_t kWriteBit = 1;              // target bit 0: a register write
inline constexpr uint16_t kEnableTarget = 0x0081;     // offset 0x0008, value = enable bitmap
inline constexpr uint16_t kSeparatorTarget = 0x0041;  // value 0, offset 0: directly before the enable word
inline constexpr uint16_t kEnableOffset = 0x0008;

template <class R>
Result<uint64_t> command(RegisterValue<R> value) {
  if (!value.bad_field.empty())
    return fail(ErrorCode::Internal, "register field {}: value {} does not fit", value.bad_field,
                value.bad_value);
  if (value.twice) return fail(ErrorCode::Internal, "a field of register {:#x} is written twice", R::offset);
  return command_word(static_cast<uint16_t>(static_cast<uint16_t>(R::block) | kWriteBit), value.bits,
                      R::offset);
}

// True when no two fields of a register overlap and every field lies in its 32 bits.
bool register_table_is_consistent();

}  // namespace peraxis::rk3588
