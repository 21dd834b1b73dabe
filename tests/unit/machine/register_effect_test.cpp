// Every field of the register table is either FUNCTIONAL (some change of it alters an output byte or is
// refused, in one of the programs below) or INERT (no change of it, in any of them, does anything). A field
// that is read but forgotten, or declared but dead, fails here. No recorded outputs are involved.
#include <gtest/gtest.h>

#include <functional>

#include "blocks.hpp"

namespace peraxis::machine::test {
namespace {

using namespace rk3588;

struct Base {
  std::string name;
  std::function<void(Bench&)> load;  // everything but the programs
  std::vector<Program> programs;     // one chain
  size_t changed = 0;                // which of them the test changes
};

Layer small() {
  Layer l;
  l.h = 5, l.w = 6, l.c = 48, l.n = 40;
  l.ho = 5, l.wo = 6;
  l.pad = 0x44332211;
  l.bs.on = l.bs.alu = l.bs.alu_memory = true;
  l.scale = 20000, l.shift = 25, l.offset = -3;
  return l;
}

// Every stage on, operands from memory.
Layer everything() {
  Layer l = small();
  l.data_use = 7;
  l.ow_memory = true;
  l.truncate = 1;
  l.bs.mul = l.bs.mul_memory = true;
  l.bs.shift = 13, l.bs.shift_negative = 14;
  l.bn.on = l.bn.mul = l.bn.alu = true;
  l.bn.mul_operand = 3, l.bn.alu_operand = 4567, l.bn.shift = 1, l.bn.shift_negative = 2;
  l.ew_op = 2, l.ew_operand = -300;
  l.ew_relu = l.ew_relux = true, l.ew_cmp = 30000;
  l.shift = 23;
  return l;
}

// Operands from registers; both activations with an upper clamp.
Layer scalars() {
  Layer l = small();
  l.bs = {};
  l.bs.on = l.bs.alu = l.bs.mul = l.bs.relu = l.bs.relux = true;
  l.bs.alu_operand = 77777, l.bs.mul_operand = 5, l.bs.shift = 3, l.bs.shift_negative = 3, l.bs.cmp = 60001;
  l.bn.on = l.bn.mul = l.bn.relu = l.bn.relux = true;
  l.bn.mul_operand = 9, l.bn.shift = 4, l.bn.shift_negative = 4, l.bn.cmp = 40001;
  l.ow = 3;
  l.ew_op = 0, l.ew_operand = 999;
  l.enable = 0x1D;
  return l;
}

std::function<void(Bench&)> loads(const Layer& l) {
  return [l, data = random_data(l, 11)](Bench& bench) { bench.load(l, data); };
}

void add_other_blocks(std::vector<Base>& out) {
  const auto tensors = [](Bench& bench) { load_tensors(bench, 12); };
  out.push_back({"two tensors", tensors, {add_program()}, 0});
  out.push_back({"maximum pooling", tensors, {max_pool_program()}, 0});
  out.push_back({"average pooling", tensors, {average_pool_program()}, 0});
  out.push_back({"un-pooling", tensors, {unpool_program()}, 0});
  out.push_back({"table, loading", tensors, {table_program(), lookup_program()}, 0});
  out.push_back({"table, looking up", tensors, {table_program(), lookup_program()}, 1});
  const auto with_tensor = [load = loads(add_layer())](Bench& bench) {
    load(bench);
    std::mt19937 rng(13);
    std::vector<uint8_t> second(4096);
    for (uint8_t& b : second) b = static_cast<uint8_t>(rng());
    bench.add(kSecond, std::move(second), true, "second");
  };
  out.push_back({"convolution and tensor", with_tensor, {conv_add_program()}, 0});
  out.push_back({"packed pixels", loads(packed_layer()), {packed_program()}, 0});
  out.push_back({"inserted samples", loads(deconv_layer()), {deconv_program()}, 0});
}

std::vector<Base> bases() {
  std::vector<Base> out;
  const auto one = [&](const char* name, const Layer& l) {
    out.push_back({name, loads(l), {make_program(l)}, 0});
  };
  one("bias only", small());
  one("everything", everything());
  one("scalars", scalars());
  Layer l = scalars();
  l.bs.relux = false;
  one("BN clamp", l);
  l = small();
  l.depthwise = true;
  l.c = l.n = 80;
  l.shift = 24;
  l.ow = 5;
  one("depthwise", l);
  l = small();
  l.int32_output = true;
  l.scale = 1, l.shift = 0, l.offset = 0;
  one("int32", l);
  l = small();
  l.line_mode = true;
  l.sy = 2, l.ho = 3, l.dx = 2, l.pl = 2;
  l.ew_op = 100, l.ew_operand = 3;
  l.bs.prelu = l.bs.mul = true, l.bs.mul_operand = 4000, l.bs.shift = l.bs.shift_negative = 12;
  l.bn.on = l.bn.mul = l.bn.prelu = true, l.bn.mul_operand = 3000, l.bn.shift = l.bn.shift_negative = 12;
  one("line mode, PReLU", l);
  l = small();  // a tie in every second value: the rounding bits show
  l.bs.mul = true, l.bs.mul_operand = 1, l.bs.shift = l.bs.shift_negative = 9;
  l.truncate = 1, l.scale = 1, l.shift = 1;
  one("ties", l);
  l = small();
  l.int32_output = true;
  l.truncate = 2, l.bs = {}, l.scale = 1, l.shift = 0, l.offset = 0;
  one("ties of the truncation", l);
  one("NRDMA off by its own bit", small());
  *out.back().programs[0].find(DPU_RDMA::NRDMA_CFG::Reg::offset) = 3;
  l = small();
  l.enable = 0x0D;
  l.bs = {};
  one("without RDMA", l);
  // Second task of a chain; and the first, whose tail links them.
  l = small();
  Layer reuse = l;
  reuse.weight_reuse = true;
  out.push_back({"weight reuse", loads(l), {make_program(l, 0, 3), make_program(reuse, 3, 2)}, 1});
  out.push_back({"chain link", loads(l), {make_program(l, 0, 3), make_program(l, 3, 2)}, 0});
  add_other_blocks(out);
  return out;
}

constexpr uint32_t kStep = 0x4000;
constexpr size_t kSlack = 4;  // words the amount of a next program covers beyond it, for an inserted write

// Outcome of a chain whose changed program has `word` appended or replaced; everything a caller can see.
std::string outcome(const Base& base, const std::vector<std::vector<uint64_t>>& words) {
  Options options;
  options.max_task_macs = 100'000'000;
  Bench bench(options);
  base.load(bench);
  for (size_t i = 0; i < words.size(); ++i)
    bench.add_words(kCommands + static_cast<uint32_t>(i) * kStep, words[i]);
  const auto result = bench.run(static_cast<uint32_t>(words[0].size()), static_cast<int32_t>(words.size()));
  if (!result) return "refused";
  const std::vector<uint8_t>& bytes = bench.bytes(kOutput);
  return std::string(bytes.begin(), bytes.end());
}

std::vector<std::vector<uint64_t>> chain_words(const Base& base) {
  std::vector<std::vector<uint64_t>> out;
  for (size_t i = 0; i < base.programs.size(); ++i) {
    const bool last = i + 1 == base.programs.size();
    out.push_back(base.programs[i].words(
        kCommands + static_cast<uint32_t>(i + 1) * kStep,
        last ? 0 : static_cast<uint32_t>(base.programs[i + 1].words().size() + kSlack)));
  }
  return out;
}

// Flips `bits` of the register where the program writes it, or inserts a write of just these bits.
void flip(std::vector<uint64_t>& words, const FieldInfo& field, uint32_t bits) {
  uint16_t offset = field.offset;
  uint16_t target = static_cast<uint16_t>(static_cast<uint16_t>(field.block) | kWriteBit);
  if (field.block == Block::GLOBAL) {  // the op-enable word
    offset = kEnableOffset;
    target = kEnableTarget;
  }
  for (uint64_t& w : words)
    if (static_cast<uint16_t>(w) == offset && static_cast<uint16_t>(w >> 48) == target) {
      w ^= static_cast<uint64_t>(bits) << 16;
      return;
    }
  words.insert(words.end() - 4, command_word(target, bits, offset));
}

// The bits of the field that the program sets.
uint32_t written(Program program, const FieldInfo& field) {
  const uint32_t* value = program.find(field.offset);
  const uint64_t mask = ((uint64_t{1} << field.width) - 1) << field.low;
  return value == nullptr ? 0 : *value & static_cast<uint32_t>(mask);
}

// True when some change of the field is noticed.
bool noticed(const Base& base, const std::string& plain, const FieldInfo& field, std::string& where) {
  std::vector<uint32_t> changes;
  for (unsigned bit = field.low; bit < unsigned{field.low} + field.width; ++bit)
    changes.push_back(uint32_t{1} << bit);
  if (field.width > 1)
    changes.push_back(static_cast<uint32_t>(((uint64_t{1} << field.width) - 1) << field.low));
  const uint32_t set = written(base.programs[base.changed], field);
  if (set != 0) changes.push_back(set);  // the field becomes 0
  for (const uint32_t bits : changes) {
    std::vector<std::vector<uint64_t>> words = chain_words(base);
    flip(words[base.changed], field, bits);
    if (outcome(base, words) == plain) continue;
    where = fmt::format("{}, bits {:#x}", base.name, bits);
    return true;
  }
  return false;
}

TEST(RegisterEffect, EveryFieldIsFunctionalOrInert) {
  const std::vector<Base> all = bases();
  std::vector<std::string> plain;
  for (const Base& base : all) {
    for (const Program& p : base.programs) ASSERT_FALSE(p.bad()) << base.name;
    plain.push_back(outcome(base, chain_words(base)));
    ASSERT_NE(plain.back(), "refused") << base.name;
  }
  int functional = 0, inert = 0;
  for (const FieldInfo& field : kFields) {
    std::string where;
    bool seen = false;
    for (size_t i = 0; i < all.size() && !seen; ++i) seen = noticed(all[i], plain[i], field, where);
    if (field.effect == Effect::FUNCTIONAL)
      EXPECT_TRUE(seen) << field.name << " is FUNCTIONAL, but no change of it is noticed";
    else
      EXPECT_FALSE(seen) << field.name << " is INERT, but a change is noticed: " << where;
    (field.effect == Effect::FUNCTIONAL ? functional : inert)++;
  }
  RecordProperty("functional", functional);
  RecordProperty("inert", inert);
}

// An INERT field says why in its own text.
TEST(RegisterEffect, InertFieldsNameTheirSource) {
  for (const FieldInfo& field : kFields)
    if (field.effect == Effect::INERT) {
      EXPECT_NE(field.meaning.find("inert: "), std::string_view::npos) << field.name;
    }
}

}  // namespace
}  // namespace peraxis::machine::test
