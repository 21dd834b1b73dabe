#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "graph_builder.hpp"
#include "runtime/session.hpp"

namespace peraxis::property {

std::string Case::text() const {
  return fmt::format("seed {:#x}, tiles of {} rows, {} channels\n{}", seed, max_tile_rows, max_task_channels,
                     ir::print(graph));
}

compiler::Options Case::options(const std::string& strategy, num::Reference reference) const {
  compiler::Options out;
  out.strategy = strategy;
  out.reference = reference;
  out.prefer_npu = true;  // partition_test.cpp looks at the others
  // Operators are judged one by one; fused_sums_test.cpp judges the pairs.
  out.fused_adds = false;
  out.limits = {max_tile_rows, max_task_channels};
  return out;
}

lower::DeviceForm form_of(const ir::Graph& graph, size_t op, const lower::FormRequest& request) {
  auto form = lower::device_form(graph, op, request);
  EXPECT_TRUE(form) << form.error().text();
  return form ? *std::move(form) : lower::DeviceForm{};
}

plan::Plan plan_of(const Case& test, const compiler::Options& options) {
  const auto planning = compiler::planner_options(options);
  EXPECT_TRUE(planning) << planning.error().text();
  auto plan = plan::make_plan(test.graph, *planning);
  EXPECT_TRUE(plan) << plan.error().text();
  return plan ? *std::move(plan) : plan::Plan{};
}

uint64_t first_seed(uint64_t own) {
  constexpr uint64_t kDefault = 20;
  const char* given = std::getenv("PERAXIS_PROPERTY_SEED");
  return ((given != nullptr ? std::strtoull(given, nullptr, 10) : kDefault) << 32) + own;
}

Case random_layer(uint64_t seed) {
  base::Rng choice(seed);
  Builder b(choice.next(), choice.one_in(3));
  Layer l;
  l.kind = b.pick(
      {ir::OpKind::Conv2D, ir::OpKind::Conv2D, ir::OpKind::DepthwiseConv2D, ir::OpKind::FullyConnected});
  random_quantization(b, l);
  const int32_t depth = channel_count(b);
  l.outputs = channel_count(b);
  Case out;
  set_tiles(b, out);
  if (l.kind == ir::OpKind::FullyConnected) {
    l.keep_num_dims = b.rng().one_in(3);
    const int32_t rows = b.pick({1, 1, 2, 5, 9});
    const int32_t in = b.rng().one_in(3) ? b.input({1, rows, 1, depth}) : b.input({rows, depth});
    b.graph().outputs = {b.layer(in, l)};
    return finish(b, seed, std::move(out));
  }
  auto h = static_cast<int32_t>(b.rng().uniform(1, 12)), w = static_cast<int32_t>(b.rng().uniform(1, 17));
  if (h == w && h > 1) w += 1;
  random_geometry(b, l, h, w);
  // Over one channel every depth multiplier is an ordinary convolution; otherwise one kernel a channel.
  const bool depthwise = l.kind == ir::OpKind::DepthwiseConv2D;
  if (depthwise && depth > 1) l.outputs = depth;
  const int64_t macs_a_pixel = int64_t{l.kernel_h} * l.kernel_w * l.outputs * (depthwise ? 1 : depth);
  while (int64_t{h} * w * macs_a_pixel > kMaxMacs * l.attributes.stride_h * l.attributes.stride_w &&
         h * w > 1) {
    (h > w ? h : w) -= 1;
    if (h == w && h > 1) --w;
  }
  if (l.kernel_h > h || l.kernel_w > w) l.attributes.pads.rule = ir::Pads::Rule::Even;
  const int32_t in = b.input({1, h, w, depth});
  b.graph().outputs = {b.layer(in, l)};
  return finish(b, seed, std::move(out));
}

namespace {

int32_t network_convolution(Builder& b, int32_t from, bool keep_map) {
  const std::vector<int32_t> in = b.shape(from);
  Layer l;
  l.kind = b.rng().one_in(3) ? ir::OpKind::DepthwiseConv2D : ir::OpKind::Conv2D;
  l.outputs = l.kind == ir::OpKind::DepthwiseConv2D && in[3] > 1 ? in[3] : b.pick({5, 16, 17, 33, 65});
  if (keep_map) {
    l.kind = ir::OpKind::Conv2D;
    l.outputs = in[3];
  }
  random_quantization(b, l);
  l.bias = true;
  l.gain = std::min(l.gain, 1.0);
  random_geometry(b, l, in[1], in[2]);
  l.attributes.stride_h = keep_map ? 1 : b.pick({1, 1, 2});
  l.attributes.stride_w = 1;
  if (keep_map) l.attributes.pads.rule = ir::Pads::Rule::Even;
  return b.layer(from, l);
}

int32_t network_pool(Builder& b, int32_t from, bool keep_map) {
  const std::vector<int32_t> in = b.shape(from);
  const ir::QuantParams quant = b.graph().tensor(from).quant;
  ir::PoolAttributes a;
  a.filter_h = b.pick({1, 2, 3});
  a.filter_w = b.pick({2, 3});
  if (!keep_map) a.stride_h = b.pick({1, 2});
  if (!keep_map) a.stride_w = b.pick({1, 2});
  const ir::Nhwc map{in[0], in[1], in[2], in[3]};
  a.pads = ir::even_pads(map, a);
  base::Rng own = b.rng();
  if (!keep_map && own.one_in(2) && in[1] >= a.filter_h && in[2] >= a.filter_w)
    a.pads = random_pads(own, a.filter_h, a.filter_w);
  const auto [rows, columns] = ir::pool_axes(map, a);
  const int32_t out =
      b.add_tensor({1, static_cast<int32_t>(rows.out), static_cast<int32_t>(columns.out), in[3]},
                   quant.scale[0], quant.zero_point[0]);
  return b.op(b.rng().one_in(2) ? ir::OpKind::MaxPool2D : ir::OpKind::AveragePool2D, {from}, out, a);
}

int32_t network_join(Builder& b, int32_t from) {
  const std::vector<int32_t> in = b.shape(from);
  const ir::QuantParams quant = b.graph().tensor(from).quant;
  if (in[3] > 80 || b.rng().one_in(2)) {  // a residual block; no more channels than CBUF takes
    const int32_t other = network_convolution(b, from, true);
    const int32_t out = b.add_tensor(in, static_cast<float>(b.rng().uniform_real(0.01, 0.3)), b.zero_point());
    return b.op(ir::OpKind::Add, {from, other}, out, ir::BinaryAttributes{b.activation()});
  }
  std::vector<int32_t> parts{from, network_pool(b, from, true)};  // int8 parts must share their quantization
  if (b.is_uint8()) parts.push_back(network_convolution(b, from, true));
  std::vector<int32_t> joined = in;
  joined[3] = in[3] * static_cast<int32_t>(parts.size());
  const int32_t out = b.add_tensor(joined, quant.scale[0], quant.zero_point[0]);
  return b.op(ir::OpKind::Concatenation, parts, out, ir::ConcatenationAttributes{3, ir::Activation::None});
}

}  // namespace

Case random_network(uint64_t seed) {
  base::Rng choice(seed);
  Builder b(choice.next(), choice.one_in(3));
  Case out;
  set_tiles(b, out);
  const auto h = static_cast<int32_t>(b.rng().uniform(3, 9));
  int32_t x = b.input({1, h, h + static_cast<int32_t>(b.rng().uniform(1, 5)), b.pick({1, 3, 16, 19})});
  std::vector<int32_t> made;
  const int64_t steps = b.rng().uniform(4, 8);
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t what = i == 0 ? 0 : b.rng().uniform(0, 4);
    x = what <= 2   ? network_convolution(b, x, false)
        : what == 3 ? network_pool(b, x, false)
                    : network_join(b, x);
    made.push_back(x);
  }
  if (b.rng().one_in(2)) {
    Layer l;
    l.kind = ir::OpKind::FullyConnected;
    l.outputs = b.pick({10, 33});
    l.per_axis = b.rng().one_in(2);
    x = b.layer(x, l);
  }
  b.graph().outputs = {x};
  const int32_t early = made[static_cast<size_t>(b.rng().uniform(0, steps - 1))];
  if (b.rng().one_in(2) && early != x) b.graph().outputs.push_back(early);
  return finish(b, seed, std::move(out));
}

