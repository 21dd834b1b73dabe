// DPU_RDMA's tensor readers: MRDMA (main data of a task of the DPU alone) and ERDMA (operand of EW). A
// surface is width x height atoms without gaps; the notch leads from its end to the next one, so that a tile
// of full rows keeps the plane of the whole tensor (docs/hardware/dpu_rdma.md#distances-between-surfaces). In
// a convolution both readers fetch the same operand, MRDMA its even and ERDMA its odd surfaces (COMB_USE 5):
// the notch leads over two.
#include "machine/task.hpp"

namespace peraxis::machine {

using namespace rk3588;

namespace {

void decode_main(Registers& r, int64_t pixels, SurfaceSource& main) {
  main.on = true;
  main.address = r.get(DPU_RDMA::SRC_BASE_ADDR::SRC_BASE_ADDR);
  main.pitch = pixels + r.get(DPU_RDMA::SURF_NOTCH::SURF_NOTCH_ADDR);
  r.not_modelled(DPU_RDMA::SRC_DMA_CFG::LINE_NOTCH_ADDR, 0, "row notches");
  if (main.address % kAtom != 0)
    r.refuse("DPU_RDMA.SRC_BASE_ADDR is {:#x}, must be a multiple of 16", main.address);
}

void decode_ew_reader(Registers& r, int64_t pixels, SurfaceSource& ew) {
  ew.on = true;
  r.not_modelled(DPU_RDMA::ERDMA_CFG::ERDMA_DATA_SIZE, 1, "EW operands other than 8 bits wide");
  r.not_modelled(DPU_RDMA::ERDMA_CFG::ERDMA_DATA_MODE, 1, "EW operands of another shape than the output");
  r.not_modelled(DPU_RDMA::ERDMA_CFG::ERDMA_NONALIGN, 0, "non-aligned operands");
  r.not_modelled(DPU_RDMA::ERDMA_CFG::ERDMA_SURF_MODE, 0, "serial surfaces");
  r.not_modelled(DPU_RDMA::DATA_CUBE_HEIGHT::EW_LINE_NOTCH_ADDR, 0, "row notches");
  ew.address = r.get(DPU_RDMA::EW_BASE_ADDR::EW_BASE_ADDR);
  ew.pitch = pixels + r.get(DPU_RDMA::EW_SURF_NOTCH::EW_SURF_NOTCH);
  if (ew.address % kAtom != 0)
    r.refuse("DPU_RDMA.EW_BASE_ADDR is {:#x}, must be a multiple of 16", ew.address);
}

// EW_SURF_STRIDE is the operand's plane (docs/hardware/dpu_rdma.md#fused-addition); `pitch` leads over
// `planes` of them.
void check_plane(Registers& r, int64_t pitch, int64_t planes, const Switches& switches) {
  const int64_t plane = r.get(DPU_RDMA::EW_SURF_STRIDE::EW_SURF_STRIDE);
  if (plane * planes != pitch && !switches.ew_surf_stride_unread)
    r.refuse(
        "DPU_RDMA.EW_SURF_STRIDE.EW_SURF_STRIDE is {}, the plane of the operand; width x height + "
        "EW_SURF_NOTCH is "
        "{}, must be {} of it",
        plane, pitch, planes == 1 ? "one" : "two");
}

// One surface, all zero when only dummy channels lie outside of what was ever written: drivers leave their
// operands out, and the reader brings junk for results nobody looks at.
Status read_surface(const DpuTask& task, int64_t surface, int64_t address, const char* reader,
                    Context& context, Surfaces& out) {
  const int64_t bytes = task.pixels() * kAtom;
  const size_t at = out.bytes.size();
  if (surface * kAtom >= task.dpu.orig_channels && !context.memory.written(address, bytes)) {
    out.bytes.resize(at + static_cast<size_t>(bytes));
    context.report.junk_operand_channels += kAtom;
    return {};
  }
  const auto data = context.memory.read(address, bytes, reader);
  if (!data)
    return with_note(data.error(), fmt::format("task {}: channels {}.. of {} of the {} tensor", task.index,
                                               surface * kAtom, task.core.channels, reader));
  for (const uint8_t b : *data) out.bytes.push_back(static_cast<int8_t>(b));
  context.reads.push_back({address, address + bytes});
  context.report.bytes_read += bytes;
  return {};
}

}  // namespace

void decode_surface_readers(Registers& r, const DpuTask& task, DpuSource source, const Switches& switches,
                            RdmaConfig& c) {
  const bool erdma = !r.flag(DPU_RDMA::ERDMA_CFG::ERDMA_DISABLE);
  const int64_t comb = r.get(DPU_RDMA::FEATURE_MODE_CFG::COMB_USE);
  if (erdma != task.dpu.ew_memory)
    r.refuse("DPU_RDMA.ERDMA_CFG.ERDMA_DISABLE is {}, but DPU.EW_CFG takes {} tensor operand: hangs the chip",
             erdma ? 0 : 1, task.dpu.ew_memory ? "a" : "no");
  if (source == DpuSource::Memory) {
    r.require(DPU_RDMA::FEATURE_MODE_CFG::MRDMA_DISABLE, 0, "without main data the task never ends");
    if (comb != 0 && comb != 4)
      r.refuse(
          "DPU_RDMA.FEATURE_MODE_CFG.COMB_USE is {}, must be 0 or 4 in a task of the DPU alone: others "
          "never complete or are unknown",
          comb);
    decode_main(r, task.pixels(), c.main);
    if (!erdma) return;
    decode_ew_reader(r, task.pixels(), c.ew);
    check_plane(r, c.ew.pitch, 1, switches);
    return;
  }
  // Without a reader's tensor the task never ends.
  if (!erdma) {
    r.require(DPU_RDMA::FEATURE_MODE_CFG::MRDMA_DISABLE, 1, "a convolution with MRDMA on waits for ever");
    r.not_modelled(DPU_RDMA::FEATURE_MODE_CFG::COMB_USE, 0, "combined operand streams without an operand");
    return;
  }
  r.require(DPU_RDMA::FEATURE_MODE_CFG::MRDMA_DISABLE, 0, "MRDMA reads the even surfaces of the operand");
  r.not_modelled(DPU_RDMA::FEATURE_MODE_CFG::COMB_USE, 5, "another split of the operand between the readers");
  c.shared = true;
  decode_main(r, task.pixels(), c.main);
  decode_ew_reader(r, task.pixels(), c.ew);
  const int64_t notch = r.get(DPU_RDMA::SURF_NOTCH::SURF_NOTCH_ADDR);
  r.require(DPU_RDMA::EW_SURF_NOTCH::EW_SURF_NOTCH, notch, "SURF_NOTCH, the only form known with COMB_USE 5");
  check_plane(r, c.ew.pitch, 2, switches);
}

Result<Surfaces> read_main(const DpuTask& task, Context& context) {
  Surfaces out;
  out.pixels = task.pixels();
  const SurfaceSource& main = task.rdma.main;
  for (int64_t s = 0; s < task.core.channels / kAtom; ++s)
    PERAXIS_TRY(read_surface(task, s, main.address + s * main.pitch * kAtom, "MRDMA", context, out));
  return out;
}

Result<Surfaces> read_ew(const DpuTask& task, Context& context) {
  Surfaces out;
  out.pixels = task.pixels();
  const RdmaConfig& c = task.rdma;
  for (int64_t s = 0; s < task.core.channels / kAtom; ++s) {
    const bool even = c.shared && s % 2 == 0;
    const SurfaceSource& source = even ? c.main : c.ew;
    const int64_t step = c.shared ? s / 2 : s;
    PERAXIS_TRY(read_surface(task, s, source.address + step * source.pitch * kAtom, even ? "MRDMA" : "ERDMA",
                             context, out));
  }
  return out;
}

}  // namespace peraxis::machine
