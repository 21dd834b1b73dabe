// Tasks of the DPU alone ("flying": MRDMA brings the data instead of a convolution):
// docs/hardware/dpu.md#without-a-convolution, docs/hardware/dpu.md#enlarging-a-map and
// docs/hardware/dpu_rdma.md#distances-between-surfaces.
#include "emit/task.hpp"
#include "emit/writer.hpp"
#include "target/rk3588/cost.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::emit {

using namespace rk3588;

namespace {

constexpr uint32_t kBlocks = 0x18;  // DPU, DPU_RDMA
constexpr int64_t kMaximum = 0, kMinimum = 1, kAdd = 2, k8Bits = 1, kPerPixel = 1, kInt16 = 1;
constexpr int64_t kLanes = 8;  // of 16 bits in an atom
constexpr int64_t kBySign = 2;
constexpr int64_t kLowTable = 0, kHighTable = 1;  // LE, LO

// What the writer makes: a cube of `channels` whose surfaces are `surface` atoms apart.
struct Output {
  int64_t width, height, channels, surface;
  int64_t notch = 0;      // atoms from the end of a row to the next one
  int64_t atoms = 1;      // of a pixel, written by one step
  int64_t precision = 0;  // of the input: int8, or 16-bit lanes
  int64_t surface_add;
};

void start(Writer& w) {
  w.reserve(kFlyingWords);
  w.write(DPU::S_POINTER::POINTER_PP_EN[1] | DPU::S_POINTER::EXECUTER_PP_EN[1] |
          DPU::S_POINTER::POINTER_PP_MODE[1]);
  w.write(DPU_RDMA::S_POINTER::POINTER_PP_EN[1] | DPU_RDMA::S_POINTER::EXECUTER_PP_EN[1] |
          DPU_RDMA::S_POINTER::POINTER_PP_MODE[1]);
}

// Tasks that look up a table clear the pointers in place of letting them alternate, as the vendor's do
// (docs/hardware/dpu.md#look-up-table).
void start_cleared(Writer& w) {
  w.reserve(kFlyingWords);
  w.write(DPU::S_POINTER::POINTER_PP_CLEAR[1] | DPU::S_POINTER::EXECUTER_PP_CLEAR[1]);
  w.write(DPU_RDMA::S_POINTER::POINTER_PP_CLEAR[1] | DPU_RDMA::S_POINTER::EXECUTER_PP_CLEAR[1]);
}

void write_format(Writer& w, const Output& o, SymbolicAddress output, int32_t prelu_shift) {
  w.write(DPU::FEATURE_MODE_CFG::BURST_LEN[kBurst16] | DPU::FEATURE_MODE_CFG::OUTPUT_MODE[2] |
          DPU::FEATURE_MODE_CFG::FLYING_MODE[1]);
  w.write(DPU::DATA_FORMAT::IN_PRECISION(o.precision) |
          DPU::DATA_FORMAT::BN_MUL_SHIFT_VALUE_NEG(prelu_shift));
  w.write(DPU::OFFSET_PEND::OFFSET_PEND[0]);
  w.address(DPU::DST_BASE_ADDR::DST_BASE_ADDR[0], output);
  w.write(DPU::DST_SURF_STRIDE::DST_SURF_STRIDE(o.surface));
  w.write(DPU::DATA_CUBE_WIDTH::WIDTH(o.width));
  w.write(DPU::DATA_CUBE_HEIGHT::HEIGHT(o.height));
  w.write(DPU::DATA_CUBE_NOTCH_ADDR::NOTCH_ADDR_0(o.notch) |
          DPU::DATA_CUBE_NOTCH_ADDR::NOTCH_ADDR_1(o.notch));
  w.write(DPU::DATA_CUBE_CHANNEL::ORIG_CHANNEL(o.channels) | DPU::DATA_CUBE_CHANNEL::CHANNEL(o.channels));
}

void write_stages(Writer& w, const Output& o, const ElementTask& t) {
  const int32_t addend = t.addend, factor = t.factor;
  const bool on = addend != 0 || factor != 1, prelu = t.prelu_factor != 0, table = t.table != nullptr;
  const bool add = table || t.constant != 0;
  w.write(DPU::BS_CFG::BS_BYPASS(on ? 0 : 1) | DPU::BS_CFG::BS_ALU_BYPASS(on ? 0 : 1) |
          DPU::BS_CFG::BS_ALU_ALGO(on ? kAdd : 0) | DPU::BS_CFG::BS_MUL_BYPASS(on ? 0 : 1) |
          DPU::BS_CFG::BS_RELU_BYPASS[1]);
  w.write(DPU::BS_ALU_CFG::BS_ALU_OPERAND(addend));
  w.write(DPU::BS_MUL_CFG::BS_MUL_OPERAND(on ? factor : 0));
  w.write(DPU::BS_RELUX_CMP_VALUE::BS_RELUX_CMP_DAT[0]);
  w.write(DPU::BS_OW_CFG::OD_BYPASS[1] | DPU::BS_OW_CFG::SIZE_E_0(o.atoms - 1) |
          DPU::BS_OW_CFG::SIZE_E_1(o.atoms - 1) | DPU::BS_OW_CFG::SIZE_E_2(o.atoms - 1));
  w.write(DPU::BS_OW_OP::OW_OP[0]);
  w.write(DPU::WDMA_SIZE_0::CHANNEL_WDMA(o.channels));
  w.write(DPU::WDMA_SIZE_1::HEIGHT_WDMA(o.height) | DPU::WDMA_SIZE_1::WIDTH_WDMA(o.width));
  w.write(DPU::BN_CFG::BN_BYPASS(prelu || add || t.relu_first ? 0 : 1) |
          DPU::BN_CFG::BN_ALU_BYPASS(add ? 0 : 1) | DPU::BN_CFG::BN_ALU_ALGO(add ? kAdd : 0) |
          DPU::BN_CFG::BN_MUL_BYPASS(prelu || table ? 0 : 1) | DPU::BN_CFG::BN_MUL_PRELU(prelu ? 1 : 0) |
          DPU::BN_CFG::BN_RELU_BYPASS(t.relu_first ? 0 : 1));
  // Multiplies, then adds (docs/hardware/dpu.md#bn-multiply-and-add).
  w.write(DPU::BN_ALU_CFG::BN_ALU_OPERAND(table ? kLookUpAddend : t.constant));
  // One shift for both signs; of a PReLU only negative values are multiplied.
  w.write(DPU::BN_MUL_CFG::BN_MUL_OPERAND(table ? kLookUpFactor : t.prelu_factor) |
          DPU::BN_MUL_CFG::BN_MUL_SHIFT_VALUE(t.prelu_shift));
  w.write(DPU::BN_RELUX_CMP_VALUE::BN_RELUX_CMP_DAT[0]);
}

// A multiplication is another type of operation, with the algorithm field 0 (the vendor's fx_mul).
int64_t algorithm(const ElementTask& t) {
  using Combine = ElementTask::Operand::Combine;
  if (!t.operand || t.operand->combine == Combine::Multiply) return 0;
  if (t.operand->combine == Combine::Add) return kAdd;
  return t.operand->combine == Combine::Maximum ? kMaximum : kMinimum;
}

void write_ew(Writer& w, const ElementTask& t) {
  const bool operand = t.operand.has_value(), table = t.table != nullptr;
  const bool product = operand && t.operand->combine == ElementTask::Operand::Combine::Multiply;
  w.write(DPU::EW_CFG::EW_BYPASS(operand || table || t.relu ? 0 : 1) |
          DPU::EW_CFG::EW_OP_BYPASS(operand ? 0 : 1) | DPU::EW_CFG::EW_OP_SRC(operand ? 1 : 0) |
          DPU::EW_CFG::EW_LUT_BYPASS(table ? 0 : 1) | DPU::EW_CFG::EW_OP_CVT_BYPASS(operand ? 0 : 1) |
          DPU::EW_CFG::EW_RELU_BYPASS(t.relu ? 0 : 1) | DPU::EW_CFG::EW_ALU_ALGO(algorithm(t)) |
          DPU::EW_CFG::EW_OP_TYPE(product ? 1 : 0) | DPU::EW_CFG::EDATA_SIZE(operand ? k8Bits : 0) |
          DPU::EW_CFG::EW_DATA_MODE(operand ? kPerPixel : 0) | DPU::EW_CFG::EW_CVT_TYPE(operand ? 1 : 0));
  w.write(DPU::EW_CVT_OFFSET_VALUE::EW_OP_CVT_OFFSET(operand ? t.operand->offset : 0));
  w.write(DPU::EW_CVT_SCALE_VALUE::EW_OP_CVT_SCALE(operand ? t.operand->factor : 1));
  w.write(DPU::EW_RELUX_CMP_VALUE::EW_RELUX_CMP_DAT[0]);
}

// The ranges of look_up.hpp. Nothing is beyond them, so no slope matters.
void write_ranges(Writer& w) {
  w.write(DPU::UNNAMED_40C4::VALUE[0]);
  w.write(DPU::LUT_ACCESS_CFG::LUT_ADDR[0]);
  w.write(DPU::LUT_ACCESS_DATA::LUT_ACCESS_DATA[0]);
  w.write(DPU::LUT_CFG::LUT_LO_LE_MUX[kBySign] | DPU::LUT_CFG::LUT_OFLOW_PRIORITY[1] |
          DPU::LUT_CFG::LUT_HYBRID_PRIORITY[1]);
  w.write(DPU::LUT_INFO::LUT_LE_INDEX_SELECT(kLookUpSelect) |
          DPU::LUT_INFO::LUT_LO_INDEX_SELECT(kLookUpSelect));
  w.write(DPU::LUT_LE_START::LUT_LE_START(-kLookUpReach));
  w.write(DPU::LUT_LE_END::LUT_LE_END[0]);
  w.write(DPU::LUT_LO_START::LUT_LO_START[0]);
  w.write(DPU::LUT_LO_END::LUT_LO_END(kLookUpReach));
  w.write(DPU::LUT_LE_SLOPE_SCALE::LUT_LE_SLOPE_UFLOW_SCALE[0]);
  w.write(DPU::LUT_LE_SLOPE_SHIFT::LUT_LE_SLOPE_UFLOW_SHIFT[0]);
  w.write(DPU::LUT_LO_SLOPE_SCALE::LUT_LO_SLOPE_UFLOW_SCALE[0]);
  w.write(DPU::LUT_LO_SLOPE_SHIFT::LUT_LO_SLOPE_UFLOW_SHIFT[0]);
}

void write_entries(Writer& w, const LookUpTable& table) {
  const auto side = [&](int64_t id, const std::array<int16_t, kLookUpEntries>& entries) {
    w.write(DPU::LUT_ACCESS_CFG::LUT_ACCESS_TYPE[1] | DPU::LUT_ACCESS_CFG::LUT_TABLE_ID(id));
    for (const int16_t entry : entries)
      w.write(DPU::LUT_ACCESS_DATA::LUT_ACCESS_DATA(static_cast<uint16_t>(entry)));
  };
  side(kLowTable, table.le);
  side(kHighTable, table.lo);
}

void write_out(Writer& w, const Output& o, int32_t offset, int32_t scale, int32_t shift, bool table) {
  w.write(DPU::OUT_CVT_OFFSET::OUT_CVT_OFFSET(offset));
  w.write(DPU::OUT_CVT_SCALE::OUT_CVT_SCALE(scale));
  w.write(DPU::OUT_CVT_SHIFT::OUT_CVT_SHIFT(shift) | DPU::OUT_CVT_SHIFT::CVT_ROUND(shift > 0 ? 1 : 0));
  write_no_register_operands(w);
  w.write(DPU::SURFACE_ADD::SURF_ADD(o.surface_add));
  table ? write_ranges(w) : write_no_table(w);
}

void write_rdma_head(Writer& w, int64_t width, int64_t height, int64_t channels, SymbolicAddress input) {
  w.write(DPU_RDMA::DATA_CUBE_WIDTH::WIDTH(width));
  w.write(DPU_RDMA::DATA_CUBE_HEIGHT::HEIGHT(height));
  w.write(DPU_RDMA::DATA_CUBE_CHANNEL::CHANNEL(channels));
  w.address(DPU_RDMA::SRC_BASE_ADDR::SRC_BASE_ADDR[0], input);
  w.write(DPU_RDMA::BRDMA_CFG::BRDMA_DATA_USE[0]);
  w.write(DPU_RDMA::BS_BASE_ADDR::BS_BASE_ADDR[0]);
  w.write(DPU_RDMA::NRDMA_CFG::NRDMA_DATA_USE[0]);
  w.write(DPU_RDMA::BN_BASE_ADDR::BN_BASE_ADDR[0]);
}

void write_rdma_tail(Writer& w, int64_t ew_notch) {
  w.write(DPU_RDMA::PAD_CFG::PAD_VALUE[0]);
  w.write(DPU_RDMA::WEIGHT::E_WEIGHT[1] | DPU_RDMA::WEIGHT::N_WEIGHT[1] | DPU_RDMA::WEIGHT::B_WEIGHT[1] |
          DPU_RDMA::WEIGHT::M_WEIGHT[1]);
  w.write(DPU_RDMA::EW_SURF_NOTCH::EW_SURF_NOTCH(ew_notch));
}

// All words of the task but the tail.
void write_element_wise(Writer& w, const ElementTask& t) {
  Output o{t.width, t.height, t.channels, t.out_plane, 0, 1, 0, t.out_plane};
  t.table != nullptr ? start_cleared(w) : start(w);
  write_format(w, o, t.output, t.prelu_shift);
  write_stages(w, o, t);
  write_ew(w, t);
  write_out(w, o, t.out_offset, t.out_scale, t.out_shift, t.table != nullptr);
  const int64_t pixels = t.width * t.height;
  write_rdma_head(w, t.width, t.height, t.channels, t.input);
  const bool operand = t.operand.has_value();
  w.write(DPU_RDMA::ERDMA_CFG::ERDMA_DISABLE(operand ? 0 : 1) |
          DPU_RDMA::ERDMA_CFG::ERDMA_DATA_SIZE(operand ? k8Bits : 0) |
          DPU_RDMA::ERDMA_CFG::ERDMA_DATA_MODE(operand ? kPerPixel : 0));
  w.address(DPU_RDMA::EW_BASE_ADDR::EW_BASE_ADDR[0], operand ? t.operand->address : SymbolicAddress{});
  w.write(DPU_RDMA::EW_SURF_STRIDE::EW_SURF_STRIDE(operand ? t.operand->plane : 0));
  w.write(DPU_RDMA::FEATURE_MODE_CFG::BURST_LEN[kBurst16] | DPU_RDMA::FEATURE_MODE_CFG::FLYING_MODE[1]);
  w.write(DPU_RDMA::SRC_DMA_CFG::LINE_NOTCH_ADDR[0]);
  w.write(DPU_RDMA::SURF_NOTCH::SURF_NOTCH_ADDR(t.in_plane - pixels));
  write_rdma_tail(w, operand ? t.operand->plane - pixels : 0);
}

}  // namespace

