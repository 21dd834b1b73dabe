// CBUF: 12 banks of 32 KiB a core, features from bank 0 up, weights in the rest. A task must fit; a reuse
// flag means that what the previous task of the job left in the banks is used again, which holds only when
// nothing about it changed (docs/hardware/cbuf.md#reuse).
#include <algorithm>

#include "machine/task.hpp"

namespace peraxis::machine {
namespace {

Status check_features(const ConvTask& task, const Options& options) {
  const CnaConfig& c = task.cna;
  const int64_t columns = std::min(c.in_width, c.dma_width);
  // Packed pixels: 16 bytes for each pixel of the tile (docs/hardware/cbuf.md#entries-of-a-row).
  const int64_t entries =
      c.packed != 0 ? c.in_width * c.in_height : (columns * c.channels + kEntryBytes - 1) / kEntryBytes;
  if (c.entries < entries)
    return fail(
        ErrorCode::Device,
        "task {}: CNA.CBUF_CON1.DATA_ENTRIES is {}, a row of {} columns x {} channels needs {}: rows would "
        "overlap",
        task.index, c.entries, columns, c.channels, entries);
  const int64_t bytes = c.packed != 0 ? c.entries * kAtom : c.in_height * c.entries * kEntryBytes;
  const int64_t room = c.data_banks * kBankBytes;
  if (bytes > room)
    return fail(
        ErrorCode::Device,
        "task {}: CNA.CBUF_CON0.DATA_BANK is {}: {} rows of {} entries need {} bytes, the banks hold {}",
        task.index, c.data_banks, c.in_height, c.entries, bytes, room);
  const int64_t last = bytes % kBankBytes;
  if (options.switches.refuse_full_last_bank && c.in_width == 1 && room - bytes < kBankBytes &&
      last * 1000 >= kBankBytes * 975)
    return fail(ErrorCode::Device,
                "task {}: CNA.CBUF_CON0.DATA_BANK is {}: a one-column tile fills the last bank to {} of {} "
                "bytes; the "
                "chip over-reads it, one more bank is needed",
                task.index, c.data_banks, last, kBankBytes);
  return {};
}

}  // namespace

Status check_cbuf(const ConvTask& task, const Options& options) {
  const CnaConfig& c = task.cna;
  if (c.data_banks < 1 || c.weight_banks < 1 || c.data_banks + c.weight_banks != kBanks)
    return fail(ErrorCode::Device,
                "task {}: CNA.CBUF_CON0: DATA_BANK {} + WEIGHT_BANK {} must be 12, each at least 1",
                task.index, c.data_banks, c.weight_banks);
  PERAXIS_TRY(check_features(task, options));
  const int64_t room = c.weight_banks * kBankBytes;
  // Weights that do not fit whole are streamed; the window must hold two groups.
  const int64_t window = c.depthwise ? 2 * kDepthwiseGroup * c.taps() : 2 * kDirectGroup * c.kernel_bytes;
  if (std::min(c.weight_bytes, window) > room)
    return fail(
        ErrorCode::Device,
        "task {}: CNA.CBUF_CON0.WEIGHT_BANK is {}: {} weight bytes do not fit, and neither do two kernel "
        "groups ({} bytes); the banks hold {}",
        task.index, c.weight_banks, c.weight_bytes, window, room);
  return {};
}

namespace {

Status check_same_banks(const ConvTask& task, const Cbuf& cbuf, bool there, const char* what) {
  if (!there)
    return fail(ErrorCode::Device,
                "task {}: CNA.CBUF_CON0.{}_REUSE is set, but no earlier task of the job left any", task.index,
                what);
  if (cbuf.data_banks != task.cna.data_banks || cbuf.weight_banks != task.cna.weight_banks)
    return fail(ErrorCode::Device,
                "task {}: CNA.CBUF_CON0.{}_REUSE is set, but the banks are split {} + {}, before {} + {}",
                task.index, what, task.cna.data_banks, task.cna.weight_banks, cbuf.data_banks,
                cbuf.weight_banks);
  return {};
}

}  // namespace

// Checks a reuse flag against what the previous task left; loading itself is in cna.cpp and weights.cpp.
Status check_reuse(const ConvTask& task, const Cbuf& cbuf) {
  const CnaConfig& c = task.cna;
  if (c.data_reuse) {
    PERAXIS_TRY(check_same_banks(task, cbuf, cbuf.features != nullptr, "DATA"));
    const Features& f = *cbuf.features;
    if (f.width != c.width || f.height != c.height || f.channels != c.channels)
      return fail(ErrorCode::Device,
                  "task {}: CNA.CBUF_CON0.DATA_REUSE is set for a tile of {} x {} x {}, the previous task "
                  "left {} x {} "
                  "x {}",
                  task.index, c.height, c.width, c.channels, f.height, f.width, f.channels);
  }
  if (c.weight_reuse) {
    PERAXIS_TRY(check_same_banks(task, cbuf, cbuf.weights != nullptr, "WEIGHT"));
    const Weights& w = *cbuf.weights;
    if (w.depthwise != c.depthwise || w.taps != c.taps() || w.channels != c.channels ||
        static_cast<int64_t>(w.bytes.size()) != c.weight_bytes)
      return fail(ErrorCode::Device,
                  "task {}: CNA.CBUF_CON0.WEIGHT_REUSE is set for {} bytes of {} taps x {} channels, the "
                  "previous task "
                  "left {} bytes of {} x {}",
                  task.index, c.weight_bytes, c.taps(), c.channels, w.bytes.size(), w.taps, w.channels);
    if (!cbuf.weights_whole)
      return fail(
          ErrorCode::Device,
          "task {}: CNA.CBUF_CON0.WEIGHT_REUSE is set, but {} weight bytes were streamed through {} banks",
          task.index, c.weight_bytes, c.weight_banks);
  }
  return {};
}

}  // namespace peraxis::machine
