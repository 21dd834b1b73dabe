// Every rule of a program is broken once, and its edges: who waits for whom, and who need not.
#include "program/verify.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "small_program.hpp"

namespace peraxis::program {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Program right() {
  Program p = small_program();
  draw_edges(small_graph(), p);
  return p;
}

TEST(ProgramEdges, StepsWaitForWhatTheyNeedAlone) {
  const Program p = right();
  EXPECT_THAT(p.steps[0].after, IsEmpty());
  EXPECT_THAT(p.steps[1].after, ElementsAre(0));
  // The operator of the CPU and the second job both read what the first made.
  EXPECT_THAT(p.steps[2].after, ElementsAre(1));
  EXPECT_THAT(p.steps[3].after, ElementsAre(1))
      << "its output lies where the input was, which the first job has read";
  EXPECT_THAT(p.steps[4].after, ElementsAre(3));
  EXPECT_THAT(p.steps[1].reads, ElementsAre(0));
  EXPECT_THAT(p.steps[1].writes, ElementsAre(1));
  EXPECT_THAT(p.steps[0].frees, ElementsAre(0));
  EXPECT_THAT(p.steps[2].frees, IsEmpty()) << "an output of the model";
}

TEST(ProgramEdges, MemoryThatIsUsedAgainMakesStepsWait) {
  Program p = small_program();
  p.allocations[3].offset = 64;  // where the CPU operator reads
  draw_edges(small_graph(), p);
  EXPECT_THAT(p.steps[3].after, ElementsAre(2));
}

TEST(ProgramEdges, HostArraysMakeStepsWait) {
  Program p = small_program();
  p.steps[2].host_reads = {0};
  p.steps[2].inputs.clear();
  p.steps[2].outputs.clear();
  p.steps[2].host_writes = {3, 2};
  draw_edges(small_graph(), p);
  EXPECT_THAT(p.steps[2].after, IsEmpty()) << "two readers do not wait for each other";
  EXPECT_THAT(p.steps[4].after, ElementsAre(2, 3)) << "two writers do";
  EXPECT_THAT(p.steps[2].frees, ElementsAre(0)) << "the last reader";
}

struct Breach {
  const char* name;
  void (*make)(Program&);
  const char* says;
};

const Breach kBreaches[] = {
    {"Operators", [](Program& p) { p.operators.pop_back(); }, "it has 2 operators"},
    {"By", [](Program& p) { p.operators[1].by = 0; }, "variant"},
    {"ByWhom", [](Program& p) { p.operators[1] = {Variant::Part, 9, {}, {}, {}, {}}; }, "is done by 9"},
    {"ByTasks", [](Program& p) { p.operators[1] = {Variant::Sum, 0, {}, {}, {}, {}}; }, "whose tasks cannot"},
    {"OrderLength", [](Program& p) { p.order.pop_back(); }, "the order has 2"},
    {"OrderTwice", [](Program& p) { p.order[2] = 0; }, "which is none or was there"},
    {"OrderReads", [](Program& p) { p.order = {1, 0, 2}; }, "operator 1 comes before operator 0"},
    {"Offset", [](Program& p) { p.allocations[1].offset = 8; }, "allocation 1 has 32 bytes at 8"},
    {"Life", [](Program& p) { p.allocations[1].last = 9; }, "from place 0 to 9"},
    {"Arena", [](Program& p) { p.activation_bytes = 95; }, "allocation 2 ends at 96"},
    {"Shared", [](Program& p) { p.allocations[1].last = 2; }, "allocations 1 and 3 share byte 0"},
    {"TensorOf", [](Program& p) { p.tensors[0].tensor = 4; }, "it is of tensor 4"},
    {"Owner", [](Program& p) { p.tensors[0].owner = 4; }, "its owner is tensor 4"},
    {"Map", [](Program& p) { p.tensors[0].map.h = 0; }, "its map is 0x2x16"},
    {"Pitch", [](Program& p) { p.tensors[0].pitch = 1; }, "1 pixels apart and 2 wide"},
    {"Slots", [](Program& p) { p.tensors[0].slots = 17; }, "in 16 slots of 17"},
    {"LayoutSlots", [](Program& p) { p.tensors[0].layout.slots = 32; }, "in 32 slots of 16"},
    {"Channels", [](Program& p) { p.tensors[0].map.c = 17; }, "17 channels in 16 slots"},
    {"SlotsSaid", [](Program& p) { p.tensors[0].layout.slot_of = {1}; }, "slots of 1 channels"},
    {"SlotRange", [](Program& p) { p.tensors[0].map.c = 1, p.tensors[0].layout.slot_of = {16}; },
     "slot 16 of 16"},
    {"SlotTwice", [](Program& p) { p.tensors[0].map.c = 2, p.tensors[0].layout.slot_of = {3, 3}; },
     "lie in slot 3"},
    {"TensorBytes", [](Program& p) { p.tensors[0].address.offset = 16; }, "bytes 16 to 48 of allocation 1"},
    {"TensorConstant", [](Program& p) { p.tensors[0].address.allocation = 0; }, "a constant"},
    {"TensorAllocation", [](Program& p) { p.tensors[0].address.allocation = 4; }, "allocation 4 of 4"},
    {"TensorLife", [](Program& p) { p.tensors[0].last = 1; }, "its allocation from 0 to 0"},
    {"TaskOp", [](Program& p) { p.tasks[0].op = 1; }, "operator 1, which has no tasks"},
    {"TaskReach", [](Program& p) { std::get<rk3588::ElementTask>(p.tasks[0].task).height = 2; },
     "bytes 0 to 64"},
    {"TaskWrites", [](Program& p) { std::get<rk3588::ElementTask>(p.tasks[0].task).output = {0, 0}; },
     "writes allocation 0"},
    {"Jobs", [](Program& p) { p.steps[3].task_count = 2; }, "2 tasks from 1 on"},
    {"JobsAll", [](Program& p) { p.tasks.push_back(p.tasks[1]); }, "the jobs hold 2 tasks"},
    {"CpuOp", [](Program& p) { p.steps[2].op = 0; }, "not one of the CPU"},
    {"CpuOperands", [](Program& p) { p.steps[2].inputs = {1, 1}; }, "it has 2 and 1 operands"},
    {"CpuTensor", [](Program& p) { p.steps[2].inputs = {3}; }, "device tensor 3 of 3"},
    {"StepTensor", [](Program& p) { p.steps[0].tensor = -1; }, "device tensor -1"},
    {"HostWork", [](Program& p) { p.steps[4].kind = StepKind::Gather; }, "host work -1"},
    {"HostWorkOp", [](Program& p) { p.host_works.emplace_back().op = 1; }, "no convolution of the NPU"},
    {"Rising", [](Program& p) { p.steps[1].reads = {0, 0}; }, "not in rising order"},
    {"After", [](Program& p) { p.steps[2].after = {2}; }, "not an earlier one"},
    {"Hazard", [](Program& p) { p.steps[3].after = {0}; }, "step 3 uses what step 1 uses"},
    {"HazardOfMemory",
     [](Program& p) { p.allocations[3].offset = 64, p.allocations[2].last = p.tensors[1].last = 1; },
     "step 3 uses what step 2 uses"},
    {"CompletedTwice", [](Program& p) { p.steps[3].completes.push_back({1, 1}); },
     "completed twice, by steps 1 and 3"},
    {"CompletedByTask", [](Program& p) { p.steps[3].completes[0].task = 0; }, "by task 0, which it has not"},
    {"CompletedLate",
     [](Program& p) { p.steps[1].completes.clear(), p.steps[3].completes.push_back({1, 1}); },
     "step 2 reads device tensor 1, which step 3 completes"},
    {"Unwritten", [](Program& p) { p.steps[0].writes.clear(); },
     "step 1 reads device tensor 0, which nothing has written"},
    {"FreedEarly", [](Program& p) { p.steps[2].frees = {2}; }, "output 2 of the model is no host array"},
    {"FreedTwice", [](Program& p) { p.steps[1].frees = {0}; }, "step 1 frees host array 0"},
    {"HostRead", [](Program& p) { p.steps[0].host_reads = {1}; }, "step 0 reads host array 1"},
    {"Constants", [](Program& p) { p.host_constants = {0}; }, "constant 0, which the graph does not have"},
};

TEST(ProgramVerifier, TakesWhatIsRight) {
  const auto ok = verify(small_graph(), right());
  EXPECT_TRUE(ok) << ok.error().text();
}

class ProgramBreach : public testing::TestWithParam<Breach> {};

TEST_P(ProgramBreach, IsNamed) {
  Program p = right();
  GetParam().make(p);
  const auto found = verify(small_graph(), p);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().text(), HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(Rules, ProgramBreach, testing::ValuesIn(kBreaches),
                         [](const auto& breach) { return std::string(breach.param.name); });

}  // namespace
}  // namespace peraxis::program
