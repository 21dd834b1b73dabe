#include "plan/cost.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace peraxis::plan {
namespace {

rk3588::ConvTask task(int64_t ic, int64_t oc, int64_t w, int64_t h, int64_t kernel, bool depthwise = false) {
  rk3588::ConvTask t;
  t.depthwise = depthwise;
  t.in_width = w;
  t.in_height = h;
  t.in_channels = (ic + 15) / 16 * 16;
  t.kernel_width = t.kernel_height = kernel;
  const int64_t group = depthwise ? 64 : 32;
  t.out_channels = (oc + group - 1) / group * group;
  t.kernels = depthwise ? 1 : t.out_channels;
  t.out_width = w;
  t.out_height = h;
  t.weight_bytes = kernel * kernel * t.in_channels * t.kernels;
  return t;
}

// The vendor compiler's own NPU cycles for these layers (stride 1, same size; its per-layer table).
TEST(Cost, MultiplyCyclesAreTheVendors) {
  struct Row {
    int64_t ic, oc, w, h, kernel, cycles;
    bool depthwise = false;
  };
  for (const Row& row :
       {Row{32, 64, 16, 16, 1, 2048}, Row{20, 32, 16, 16, 1, 1024}, Row{64, 255, 20, 20, 1, 12800},
        Row{32, 8, 16, 16, 1, 1024}, Row{32, 64, 16, 16, 3, 4608}, Row{64, 64, 160, 160, 3, 921600},
        Row{256, 512, 20, 20, 3, 460800}, Row{256, 100, 1, 1, 1, 512}, Row{16, 32, 6, 6, 1, 192},
        Row{72, 48, 5, 5, 1, 256}, Row{16, 24, 8, 8, 3, 576}, Row{64, 64, 16, 16, 3, 2304, true}})
    EXPECT_EQ(rk3588::mac_cycles(task(row.ic, row.oc, row.w, row.h, row.kernel, row.depthwise)), row.cycles)
        << row.ic << " -> " << row.oc << ", " << row.w << "x" << row.h << ", kernel " << row.kernel;
}

// 16x16x32 -> 64 channels, 3x3, per-channel records: 8,192 + 18,432 + 512 + 16,384 bytes and the program.
TEST(Cost, BytesAreTileWeightsOperandsOutputAndProgram) {
  rk3588::ConvTask t = task(32, 64, 16, 16, 3);
  t.dpu.multiply = true;
  EXPECT_EQ(rk3588::bytes_moved(t, 100), 8192 + 18432 + 512 + 16384 + 800);
  t.weight_reuse = true;
  EXPECT_EQ(rk3588::bytes_moved(t, 100), 8192 + 512 + 16384 + 800);
  t.dpu = {};  // dense addends
  EXPECT_EQ(rk3588::bytes_moved(t, 100), 8192 + 256 + 16384 + 800);
  t.dpu.int32_output = true;
  EXPECT_EQ(rk3588::bytes_moved(t, 100), 8192 + 65536 + 800);
}

// Pixels of 3 bytes are 3 bytes, whatever the atoms they become.
TEST(Cost, PackedPixelsAreReadAsTheyLie) {
  rk3588::ConvTask t = task(3, 64, 16, 16, 3);
  const int64_t cube = rk3588::bytes_moved(t, 100), cycles = rk3588::mac_cycles(t);
  t.packed = 3;
  EXPECT_EQ(cube - rk3588::bytes_moved(t, 100), 16 * 16 * (16 - 3));
  EXPECT_EQ(rk3588::mac_cycles(t), cycles);
}

TEST(Cost, TimeIsTheLongerOfMultiplyingAndMovingAndTheTask) {
  lower::LoweredLayer lowered;
  lowered.tasks.push_back({task(64, 64, 160, 160, 3), lower::TaskKind::Direct, {}, 64, 0});
  lower::Geometry g;
  g.out_h = g.out_w = 160;
  g.out_c = 64;
  rk3588::CostConstants constants;
  constants.task_us = 0;
  const Cost busy = layer_cost(lowered, g, requant::HostWork::None, constants);
  EXPECT_DOUBLE_EQ(busy.npu_ms, 0.9216);  // 921,600 cycles at 1 GHz
  EXPECT_DOUBLE_EQ(busy.host_ms, 0);
  constants.clock_ghz = 1000;
  const Cost moving = layer_cost(lowered, g, requant::HostWork::None, constants);
  EXPECT_NEAR(moving.npu_ms, static_cast<double>(moving.bytes) / 23.6e6, 1e-12);
  constants.task_us = 50;
  EXPECT_NEAR(layer_cost(lowered, g, requant::HostWork::None, constants).npu_ms, moving.npu_ms + 0.05, 1e-12);

  const Cost exact = layer_cost(lowered, g, requant::HostWork::Requantize, constants);
  EXPECT_EQ(exact.host_values, 160 * 160 * 64);
  EXPECT_NEAR(exact.host_ms, 0.5 + 160 * 160 * 64 * 1e-6, 1e-12);
  EXPECT_NEAR(layer_cost(lowered, g, requant::HostWork::Gather, constants).host_ms,
              0.5 + 160 * 160 * 64 * 0.2e-6, 1e-12);
}

}  // namespace
}  // namespace peraxis::plan
