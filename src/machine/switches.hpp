// What the documents leave open or contradict each other in, as named choices. Each has a default with its
// reason, and every other reading stays one assignment away so that a result can be shown to depend on it or
// not; docs/evidence.md says which readings recorded streams refute. Sections are those of the hardware
// document; "E1" are its open questions (section 18), "item" numbers those of the corrections.
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
  Two,             // 5.4 as it was printed: as in depthwise, in direct convolutions too (refuted by captures)
};

enum class StoredKernels : uint8_t {
  ByKernels,      // the last weight block holds kernels mod 32 kernels
  ByOrigChannel,  // it holds ORIG_CHANNEL mod 32 kernels
};

struct Switches {
  // E1. Silicon probes at SHIFT 1 and 3 leave "even" for CVT_ROUND 0 and "away" for 1 (9.7).
  Ties out_cvt_ties = Ties::ByRegister;
  // E1. false: the zero point is added after rounding (9.7, probe without offset). true: before, so that
  // it takes part in the tie decision (measured on the RV1106).
  bool out_cvt_offset_inside = false;
  // E2. The definition text of ROUND_TYPE; the emulator adds half and shifts. No capture decides (item 1).
  Ties clip_truncate_ties = Ties::ByRegister;
  // 9.3: measured to even. The recorded vendor results use Up (item 24).
  Ties bs_ties = Ties::Even;
  // E6. Unmeasured; taken as the BS stage.
  Ties bn_ties = Ties::Even;
  // E4, item 24. The definition text of EW_CVT_ROUND: 0 to even. The recorded vendor results use Up.
  Ties ew_cvt_ties = Ties::ByRegister;
  // Item 19. Between two entries of the look-up table; no chip has been asked. The recorded vendor results
  // use Up, which any other rule misses by one in 2 to 16 of 1,536 outputs.
  Ties lut_ties = Ties::Up;
  // 14.3: measured to even, sign apart. The recorded vendor results use Up.
  Ties pool_average_ties = Ties::Even;
  // 15: a notch of the PPU other than 0 corrupts (measured). true: it lengthens the output's rows, as the
  // vendor's compiler means it when it cuts a wide pooling in columns.
  bool pool_notch_is_row_pitch = false;
  // Readings that a document printed and captures refuted. Item 1: the accumulator is shortened after CPEND
  // (true: before). Item 3: BN shifts once, after the addition (true: before it). Item 4: the look-up table
  // comes before the EW operation (true: after). Item 5: padding never wins a maximum (true: its value takes
  // part). Item 13, E17: inserted samples hold the padding byte (true: zero).
  bool truncate_before_cpend = false;
  bool bn_shift_first = false;
  bool lut_after_op = false;
  bool pool_padding_competes = false;
  bool deconv_inserts_zero = false;
  // E14, item 2. Measured in depthwise at four zero points; Mesa's depthwise captures need Byte0.
  PadLanes pad_lanes = PadLanes::TwoInDepthwise;
  // 11.4, item 18. Every stream writes in EW_SURF_STRIDE the operand's plane, which the notch implies as
  // well. false: both must say the same. true: the notches alone lead, as in the model that gives the
  // vendor's recorded results; no chip has been asked.
  bool ew_surf_stride_unread = false;
  // Item 22. false: BS_OW_OP acts with DATA_USE 7 and OW_SRC 0 as 9.2 says. true: it does not.
  bool ignore_ow_op_with_records = false;
  // Item 23, E28.
  StoredKernels stored_kernels = StoredKernels::ByKernels;
  // E10, 7.4: output channels that are no whole kernel groups run into the watchdog. false: they complete
  // and only the programmed channels are written.
  bool refuse_partial_groups = true;
  // Item 16: Mesa's buffers are too small for the dummy channels of some depthwise tasks. false: a write
  // outside every buffer is refused. true: it is dropped when only dummy channels are lost.
  bool drop_dummy_output = false;
  // Memory nobody wrote holds what was there before. false: reading it is refused. true: it is read as mapped
  // (zeros, unless the caller put something else there) and Memory::unwritten_reads says where.
  bool read_unwritten = false;
  // 6.7: what reuse flags refer to is valid inside one job. true: a core keeps its buffer from job to job,
  // as streams that submit every task alone and still set WEIGHT_REUSE expect.
  bool cbuf_survives_jobs = false;
  // 6.6: one-pixel-wide int8 features that fill the last data bank to 97.5..99.9 % corrupt the last rows.
  bool refuse_full_last_bank = true;
};

}  // namespace peraxis::machine
