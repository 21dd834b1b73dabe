// Tables over all tasks of a stream: one row a task as one reads register dumps (cube channel, BS and BN
// use, BRDMA mode, OUT_CVT), and which of the fields that are set rest on what knowledge.
#pragma once

#include <string>
#include <vector>

#include "trace/facts.hpp"

namespace peraxis::trace {

struct Totals {
  int64_t tasks = 0, words = 0;
  int64_t one_channel = 0;    // tasks whose DPU cube has one channel
  int64_t bn_multiplies = 0;  // BN with a factor, tables not counted
  int64_t nrdma = 0;          // BN operands from memory
  std::vector<std::pair<std::string, int64_t>> operations, mechanisms, bs, bn, brdma, core_splits;
};
Totals totals_of(const std::vector<Facts>& facts);

// Rows of neighbours that say the same are one row.
std::string summary_text(const std::vector<Facts>& facts);

// A field with a value other than all zero bits, in how many words, and the values.
struct FieldUse {
  const FieldEntry* field = nullptr;
  int64_t words = 0;
  std::vector<int64_t> values;  // distinct, the first kMostValues
};
struct SourceUse {
  rk3588::Source source = rk3588::Source::TRM;
  std::vector<FieldUse> fields;
};
struct UnknownUse {
  std::string what;  // "DPU.BS_CFG reserved bits 0x8000", "raw word 0x1001...."
  int64_t words = 0;
};
struct Sources {
  std::vector<SourceUse> by_source;  // best known first
  std::vector<UnknownUse> unknown;
};
inline constexpr size_t kMostValues = 8;
Sources sources_of(const std::vector<Stream>& streams);
std::string sources_text(const Sources& sources);

}  // namespace peraxis::trace
