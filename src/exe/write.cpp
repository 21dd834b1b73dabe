// Executable -> file. The content is built first, then wrapped with its checksum (schemas/executable.fbs
// says why). Equal executables give equal files.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/hash.hpp"
#include "exe/executable.hpp"
#include "executable_generated.h"

namespace peraxis::exe {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using flatbuffers::Vector;

// A flatbuffer ends below 2 GiB; the rest is room for tables, strings and the envelope.
constexpr int64_t kMaxDataBytes = (int64_t{1} << 31) - (int64_t{1} << 26);

bool has_operands(const Step& step) {
  return !step.inputs.empty() || !step.outputs.empty();
}

// Upper bound of what the content takes, but for what is bounded by kMaxDataBytes' margin.
int64_t estimate_bytes(const Executable& e) {
  std::unordered_set<const std::string*> shared;  // stored once
  const auto once = [&](const base::SharedText& text) {
    return shared.insert(text.identity()).second ? text.str().size() + 16 : 0;
  };
  size_t bytes = e.graph.size() + e.model_info.size() + e.relocations.size() * sizeof(Relocation) +
                 e.tasks.size() * sizeof(Task) + e.placements.size() * sizeof(Placement) +
                 e.steps.size() * sizeof(Step);
  for (const auto& c : e.constants) bytes += c.data.size() + 64;
  for (const Buffer& b : e.buffers) bytes += b.data.size() + b.name.size() + 128;
  for (const HostStep& h : e.host_steps)
    bytes += h.regions.size() * sizeof(Cube) + h.channels.size() * sizeof(HostChannel) + 128;
  for (const Placement& p : e.placements)
    bytes += p.slot_of.size() * sizeof(int32_t) + (p.slot_of.empty() ? 0 : 32) +
             (p.packed() ? sizeof(file::PackedPlacement) : 0);
  for (const Step& s : e.steps) {
    const Edges& g = s.edges;
    bytes += (s.inputs.size() + s.outputs.size() + g.after.size() + g.reads.size() + g.writes.size() +
              g.frees.size() + 2 * g.completes.size()) *
                 sizeof(int32_t) +
             128;
  }
  for (const LayerPlan& l : e.layers)
    bytes += l.device.size() + l.strategy.size() + once(l.reason) + 192 +
             l.certificate.size() * sizeof(file::ChannelCertificate);
  for (const OperatorPlan& o : e.operators) bytes += o.device.size() + once(o.reason) + 64;
  for (const std::string* s : {&e.target, &e.compiler, &e.model, &e.accuracy, &e.reference, &e.strategy})
    bytes += s->size() + 16;
  return static_cast<int64_t>(bytes);
}

// The two enums of each pair list the same names in the same order.
template <class To, class From>
To convert(From value) {
  return static_cast<To>(value);
}
static_assert(static_cast<int>(file::BufferKind::MAX) == static_cast<int>(BufferKind::Activations));
static_assert(static_cast<int>(file::StepKind::MAX) == static_cast<int>(StepKind::Correct));
static_assert(static_cast<int>(file::Rounding::MAX) == static_cast<int>(Rounding::Double));

file::Cube convert_cube(const Cube& c) {
  return {c.offset, c.h, c.w, c.channels, c.buffer, c.element_bytes};
}

// `items` as a vector of structs, each made by `convert_item`.
template <class To, class From, class Fn>
Offset<Vector<const To*>> structs(FlatBufferBuilder& builder, const std::vector<From>& items,
                                  const Fn& convert_item) {
  std::vector<To> out;
  out.reserve(items.size());
  for (const From& item : items) out.push_back(convert_item(item));
  return builder.CreateVectorOfStructs(out);
}

// `items` as a vector of tables.
template <class To, class From, class Fn>
Offset<Vector<Offset<To>>> tables(const std::vector<From>& items, FlatBufferBuilder& builder,
                                  const Fn& make_table) {
  std::vector<Offset<To>> out;
  out.reserve(items.size());
  for (const From& item : items) out.push_back(make_table(item));
  return builder.CreateVector(out);
}

Offset<Vector<uint8_t>> bytes(FlatBufferBuilder& builder, const std::vector<uint8_t>& data) {
  builder.ForceVectorAlignment(data.size(), 1, 16);  // so that a mapped file can be used in place
  return builder.CreateVector(data);
}

Offset<Vector<Offset<file::Buffer>>> make_buffers(FlatBufferBuilder& builder, const Executable& e) {
  return tables<file::Buffer>(e.buffers, builder, [&](const Buffer& b) {
    const auto name = builder.CreateString(b.name);
    const auto data = b.kind == BufferKind::Activations ? 0 : bytes(builder, b.data);
    return file::CreateBuffer(builder, name, convert<file::BufferKind>(b.kind), b.size, data,
                              base::hash64(b.data));
  });
}

Offset<Vector<Offset<file::HostStep>>> make_host_steps(FlatBufferBuilder& builder, const Executable& e) {
  return tables<file::HostStep>(e.host_steps, builder, [&](const HostStep& h) {
    const auto regions = structs<file::Cube>(builder, h.regions, convert_cube);
    const auto channels = structs<file::HostChannel>(builder, h.channels, [](const HostChannel& c) {
      return file::HostChannel(c.addend, c.multiplier, c.region, c.slot, c.sum_slot, c.sum_factor, c.mantissa,
                               c.exponent);
    });
    return file::CreateHostStep(builder, h.op, regions, channels, convert<file::Rounding>(h.rounding),
                                h.zero_point, h.low, h.high);
  });
}

// Reasons, each stored once. The map saves a comparison of long texts that are known to be one.
class SharedTexts {
 public:
  explicit SharedTexts(FlatBufferBuilder& builder) : builder_(builder) {}
  Offset<flatbuffers::String> store(const base::SharedText& text) {
    Offset<flatbuffers::String>& known = stored_[text.identity()];
    if (known.IsNull()) known = builder_.CreateSharedString(text.str());
    return known;
  }

