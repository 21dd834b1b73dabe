// mesa-scale: OUT_CVT as the open Mesa driver computes it for per-tensor layers, so that results can be
// compared with boards that run Mesa (docs/hardware/dpu.md#scales-of-15-bits). The gain is the float32 scale
// cut to 14 mantissa bits and rounded up by one unit, with ties to even. Its corner bug (one scale in 16384
// loses its exponent's lowest bit) is kept: this is a copy of behaviour, not a recommendation.
#include <bit>
#include <numeric>

#include "requant/out_cvt_groups.hpp"

namespace peraxis::requant {

OutCvt mesa_out_cvt(float scale) {
  const auto bits = std::bit_cast<uint32_t>(scale);
  const auto exponent = static_cast<int32_t>((bits >> 23) & 0xFF);
  auto factor = static_cast<int32_t>(((bits >> 9) & 0x7FFF) + 1);
  if (factor < 0x4000) factor |= 0x4000;
  return {factor, 141 - exponent};
}

Result<LayerParams> mesa_scale(const Layer& layer, const StrategyOptions& options) {
  if (Status ok = require_no_wrap(layer); !ok) return tl::make_unexpected(ok.error());
  std::vector<int32_t> all(layer.channels.size());
  std::iota(all.begin(), all.end(), 0);
  if (scale_ratio(layer, all) != 1.0)
    return fail(ErrorCode::Unsupported,
                "the layer has per-axis scales with ratio {:.4g}; Mesa's formula has one",
                scale_ratio(layer, all));
  const double multiplier = live_multiplier(layer);
  const OutCvt cvt = mesa_out_cvt(static_cast<float>(multiplier));
  if (cvt.scale > 32767 || cvt.shift < 0 || cvt.shift > 62)
    return fail(ErrorCode::Unsupported, "multiplier {:.6g} gives OUT_CVT {} / 2^{}, outside its fields",
                multiplier, cvt.scale, cvt.shift);
  return out_cvt_set(
      layer, Strategy::MesaScale, options, {std::move(all)}, [&](double) { return cvt; }, false);
}

}  // namespace peraxis::requant
