#include "plan/placing.hpp"

#include <algorithm>

#include "ir/operands.hpp"
#include "lower/convolution.hpp"
#include "lower/output_layouts.hpp"
#include "lower/tiling.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::plan {
namespace {

using lower::ChannelOrder;
using lower::Layout;
using rk3588::kAtomBytes;

// A part written in place may take this many slots more than its channels' surfaces: a task less for some
// input channels of zeros.
constexpr int64_t kSlotsForCopy = 16;

// One or more inputs of a concatenation that may be written in place: a tensor, or all parts of one tensor in
// their order.
struct Piece {
  int32_t tensor = -1;
  size_t first_input = 0, inputs = 1;
  int32_t split = -1;  // the operator whose outputs the inputs are
};

class Placer {
 public:
  Placer(const Network& network, Plan& plan)
      : network_(network),
        graph_(network.graph),
        plan_(plan),
        placing_(plan.placing),
        layer_of_(graph_.ops.size(), nullptr),
        written_(graph_.tensors.size()),
        part_maker_(graph_.tensors.size(), -1) {
    for (LayerPlan& layer : plan_.layers) layer_of_[layer.op] = &layer;
    for (size_t op = 0; op < graph_.ops.size(); ++op)
      if (plan_.on_device[op] && !lower::device_views(graph_, op).empty())
        for (const int32_t t : graph_.ops[op].outputs)
          part_maker_[static_cast<size_t>(t)] = static_cast<int32_t>(op);
  }

  Result<std::vector<Misfit>> run() {
    placing_.layouts.assign(graph_.tensors.size(), {});
    placing_.packed = network_.packed;
    find_takers();
    // What the host makes and the NPU reads is uploaded with its channels in their order.
    for (size_t t = 0; t < graph_.tensors.size(); ++t)
      if (!network_.made_on_npu[t] && !network_.npu_readers[t].empty())
        placing_.layouts[t] = plain_layout_of(graph_, static_cast<int32_t>(t));
    for (size_t op = 0; op < graph_.ops.size(); ++op) {
      if (const int32_t by = plan_.sum_of(op); by >= 0)
        PERAXIS_TRY(settle(static_cast<size_t>(by), place_layer(*layer_of_[static_cast<size_t>(by)])));
      else if (LayerPlan* layer = layer_of_[op]; layer != nullptr && layer->on_npu() && layer->sum < 0)
        PERAXIS_TRY(settle(op, place_layer(*layer)));
      else if (layer == nullptr && plan_.on_device[op] && plan_.part_of(op) < 0)
        PERAXIS_TRY(settle(op, place_device_op(op)));
    }
    if (misfits_.empty()) {
      find_homes();
      PERAXIS_TRY(find_costs());
    }
    return std::move(misfits_);
  }

 private:
  // Notes what cannot be; only other errors are returned.
  Status settle(size_t op, Status status) {
    if (status) return {};
    Error error = std::move(status).error();
    if (!lower::is_refusal(error.code))
      return with_note(std::move(error), fmt::format("while planning {}", graph_.op_label(op)));
    Misfit misfit{op, true, std::move(error.message)};
    const bool convolution = ir::is_convolution_like(graph_.ops[op].kind);
    for (const int32_t t : convolution ? std::vector{ir::conv_operands(graph_.ops[op]).input}
                                       : lower::device_inputs(graph_, op, plan_.forms[op]))
      misfit.in_order = misfit.in_order && layout(t).plain();
    misfits_.push_back(std::move(misfit));
    // Those behind it are looked at as if it fitted.
    const LayerPlan* layer = layer_of_[op];
    for (const int32_t t : graph_.ops[layer != nullptr ? layer->last_op() : op].outputs)
      layout(t) = plain_layout_of(graph_, t);
    return {};
  }

  // Of operators other than convolutions, with the parts of concatenations where they will be.
  Status find_costs() {
    plan_.device_costs.assign(graph_.ops.size(), {});
    for (size_t op = 0; op < graph_.ops.size(); ++op) {
      if (!plan_.on_device[op] || plan_.sum_of(op) >= 0) continue;
      auto cost = device_cost(graph_, op, plan_.forms[op], placing_, network_.options.cost);
      if (cost) plan_.device_costs[op] = *cost;
      if (!cost) PERAXIS_TRY(settle(op, tl::make_unexpected(std::move(cost).error())));
    }
    return {};
  }

  Layout& layout(int32_t tensor) { return placing_.layouts[static_cast<size_t>(tensor)]; }
  int64_t& written(int32_t tensor) { return written_[static_cast<size_t>(tensor)]; }

  bool joins_on_device(size_t op) const {
    return plan_.on_device[op] && lower::channel_order(graph_, op, plan_.forms[op]) == ChannelOrder::Joined;
  }