 private:
  FlatBufferBuilder& builder_;
  std::unordered_map<const std::string*, Offset<flatbuffers::String>> stored_;
};

Offset<Vector<Offset<file::OperatorPlan>>> make_operators(FlatBufferBuilder& builder, SharedTexts& texts,
                                                          const Executable& e) {
  return tables<file::OperatorPlan>(e.operators, builder, [&](const OperatorPlan& o) {
    const auto device = builder.CreateSharedString(o.device), reason = texts.store(o.reason);
    return file::CreateOperatorPlan(builder, o.op, device, reason);
  });
}

Offset<Vector<Offset<file::LayerPlan>>> make_layers(FlatBufferBuilder& builder, SharedTexts& texts,
                                                    const Executable& e) {
  return tables<file::LayerPlan>(e.layers, builder, [&](const LayerPlan& l) {
    const auto device = builder.CreateString(l.device);
    const auto strategy = builder.CreateString(l.strategy);
    const auto reason = texts.store(l.reason);
    const auto certificate =
        structs<file::ChannelCertificate>(builder, l.certificate, [](const ChannelCertificate& c) {
          return file::ChannelCertificate(c.acc_min, c.acc_max, c.differing, c.max);
        });
    return file::CreateLayerPlan(builder, l.op, device, strategy, reason, l.tasks, l.macs, l.every_reading,
                                 certificate);
  });
}

Offset<Vector<Offset<file::PlacementSlots>>> make_placement_slots(FlatBufferBuilder& builder,
                                                                  const Executable& e) {
  std::vector<Offset<file::PlacementSlots>> out;
  for (size_t p = 0; p < e.placements.size(); ++p)
    if (!e.placements[p].slot_of.empty())
      out.push_back(file::CreatePlacementSlots(builder, static_cast<int32_t>(p),
                                               builder.CreateVector(e.placements[p].slot_of)));
  return builder.CreateVector(out);
}

Offset<Vector<const file::PackedPlacement*>> make_packed(FlatBufferBuilder& builder, const Executable& e) {
  std::vector<file::PackedPlacement> out;
  for (size_t p = 0; p < e.placements.size(); ++p)
    if (e.placements[p].packed()) out.emplace_back(e.placements[p].pitch, static_cast<int32_t>(p));
  return out.empty() ? 0 : builder.CreateVectorOfStructs(out);
}

// None when no step has operands: the file may then be one that readers of version 1 know.
Offset<Vector<Offset<file::StepOperands>>> make_step_operands(FlatBufferBuilder& builder,
                                                              const Executable& e) {
  if (std::ranges::none_of(e.steps, has_operands)) return 0;
  std::vector<Offset<file::StepOperands>> out;
  for (size_t i = 0; i < e.steps.size(); ++i) {
    const Step& s = e.steps[i];
    if (!has_operands(s)) continue;
    const auto inputs = builder.CreateVector(s.inputs), outputs = builder.CreateVector(s.outputs);
    out.push_back(file::CreateStepOperands(builder, static_cast<int32_t>(i), inputs, outputs));
  }
  return builder.CreateVector(out);
}

Offset<Vector<Offset<file::StepEdges>>> make_step_edges(FlatBufferBuilder& builder, const Executable& e) {
  if (std::ranges::none_of(e.steps, [](const Step& s) { return s.edges.any(); })) return 0;
  std::vector<Offset<file::StepEdges>> out;
  for (size_t i = 0; i < e.steps.size(); ++i) {
    const Edges& edges = e.steps[i].edges;
    if (!edges.any()) continue;
    const auto after = builder.CreateVector(edges.after), reads = builder.CreateVector(edges.reads),
               writes = builder.CreateVector(edges.writes), frees = builder.CreateVector(edges.frees);
    const auto completes = structs<file::Completion>(
        builder, edges.completes, [](const Completion& c) { return file::Completion(c.placement, c.task); });
    out.push_back(
        file::CreateStepEdges(builder, static_cast<int32_t>(i), after, reads, writes, completes, frees));
  }
  return builder.CreateVector(out);
}

Offset<file::Content> make_content(FlatBufferBuilder& builder, const Executable& e) {
  const auto constants = tables<file::Constant>(e.constants, builder, [&](const Executable::Constant& c) {
    const auto data = bytes(builder, c.data);
    return file::CreateConstant(builder, c.tensor, data, base::hash64(c.data));
  });
  const auto buffers = make_buffers(builder, e);
  const auto relocations = structs<file::Relocation>(builder, e.relocations, [](const Relocation& r) {
    return file::Relocation(r.word, r.addend, r.buffer);
  });
  const auto tasks = structs<file::Task>(builder, e.tasks, [](const Task& t) {
    return file::Task(t.first_word, t.words, t.op, t.first_row, t.rows, t.real_input_channels,
                      t.real_output_channels, t.set, static_cast<uint8_t>(t.kind));
  });
  const auto placements = structs<file::Placement>(builder, e.placements, [](const Placement& p) {
    return file::Placement(convert_cube(p.cube), p.c, p.tensor, p.zero_point, p.is_uint8);
  });
  const auto host_steps = make_host_steps(builder, e);
  const auto steps = structs<file::Step>(builder, e.steps, [](const Step& s) {
    return file::Step(s.op, s.placement, s.first_task, s.task_count, s.host_step,
                      convert<file::StepKind>(s.kind));
  });
  SharedTexts texts(builder);
  const auto layers = make_layers(builder, texts, e);
  const auto operators = make_operators(builder, texts, e);
  const auto placement_slots = make_placement_slots(builder, e);
  const auto packed = make_packed(builder, e);
  const auto step_operands = make_step_operands(builder, e);
  const auto step_edges = make_step_edges(builder, e);
  const auto target = builder.CreateString(e.target), compiler = builder.CreateString(e.compiler);
  const auto model = builder.CreateString(e.model), accuracy = builder.CreateString(e.accuracy);
  const auto reference = builder.CreateString(e.reference), strategy = builder.CreateString(e.strategy);
  const auto graph = builder.CreateString(e.graph);
  const auto info = e.model_info.empty() ? Offset<flatbuffers::String>() : builder.CreateString(e.model_info);
  return file::CreateContent(builder, target, compiler, model, e.model_hash, accuracy, reference, strategy,
                             graph, constants, buffers, relocations, tasks, placements, host_steps, steps,
                             layers, placement_slots, operators, packed, step_operands, step_edges, info);
}

}  // namespace

