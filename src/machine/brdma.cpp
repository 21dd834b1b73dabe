// DPU_RDMA: per-channel operands of the BS stage through BRDMA. DATA_USE 1 is a dense int32 array; 7 is one
// 64-byte record per 8 channels: int32 A[8], int16 B[8], int16 C[8]
// (docs/hardware/dpu_rdma.md#operand-records). The reader fetches CHANNEL + 1 channels; drivers whose buffers
// hold only the real ones let the dummies read junk: taken as zero here, and counted.
#include <algorithm>
#include <cstring>

#include "machine/task.hpp"

namespace peraxis::machine {

using namespace rk3588;

namespace {
constexpr int64_t kRecordChannels = 8;
constexpr int64_t kRecordBytes = 64;

// Little-endian on every host.
template <class T>
T load(const uint8_t* p) {
  uint32_t bits = 0;
  for (size_t i = 0; i < sizeof(T); ++i) bits |= static_cast<uint32_t>(p[i]) << (8 * i);
  return static_cast<T>(bits);
}
}  // namespace

RdmaConfig decode_rdma(Registers& r, const DpuTask& task, DpuSource source, const Switches& switches,
                       bool enabled) {
  RdmaConfig c;
  if (!enabled) return c;
  c.on = true;
  r.require(DPU_RDMA::FEATURE_MODE_CFG::FLYING_MODE, source == DpuSource::Memory ? 1 : 0,
            "as DPU.FEATURE_MODE_CFG.FLYING_MODE");
  r.not_modelled(DPU_RDMA::FEATURE_MODE_CFG::MRDMA_FP16TOFP32_EN, 0, "float data");
  r.not_modelled(DPU_RDMA::FEATURE_MODE_CFG::PROC_PRECISION, 0, "types other than int8");
  r.not_modelled(DPU_RDMA::FEATURE_MODE_CFG::IN_PRECISION, 0, "types other than int8");
  r.not_modelled(DPU_RDMA::SRC_DMA_CFG::UNPOOLING_EN, 0, "un-pooling of 8-bit data");
  decode_surface_readers(r, task, source, switches, c);
  if (!r.flag(DPU_RDMA::NRDMA_CFG::NRDMA_DISABLE))
    r.not_modelled(DPU_RDMA::NRDMA_CFG::NRDMA_DATA_USE, 0, "BN operands from memory");
  if (r.flag(DPU_RDMA::BRDMA_CFG::BRDMA_DISABLE)) return c;
  c.data_use = r.get(DPU_RDMA::BRDMA_CFG::BRDMA_DATA_USE);
  if (c.data_use == 0) return c;
  if (c.data_use != 1)
    r.not_modelled(DPU_RDMA::BRDMA_CFG::BRDMA_DATA_USE, 7, "operand formats other than 1 and 7");
  c.address = r.get(DPU_RDMA::BS_BASE_ADDR::BS_BASE_ADDR);
  if (c.address % kAtom != 0) r.refuse("DPU_RDMA.BS_BASE_ADDR is {:#x}, must be a multiple of 16", c.address);
  return c;
}

Result<Operands> read_operands(const DpuTask& task, int64_t group, Context& context) {
  Operands out;
  const RdmaConfig& c = task.rdma;
  const int64_t channels = task.dpu.channels;
  // A partial last group (Switches::refuse_partial_groups) still computes whole groups.
  const size_t slots = static_cast<size_t>((channels + group - 1) / group * group);
  if (task.dpu.ew_memory) {
    out.ew = PERAXIS_TRY(read_ew(task, context));
    out.ew.bytes.resize(slots * static_cast<size_t>(task.pixels()));
  }
  if (c.data_use == 0) return out;
  out.a.resize(slots);
  out.b.resize(slots);
  out.c.resize(slots);
  const int64_t block = c.data_use == 1 ? 1 : kRecordChannels;
  const int64_t bytes = c.data_use == 1 ? 4 : kRecordBytes;
  for (int64_t first = 0; first < channels; first += block) {
    const int64_t address = c.address + first / block * bytes;
    if (first >= task.dpu.orig_channels && !context.memory.written(address, bytes)) {
      context.report.junk_operand_channels += block;
      continue;
    }
    const auto data = context.memory.read(address, bytes, "BRDMA");
    if (!data)
      return with_note(data.error(),
                       fmt::format("task {}: BS operands of channel {} of {} (DPU_RDMA.BS_BASE_ADDR {:#x})",
                                   task.index, first, channels, c.address));
    for (int64_t i = 0; i < block && first + i < channels; ++i) {
      const size_t ch = static_cast<size_t>(first + i);
      out.a[ch] = load<int32_t>(data->data() + 4 * i);
      if (c.data_use == 1) continue;
      out.b[ch] = load<int16_t>(data->data() + 32 + 2 * i);
      out.c[ch] = load<int16_t>(data->data() + 48 + 2 * i);
    }
    context.reads.push_back({address, address + bytes});
    context.report.bytes_read += bytes;
  }
  return out;
}

}  // namespace peraxis::machine