  std::vector<Piece> pieces(size_t index) const {
    const ir::Op& op = graph_.ops[index];
    std::vector<Piece> out;
    for (size_t i = 0; i < op.inputs.size(); i += out.back().inputs) {
      Piece piece{op.inputs[i], i, 1, -1};
      if (const int32_t maker = part_maker_[static_cast<size_t>(piece.tensor)]; maker >= 0) {
        const ir::Op& found = graph_.ops[static_cast<size_t>(maker)];
        const size_t count = found.outputs.size();
        const int32_t whole =
            lower::device_inputs(graph_, static_cast<size_t>(maker), plan_.forms[static_cast<size_t>(maker)])
                .front();
        if (i + count <= op.inputs.size() && covers(found, whole) &&
            std::equal(found.outputs.begin(), found.outputs.end(),
                       op.inputs.begin() + static_cast<int64_t>(i)))
          piece = {whole, i, count, maker};
      }
      out.push_back(piece);
    }
    return out;
  }

  // The parts are the whole map.
  bool covers(const ir::Op& op, int32_t whole) const {
    int64_t channels = 0;
    for (const int32_t t : op.outputs) channels += ir::nhwc(graph_.tensor(t)).c;
    return channels == ir::nhwc(graph_.tensor(whole)).c;
  }

  // A tensor that several concatenations take may be written in the last one, where it comes first.
  void find_takers() {
    for (size_t op = graph_.ops.size(); op-- > 0;)
      if (joins_on_device(op))
        for (const Piece& piece : pieces(op)) takers_.try_emplace(piece.tensor, op, piece.first_input);
  }
  bool taken_by(const Piece& piece, size_t op) const {
    const auto taker = takers_.find(piece.tensor);
    return taker != takers_.end() && taker->second == std::pair(op, piece.first_input);
  }

  Status place_layer(LayerPlan& layer) {
    const ir::Op& op = graph_.ops[layer.op];
    const int32_t tensor = ir::conv_operands(op).input;
    const Layout& in = layout(tensor);
    lower::InputCube input =
        in.plain() ? lower::plain_input(layer.geometry, {0, 0}) : lower::InputCube{{0, 0}, in};
    if (placing_.is_packed(tensor)) input = lower::packed_input(layer.geometry, {0, 0});
    const lower::LoweredLayer lowered =
        PERAXIS_TRY(lower::lower_convolution({.graph = graph_,
                                              .op = layer.op,
                                              .layer = layer.layer,
                                              .params = layer.params,
                                              .input = input,
                                              .cutting = {network_.options.limits, network_.options.cost}},
                                             scratch_));
    const int32_t output = graph_.ops[layer.last_op()].outputs[0];
    layout(output) = lower::plain_layout(layer.geometry.out_c);
    written(output) = layer.params.host == requant::HostWork::None ? lower::output_slots(layer.geometry)
                                                                   : layout(output).slots;
    if (layer.params.host == requant::HostWork::Gather) {
      Layout scattered = lower::scattered_layout(lowered, layer.geometry);
      Scatter found = PERAXIS_TRY(scatter_penalty(network_, layer.op, scattered));
      layer.scattered = found.penalty.has_value();
      layer.gathered = std::move(found.why);
      if (layer.scattered) {
        written(output) = scattered.slots;
        layout(output) = std::move(scattered);
      }
    }
    layer.cost =
        layer_cost(lowered, layer.geometry, layer.scattered ? requant::HostWork::None : layer.params.host,
                   network_.options.cost);
    return {};
  }

  Status place_device_op(size_t index) {
    const ir::Op& op = graph_.ops[index];
    // Tasks without a convolution take all slots of a cube at once.
    for (const int32_t t : lower::device_inputs(graph_, index, plan_.forms[index]))
      if (const int64_t slots = layout(t).slots; slots > rk3588::kMaxCubeChannels)
        return fail(ErrorCode::Unsupported, "'{}' lies in {} slots, a cube has up to {}",
                    graph_.tensor(t).name, slots, rk3588::kMaxCubeChannels);
    const lower::DeviceForm& form = plan_.forms[index];
    const ChannelOrder order = lower::channel_order(graph_, index, form);
    if (order == ChannelOrder::Joined) {
      place_join(index);
      written(op.outputs[0]) = lower::round_up(layout(op.outputs[0]).slots, form.slot_group);
      return {};
    }
    std::vector<Layout> inputs;
    for (const int32_t t : lower::device_inputs(graph_, index, form)) inputs.push_back(layout(t));
    std::vector<lower::OutputLayout> outputs = lower::output_layouts(graph_, index, form, inputs);
    for (size_t i = 0; i < outputs.size(); ++i) layout(op.outputs[i]) = std::move(outputs[i].layout);
    written(op.outputs[0]) = written_slots(index, order, inputs);
    return {};
  }

  // Slots that the operator's tasks write of its output; 0: it has no tasks.
  int64_t written_slots(size_t index, ChannelOrder order, const std::vector<Layout>& inputs) {
    const int32_t output = graph_.ops[index].outputs[0];
    const int64_t group = plan_.forms[index].slot_group;
    switch (order) {
      case ChannelOrder::Parts:
      case ChannelOrder::Flat:
        return 0;
      case ChannelOrder::Plain:
      case ChannelOrder::Ordered:
        return lower::round_up(ir::nhwc(graph_.tensor(output)).c, group);
      case ChannelOrder::Stacked: {
        // Equal layouts are copied as they are; a convolution that puts others in order writes whole groups.
        const bool copied =
            std::ranges::all_of(inputs, [&](const Layout& part) { return part == inputs.front(); });
        return lower::round_up(layout(output).slots, copied ? kAtomBytes : group);
      }
      case ChannelOrder::Kept:
      case ChannelOrder::Joined:
        break;
    }
    return lower::round_up(layout(output).slots, group);
  }

