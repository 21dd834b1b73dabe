// Registers of one core: two groups a block, used alternately by the tasks of a chain
// (docs/hardware/pc.md#ping-pong-register-groups). A task's writes go to the group it executes with, so what
// it does not write is what the task two before it left there; what nobody wrote is an error as soon as a
// block needs it.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "machine/lut.hpp"
#include "target/rk3588/registers.hpp"

namespace peraxis::machine {

inline constexpr size_t kRegisterCount = std::size(rk3588::kRegisters);

// Position of the register at `offset` in rk3588::kRegisters, or -1.
int register_index(uint16_t offset);

class RegisterFile {
 public:
  // One command word that is a register write. Refuses unknown registers, reserved bits, registers no
  // stream may write, and a second, different value in the same task.
  Status write(int32_t task, uint16_t target, uint32_t value, uint16_t offset, int32_t core);
  void begin_task() { touched_.reset(); }
  void end_task();

  // The value the current task sees, or nothing when it was never written.
  std::optional<uint32_t> value(uint16_t offset) const;
  bool written_in_this_task(uint16_t offset) const;
  const LutTables& lut() const { return lut_; }

 private:
  static constexpr size_t kBlocks = 16;  // by the top nibble of the offset
  Status write_pointer(int32_t task, size_t block, uint32_t value, const rk3588::RegisterInfo& info,
                       int32_t core);

  Status write_lut(int32_t task, uint32_t value, const rk3588::RegisterInfo& info);

  struct Group {
    std::array<uint32_t, kRegisterCount> values{};
    std::bitset<kRegisterCount> known;
  };
  std::array<Group, 2> groups_;
  std::bitset<kRegisterCount> touched_;
  std::array<uint8_t, kBlocks> group_{};  // which group a block's current task uses
  std::array<bool, kBlocks> fixed_{};     // ping-pong switched off
  // The look-up table is the core's, not a group's.
  LutTables lut_;
  size_t lut_table_ = 0;
  int64_t lut_next_ = -1;  // the entry that the next word of LUT_ACCESS_DATA goes to; -1: not writing
};

// Typed access for the blocks. The first problem sticks; status() reports it, so a block may read all its
// fields and ask once.
class Registers {
 public:
  Registers(const RegisterFile& file, int32_t task) : file_(file), task_(task) {}

  template <class R, unsigned L, unsigned W, class T>
  int64_t get(const rk3588::Field<R, L, W, T>& field) {
    return field.get(word(R::offset, field.name));
  }
  template <class R, unsigned L, unsigned W, class T>
  bool flag(const rk3588::Field<R, L, W, T>& field) {
    return get(field) != 0;
  }
  // Refuses any other value: `why` ends the sentence "... must be 3: ".
  template <class R, unsigned L, unsigned W, class T>
  void require(const rk3588::Field<R, L, W, T>& field, int64_t value, std::string_view why) {
    const int64_t is = get(field);
    if (is != value) refuse("{} is {}, must be {}: {}", field.name, is, value, why);
  }
  // Refuses a value other than `neutral` because this version does not model what it switches on.
  template <class R, unsigned L, unsigned W, class T>
  void not_modelled(const rk3588::Field<R, L, W, T>& field, int64_t neutral, std::string_view what) {
    const int64_t is = get(field);
    if (is != neutral && status_)
      status_ = fail(ErrorCode::Unsupported, "task {}: {} is {}: not modelled in this version: {}", task_,
                     field.name, is, what);
  }
  template <class... Args>
  void refuse(fmt::format_string<Args...> format, Args&&... args) {
    if (status_)
      status_ =
          fail(ErrorCode::Device, "task {}: {}", task_, fmt::format(format, std::forward<Args>(args)...));
  }
  const LutTables& lut() const { return file_.lut(); }
  const Status& status() const { return status_; }
  int32_t task() const { return task_; }

 private:
  uint32_t word(uint16_t offset, std::string_view field);

  const RegisterFile& file_;
  int32_t task_;
  Status status_;
};

}  // namespace peraxis::machine
