// Executables that verify() accepts, with every kind of part in them and numbers all over their ranges.
#pragma once

#include <algorithm>
#include <vector>

#include "base/rng.hpp"
#include "exe/executable.hpp"
#include "exe/names.hpp"

namespace peraxis::exe {

class RandomExecutable {
 public:
  explicit RandomExecutable(uint64_t seed) : rng_(seed) {}

  Executable make() {
    Executable e;
    e.compiler = "peraxis " + text(8);
    e.model = text(20);
    e.model_hash = rng_.next();
    e.target = one_of(target_names());
    e.accuracy = one_of(accuracy_names());
    e.reference = one_of(reference_names());
    e.strategy = one_of(requested_names());
    e.graph = text(400);
    for (int32_t t = 0, n = below(4); t < n; ++t) e.constants.push_back({2 * t, data(pick(0, 60))});
    const int64_t words = pick(0, 60);
    e.buffers.push_back({"commands", BufferKind::Commands, 8 * words, data(8 * words)});
    const int64_t weights = 16 * pick(1, 60);
    e.buffers.push_back({"weights", BufferKind::Constants, weights, data(weights)});
    e.buffers.push_back({"activations", BufferKind::Activations, pick(40000, 1000000), {}});
    std::rotate(e.buffers.begin(), e.buffers.begin() + below(3), e.buffers.end());
    for (size_t i = 0; i < 3; ++i)
      if (e.buffers[i].kind == BufferKind::Activations) activations_ = static_cast<int32_t>(i);

    for (int64_t word = below(4); word < words; word += pick(1, 9)) {
      const int32_t buffer = below(3);
      e.relocations.push_back({word, buffer, pick(0, e.buffers[static_cast<size_t>(buffer)].size)});
    }
    for (int64_t word = below(4); word + 4 <= words;) {
      const auto count = static_cast<int32_t>(pick(4, std::min<int64_t>(words - word, 20)));
      e.tasks.push_back({word, count, below(9), static_cast<TaskKind>(below(3)), below(100), below(100),
                         below(2000), below(2000), below(5)});
      word += count + below(3);
    }
    const int64_t h = pick(1, 9), w = pick(1, 9);
    for (int32_t n = below(4); n >= 0; --n) e.placements.push_back(placement(h, w));
    for (size_t p = 0; p < e.placements.size(); ++p) add_steps(e, static_cast<int32_t>(p));
    if (rng_.one_in(3)) add_packed(e, h, w);
    if (rng_.one_in(2)) add_edges(e);
    add_records(e);
    return e;
  }

