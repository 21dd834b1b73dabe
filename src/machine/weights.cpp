// Weight layouts (docs/hardware/weights.md).
// Direct: [kernels/32][channels/32][kh][kw][32 kernels][32 channels], the last kernel group and the last
// channel block only as large as what is left (16 or 32 channels).
// Depthwise: [channels/64][kh][kw][64], the last block min(64, rest) wide.
#include <algorithm>
#include <cstring>

#include "machine/task.hpp"

namespace peraxis::machine {

int64_t Weights::position(int64_t oc, int64_t tap, int64_t ic) const {
  if (depthwise) {
    const int64_t block = oc / kDepthwiseGroup;
    const int64_t wide = std::min(kDepthwiseGroup, channels - block * kDepthwiseGroup);
    return block * kDepthwiseGroup * taps + tap * wide + oc % kDepthwiseGroup;
  }
  const int64_t group = oc / kDirectGroup;
  const int64_t group_kernels = std::min(kDirectGroup, kernels - group * kDirectGroup);
  const int64_t block = ic / kIcBlock;
  const int64_t wide = std::min(kIcBlock, channels - block * kIcBlock);
  return group * kDirectGroup * channels * taps + block * kIcBlock * taps * group_kernels +
         (tap * group_kernels + oc % kDirectGroup) * wide + ic % kIcBlock;
}

Status load_weights(const ConvTask& task, Context& context) {
  const CnaConfig& c = task.cna;
  if (c.weight_reuse) return {};
  const auto bytes = context.memory.read(c.weight_address, c.weight_bytes, "CNA weight DMA");
  if (!bytes)
    return with_note(bytes.error(), fmt::format("task {}: {} weight bytes at {:#x} (CNA.DCOMP_ADDR0)",
                                                task.index, c.weight_bytes, c.weight_address));
  auto weights = std::make_shared<Weights>();
  weights->depthwise = c.depthwise;
  weights->taps = c.taps();
  weights->channels = c.channels;
  weights->kernels = c.kernels;
  if (!c.depthwise && context.options.switches.stored_kernels == StoredKernels::ByOrigChannel)
    weights->kernels = std::min(c.kernels, task.dpu.orig_channels);
  weights->bytes.resize(bytes->size());
  std::memcpy(weights->bytes.data(), bytes->data(), bytes->size());
  context.reads.push_back({c.weight_address, c.weight_address + c.weight_bytes});
  context.report.bytes_read += c.weight_bytes;
  context.cbuf.weights = std::move(weights);
  context.cbuf.weights_whole = c.weight_bytes <= c.weight_banks * kBankBytes;
  return {};
}

}  // namespace peraxis::machine
