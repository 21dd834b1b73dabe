// The text form: everything comes back, and what is no program is refused with line and column.
#include "program/text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "small_program.hpp"

namespace peraxis::program {
namespace {

using ::testing::HasSubstr;

// A program that uses every field once, so that one that is not printed, or read into another, shows.
Program full_program() {
  Program p = small_program();
  draw_edges(small_graph(), p);
  Operator& layer = p.operators[0];
  layer.variant = Variant::Convolution;
  layer.by = 7;
  layer.strategy = "hw-\\multiply";
  layer.reason = "of \"two\" kinds\x01";
  layer.certificate = {3, 1.0 / 3, false, {{-5, 1LL << 40, 7, 2, 0.1}, {}}};
  layer.cost = {1, 2, 3, 4, 0.7, 1e-300};
  p.tensors[0].layout.slot_of = {3, 1, 0};
  p.tensors[0].pitch = 6;
  p.tensors[0].owner = 2;
  p.host_constants = {4, 5};
  p.host_works.push_back(
      {2, {{1, 16, 2, 3, 4, 4}, {}}, {{1, 2, -3, 4, -5, 6, -7, 0.3}}, HostRounding::Double, -3, -7, 9});
  p.steps.back().host_work = 0;
  p.steps.back().kind = StepKind::Requantize;
  p.steps[2].completes = {{1, -1}, {2, 4}};
  rk3588::ConvTask c;
  int64_t n = 2;
  c.depthwise = c.weight_reuse = true;
  for (int64_t* field : {&c.in_width,
                         &c.in_height,
                         &c.packed,
                         &c.in_plane,
                         &c.line,
                         &c.in_channels,
                         &c.in_channels_real,
                         &c.pad_left,
                         &c.pad_top,
                         &c.kernel_width,
                         &c.kernel_height,
                         &c.stride_x,
                         &c.stride_y,
                         &c.dilation_x,
                         &c.dilation_y,
                         &c.insert_x,
                         &c.insert_y,
                         &c.kernels,
                         &c.weight_bytes_per_kernel,
                         &c.weight_bytes,
                         &c.out_width,
                         &c.out_height,
                         &c.out_plane,
                         &c.out_channels,
                         &c.out_channels_real,
                         &c.data_banks,
                         &c.weight_banks})
    *field = n++;
  c.pad_value = -4;
  c.weight_zero_point = 9;
  c.input = {1, 2};
  c.weights = {3, 4};
  c.output = {5, 6};
  c.operands = {-1, 64};
  c.dpu = {true, true, 2, 3, true, 4, true, 5, 6, 7, false, 8};
  c.added = rk3588::AddedTensor{{7, 8}, 9, 10, 11, 12, 13, true, 14, 15, 16};
  p.tasks.push_back({1, TaskKind::BlockDiagonal, 2, 3, 4, 5, 6, c});
  p.tasks.push_back(
      {1, TaskKind::Pool, 2, 3, 4, 5, 6,
       rk3588::PoolTask{true, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, {1, 2}, {3, 4}, 15, 16}});
  rk3588::LookUpTable table;
  table.le[3] = -5;
  table.lo[512] = 77;
  rk3588::ElementTask e;
  e.table = std::make_shared<const rk3588::LookUpTable>(table);
  e.operand = rk3588::ElementTask::Operand{{1, 2}, 3, 4, 5, rk3588::ElementTask::Operand::Combine::Minimum};
  e.addend = 1;
  e.factor = 2;
  e.constant = 3;
  e.relu_first = e.relu = true;
  e.prelu_factor = 4;
  e.prelu_shift = 5;
  e.out_scale = 6;
  e.out_shift = 7;
  e.out_offset = 8;
  table.le[3] = 6;
  p.tasks.push_back({1, TaskKind::Table, 2, 3, 4, 5, 6,
                     rk3588::TableTask{std::make_shared<const rk3588::LookUpTable>(table), {1, 2}, {3, 4}}});
  p.tasks.push_back({1, TaskKind::Element, 2, 3, 4, 5, 6, e});
  p.tasks.push_back({1, TaskKind::Upsample, 2, 3, 4, 5, 6, rk3588::UpsampleTask{2, 3, 4, 5, {1, 2}, {3, 4}}});
  return p;
}

TEST(ProgramText, ComesBack) {
  for (const Program& program : {Program{}, small_program(), full_program()}) {
    const std::string text = print(program);
    const auto back = parse(text);
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_TRUE(*back == program) << text << "\n became \n" << print(*back);
    EXPECT_EQ(print(*back), text);
  }
  const ir::Graph graph = small_graph();
  const auto commented = parse(print(small_program(), &graph));
  ASSERT_TRUE(commented) << commented.error().text();
  EXPECT_TRUE(*commented == small_program());
}

// Any change of a program changes its text: fields that are not printed cannot come back.
TEST(ProgramText, SaysWhichTableATaskUses) {
  Program a = full_program(), b = a;
  auto& element = std::get<rk3588::ElementTask>(b.tasks[5].task);
  rk3588::LookUpTable other = *element.table;
  element.table = std::make_shared<const rk3588::LookUpTable>(other);
  EXPECT_TRUE(a == b) << "equal tables are one";
  other.lo[0] = 1;
  element.table = std::make_shared<const rk3588::LookUpTable>(other);
  EXPECT_FALSE(a == b);
  EXPECT_NE(print(a), print(b));
}

TEST(ProgramText, IsRefusedWithLineAndColumn) {
  const auto error = [](const std::string& text) {
    const auto program = parse(text);
    return program ? std::string("no error") : program.error().text();
  };
  EXPECT_THAT(error(""), HasSubstr("begins with program"));
  EXPECT_THAT(error("graph \"x\""), HasSubstr("'graph', not with program"));
  const std::string start = "program \"x\"\n";
  EXPECT_THAT(error(start + "stop 0"), AllOf(HasSubstr("no 'stop'"), HasSubstr("line 2")));
  EXPECT_THAT(error(start + "\n# a note\nstep 1"), AllOf(HasSubstr("step 1 where 0"), HasSubstr("line 4")));
  EXPECT_THAT(error(start + "step 0 colour(1)"), HasSubstr("no field 'colour'"));
  EXPECT_THAT(error(start + "step 0 kind(walk)"),
              AllOf(HasSubstr("'walk' is none of cpu, upload"), HasSubstr("in field kind")));
  EXPECT_THAT(error(start + "step 0 op(99999999999)"), HasSubstr("out of range"));
  EXPECT_THAT(error(start + "step 0 after(1; 2)"), HasSubstr("column 15"));
  EXPECT_THAT(error(start + "step 0 }"), HasSubstr("end of the line"));
  EXPECT_THAT(error(start + "task 0 element{table(0)}"), HasSubstr("table 0 of 0"));
  EXPECT_THAT(error(start + "task 0 element{width(1)"), HasSubstr("expected }"));
  EXPECT_THAT(error(start + "  region h(1)"), HasSubstr("no lines 'region'"));
  EXPECT_THAT(error(start + "proof 0"), HasSubstr("a proof of operator 0, there are 0"));
  EXPECT_THAT(error(start + "tensor 0 layout{slots(x)}"), HasSubstr("expected a number"));
}

}  // namespace
}  // namespace peraxis::program
