// A model of one convolution-like operator, a CPU operator and a copy, and the program that a planner could
// have made of it: small enough to be written by hand, with one step of every kind that reads or writes
// device memory.
#pragma once

#include "program/edges.hpp"
#include "program/program.hpp"

namespace peraxis::program {

inline ir::Tensor small_tensor(const char* name) {
  ir::Tensor t;
  t.name = name;
  t.type = ir::DataType::Int8;
  t.shape = {1, 1, 2, 16};
  t.quant.scale = {0.5F};
  t.quant.zero_point = {0};
  return t;
}

// relu(0) -> 1 on the NPU; relu(1) -> 2 on the CPU, on cubes; relu(1) -> 3 on the NPU.
inline ir::Graph small_graph() {
  ir::Graph graph;
  graph.name = "small \"model\"\n";
  for (const char* name : {"in", "a", "b", "c"}) graph.tensors.push_back(small_tensor(name));
  const auto relu = [&](int32_t from, int32_t to) {
    ir::Op op;
    op.kind = ir::OpKind::Relu;
    op.inputs = {from};
    op.outputs = {to};
    graph.ops.push_back(op);
  };
  relu(0, 1);
  relu(1, 2);
  relu(1, 3);
  graph.inputs = {0};
  graph.outputs = {2, 3};
  return graph;
}

inline Task small_task(int32_t op, int32_t from, int32_t to) {
  rk3588::ElementTask t;
  t.width = 2;
  t.height = 1;
  t.channels = 16;
  t.in_plane = t.out_plane = 2;
  t.input = {from, 0};
  t.output = {to, 0};
  t.relu = true;
  return {op, TaskKind::Element, 0, 1, 16, 16, 0, t};
}

// Allocations: 0 a constant, 1..3 those of tensors 0, 1, 3. All but the edges.
inline Program small_program() {
  Program p;
  p.model = "small \"model\"\n";
  p.operators.resize(3);
  p.operators[0].variant = p.operators[2].variant = Variant::Tasks;
  p.operators[0].cost = {1, 0, 96, 0, 0.1, 0};
  p.operators[1].variant = Variant::Cpu;
  p.operators[1].reason = "a test wants it";
  p.order = {0, 1, 2};
  p.allocations = {{true, 0, 64, -1, -1, 0x123456789abcdef0},
                   {false, 0, 32, 0, 0, 0},
                   {false, 64, 32, 0, 2, 0},
                   {false, 0, 32, 2, 3, 0}};
  p.activation_bytes = 96;
  p.largest_live_bytes = 64;
  const auto tensor = [&](int32_t of, int32_t allocation, int32_t first, int32_t last) {
    DeviceTensor t;
    t.tensor = of;
    t.address = {allocation, 0};
    t.map = {1, 2, 16};
    t.layout = plain_layout(16);
    t.slots = 16;
    t.first = first;
    t.last = last;
    p.tensors.push_back(t);
  };
  tensor(0, 1, 0, 0);
  tensor(1, 2, 0, 2);
  tensor(3, 3, 2, 3);
  p.tasks = {small_task(0, 1, 2), small_task(2, 2, 3)};
  const auto step = [&](StepKind kind, int32_t of) -> Step& {
    Step& s = p.steps.emplace_back();
    s.kind = kind;
    (kind == StepKind::Cpu ? s.op : s.tensor) = of;
    return s;
  };
  Step& upload = step(StepKind::Upload, 0);
  upload.writes = {0};
  upload.host_reads = {0};
  Step& first = step(StepKind::Job, -1);
  first.task_count = 1;
  first.completes = {{1, 0}};
  Step& cpu = step(StepKind::Cpu, 1);
  cpu.inputs = {1};
  cpu.outputs = {-1};
  cpu.reads = {1};
  cpu.host_writes = {2};
  Step& second = step(StepKind::Job, -1);
  second.first_task = second.task_count = 1;
  second.completes = {{2, 1}};
  Step& download = step(StepKind::Download, 2);
  download.reads = {2};
  download.host_writes = {3};
  note_operands({{{0}, {1}}, {}, {{1}, {2}}}, p);
  return p;
}

}  // namespace peraxis::program
