// See random_tangles.hpp.
#include "random_tangles.hpp"

#include <optional>
#include <set>

#include "graph_builder.hpp"

namespace peraxis::property {
namespace {

constexpr int32_t kMostChannels = 160;
constexpr int64_t kMostPixels = 120;

class Tangle {
 public:
  explicit Tangle(Builder& b) : b_(b) {}

  int32_t any() {
    return maps_[static_cast<size_t>(b_.rng().uniform(0, static_cast<int64_t>(maps_.size()) - 1))];
  }
  // One of the last three, so that graphs also grow deep.
  int32_t recent() {
    const auto count = static_cast<int64_t>(maps_.size());
    return maps_[static_cast<size_t>(b_.rng().uniform(std::max<int64_t>(0, count - 3), count - 1))];
  }
  void keep(int32_t map) { maps_.push_back(map); }
  const std::vector<int32_t>& maps() const { return maps_; }

  int32_t like(int32_t map, std::vector<int32_t> shape) {
    const ir::QuantParams quant = b_.graph().tensor(map).quant;
    return b_.add_tensor(std::move(shape), quant.scale[0], quant.zero_point[0]);
  }

  int32_t convolution(int32_t from, int32_t outputs) {
    Layer l;
    l.kind = b_.rng().one_in(4) ? ir::OpKind::DepthwiseConv2D : ir::OpKind::Conv2D;
    l.outputs = l.kind == ir::OpKind::DepthwiseConv2D ? b_.shape(from)[3] : outputs;
    random_quantization(b_, l);
    l.bias = true;
    l.gain = std::min(l.gain, 1.0);
    l.kernel_h = b_.pick({1, 1, 3});
    l.kernel_w = b_.pick({1, 3});
    l.attributes.pads.rule = ir::Pads::Rule::Even;
    return b_.layer(from, l);
  }

  // A map of the same shape: one there is, a constant, or a new convolution's.
  int32_t partner(int32_t map) {
    std::vector<int32_t> same;
    for (const int32_t other : maps_)
      if (b_.shape(other) == b_.shape(map)) same.push_back(other);
    if (b_.rng().one_in(6)) return constant_like(map);
    if (!same.empty() && !b_.rng().one_in(3))
      return same[static_cast<size_t>(b_.rng().uniform(0, static_cast<int64_t>(same.size()) - 1))];
    return convolution_of_shape(map);
  }

  int32_t sum(int32_t map) {
    int32_t other = partner(map);
    if (b_.rng().one_in(2)) std::swap(map, other);
    const int32_t out =
        b_.add_tensor(b_.shape(map), static_cast<float>(b_.rng().uniform_real(0.01, 0.3)), b_.zero_point());
    return b_.op(b_.rng().one_in(3) ? ir::OpKind::Sub : ir::OpKind::Add, {map, other}, out,
                 ir::BinaryAttributes{b_.pick({ir::Activation::None, ir::Activation::Relu})});
  }

  // Maps of the same rows and columns behind each other, through a change of scale where it is needed.
  int32_t join(int32_t first) {
    std::vector<int32_t> parts{first};
    int32_t channels = b_.shape(first)[3];
    const int64_t most = b_.rng().uniform(1, 3);
    for (int64_t i = 0; i < most; ++i) {
      int32_t part = b_.rng().one_in(5) ? constant_like(first) : any();
      if (b_.shape(part)[1] != b_.shape(first)[1] || b_.shape(part)[2] != b_.shape(first)[2]) part = first;
      if (channels + b_.shape(part)[3] > kMostChannels) break;
      channels += b_.shape(part)[3];
      parts.push_back(in_scale_of(part, first));
    }
    std::vector<int32_t> shape = b_.shape(first);
    shape[3] = channels;
    return b_.op(ir::OpKind::Concatenation, parts, like(first, shape),
                 ir::ConcatenationAttributes{3, ir::Activation::None});
  }