  // The parts of one tensor lie as it does only when it is written there. Copied one by one, they would leave
  // the slots between them unwritten.
  bool together(const Piece& piece, size_t join) {
    return piece.split >= 0 && taken_by(piece, join) && written(piece.tensor) > 0;
  }

  void place_join(size_t index) {
    const ir::Op& op = graph_.ops[index];
    const bool any_order = network_.any_order[static_cast<size_t>(op.outputs[0])];
    std::vector<lower::JoinedPart> parts;
    std::vector<int64_t> first_slots;
    int64_t slots = 0;
    for (const Piece& piece : pieces(index)) {
      if (piece.split >= 0 && !together(piece, index)) {
        for (size_t i = piece.first_input; i < piece.first_input + piece.inputs; ++i) {
          parts.push_back({ir::nhwc(graph_.tensor(op.inputs[i])).c, layout(op.inputs[i]), slots});
          first_slots.push_back(slots);
          slots += layout(op.inputs[i]).slots;
        }
        continue;
      }
      const Layout& whole = layout(piece.tensor);
      const bool last = piece.first_input + piece.inputs == op.inputs.size();
      int64_t span = whole.slots;
      if (const int64_t wide = written(piece.tensor);
          any_order && !last && taken_by(piece, index) && wide > span && wide - span <= kSlotsForCopy)
        span = wide;
      int64_t channel = 0;
      for (size_t i = piece.first_input; i < piece.first_input + piece.inputs; ++i) {
        const int64_t count = ir::nhwc(graph_.tensor(op.inputs[i])).c;
        const lower::ChannelRange range = lower::channel_range(whole, channel, count);
        parts.push_back({count, range.layout, slots + range.first_slot});
        first_slots.push_back(parts.back().first_slot);
        channel += count;
      }
      slots += span;
    }
    layout(op.outputs[0]) = lower::join(parts, slots);
    placing_.joins[index] = std::move(first_slots);
  }

  void find_homes() {
    for (size_t index = graph_.ops.size(); index-- > 0;) {
      if (!joins_on_device(index)) continue;
      const ir::Op& op = graph_.ops[index];
      const ir::Nhwc joined = ir::nhwc(graph_.tensor(op.outputs[0]));
      // Dummy channels behind the last part would fall on what follows in a larger concatenation.
      const bool room = !placing_.homes.contains(op.outputs[0]);
      const std::vector<Piece> all = pieces(index);
      const std::vector<int64_t>& first_slots = placing_.joins.at(index);
      for (size_t p = 0; p < all.size(); ++p) {
        const Piece& piece = all[p];
        const int64_t first = first_slots[piece.first_input] - range_of(piece, index);
        const bool last = p + 1 == all.size();
        const int64_t end = last ? layout(op.outputs[0]).slots
                                 : first_slots[all[p + 1].first_input] - range_of(all[p + 1], index);
        const int64_t slots = written(piece.tensor);
        const ir::Nhwc map = ir::nhwc(graph_.tensor(piece.tensor));
        const bool fits = slots > 0 && (slots <= end - first || (room && last));
        // The convolution's own view of its output must have the map's pixels.
        if (!fits || !taken_by(piece, index) || pixels(map) != pixels(joined)) continue;
        placing_.homes.try_emplace(piece.tensor, Home{op.outputs[0], first});
        for (size_t i = 0; piece.split >= 0 && i < piece.inputs; ++i)
          placing_.homes.try_emplace(op.inputs[piece.first_input + i],
                                     Home{op.outputs[0], first_slots[piece.first_input + i]});
      }
    }
  }

  // The slot of the piece that its first input begins with.
  int64_t range_of(const Piece& piece, size_t join) {
    if (!together(piece, join)) return 0;
    const ir::Op& split = graph_.ops[static_cast<size_t>(piece.split)];
    const std::vector<int64_t> views = lower::device_views(graph_, static_cast<size_t>(piece.split));
    return lower::channel_range(layout(piece.tensor), views[0], ir::nhwc(graph_.tensor(split.outputs[0])).c)
        .first_slot;
  }

  const Network& network_;
  const ir::Graph& graph_;
  Plan& plan_;
  Placing& placing_;
  lower::MemoryPlan scratch_;
  std::vector<LayerPlan*> layer_of_;                     // by operator
  std::vector<int64_t> written_;                         // by tensor: slots its tasks write; 0: none do
  std::vector<int32_t> part_maker_;                      // by tensor: the operator it is a part by, or -1
  std::map<int32_t, std::pair<size_t, size_t>> takers_;  // tensor -> concatenation, its input
  std::vector<Misfit> misfits_;
};

}  // namespace

Result<std::vector<Misfit>> place_tensors(const Network& network, Plan& plan) {
  return Placer(network, plan).run();
}

}  // namespace peraxis::plan
