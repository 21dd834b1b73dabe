#include "plan/partition.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>

#include "lower/cube_layout.hpp"
#include "plan/min_cut.hpp"

namespace peraxis::plan {
namespace {

constexpr int64_t kMostSteps = 50'000'000;  // about a second; a network of 300 operators takes some 10,000

int64_t picoseconds(double ms) {
  return static_cast<int64_t>(std::llround(std::clamp(ms, 0.0, 1e6) * 1e9));
}

// Who makes each tensor and which live operators read it.
struct Links {
  std::vector<bool> dead;                    // by operator
  std::vector<int32_t> maker;                // by tensor: operator, -1 for inputs
  std::vector<std::vector<size_t>> readers;  // by tensor: operators
  std::vector<bool> is_output;               // by tensor

  explicit Links(const ir::Graph& graph)
      : dead(ir::dead_operators(graph)),
        maker(graph.tensors.size(), -1),
        readers(graph.tensors.size()),
        is_output(graph.tensors.size()) {
    for (size_t op = 0; op < graph.ops.size(); ++op) {
      for (const int32_t t : graph.ops[op].outputs) maker[static_cast<size_t>(t)] = static_cast<int32_t>(op);
      if (dead[op]) continue;
      for (const int32_t t : graph.ops[op].inputs)
        if (t != ir::kAbsent && !graph.tensor(t).is_constant) readers[static_cast<size_t>(t)].push_back(op);
    }
    for (const int32_t t : graph.outputs)
      if (!graph.tensor(t).is_constant) is_output[static_cast<size_t>(t)] = true;
    for (const ir::KeptState& state : graph.states) is_output[static_cast<size_t>(state.after)] = true;
  }
};

// The source's side of the cut is the NPU.
class Partition {
 public:
  Partition(const ir::Graph& graph, const std::vector<SideCosts>& operators,
            const rk3588::CostConstants& constants)
      : graph_(graph), operators_(operators), constants_(constants), links_(graph) {
    nodes_.reserve(graph.ops.size());
    for (size_t op = 0; op < graph.ops.size(); ++op) nodes_.push_back(cut_.add_node());
    job_ = cut_.add_node();
    cut_.add_edge(job_, MinCut::kSink, picoseconds(wait_cost(constants).host_ms));
  }

  std::optional<std::vector<bool>> solve() {
    for (size_t op = 0; op < operators_.size(); ++op) {
      add_operator(op);
      add_wait(op);
    }
    for (size_t t = 0; t < graph_.tensors.size(); ++t) add_tensor(t);
    const auto sides = cut_.solve(kMostSteps);
    if (!sides) return std::nullopt;
    std::vector<bool> out;
    for (const int32_t node : nodes_) out.push_back((*sides)[static_cast<size_t>(node)]);
    return out;
  }

 private:
  void add_operator(size_t op) {
    const SideCosts& costs = operators_[op];
    if (costs.side != Side::Npu)
      cut_.add_edge(nodes_[op], MinCut::kSink,
                    costs.side == Side::Cpu ? MinCut::kInfinite : picoseconds(costs.npu_ms));
    if (costs.side != Side::Cpu) {
      cut_.add_edge(nodes_[op], job_, MinCut::kInfinite);
      cut_.add_edge(MinCut::kSource, nodes_[op],
                    costs.side == Side::Npu ? MinCut::kInfinite : picoseconds(costs.cpu_ms));
    }
    if (costs.with < 0) return;
    cut_.add_edge(nodes_[op], nodes_[static_cast<size_t>(costs.with)], MinCut::kInfinite);
    cut_.add_edge(nodes_[static_cast<size_t>(costs.with)], nodes_[op], MinCut::kInfinite);
  }

  // What is paid once, however many readers are on the other side, is paid by a node that any of them draws
  // to its side.
  void add_wait(size_t op) {
    const int32_t wait = cut_.add_node();
    cut_.add_edge(wait, nodes_[op], picoseconds(wait_cost(constants_).host_ms));
    for (const int32_t t : graph_.ops[op].outputs)
      for (const size_t reader : links_.readers[static_cast<size_t>(t)])
        cut_.add_edge(nodes_[reader], wait, MinCut::kInfinite);
  }

  void add_tensor(size_t t) {
    const int64_t conversion = picoseconds(conversion_cost(graph_.tensors[t], constants_).host_ms);
    const int32_t made_by = links_.maker[t];
    const int32_t maker = made_by >= 0 ? nodes_[static_cast<size_t>(made_by)] : MinCut::kSink;
    if (links_.readers[t].empty() && !links_.is_output[t]) return;
    const int32_t up = cut_.add_node();
    cut_.add_edge(up, maker, conversion);
    for (const size_t reader : links_.readers[t]) cut_.add_edge(nodes_[reader], up, MinCut::kInfinite);
    if (made_by < 0) return;
    const int32_t down = cut_.add_node();
    cut_.add_edge(maker, down, conversion);
    for (const size_t reader : links_.readers[t]) cut_.add_edge(down, nodes_[reader], MinCut::kInfinite);
    if (links_.is_output[t]) cut_.add_edge(down, MinCut::kSink, MinCut::kInfinite);
  }