  int32_t pool(int32_t from) {
    ir::PoolAttributes a;
    a.filter_h = a.filter_w = b_.pick({2, 3});
    a.stride_h = a.stride_w = b_.pick({1, 1, 2});
    std::vector<int32_t> shape = b_.shape(from);
    const ir::Nhwc map{shape[0], shape[1], shape[2], shape[3]};
    a.pads = ir::even_pads(map, a);
    shape[1] = static_cast<int32_t>(ir::pool_axes(map, a).rows.out);
    shape[2] = static_cast<int32_t>(ir::pool_axes(map, a).columns.out);
    return b_.op(ir::OpKind::MaxPool2D, {from}, like(from, shape), a);
  }

  int32_t twofold(int32_t from) {
    std::vector<int32_t> shape = b_.shape(from);
    shape[1] *= 2;
    shape[2] *= 2;
    const int32_t operand = b_.constant({2}, {shape[1], shape[2]});
    return b_.op(ir::OpKind::ResizeNearestNeighbor, {from, operand}, like(from, shape),
                 ir::ResizeAttributes{false, false});
  }

  // A copy that the CPU makes: the device's chain stops for it.
  int32_t copy(int32_t from) {
    const int32_t order = b_.constant({4}, {0, 1, 2, 3});
    return b_.op(ir::OpKind::Transpose, {from, order}, like(from, b_.shape(from)), ir::NoAttributes{});
  }

  void split(int32_t from) {
    std::vector<int32_t> shape = b_.shape(from);
    const int32_t axis = b_.constant({1}, {3});
    shape[3] /= 2;
    const int32_t first = like(from, shape), second = like(from, shape);
    b_.op(ir::OpKind::Split, {axis, from}, first, ir::SplitAttributes{2});
    b_.graph().ops.back().outputs.push_back(second);
    keep(first);
    keep(second);
  }

  void step() {
    const int32_t from = b_.rng().one_in(2) ? recent() : any();
    const std::vector<int32_t> shape = b_.shape(from);
    switch (b_.rng().uniform(0, 9)) {
      case 0:
      case 1:
      case 2:
        return keep(convolution(from, b_.pick({16, 16, 32, 20})));
      case 3:
      case 4:
        return keep(sum(from));
      case 5:
      case 6:
        return keep(join(from));
      case 7:
        if (shape[3] % 2 == 0) return split(from);
        return keep(pool(from));
      case 8:
        if (shape[1] * shape[2] * 4 <= kMostPixels) return keep(twofold(from));
        return keep(pool(from));
      default:
        return keep(b_.rng().one_in(2) ? copy(from) : pool(from));
    }
  }

 private:
  int32_t constant_like(int32_t map) {
    const int32_t made = like(map, b_.shape(map));
    ir::Tensor& tensor = b_.graph().tensors[static_cast<size_t>(made)];
    tensor.is_constant = true;
    tensor.data = b_.random_bytes(tensor.elements(), false);
    return made;
  }
  int32_t convolution_of_shape(int32_t map) {
    Layer l;
    l.outputs = b_.shape(map)[3];
    random_quantization(b_, l);
    l.bias = true;
    l.gain = std::min(l.gain, 1.0);
    l.attributes.pads.rule = ir::Pads::Rule::Even;
    return b_.layer(map, l);
  }
  int32_t in_scale_of(int32_t map, int32_t target) {
    if (b_.graph().tensor(map).quant == b_.graph().tensor(target).quant) return map;
    return b_.op(ir::OpKind::Quantize, {map}, like(target, b_.shape(map)), ir::NoAttributes{});
  }

