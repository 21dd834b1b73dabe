// What is not known about the chip, or what its sources contradict each other in, as named choices. Each has
// a default with its reason, and every other reading stays one assignment away, so that a result can be shown
// to depend on it or not. docs/evidence.md says which readings recorded streams refute. Pages are those of
// docs/hardware; E1 and the like are the numbers of its questions (docs/hardware/README.md).
#pragma once

#include <cstdint>

namespace peraxis::machine {

// How a value exactly half way between two integers is rounded.
enum class Ties : uint8_t {
  ByRegister,  // the rounding bit of the stage: 0 to even, 1 away from zero
  Even,
  Up,  // add half, shift: the model of the emulator and of the recorded vendor results
};

enum class PadLanes : uint8_t {
  TwoInDepthwise,  // depthwise: odd channels of the first 32 of 64 read byte 1 of PAD_CON1, others byte 0
  Byte0,           // every channel reads byte 0
  Two,             // as in depthwise, in direct convolutions too (refuted by captures)
};

enum class StoredKernels : uint8_t {
  ByKernels,      // the last weight block holds kernels mod 32 kernels
  ByOrigChannel,  // it holds ORIG_CHANNEL mod 32 kernels
};

struct Switches {
  // E1. Silicon probes at SHIFT 1 and 3 leave "even" for CVT_ROUND 0 and "away" for 1
  // (docs/hardware/dpu.md#out_cvt-the-output-converter).
  Ties out_cvt_ties = Ties::ByRegister;
  // E1. false: the zero point is added after rounding (probe without offset). true: before, so that it takes
  // part in the tie decision (measured on the RV1106).
  bool out_cvt_offset_inside = false;
  // E2. The definition text of ROUND_TYPE; the emulator adds half and shifts. No capture decides
  // (docs/hardware/core.md#truncation).
  Ties clip_truncate_ties = Ties::ByRegister;
  // Measured to even (docs/hardware/dpu.md#bs-add-and-multiply). The recorded vendor results use Up.
  Ties bs_ties = Ties::Even;
  // E6. Unmeasured; taken as the BS stage (docs/hardware/dpu.md#bn-multiply-and-add).
  Ties bn_ties = Ties::Even;
  // E4. The definition text of EW_CVT_ROUND: 0 to even (docs/hardware/dpu.md#ew-a-second-operand). The
  // recorded vendor results use Up.
  Ties ew_cvt_ties = Ties::ByRegister;
  // Between two entries of the look-up table; no chip has been asked. The recorded vendor results use Up,
  // which any other rule misses by one in 2 to 16 of 1,536 outputs (docs/hardware/dpu.md#look-up-table).
  Ties lut_ties = Ties::Up;
  // Measured to even, sign apart (docs/hardware/ppu.md#average). The recorded vendor results use Up.
  Ties pool_average_ties = Ties::Even;
  // A notch of the PPU other than 0 corrupts (measured, docs/hardware/ppu.md#the-program). true: it lengthens
  // the output's rows, as the vendor's compiler means it when it cuts a wide pooling in columns.
  bool pool_notch_is_row_pitch = false;
  // Readings that a source printed and captures refuted; true is the refuted one.
  bool truncate_before_cpend = false;  // the accumulator is shortened before CPEND, not after
  bool bn_shift_first = false;         // BN shifts before it adds, not once after the addition
  bool lut_after_op = false;           // the look-up table comes after the EW operation, not before
  bool pool_padding_competes = false;  // the padding value takes part in a maximum; else it never wins
  bool deconv_inserts_zero = false;    // E17: inserted samples are zero, not the padding byte
  // E14. Measured in depthwise at four zero points; Mesa's depthwise captures need Byte0
  // (docs/hardware/cna.md#padding).
  PadLanes pad_lanes = PadLanes::TwoInDepthwise;
  // Every stream writes in EW_SURF_STRIDE the operand's plane, which the notch implies as well
  // (docs/hardware/dpu_rdma.md#fused-addition). false: both must say the same. true: the notches alone lead,
  // as in the model that gives the vendor's recorded results; no chip has been asked.
  bool ew_surf_stride_unread = false;
  // E3. false: BS_OW_OP acts with DATA_USE 7 and OW_SRC 0 as it does without records. true: it does not
  // (docs/hardware/dpu.md#cpend).
  bool ignore_ow_op_with_records = false;
  // E28 (docs/hardware/weights.md#guessed).
  StoredKernels stored_kernels = StoredKernels::ByKernels;
  // E10: output channels that are no whole kernel groups run into the watchdog
  // (docs/hardware/weights.md#whole-groups). false: they complete and only the programmed channels are
  // written.
  bool refuse_partial_groups = true;
  // Mesa's buffers are too small for the dummy channels of some depthwise tasks
  // (docs/hardware/wdma.md#dummy-channels). false: a write outside every buffer is refused. true: it is
  // dropped when only dummy channels are lost.
  bool drop_dummy_output = false;
  // Memory nobody wrote holds what was there before. false: reading it is refused. true: it is read as mapped
  // (zeros, unless the caller put something else there) and Memory::unwritten_reads says where.
  bool read_unwritten = false;
  // What reuse flags refer to is valid inside one job (docs/hardware/cbuf.md#reuse). true: a core keeps its
  // buffer from job to job, as streams that submit every task alone and still set WEIGHT_REUSE expect.
  bool cbuf_survives_jobs = false;
  // One-pixel-wide int8 features that fill the last data bank to 97.5..99.9 % corrupt the last rows
  // (docs/hardware/cbuf.md#the-nearly-full-bank).
  bool refuse_full_last_bank = true;
};

}  // namespace peraxis::machine