 private:
  std::string one_of(Names names) {
    return std::string(names[static_cast<size_t>(below(static_cast<int32_t>(names.size())))]);
  }
  // Of operators and layers, some with the reason of others: the same string, or only an equal one.
  void add_records(Executable& e) {
    std::vector<base::SharedText> reasons = {"", text(50), text(50)};
    reasons.emplace_back(reasons[1].str());
    const auto reason = [&] { return reasons[static_cast<size_t>(below(4))]; };
    for (int32_t op = 0, n = below(9); op < n; ++op) {
      const bool npu = rng_.one_in(2);
      if (rng_.one_in(2))
        e.operators.push_back({op, npu ? "npu" : "cpu", reason()});
      else
        e.layers.push_back({op, npu ? "npu" : "cpu", npu ? one_of(strategy_names()) : "", reason(), below(9),
                            pick(0, INT64_MAX), rng_.one_in(2), certificate()});
    }
  }
  int64_t pick(int64_t low, int64_t high) { return rng_.uniform(low, high); }
  int32_t below(int32_t n) { return static_cast<int32_t>(rng_.uniform(0, n - 1)); }
  std::vector<ChannelCertificate> certificate() {
    std::vector<ChannelCertificate> out(static_cast<size_t>(below(4)));
    for (ChannelCertificate& c : out) {
      c.acc_min = pick(-1000000, 0);
      c.acc_max = pick(0, 1000000);
      c.differing = rng_.one_in(2) ? 0 : pick(1, c.acc_max - c.acc_min + 1);
      c.max = c.differing == 0 ? 0 : static_cast<int32_t>(pick(1, 255));
    }
    return out;
  }
  std::vector<uint8_t> data(int64_t size) {
    std::vector<uint8_t> out(static_cast<size_t>(size));
    for (uint8_t& byte : out) byte = static_cast<uint8_t>(below(256));
    return out;
  }
  std::string text(int64_t longest) {
    std::string out;
    for (int64_t n = pick(0, longest); n > 0; --n) out += static_cast<char>(below(256));
    return out;
  }
  Cube cube(int64_t h, int64_t w, int32_t element_bytes) {
    return {activations_, 4 * pick(0, 1000), h, w, 16 / element_bytes * pick(1, 5), element_bytes};
  }
  Placement placement(int64_t h, int64_t w) {
    const Cube c = cube(h, w, 1);
    return {below(50), c, pick(1, c.channels), rng_.one_in(2), below(256) - 128, {}, 0};
  }
  HostStep host_step(const Placement& p, int32_t element_bytes) {
    HostStep out;
    out.op = below(9);
    for (int32_t n = below(3); n >= 0; --n) out.regions.push_back(cube(p.cube.h, p.cube.w, element_bytes));
    for (int64_t c = 0; c < p.c; ++c) {
      const auto region = below(static_cast<int32_t>(out.regions.size()));
      const auto slots = static_cast<int32_t>(out.regions[static_cast<size_t>(region)].channels);
      out.channels.push_back({region, below(slots), pick(-1000000, 1000000), below(slots + 1) - 1,
                              below(255) - 127, static_cast<int32_t>(pick(0, INT32_MAX)), below(63) - 31,
                              rng_.uniform_real(0, 2)});
    }
    out.rounding = static_cast<Rounding>(below(3));
    out.zero_point = below(256) - 128;
    out.low = -below(129);
    out.high = below(128);
    return out;
  }
  // Uploaded and downloaded, but the result of no host step.
  void add_packed(Executable& e, int64_t h, int64_t w) {
    Placement p = placement(h, w);
    p.c = p.cube.channels = pick(1, kMaxPackedChannels);
    p.pitch = w + below(20);
    e.steps.push_back({rng_.one_in(2) ? StepKind::Upload : StepKind::Download, -1,
                       static_cast<int32_t>(e.placements.size())});
    e.placements.push_back(std::move(p));
  }
  void add_steps(Executable& e, int32_t p) {
    e.steps.push_back({StepKind::Cpu, below(9)});
    if (rng_.one_in(2)) add_operands(e, p);
    e.steps.push_back({rng_.one_in(2) ? StepKind::Upload : StepKind::Download, -1, p});
    if (!e.tasks.empty()) {
      const auto first = below(static_cast<int32_t>(e.tasks.size()));
      const auto count = static_cast<int32_t>(pick(1, static_cast<int64_t>(e.tasks.size()) - first));
      e.steps.push_back({StepKind::Job, -1, -1, first, count});
    }
    for (const StepKind kind : {StepKind::Gather, StepKind::Requantize, StepKind::Correct}) {
      if (rng_.one_in(2)) continue;
      const auto index = static_cast<int32_t>(e.host_steps.size());
      e.host_steps.push_back(
          host_step(e.placements[static_cast<size_t>(p)], kind == StepKind::Requantize ? 4 : 1));
      e.steps.push_back({kind, below(9), p, 0, 0, index});
    }
  }

  void add_edges(Executable& e) {
    std::vector<bool> complete(e.placements.size(), false);
    const auto some = [&](size_t of) {
      std::vector<int32_t> out;
      for (size_t i = 0; i < of; ++i)
        if (rng_.one_in(4)) out.push_back(static_cast<int32_t>(i));
      return out;
    };
    for (size_t i = 0; i < e.steps.size(); ++i) {
      Step& step = e.steps[i];
      step.edges = {some(i), some(e.placements.size()), some(e.placements.size()), {}, some(9)};
      for (const int32_t p : some(e.placements.size())) {
        if (complete[static_cast<size_t>(p)]) continue;
        complete[static_cast<size_t>(p)] = true;
        const bool job = step.kind == StepKind::Job;
        step.edges.completes.push_back({p, job ? step.first_task + step.task_count - 1 : -1});
      }
    }
  }

  // Inputs at any cube, one output where no input is.
  void add_operands(Executable& e, int32_t p) {
    Step& step = e.steps.back();
    const auto end = [](const Cube& c) { return c.offset + c.h * c.w * c.channels; };
    const Cube& written = e.placements[static_cast<size_t>(p)].cube;
    for (int32_t n = below(4); n > 0; --n) {
      const int32_t input = below(static_cast<int32_t>(e.placements.size()) + 1) - 1;
      step.inputs.push_back(input);
      if (input < 0) continue;
      if (e.placements[static_cast<size_t>(input)].packed()) step.inputs.back() = -1;
      const Cube& read = e.placements[static_cast<size_t>(input)].cube;
      if (written.offset < end(read) && read.offset < end(written)) step.inputs.back() = -1;
    }
    step.outputs = {-1, p};
  }

  base::Rng rng_;
  int32_t activations_ = 0;
};

}  // namespace peraxis::exe