  Builder& b_;
  std::vector<int32_t> maps_;
};

bool is_constant(const ir::Graph& graph, int32_t tensor) {
  return graph.tensor(tensor).is_constant;
}

bool is_map(const ir::Graph& graph, int32_t tensor) {
  const ir::Tensor& t = graph.tensor(tensor);
  return t.shape.size() == 4 && t.type != ir::DataType::Int32;
}

}  // namespace

Case random_tangle(uint64_t seed) {
  base::Rng choice(seed);
  Builder b(choice.next(), choice.one_in(3));
  Case out;
  set_tiles(b, out);
  const auto h = static_cast<int32_t>(b.rng().uniform(2, 6)),
             w = h + static_cast<int32_t>(b.rng().uniform(1, 3));
  Tangle tangle(b);
  const int64_t inputs = b.rng().uniform(1, 2);
  for (int64_t i = 0; i < inputs; ++i) tangle.keep(b.input({1, h, w, b.pick({3, 16, 32})}));
  for (const int32_t input : std::vector<int32_t>(tangle.maps()))
    tangle.keep(tangle.convolution(input, b.pick({16, 32})));
  const int64_t steps = b.rng().uniform(6, 14);
  for (int64_t i = 0; i < steps; ++i) tangle.step();
  // What nothing reads is an output, and sometimes a map that others read too.
  std::set<int32_t> read;
  for (const ir::Op& op : b.graph().ops) read.insert(op.inputs.begin(), op.inputs.end());
  for (const int32_t map : tangle.maps())
    if (!read.contains(map) || b.rng().one_in(8)) b.graph().outputs.push_back(map);
  return finish(b, seed, std::move(out));
}

void Knots::add(const Knots& other) {
  residuals += other.residuals;
  diamonds += other.diamonds;
  joins_of_joins += other.joins_of_joins;
  doubled += other.doubled;
  shared_inputs += other.shared_inputs;
  shared_maps += other.shared_maps;
  read_outputs += other.read_outputs;
  constant_operands += other.constant_operands;
  chains += other.chains;
}

Knots knots(const ir::Graph& graph) {
  Knots out;
  const size_t count = graph.tensors.size();
  std::vector<std::set<int32_t>> made_of(count);  // every map that went into a tensor
  std::vector<int64_t> readers(count), row(count);
  std::vector<bool> joined(count);
  for (const ir::Op& op : graph.ops) {
    std::vector<int32_t> maps;
    for (const int32_t t : op.inputs)
      if (is_map(graph, t) && !is_constant(graph, t)) maps.push_back(t);
    const bool meets =
        op.kind == ir::OpKind::Add || op.kind == ir::OpKind::Sub || op.kind == ir::OpKind::Concatenation;
    for (const int32_t t : op.inputs)
      if (meets && is_constant(graph, t)) ++out.constant_operands;
    for (size_t i = 0; i < maps.size(); ++i) {
      const auto a = static_cast<size_t>(maps[i]);
      ++readers[a];
      if (op.kind == ir::OpKind::Concatenation && joined[a]) ++out.joins_of_joins;
      for (size_t j = i + 1; j < maps.size(); ++j) {
        const auto c = static_cast<size_t>(maps[j]);
        const bool related = made_of[a].contains(maps[j]) || made_of[c].contains(maps[i]);
        const bool common =
            std::ranges::any_of(made_of[a], [&](int32_t t) { return made_of[c].contains(t); });
        if (a == c)
          ++out.doubled;
        else if (related && op.kind != ir::OpKind::Concatenation)
          ++out.residuals;
        else if (!related && common)
          ++out.diamonds;
      }
    }
    for (const int32_t t : op.outputs) {
      const auto index = static_cast<size_t>(t);
      joined[index] = op.kind == ir::OpKind::Concatenation;
      for (const int32_t m : maps) {
        made_of[index].insert(m);
        made_of[index].insert(made_of[static_cast<size_t>(m)].begin(), made_of[static_cast<size_t>(m)].end());
      }
      // How many operators in a row had one map to read and were its only readers so far.
      row[index] = maps.size() == 1 && readers[static_cast<size_t>(maps[0])] == 1
                       ? row[static_cast<size_t>(maps[0])] + 1
                       : 0;
      if (row[index] == 3) ++out.chains;
    }
  }
  for (const int32_t t : graph.inputs) out.shared_inputs += readers[static_cast<size_t>(t)] > 1 ? 1 : 0;
  for (const int32_t t : graph.outputs) out.read_outputs += readers[static_cast<size_t>(t)] > 0 ? 1 : 0;
  for (const ir::Op& op : graph.ops)
    for (const int32_t t : op.outputs) out.shared_maps += readers[static_cast<size_t>(t)] > 2 ? 1 : 0;
  return out;
}

}  // namespace peraxis::property
