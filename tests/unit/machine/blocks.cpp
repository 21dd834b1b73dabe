#include "blocks.hpp"

namespace peraxis::machine::test {
namespace {

using namespace rk3588;

struct Write {
  uint16_t offset;
  uint32_t value;
};

uint16_t block_of(uint16_t offset) {
  constexpr Block kBlocks[] = {Block::PC,  Block::CNA,      Block::CNA, Block::CORE,
                               Block::DPU, Block::DPU_RDMA, Block::PPU, Block::PPU_RDMA};
  return static_cast<uint16_t>(kBlocks[offset >> 12]);
}

void write(Program& p, std::initializer_list<Write> writes) {
  for (const Write& w : writes) p.set(block_of(w.offset), w.offset, w.value);
}

// A task of the DPU alone that copies `width` x `height` x 16 atoms.
Program copy_program(uint32_t width, uint32_t height, uint32_t channels, uint32_t plane) {
  Program p;
  p.enable = 0x18;
  write(p, {{0x4004, 0xE},
            {0x5004, 0xE},
            {0x400C, 0x1E5},
            {0x4010, 0},
            {0x4014, 0},
            {0x4020, kOutput},
            {0x4024, plane << 4},
            {0x4030, width - 1},
            {0x4034, height - 1},
            {0x4038, 0},
            {0x403C, (channels - 1) << 16 | (channels - 1)},
            {0x4040, 0x53},
            {0x4044, 0},
            {0x4048, 0},
            {0x404C, 0},
            {0x4050, 2},
            {0x4054, 0},
            {0x4058, channels - 1},
            {0x405C, (height - 1) << 16 | (width - 1)},
            {0x4060, 0x53},
            {0x4064, 0},
            {0x4068, 0},
            {0x406C, 0},
            {0x4070, 0x383},
            {0x4074, 0},
            {0x4078, 1},
            {0x407C, 0},
            {0x4080, 0},
            {0x4084, 1},
            {0x4088, 0},
            {0x40C0, plane << 4},
            {0x40C4, 0}});
  for (uint16_t i = 0; i < 8; ++i) write(p, {{static_cast<uint16_t>(0x4090 + 4 * i), 0}});
  for (uint16_t i = 2; i < 12; ++i) write(p, {{static_cast<uint16_t>(0x4100 + 4 * i), 0}});
  write(p, {{0x500C, width - 1},
            {0x5010, height - 1},
            {0x5014, channels - 1},
            {0x5018, kFeatures},
            {0x501C, 0},
            {0x5020, 0},
            {0x5028, 0},
            {0x502C, 0},
            {0x5034, 1},
            {0x5038, 0},
            {0x5040, 0},
            {0x5044, 0x7801},
            {0x5048, 0},
            {0x504C, (plane - width * height) << 4},
            {0x5064, 0},
            {0x5068, 0x01010101},
            {0x506C, 0}});
  return p;
}

Program pool_program(uint32_t mode, uint32_t padding) {
  Program p;
  p.enable = 0x60;
  write(p, {{0x6004, 0xE},     {0x7004, 0xE},    {0x600C, 5},         {0x6010, 4},      {0x6014, 31},
            {0x6018, 2},       {0x601C, 5},      {0x6020, 31},        {0x6024, mode},   {0x6034, 0x010102},
            {0x6038, 0x5555},  {0x603C, 0x8000}, {0x6040, padding},   {0x6044, 0},      {0x6048, 0},
            {0x6070, kOutput}, {0x607C, 0x180},  {0x6084, 0x180},     {0x60DC, 3},      {0x700C, 5},
            {0x7010, 4},       {0x7014, 31},     {0x701C, kFeatures}, {0x7024, 6 << 4}, {0x7028, 30 << 4},
            {0x7030, 1}});
  return p;
}

Layer small_layer() {
  Layer l;
  l.h = 5, l.w = 6, l.c = 48, l.n = 40;
  l.ho = 5, l.wo = 6;
  l.pad = 0x44332211;
  l.bs.on = l.bs.alu = l.bs.alu_memory = true;
  l.scale = 20000, l.shift = 25, l.offset = -3;
  return l;
}

}  // namespace

Program add_program() {
  Program p = copy_program(5, 3, 32, 20);
  write(p, {{0x4070, 0x904202C0},
            {0x4074, 2},
            {0x4078, 1 << 16 | 3},
            {0x5034, 0x40000004},
            {0x5038, kSecond},
            {0x5040, 20 << 4},
            {0x506C, 5 << 4}});
  return p;
}

Program table_program() {
  Program p = copy_program(1, 1, 16, 1);
  for (uint32_t table = 0; table < 2; ++table) {
    p.push(static_cast<uint16_t>(Block::DPU), 0x4100, 1 << 17 | table << 16);
    for (uint32_t i = 0; i < 513; ++i)  // neither straight nor monotone
      p.push(static_cast<uint16_t>(Block::DPU), 0x4104, (i * i * 7 + table * 999) % 65536);
  }
  return p;
}

Program lookup_program() {
  Program p = copy_program(16, 1, 16, 16);
  // Both tables have a range below and one beyond them: LE -1100..-76, LO 70..1094, steps of 2.
  write(p, {{0x4060, 0x00020042},
            {0x4068, 9 << 16},
            {0x4070, 0x302},
            {0x4084, 3},
            {0x4088, 9},
            {0x4108, 0x68},
            {0x410C, 0x10100},
            {0x4110, static_cast<uint32_t>(-1100)},
            {0x4114, static_cast<uint32_t>(-76)},
            {0x4118, 70},
            {0x411C, 1094},
            {0x4120, 900u << 16 | 700u},
            {0x4124, 2u << 5 | 1u},
            {0x4128, 800u << 16 | 600u},
            {0x412C, 1u << 5 | 2u}});
  return p;
}

Program max_pool_program() {
  return pool_program(0x11, 0x1011);
}

Program average_pool_program() {
  Program p = pool_program(0x10, 0x1011);
  write(p, {{0x6044, 77}});
  return p;
}

Program unpool_program() {
  Program p = copy_program(5, 4, 8, 20);
  write(p, {{0x4010, 0x04000000},
            {0x4024, 10 << 4},
            {0x4030, 9},
            {0x4038, 0x000A000A},
            {0x403C, 0x000F000F},
            {0x4050, 0x126},
            {0x4058, 15},
            {0x405C, 3 << 16 | 9},
            {0x40C0, 80 << 4},
            {0x5044, 0xF801},
            {0x5048, 0x1249}});
  return p;
}

Layer add_layer() {
  return small_layer();
}

Program conv_add_program() {
  Program p = make_program(small_layer());
  write(p, {{0x4070, 0x904202C0},
            {0x4074, 5},
            {0x4078, 1 << 16 | 20001},
            {0x5018, kSecond},
            {0x5034, 0x40000004},
            {0x5038, kSecond + 30 * 16},
            {0x5040, 30 << 4},
            {0x5044, 0x7D00},
            {0x504C, 30 << 4},
            {0x506C, 30 << 4}});
  return p;
}

Program conv_add_padded_program() {
  Program p = conv_add_program();
  write(p, {{0x5038, kSecond + 40 * 16}, {0x5040, 40 << 4}, {0x504C, 50 << 4}, {0x506C, 50 << 4}});
  return p;
}

Layer packed_layer() {
  Layer l = small_layer();
  l.c = 16;
  l.shift = 23;
  return l;
}

Program packed_program() {
  Program p = make_program(packed_layer());
  // 4 bytes a pixel, rows 7 pixels apart; halved with ties, then minus 64 + lane.
  write(p, {{0x100C, 0x6000B000},
            {0x107C, 7},
            {0x1044, 30},
            {0x104C, 0x00410410},
            {0x1050, 0x0001FFC0},
            {0x1054, 0x0001FFBF},
            {0x1058, 0x0001FFBE},
            {0x105C, 0x0001FFBD},
            {0x1180, 0xFFFF}});
  return p;
}

Layer deconv_layer() {
  Layer l = small_layer();
  l.h = 3, l.w = 4;
  l.ho = 5, l.wo = 7;
  return l;
}

Program deconv_program() {
  Program p = make_program(deconv_layer());
  *p.find(0x100C) |= 1 << 16;
  *p.find(0x1014) |= 1 << 8 | 1 << 11;
  return p;
}

void load_tensors(Bench& bench, uint32_t seed) {
  std::mt19937 rng(seed);
  for (const uint32_t address : {kFeatures, kSecond}) {
    std::vector<uint8_t> bytes(4096);
    for (uint8_t& b : bytes) b = static_cast<uint8_t>(rng());
    bench.add(address, std::move(bytes), true, address == kFeatures ? "first" : "second");
  }
  bench.add(kOutput, std::vector<uint8_t>(4096, 0x55), false, "output");
}

}  // namespace peraxis::machine::test
