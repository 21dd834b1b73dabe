#include "emit/convolution.hpp"

#include <algorithm>

#include "emit/writer.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::emit {
namespace {

using namespace rk3588;

constexpr int64_t kDirect = 0, kDepthwise = 3;
constexpr int64_t kInt8 = 0, kInt32 = 4;
constexpr int64_t kPackedOne = 8;  // ARGB_IN of one channel

// CBUF entries of a row; packed pixels: of the tile (docs/hardware/cbuf.md#entries-of-a-row).
int64_t data_entries(const ConvTask& t) {
  return t.packed > 0 ? t.in_width * t.in_height : (t.in_width * t.in_channels + 63) / 64;
}

// Rows that must be there before the MACs start: stride + rows of a window + 1 suffices, and more than needed
// changes nothing (docs/hardware/cbuf.md#feature-grains). Packed pixels, whose entries are the tile's: all
// rows, as in every vendor block.
int64_t feature_grains(const ConvTask& t) {
  const int64_t window = t.stride_y + (t.kernel_height - 1) * t.dilation_y + 2;
  return t.packed > 0 ? std::max(window, t.in_height) : window;
}

// What a block of lines takes, four at a time or one.
int64_t block_width(const ConvTask& t) {
  if (t.packed > 0) return t.line;
  return (t.line > 0 ? 1 : 4) * t.in_width;
}
constexpr int64_t kAdd = 2, k8Bits = 1, kPerPixel = 1;
constexpr int64_t kSharedReaders = 5;  // MRDMA and ERDMA take surfaces of one operand in turn

void write_cna(Writer& w, const ConvTask& t) {
  const int64_t mode = t.depthwise ? kDepthwise : kDirect;
  w.write(CNA::CBUF_CON0::WEIGHT_REUSE(t.weight_reuse ? 1 : 0) | CNA::CBUF_CON0::WEIGHT_BANK(t.weight_banks) |
          CNA::CBUF_CON0::DATA_BANK(t.data_banks));
  w.write(CNA::DCOMP_REGNUM::DCOMP_REGNUM[0]);
  w.write(CNA::DCOMP_CTRL::DECOMP_CONTROL[0]);
  w.write(CNA::CONV_CON1::CONV_MODE(mode) | CNA::CONV_CON1::IN_PRECISION[kInt8] |
          CNA::CONV_CON1::PROC_PRECISION[kInt8] |
          CNA::CONV_CON1::ARGB_IN(t.packed > 0 ? kPackedOne + t.packed - 1 : 0) |
          CNA::CONV_CON1::NONALIGN_DMA(t.packed > 0 ? 1 : 0) |
          CNA::CONV_CON1::DECONV(t.insert_x > 1 || t.insert_y > 1 ? 1 : 0) |
          CNA::CONV_CON1::GROUP_LINE_OFF(t.line > 0 ? 1 : 0));
  w.write(DPU::S_POINTER::POINTER_PP_EN[1] | DPU::S_POINTER::EXECUTER_PP_EN[1] |
          DPU::S_POINTER::POINTER_PP_MODE[1]);
  w.write(DPU_RDMA::S_POINTER::POINTER_PP_EN[1] | DPU_RDMA::S_POINTER::EXECUTER_PP_EN[1] |
          DPU_RDMA::S_POINTER::POINTER_PP_MODE[1]);
  w.write(CNA::CONV_CON2::FEATURE_GRAINS(feature_grains(t)));
  w.write(CNA::CONV_CON3::CONV_X_STRIDE(t.stride_x) | CNA::CONV_CON3::CONV_Y_STRIDE(t.stride_y) |
          CNA::CONV_CON3::DECONV_X_STRIDE(t.insert_x - 1) | CNA::CONV_CON3::DECONV_Y_STRIDE(t.insert_y - 1) |
          CNA::CONV_CON3::ATROUS_X_DILATION(t.dilation_x) | CNA::CONV_CON3::ATROUS_Y_DILATION(t.dilation_y));
  w.write(CNA::DATA_SIZE0::DATAIN_WIDTH(t.in_width) | CNA::DATA_SIZE0::DATAIN_HEIGHT(t.in_height));
  w.write(CNA::DATA_SIZE1::DATAIN_CHANNEL_REAL(t.in_channels_real - 1) |
          CNA::DATA_SIZE1::DATAIN_CHANNEL(t.in_channels));
  w.write(CNA::DATA_SIZE2::DATAOUT_WIDTH(t.out_width));
  w.write(CNA::DATA_SIZE3::DATAOUT_ATOMICS(t.out_width * t.out_height));
  w.write(CNA::WEIGHT_SIZE0::WEIGHT_BYTES(t.weight_bytes));
  w.write(CNA::WEIGHT_SIZE1::WEIGHT_BYTES_PER_KERNEL(t.weight_bytes_per_kernel));
  w.write(CNA::WEIGHT_SIZE2::WEIGHT_WIDTH(t.kernel_width) |
          CNA::WEIGHT_SIZE2::WEIGHT_HEIGHT(t.kernel_height) | CNA::WEIGHT_SIZE2::WEIGHT_KERNELS(t.kernels));
  w.write(CNA::CBUF_CON1::DATA_ENTRIES(data_entries(t)));
  w.write(CNA::CVT_CON0::CVT_BYPASS[1] | CNA::CVT_CON0::CVT_TYPE[1] | CNA::CVT_CON0::DATA_SIGN[1]);
  w.write(CNA::CVT_CON1::CVT_SCALE0[1] | CNA::CVT_CON1::CVT_OFFSET0[0]);
  w.write(CNA::CVT_CON2::CVT_SCALE1[1] | CNA::CVT_CON2::CVT_OFFSET1[0]);
  w.write(CNA::CVT_CON3::CVT_SCALE2[1] | CNA::CVT_CON3::CVT_OFFSET2[0]);
  w.write(CNA::CVT_CON4::CVT_SCALE3[1] | CNA::CVT_CON4::CVT_OFFSET3[0]);
  w.write(CNA::FC_CON0::FC_SKIP_EN[0]);
  w.write(CNA::FC_CON1::DATA_OFFSET[0]);
  w.write(CNA::PAD_CON0::PAD_LEFT(t.pad_left) | CNA::PAD_CON0::PAD_TOP(t.pad_top));
  w.address(CNA::FEATURE_DATA_ADDR::FEATURE_BASE_ADDR[0], t.input);
  w.write(CNA::FC_CON2::WEIGHT_OFFSET[0]);
  w.write(CNA::DMA_CON0::DATA_BURST_LEN[kBurst16] | CNA::DMA_CON0::WEIGHT_BURST_LEN[kBurst16]);
  // Packed pixels are int8 already, so that their converter stays off as in the vendor's int8 streams.
  // Lines come in blocks of four, or one by one; the surface stride is the signed jump from a block's end to
  // the same block of the next 16 channels, of the whole tensor even in a tile
  // (docs/hardware/cna.md#feature-addresses).
  w.write(CNA::DMA_CON1::LINE_STRIDE(t.line > 0 ? t.line : 4 * t.in_width));
  w.write(CNA::DMA_CON2::SURF_STRIDE(t.in_plane - block_width(t)));
  w.write(CNA::FC_DATA_SIZE0::DMA_WIDTH(t.in_width) | CNA::FC_DATA_SIZE0::DMA_HEIGHT(t.in_height));
  w.write(CNA::FC_DATA_SIZE1::DMA_CHANNEL(t.in_channels));
  w.address(CNA::DCOMP_ADDR0::DECOMPRESS_ADDR0[0], t.weights);
  w.write(CNA::DCOMP_AMOUNT0::DCOMP_AMOUNT0[0]);
  w.write(CNA::DCOMP_AMOUNT1::DCOMP_AMOUNT1[0]);
  w.write(CNA::DCOMP_AMOUNT2::DCOMP_AMOUNT2[0]);
  w.write(CNA::DCOMP_AMOUNT3::DCOMP_AMOUNT3[0]);
  w.write(CNA::DCOMP_AMOUNT4::DCOMP_AMOUNT4[0]);
  w.write(CNA::DCOMP_AMOUNT5::DCOMP_AMOUNT5[0]);
  w.write(CNA::DCOMP_AMOUNT6::DCOMP_AMOUNT6[0]);
  w.write(CNA::DCOMP_AMOUNT7::DCOMP_AMOUNT7[0]);
  w.write(CNA::DCOMP_AMOUNT8::DCOMP_AMOUNT8[0]);
  w.write(CNA::DCOMP_AMOUNT9::DCOMP_AMOUNT9[0]);
  w.write(CNA::DCOMP_AMOUNT10::DCOMP_AMOUNT10[0]);
  w.write(CNA::DCOMP_AMOUNT11::DCOMP_AMOUNT11[0]);
  w.write(CNA::DCOMP_AMOUNT12::DCOMP_AMOUNT12[0]);
  w.write(CNA::DCOMP_AMOUNT13::DCOMP_AMOUNT13[0]);
  w.write(CNA::DCOMP_AMOUNT14::DCOMP_AMOUNT14[0]);
  w.write(CNA::DCOMP_AMOUNT15::DCOMP_AMOUNT15[0]);
  w.write(CNA::CVT_CON5::PER_CHANNEL_CVT_EN[0]);
  // The byte in all four lanes: right whichever lane the chip reads (docs/hardware/cna.md#padding).
  const int64_t pad = t.pad_value & 0xFF;
  w.write(CNA::PAD_CON1::PAD_VALUE(pad << 24 | pad << 16 | pad << 8 | pad));
}

void write_core(Writer& w, const ConvTask& t) {
  w.write(CORE::MISC_CFG::QD_EN(t.dpu.int32_output ? 0 : 1) | CORE::MISC_CFG::DW_EN(t.depthwise ? 1 : 0) |
          CORE::MISC_CFG::PROC_PRECISION[kInt8]);
  w.write(CORE::DATAOUT_SIZE_0::DATAOUT_HEIGHT(t.out_height) |
          CORE::DATAOUT_SIZE_0::DATAOUT_WIDTH(t.out_width));
  w.write(CORE::DATAOUT_SIZE_1::DATAOUT_CHANNEL(t.out_channels));
  w.write(CORE::CLIP_TRUNCATE::CLIP_TRUNCATE[0]);
  w.write(CORE::UNNAMED_3030::VALUE[0]);
}

// With a tensor that is added BS keeps the convolution to its range, else BN.
bool bs_relu(const ConvTask& t) {
  return t.added && t.dpu.relu;
}
bool bs_relux(const ConvTask& t) {
  return bs_relu(t) && t.dpu.relux;
}

void write_bs(Writer& w, const ConvTask& t) {
  const DpuParams& d = t.dpu;
  if (d.int32_output) {
    w.write(DPU::BS_CFG::BS_BYPASS[1] | DPU::BS_CFG::BS_ALU_BYPASS[1] | DPU::BS_CFG::BS_MUL_BYPASS[1] |
            DPU::BS_CFG::BS_RELU_BYPASS[1]);
  } else {
    w.write(DPU::BS_CFG::BS_ALU_ALGO[2] | DPU::BS_CFG::BS_ALU_SRC[1] |
            DPU::BS_CFG::BS_RELU_BYPASS(bs_relu(t) ? 0 : 1) | DPU::BS_CFG::BS_RELUX_EN(bs_relux(t) ? 1 : 0) |
            DPU::BS_CFG::BS_MUL_BYPASS(d.multiply ? 0 : 1));
  }
  w.write(DPU::BS_ALU_CFG::BS_ALU_OPERAND[0]);
  w.write(DPU::BS_MUL_CFG::BS_MUL_SHIFT_VALUE(d.multiply ? d.bs_shift : 0) |
          DPU::BS_MUL_CFG::BS_MUL_SRC(d.records() ? 1 : 0) |
          DPU::BS_MUL_CFG::BS_MUL_OPERAND(d.scalar_factor));
  w.write(DPU::BS_RELUX_CMP_VALUE::BS_RELUX_CMP_DAT(bs_relux(t) ? d.relux_compare : 0));
  // Atoms that a pixel of one kernel group has, minus one (docs/hardware/wdma.md#bytes-of-a-kernel-group).
  const int64_t size_e = d.int32_output ? 7 : (t.depthwise ? 3 : 1);
  w.write(DPU::BS_OW_CFG::SIZE_E_2(size_e) | DPU::BS_OW_CFG::SIZE_E_1(size_e) |
          DPU::BS_OW_CFG::SIZE_E_0(size_e) | DPU::BS_OW_CFG::OD_BYPASS(d.int32_output ? 1 : 0) |
          DPU::BS_OW_CFG::OW_SRC(d.records() ? 1 : 0));
  // With records the weight zero point is their B (docs/hardware/dpu.md#cpend), else this scalar.
  w.write(DPU::BS_OW_OP::OW_OP(d.records() || d.int32_output ? 0 : -t.weight_zero_point));
}

void write_bn(Writer& w, const ConvTask& t) {
  const DpuParams& d = t.dpu;
  const bool relu = d.relu && !t.added, scaled = t.added.has_value();
  const int32_t addend = t.added ? t.added->constant : d.bn_addend;
  const bool alu = addend != 0;
  w.write(DPU::BN_CFG::BN_BYPASS(relu || scaled ? 0 : 1) | DPU::BN_CFG::BN_ALU_BYPASS(alu ? 0 : 1) |
          DPU::BN_CFG::BN_ALU_ALGO(alu ? kAdd : 0) | DPU::BN_CFG::BN_MUL_BYPASS(scaled ? 0 : 1) |
          DPU::BN_CFG::BN_RELU_BYPASS(relu ? 0 : 1) | DPU::BN_CFG::BN_RELUX_EN(relu && d.relux ? 1 : 0));
  w.write(DPU::BN_ALU_CFG::BN_ALU_OPERAND(addend));
  // Multiplies, then adds (docs/hardware/dpu.md#bn-multiply-and-add); no shift.
  w.write(DPU::BN_MUL_CFG::BN_MUL_OPERAND(t.added ? t.added->factor : 0));
  w.write(DPU::BN_RELUX_CMP_VALUE::BN_RELUX_CMP_DAT(relu && d.relux ? d.relux_compare : 0));
}

void write_ew(Writer& w, const ConvTask& t) {
  const bool added = t.added.has_value();
  w.write(DPU::EW_CFG::EW_BYPASS(added ? 0 : 1) | DPU::EW_CFG::EW_OP_BYPASS(added ? 0 : 1) |
          DPU::EW_CFG::EW_OP_SRC(added ? 1 : 0) | DPU::EW_CFG::EW_LUT_BYPASS[1] |
          DPU::EW_CFG::EW_OP_CVT_BYPASS(added ? 0 : 1) |
          DPU::EW_CFG::EW_RELU_BYPASS(added && t.added->relu ? 0 : 1) |
          DPU::EW_CFG::EW_ALU_ALGO(added ? kAdd : 0) | DPU::EW_CFG::EDATA_SIZE(added ? k8Bits : 0) |
          DPU::EW_CFG::EW_DATA_MODE(added ? kPerPixel : 0) | DPU::EW_CFG::EW_CVT_TYPE(added ? 1 : 0));
  w.write(DPU::EW_CVT_OFFSET_VALUE::EW_OP_CVT_OFFSET(added ? t.added->offset : 0));
  w.write(DPU::EW_CVT_SCALE_VALUE::EW_OP_CVT_SCALE(added ? t.added->operand_factor : 1));
  w.write(DPU::EW_RELUX_CMP_VALUE::EW_RELUX_CMP_DAT[0]);
}

void write_dpu(Writer& w, const ConvTask& t) {
  const DpuParams& d = t.dpu;
  const int64_t mode = t.depthwise ? kDepthwise : kDirect;
  w.write(DPU::FEATURE_MODE_CFG::BURST_LEN[kBurst16] | DPU::FEATURE_MODE_CFG::CONV_MODE(mode) |
          DPU::FEATURE_MODE_CFG::OUTPUT_MODE[2]);
  w.write(DPU::DATA_FORMAT::OUT_PRECISION(d.int32_output ? kInt32 : kInt8) |
          DPU::DATA_FORMAT::IN_PRECISION[kInt8] | DPU::DATA_FORMAT::PROC_PRECISION[kInt8] |
          DPU::DATA_FORMAT::BS_MUL_SHIFT_VALUE_NEG(d.multiply ? d.bs_shift : 0));
  w.write(DPU::OFFSET_PEND::OFFSET_PEND[0]);
  w.address(DPU::DST_BASE_ADDR::DST_BASE_ADDR[0], t.output);
  w.write(DPU::DST_SURF_STRIDE::DST_SURF_STRIDE(t.out_plane));
  w.write(DPU::DATA_CUBE_WIDTH::WIDTH(t.out_width));
  w.write(DPU::DATA_CUBE_HEIGHT::HEIGHT(t.out_height));
  w.write(DPU::DATA_CUBE_NOTCH_ADDR::NOTCH_ADDR_0[0] | DPU::DATA_CUBE_NOTCH_ADDR::NOTCH_ADDR_1[0]);
  w.write(DPU::DATA_CUBE_CHANNEL::ORIG_CHANNEL(d.int32_output ? t.out_channels : t.out_channels_real) |
          DPU::DATA_CUBE_CHANNEL::CHANNEL(t.out_channels));
  write_bs(w, t);
  w.write(DPU::WDMA_SIZE_0::CHANNEL_WDMA(t.out_channels));
  w.write(DPU::WDMA_SIZE_1::HEIGHT_WDMA(t.out_height) | DPU::WDMA_SIZE_1::WIDTH_WDMA(t.out_width));
  write_bn(w, t);
  write_ew(w, t);
  const int32_t offset = t.added ? t.added->out_offset : d.out_offset;
  const int32_t scale = t.added ? t.added->out_scale : d.out_scale;
  const int32_t shift = t.added ? t.added->out_shift : d.out_shift;
  w.write(DPU::OUT_CVT_OFFSET::OUT_CVT_OFFSET(d.int32_output ? 0 : offset));
  w.write(DPU::OUT_CVT_SCALE::OUT_CVT_SCALE(d.int32_output ? 1 : scale));
  w.write(DPU::OUT_CVT_SHIFT::OUT_CVT_SHIFT(d.int32_output ? 0 : shift) |
          DPU::OUT_CVT_SHIFT::CVT_ROUND(!d.int32_output && (t.added || d.ties_away) ? 1 : 0));
  write_no_register_operands(w);
  w.write(DPU::SURFACE_ADD::SURF_ADD(t.out_plane * (d.int32_output ? 8 : (t.depthwise ? 4 : 2))));
  write_no_table(w);
}

void write_rdma(Writer& w, const ConvTask& t) {
  const DpuParams& d = t.dpu;
  const bool added = t.added.has_value();
  const SymbolicAddress even = added ? t.added->address : SymbolicAddress{};
  SymbolicAddress odd = even;
  if (added) odd.offset += t.added->plane * kAtomBytes;
  // From the end of a tile's surface to the next but one (docs/hardware/dpu_rdma.md#fused-addition).
  const int64_t notch = added ? 2 * t.added->plane - t.out_width * t.out_height : 0;
  w.write(DPU_RDMA::DATA_CUBE_WIDTH::WIDTH(t.out_width));
  w.write(DPU_RDMA::DATA_CUBE_HEIGHT::HEIGHT(t.out_height));
  w.write(DPU_RDMA::DATA_CUBE_CHANNEL::CHANNEL(t.out_channels));
  w.address(DPU_RDMA::SRC_BASE_ADDR::SRC_BASE_ADDR[0], even);
  w.write(DPU_RDMA::BRDMA_CFG::BRDMA_DATA_USE(d.int32_output ? 0 : (d.records() ? 7 : 1)));
  w.address(DPU_RDMA::BS_BASE_ADDR::BS_BASE_ADDR[0], d.int32_output ? SymbolicAddress{} : t.operands);
  w.write(DPU_RDMA::NRDMA_CFG::NRDMA_DATA_USE[0]);
  w.write(DPU_RDMA::BN_BASE_ADDR::BN_BASE_ADDR[0]);
  w.write(DPU_RDMA::ERDMA_CFG::ERDMA_DISABLE(added ? 0 : 1) |
          DPU_RDMA::ERDMA_CFG::ERDMA_DATA_SIZE(added ? k8Bits : 0) |
          DPU_RDMA::ERDMA_CFG::ERDMA_DATA_MODE(added ? kPerPixel : 0));
  w.address(DPU_RDMA::EW_BASE_ADDR::EW_BASE_ADDR[0], odd);
  w.write(DPU_RDMA::EW_SURF_STRIDE::EW_SURF_STRIDE(added ? t.added->plane : 0));
  w.write(DPU_RDMA::FEATURE_MODE_CFG::BURST_LEN[kBurst16] |
          DPU_RDMA::FEATURE_MODE_CFG::MRDMA_DISABLE(added ? 0 : 1) |
          DPU_RDMA::FEATURE_MODE_CFG::COMB_USE(added ? kSharedReaders : 0) |
          DPU_RDMA::FEATURE_MODE_CFG::CONV_MODE(t.depthwise ? kDepthwise : kDirect));
  w.write(DPU_RDMA::SRC_DMA_CFG::LINE_NOTCH_ADDR[0]);
  w.write(DPU_RDMA::SURF_NOTCH::SURF_NOTCH_ADDR(notch));
  w.write(DPU_RDMA::PAD_CFG::PAD_VALUE[0]);
  w.write(DPU_RDMA::WEIGHT::E_WEIGHT[1] | DPU_RDMA::WEIGHT::N_WEIGHT[1] | DPU_RDMA::WEIGHT::B_WEIGHT[1] |
          DPU_RDMA::WEIGHT::M_WEIGHT[1]);
  w.write(DPU_RDMA::EW_SURF_NOTCH::EW_SURF_NOTCH(notch));
}

}  // namespace

Result<Program> convolution(const ConvTask& task) {
  Writer w;
  w.reserve(132);
  write_cna(w, task);
  write_core(w, task);
  write_dpu(w, task);
  write_rdma(w, task);
  // CNA, CORE, DPU, DPU_RDMA.
  w.tail(0x1D);
  return w.finish();
}

}  // namespace peraxis::emit
