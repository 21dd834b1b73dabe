#include "target/rk3588/registers.hpp"

#include "target/rk3588/limits.hpp"

namespace peraxis::rk3588 {
namespace {

// No two fields of a register may share a bit, and every field must lie in its 32 bits.
bool fields_are_disjoint() {
  for (const FieldInfo& a : kFields) {
    if (a.low + a.width > 32) return false;
    for (const FieldInfo& b : kFields) {
      if (&a == &b || a.block != b.block || a.offset != b.offset) continue;
      if (a.low < b.low + b.width && b.low < a.low + a.width) return false;
    }
  }
  return true;
}

}  // namespace

static_assert(kCbufBanks * kCbufBankBytes == 384 * 1024);

bool register_table_is_consistent() {
  return fields_are_disjoint();
}

}  // namespace peraxis::rk3588