Result<Program> element_wise(const ElementTask& t) {
  if (t.table != nullptr && (t.prelu_factor != 0 || t.operand))
    return fail(ErrorCode::Internal, "a task that looks up a table has a slope or an operand as well");
  Writer w;
  write_element_wise(w, t);
  w.tail(kBlocks);
  return w.finish();
}

Result<Program> table_loading(const TableTask& t) {
  ElementTask copy;
  copy.width = copy.height = copy.in_plane = copy.out_plane = 1;
  copy.channels = kAtomBytes;
  copy.input = t.input;
  copy.output = t.output;
  Writer w;
  write_element_wise(w, copy);
  w.reserve(kTableWords);
  write_entries(w, *t.table);
  w.tail(kBlocks);
  return w.finish();
}

Result<Program> upsampling(const UpsampleTask& t) {
  Writer w;
  // Sizes of the output. The copies of a row that lie below each other are surfaces of their own, one row
  // apart.
  const int64_t row = t.columns * t.width, plane = t.rows * t.height * row;
  Output o{row, t.height, t.rows * kLanes, row, (t.rows - 1) * row, t.rows, kInt16, plane};
  start(w);
  write_format(w, o, t.output, 0);
  write_stages(w, o, {});
  write_ew(w, {});
  write_out(w, o, 0, 1, 0, false);
  write_rdma_head(w, t.width, t.height, kLanes, t.input);
  w.write(DPU_RDMA::ERDMA_CFG::ERDMA_DISABLE[1]);
  w.write(DPU_RDMA::EW_BASE_ADDR::EW_BASE_ADDR[0]);
  w.write(DPU_RDMA::EW_SURF_STRIDE::EW_SURF_STRIDE[0]);
  w.write(DPU_RDMA::FEATURE_MODE_CFG::BURST_LEN[kBurst16] | DPU_RDMA::FEATURE_MODE_CFG::FLYING_MODE[1] |
          DPU_RDMA::FEATURE_MODE_CFG::IN_PRECISION[kInt16]);
  w.write(DPU_RDMA::SRC_DMA_CFG::UNPOOLING_EN[1] | DPU_RDMA::SRC_DMA_CFG::KERNEL_WIDTH(t.columns - 1) |
          DPU_RDMA::SRC_DMA_CFG::KERNEL_HEIGHT(t.rows - 1) |
          DPU_RDMA::SRC_DMA_CFG::KERNEL_STRIDE_WIDTH(t.columns - 1) |
          DPU_RDMA::SRC_DMA_CFG::KERNEL_STRIDE_HEIGHT(t.rows - 1));
  w.write(DPU_RDMA::SURF_NOTCH::SURF_NOTCH_ADDR[0]);
  write_rdma_tail(w, 0);
  w.tail(kBlocks);
  return w.finish();
}

}  // namespace peraxis::emit
