// Collects a program's words; shared by the emitters of all kinds of tasks.
#pragma once

#include <optional>

#include "emit/program.hpp"
#include "target/rk3588/registers.hpp"

namespace peraxis::emit {

// Collects words; the first field that does not fit stops it.
class Writer {
 public:
  template <class R>
  void write(rk3588::RegisterValue<R> value) {
    if (error_) return;
    Result<uint64_t> word = rk3588::command(value);
    if (word)
      program_.words.push_back(*word);
    else
      error_ = std::move(word).error();
  }
  // A register whose whole value is an address.
  template <class R>
  void address(rk3588::RegisterValue<R> zero, rk3588::SymbolicAddress target) {
    if (target.allocation >= 0)
      program_.addresses.push_back({static_cast<int32_t>(program_.words.size()), target});
    write(zero);
  }
  void raw(uint64_t word) { program_.words.push_back(word); }
  void reserve(size_t words) { program_.words.reserve(words); }
  // The four closing words (docs/hardware/pc.md#the-tail-of-a-program); `blocks` is the enable bitmap.
  void tail(uint32_t blocks);
  Result<Program> finish() {
    if (error_) return tl::make_unexpected(std::move(*error_));
    return std::move(program_);
  }

 private:
  Program program_;
  std::optional<Error> error_;
};

inline constexpr int64_t kBurst16 = 15;

// DPU registers that few programs of ours use: register operands of EW, the look-up table.
void write_no_register_operands(Writer& writer);
void write_no_table(Writer& writer);

}  // namespace peraxis::emit