uint32_t format_version(const Executable& executable) {
  const bool packed =
      std::ranges::any_of(executable.placements, [](const Placement& p) { return p.packed(); });
  return packed || std::ranges::any_of(executable.steps, has_operands) ? 2 : 1;
}

Result<std::vector<uint8_t>> write(const Executable& executable) {
  PERAXIS_TRY_NOTE(verify(executable), "while writing the executable of '{}'", executable.model);
  const int64_t size = estimate_bytes(executable);
  if (size > kMaxDataBytes)
    return fail(ErrorCode::Unsupported, "the executable has about {} bytes, the file format's limit is {}",
                size, kMaxDataBytes);
  FlatBufferBuilder content(static_cast<size_t>(size));
  content.ForceDefaults(true);  // fixed layout: a field's place does not depend on values
  content.Finish(make_content(content, executable));
  const std::span<const uint8_t> content_bytes(content.GetBufferPointer(), content.GetSize());

  FlatBufferBuilder file(content_bytes.size() + 256);
  file.ForceDefaults(true);
  file.ForceVectorAlignment(content_bytes.size(), 1, 16);
  const auto inner = file.CreateVector(content_bytes.data(), content_bytes.size());
  file::FinishFileBuffer(
      file, file::CreateFile(file, format_version(executable), base::hash64(content_bytes), inner));
  return std::vector<uint8_t>(file.GetBufferPointer(), file.GetBufferPointer() + file.GetSize());
}

}  // namespace peraxis::exe
