// Reads an executable's command words through the register table: fields of a task, and where its addresses
// point before they are known.
#pragma once

#include <gtest/gtest.h>

#include <cstring>

#include "exe/executable.hpp"
#include "target/rk3588/registers.hpp"

namespace peraxis::property {

struct Place {
  int32_t buffer = -1;
  int64_t offset = 0;
};

class TaskWords {
 public:
  TaskWords(const exe::Executable& executable, const exe::Task& task)
      : executable_(executable), task_(task) {}

  // The field's value; a register that is not written or written twice is a failure.
  template <class R, unsigned Low, unsigned Width, class Type>
  int64_t get(const rk3588::Field<R, Low, Width, Type>& field) const {
    const int64_t at = find<R>();
    return at < 0 ? 0 : field.get(static_cast<uint32_t>(word(at) >> 16));
  }
  // What the address register of this field is relocated to.
  template <class R, unsigned Low, unsigned Width, class Type>
  Place place(const rk3588::Field<R, Low, Width, Type>& field) const {
    const int64_t at = find<R>();
    for (const exe::Relocation& relocation : executable_.relocations)
      if (relocation.word == at) return {relocation.buffer, relocation.addend};
    ADD_FAILURE() << field.name << " has no relocation";
    return {};
  }

 private:
  uint64_t word(int64_t index) const {
    uint64_t value = 0;
    for (const exe::Buffer& buffer : executable_.buffers)
      if (buffer.kind == exe::BufferKind::Commands)
        std::memcpy(&value, buffer.data.data() + index * 8, sizeof value);
    return value;
  }
  template <class R>
  int64_t find() const {
    const uint64_t target = static_cast<uint64_t>(R::block) | rk3588::kWriteBit;
    int64_t found = -1;
    for (int64_t i = task_.first_word; i < task_.first_word + task_.words; ++i) {
      if (word(i) >> 48 != target || (word(i) & 0xFFFF) != R::offset) continue;
      EXPECT_EQ(found, -1) << "register " << R::offset << " is written twice";
      found = i;
    }
    EXPECT_GE(found, 0) << "register " << R::offset << " is not written";
    return found;
  }

  const exe::Executable& executable_;
  const exe::Task& task_;
};

}  // namespace peraxis::property