  const ir::Graph& graph_;
  const std::vector<SideCosts>& operators_;
  const rk3588::CostConstants& constants_;
  const Links links_;
  MinCut cut_;
  std::vector<int32_t> nodes_;  // by operator
  int32_t job_ = 0;             // what any operator on the NPU starts
};

// On the NPU where all data are there.
std::vector<bool> follow_data(const ir::Graph& graph, const std::vector<SideCosts>& operators) {
  std::vector<bool> on_npu(graph.ops.size()), made_there(graph.tensors.size());
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    const bool fed = std::ranges::all_of(graph.ops[op].inputs, [&](int32_t t) {
      return t == ir::kAbsent || graph.tensor(t).is_constant || made_there[static_cast<size_t>(t)];
    });
    on_npu[op] = operators[op].side == Side::Npu || (operators[op].side == Side::Either && fed);
    if (on_npu[op])
      for (const int32_t t : graph.ops[op].outputs) made_there[static_cast<size_t>(t)] = true;
  }
  return on_npu;
}

}  // namespace

Cost conversion_cost(const ir::Tensor& tensor, const rk3588::CostConstants& constants) {
  Cost cost;
  cost.host_values = tensor.elements();
  // Of few channels the slots of a cube count.
  if (tensor.shape.size() <= 4) {
    const ir::Nhwc map = ir::nhwc(tensor);
    cost.host_values = map.n * map.h * map.w * lower::plain_layout(map.c).slots;
  }
  cost.host_ms = static_cast<double>(cost.host_values) * constants.host_copy_ns * 1e-6;
  return cost;
}

Cost wait_cost(const rk3588::CostConstants& constants) {
  Cost cost;
  cost.host_ms = constants.host_step_us * 1e-3;
  return cost;
}

Cost crossing_cost(const ir::Graph& graph, const std::vector<bool>& on_npu,
                   const rk3588::CostConstants& constants) {
  const Links links(graph);
  const auto read_on = [&](bool npu, int32_t t) {
    return std::ranges::any_of(links.readers[static_cast<size_t>(t)],
                               [&](size_t reader) { return on_npu[reader] == npu; });
  };
  Cost cost;
  if (std::ranges::count(on_npu, true) > 0) cost.add(wait_cost(constants));  // for the first job
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const int32_t maker = links.maker[t];
    const bool made_there = maker >= 0 && on_npu[static_cast<size_t>(maker)];
    if (read_on(!made_there, static_cast<int32_t>(t)) || (made_there && links.is_output[t]))
      cost.add(conversion_cost(graph.tensors[t], constants));
  }
  for (size_t op = 0; op < graph.ops.size(); ++op)
    if (!on_npu[op] &&
        std::ranges::any_of(graph.ops[op].outputs, [&](int32_t t) { return read_on(true, t); }))
      cost.add(wait_cost(constants));
  return cost;
}

std::vector<bool> cheapest_partition(const ir::Graph& graph, const std::vector<SideCosts>& operators,
                                     const rk3588::CostConstants& constants) {
  auto best = Partition(graph, operators, constants).solve();
  return best ? *std::move(best) : follow_data(graph, operators);
}

std::vector<size_t> execution_order(const ir::Graph& graph, const std::vector<bool>& on_npu) {
  const size_t count = graph.ops.size();
  std::vector<int32_t> maker(graph.tensors.size(), -1);
  std::vector<std::vector<size_t>> followers(count);
  std::vector<size_t> open(count);  // operators still to run before
  for (size_t op = 0; op < count; ++op) {
    for (const int32_t t : graph.ops[op].inputs) {
      if (t == ir::kAbsent || maker[static_cast<size_t>(t)] < 0) continue;
      followers[static_cast<size_t>(maker[static_cast<size_t>(t)])].push_back(op);
      ++open[op];
    }
    for (const int32_t t : graph.ops[op].outputs) maker[static_cast<size_t>(t)] = static_cast<int32_t>(op);
  }
  std::vector<bool> awaited(count);  // something on the NPU comes after it
  for (size_t op = count; op-- > 0;)
    awaited[op] = std::ranges::any_of(followers[op], [&](size_t f) { return on_npu[f] || awaited[f]; });
  // Each side runs until nothing of it is left that is ready, the host first: no order has fewer jobs. What
  // nothing waits for comes at the end.
  enum : size_t { kHost, kNpu, kLast };
  std::array<std::set<size_t>, 3> ready;
  const auto add = [&](size_t op) { ready[on_npu[op] ? kNpu : awaited[op] ? kHost : kLast].insert(op); };
  for (size_t op = 0; op < count; ++op)
    if (open[op] == 0) add(op);
  std::vector<size_t> order;
  size_t side = kHost;
  while (order.size() < count) {
    const size_t other = side == kHost ? kNpu : kHost;
    if (ready[side].empty() && !ready[other].empty()) side = other;
    std::set<size_t>& from = ready[side].empty() ? ready[kLast] : ready[side];
    if (from.empty()) break;  // a graph that reads before it writes: not verified
    const size_t op = *from.begin();
    from.erase(from.begin());
    order.push_back(op);
    for (const size_t f : followers[op])
      if (--open[f] == 0) add(f);
  }
  return order;
}

}  // namespace peraxis::plan