Case chain_network(uint64_t seed, bool is_uint8) {
  Builder b(seed, is_uint8);
  b.set_mild();
  int32_t x = b.input({1, 6, 9, 19});
  Layer l;
  l.dead_channels = false;
  l.log2_spread = 2;
  l.outputs = 70;
  l.kernel_h = 3;
  l.kernel_w = 2;
  l.attributes.stride_w = 2;
  x = b.layer(x, l);
  l.kind = ir::OpKind::DepthwiseConv2D;
  l.attributes.stride_w = 1;
  l.gain = 3;  // its input no longer fills the range
  x = b.layer(x, l);
  l.kind = ir::OpKind::Conv2D;
  l.kernel_h = 1;
  l.outputs = 33;
  x = b.layer(x, l);
  l.kind = ir::OpKind::FullyConnected;
  l.kernel_w = 1;
  l.outputs = 12;
  x = b.layer(x, l);
  b.graph().outputs = {x};
  return finish(b, seed, {});
}

namespace {

// What a reader gets from the file.
Result<exe::Executable> through_file(const exe::Executable& executable) {
  const Bytes bytes = PERAXIS_TRY(exe::write(executable));
  exe::Executable read = PERAXIS_TRY(exe::read(bytes));
  if (read != executable) return fail(ErrorCode::Internal, "the file holds another executable");
  return read;
}

}  // namespace

