// See register_index.hpp.
#include "trace/register_index.hpp"

#include <array>
#include <unordered_map>

namespace peraxis::trace {

using namespace rk3588;

namespace {

// Fields that hold device addresses: a place in a buffer is shown beside their value, and a replay moves
// them. The table does not mark them.
constexpr uint16_t kAddressOffsets[] = {
    PC::BASE_ADDRESS::Reg::offset,        CNA::FEATURE_DATA_ADDR::Reg::offset,
    CNA::DCOMP_ADDR0::Reg::offset,        DPU::DST_BASE_ADDR::Reg::offset,
    DPU_RDMA::SRC_BASE_ADDR::Reg::offset, DPU_RDMA::BS_BASE_ADDR::Reg::offset,
    DPU_RDMA::BN_BASE_ADDR::Reg::offset,  DPU_RDMA::EW_BASE_ADDR::Reg::offset,
    PPU::DST_BASE_ADDR::Reg::offset,      PPU_RDMA::RDMA_SRC_BASE_ADDR::Reg::offset};

// Blocks of which no stream target is known carry a placeholder (registers.hpp).
bool has_target(Block block) {
  return block != Block::DDMA && block != Block::SDMA;
}

std::string_view last_part(std::string_view name) {
  return name.substr(name.rfind('.') + 1);
}

FieldEntry make_field(const FieldInfo& info) {
  FieldEntry out;
  out.info = &info;
  out.name = last_part(info.name);
  out.mask = static_cast<uint32_t>(((uint64_t{1} << info.width) - 1) << info.low);
  // How a field counts shows in what it makes of its smallest and its largest bits.
  const int64_t zero = info.decode(0), ones = info.decode(out.mask);
  if (ones < zero) {  // signed
    out.lowest = -(int64_t{1} << (info.width - 1));
    out.highest = (int64_t{1} << (info.width - 1)) - 1;
  } else {
    out.lowest = zero;
    out.highest = ones;
  }
  return out;
}

struct Index {
  std::vector<RegisterEntry> entries;
  std::unordered_map<uint32_t, size_t> by_place;  // target << 16 | offset
  std::unordered_map<std::string_view, size_t> by_name;
  std::unordered_map<uint16_t, size_t> by_offset;

  Index() {
    for (const RegisterInfo& info : kRegisters) {
      if (!has_target(info.block)) continue;
      RegisterEntry entry;
      entry.info = &info;
      entry.target = static_cast<uint16_t>(static_cast<uint16_t>(info.block) | kWriteBit);
      for (const FieldInfo& field : kFields)
        if (field.block == info.block && field.offset == info.offset) {
          entry.fields.push_back(make_field(field));
          entry.known |= entry.fields.back().mask;
        }
      for (const uint16_t offset : kAddressOffsets) entry.address |= offset == info.offset;
      entry.number = entries.size();
      by_place.emplace(uint32_t{entry.target} << 16 | info.offset, entries.size());
      by_name.emplace(info.name, entries.size());
      by_offset.emplace(info.offset, entries.size());
      entries.push_back(std::move(entry));
    }
  }
};

const Index& index() {
  static const Index made;
  return made;
}

template <class Map, class Key>
const RegisterEntry* look_up(const Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &index().entries[found->second];
}

}  // namespace

uint32_t FieldEntry::encode(int64_t value) const {
  const int64_t stored = info->decode(0) == 1 ? value - 1 : value;  // 1: counts from one
  return static_cast<uint32_t>(static_cast<uint64_t>(stored) << info->low) & mask;
}

const FieldEntry* RegisterEntry::find(std::string_view field) const {
  for (const FieldEntry& f : fields)
    if (f.name == field) return &f;
  return nullptr;
}

const RegisterEntry* find_register(uint16_t target, uint16_t offset) {
  return look_up(index().by_place, uint32_t{target} << 16 | offset);
}
const RegisterEntry* find_register(std::string_view name) {
  return look_up(index().by_name, name);
}
const RegisterEntry* register_at(uint16_t offset) {
  return look_up(index().by_offset, offset);
}

bool looks_like_command(uint64_t word) {
  const auto target = static_cast<uint16_t>(word >> 48);
  const auto offset = static_cast<uint16_t>(word);
  const auto value = static_cast<uint32_t>(word >> 16);
  if (target == kSeparatorTarget) return value == 0 && offset == 0;
  if (target == kEnableTarget) return offset == kEnableOffset && value != 0 && value < 0x80;
  if (offset % 4 != 0) return false;
  struct Range {
    Block block;
    uint16_t page;
  };
  constexpr Range kRanges[] = {{Block::PC, 0x0},      {Block::CNA, 0x1},      {Block::CORE, 0x3},
                               {Block::DPU, 0x4},     {Block::DPU_RDMA, 0x5}, {Block::PPU, 0x6},
                               {Block::PPU_RDMA, 0x7}};
  for (const Range& range : kRanges)
    if (target == (static_cast<uint16_t>(range.block) | kWriteBit)) return offset >> 12 == range.page;
  return false;
}

const char* source_name(Source source) {
  switch (source) {
    case Source::SILICON:
      return "SILICON";
    case Source::OBSERVED:
      return "OBSERVED";
    case Source::MAINLINE:
      return "MAINLINE";
    case Source::TRM:
      return "TRM";
    case Source::GUESS:
      return "GUESS";
  }
  return "?";
}

}  // namespace peraxis::trace
