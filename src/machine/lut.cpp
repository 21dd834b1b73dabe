// Interpolation between two entries, a slope outside of both ends. Only the table selection of the captured
// programs is known (LUT_CFG 0x68: by the sign of the input).
#include "machine/lut.hpp"

#include "machine/register_file.hpp"
#include "machine/stage.hpp"

namespace peraxis::machine {

using namespace rk3588;

int64_t Lut::at(int64_t x, Ties ties) const {
  const size_t side = x < 0 ? 0 : 1;
  const Side& s = sides[side];
  const auto& entries = tables[side].entries;
  if (x < s.start) return entries.front() + ((x - s.start) * s.below_scale >> s.below_shift);
  if (x >= s.end) return entries.back() + ((x - s.end) * s.above_scale >> s.above_shift);
  const auto i = static_cast<size_t>((x - s.start) >> s.select);
  const int64_t rest = (x - s.start) & ((int64_t{1} << s.select) - 1);
  return entries[i] + shift_by((entries[i + 1] - entries[i]) * rest, s.select, ties, false);
}

std::shared_ptr<const Lut> decode_lut(Registers& r) {
  const char* selection = "only the selection by sign (LUT_CFG 0x68) is known";
  r.require(DPU::LUT_CFG::LUT_ROAD_SEL, 0, selection);
  r.require(DPU::LUT_CFG::LUT_EXPAND_EN, 0, selection);
  r.require(DPU::LUT_CFG::LUT_LO_LE_MUX, 2, selection);
  r.require(DPU::LUT_CFG::LUT_UFLOW_PRIORITY, 0, selection);
  r.require(DPU::LUT_CFG::LUT_OFLOW_PRIORITY, 1, selection);
  r.require(DPU::LUT_CFG::LUT_HYBRID_PRIORITY, 1, selection);
  r.require(DPU::LUT_CFG::LUT_CAL_SEL, 0, selection);
  auto lut = std::make_shared<Lut>();
  lut->tables = r.lut();
  Lut::Side& le = lut->sides[0];
  le.start = r.get(DPU::LUT_LE_START::LUT_LE_START);
  le.end = r.get(DPU::LUT_LE_END::LUT_LE_END);
  le.select = static_cast<int>(r.get(DPU::LUT_INFO::LUT_LE_INDEX_SELECT));
  le.below_scale = r.get(DPU::LUT_LE_SLOPE_SCALE::LUT_LE_SLOPE_UFLOW_SCALE);
  le.above_scale = r.get(DPU::LUT_LE_SLOPE_SCALE::LUT_LE_SLOPE_OFLOW_SCALE);
  le.below_shift = static_cast<int>(r.get(DPU::LUT_LE_SLOPE_SHIFT::LUT_LE_SLOPE_UFLOW_SHIFT));
  le.above_shift = static_cast<int>(r.get(DPU::LUT_LE_SLOPE_SHIFT::LUT_LE_SLOPE_OFLOW_SHIFT));
  Lut::Side& lo = lut->sides[1];
  lo.start = r.get(DPU::LUT_LO_START::LUT_LO_START);
  lo.end = r.get(DPU::LUT_LO_END::LUT_LO_END);
  lo.select = static_cast<int>(r.get(DPU::LUT_INFO::LUT_LO_INDEX_SELECT));
  lo.below_scale = r.get(DPU::LUT_LO_SLOPE_SCALE::LUT_LO_SLOPE_UFLOW_SCALE);
  lo.above_scale = r.get(DPU::LUT_LO_SLOPE_SCALE::LUT_LO_SLOPE_OFLOW_SCALE);
  lo.below_shift = static_cast<int>(r.get(DPU::LUT_LO_SLOPE_SHIFT::LUT_LO_SLOPE_UFLOW_SHIFT));
  lo.above_shift = static_cast<int>(r.get(DPU::LUT_LO_SLOPE_SHIFT::LUT_LO_SLOPE_OFLOW_SHIFT));
  for (size_t side = 0; side < 2; ++side) {
    const Lut::Side& s = lut->sides[side];
    const char* name = side == 0 ? "LE" : "LO";
    if (s.select > 22 || s.end - s.start != int64_t{kLutEntries - 1} << s.select)
      r.refuse("DPU.LUT_{}_START {} .. LUT_{}_END {}: not 512 steps of 2^{} (LUT_INFO.LUT_{}_INDEX_SELECT)",
               name, s.start, name, s.end, s.select, name);
    if (!lut->tables[side].known.all())
      r.refuse("the look-up table {} is used, but {} of its 513 entries were never written", name,
               kLutEntries - static_cast<int64_t>(lut->tables[side].known.count()));
  }
  return lut;
}

}  // namespace peraxis::machine