Result<std::vector<Bytes>> run_on_machine(const exe::Executable& executable, const std::vector<Bytes>& inputs,
                                          Activations* seen, machine::Options machine_options,
                                          int64_t occupied, int threads) {
  for (const exe::LayerPlan& layer : executable.layers)
    if (layer.device != "npu")
      return fail(ErrorCode::Internal, "layer {} runs on the {}: {}", layer.op, layer.device,
                  layer.reason.str());
  device::MachineDevice device(machine_options);
  device::Buffer before;
  if (occupied > 0) before = PERAXIS_TRY(device.allocate(occupied, "occupied"));
  runtime::SessionOptions options;
  options.threads = threads;
  if (seen != nullptr)
    options.observer = [seen](int32_t tensor, std::span<const uint8_t> values) {
      (*seen)[tensor].assign(values.begin(), values.end());
    };
  exe::Executable read = PERAXIS_TRY(through_file(executable));
  const auto session = PERAXIS_TRY(runtime::Session::create(std::move(read), device, options));
  const std::vector<std::span<const uint8_t>> views(inputs.begin(), inputs.end());
  return session->run(views);
}

Result<std::vector<Bytes>> run_on_kernels(const Case& test, kernels::Path path, num::Reference reference,
                                          Activations* seen) {
  kernels::Options options;
  options.path = path;
  options.reference = reference;
  kernels::Observer observer;
  if (seen != nullptr)
    observer = [seen](int32_t tensor, kernels::Values values) {
      (*seen)[tensor].assign(values.begin(), values.end());
    };
  const std::vector<kernels::Values> views(test.inputs.begin(), test.inputs.end());
  return kernels::run_graph(test.graph, views, options, observer);
}

Result<Bytes> operator_reference(const Case& test, size_t op, const Activations& seen, size_t output) {
  const ir::Op& o = test.graph.ops[op];
  std::vector<kernels::Values> inputs;
  for (const int32_t t : o.inputs)
    inputs.emplace_back(test.graph.tensor(t).is_constant ? test.graph.tensor(t).data : seen.at(t));
  std::vector<Bytes> made;
  for (const int32_t t : o.outputs) made.emplace_back(static_cast<size_t>(test.graph.tensor(t).bytes()));
  const std::vector<std::span<uint8_t>> outputs(made.begin(), made.end());
  kernels::Options options;
  options.path = kernels::Path::Reference;
  PERAXIS_TRY(kernels::run_op(test.graph, op, inputs, outputs, options));
  return std::move(made[output]);
}

bool may_round(ir::OpKind kind) {
  return ir::is_convolution_like(kind) || kind == ir::OpKind::Add || kind == ir::OpKind::Sub ||
         kind == ir::OpKind::Quantize || kind == ir::OpKind::LeakyRelu || kind == ir::OpKind::Relu;
}

int largest_difference(ir::DataType type, std::span<const uint8_t> a, std::span<const uint8_t> b) {
  if (a.size() != b.size()) return 256;
  int largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const bool is_signed = type == ir::DataType::Int8;
    const int x = is_signed ? static_cast<int8_t>(a[i]) : a[i],
              y = is_signed ? static_cast<int8_t>(b[i]) : b[i];
    largest = std::max(largest, std::abs(x - y));
  }
  return largest;
}

std::string difference_text(std::span<const uint8_t> got, std::span<const uint8_t> want) {
  if (got.size() != want.size()) return fmt::format("{} bytes, expected {}", got.size(), want.size());
  size_t wrong = 0, first = 0;
  for (size_t i = got.size(); i-- > 0;)
    if (got[i] != want[i]) {
      ++wrong;
      first = i;
    }
  if (wrong == 0) return "equal";
  return fmt::format("{} of {} bytes differ, the first at {}: {:#x}, expected {:#x}", wrong, got.size(),
                     first, got[first], want[first]);
}

}  // namespace peraxis::property
