// File -> Executable. In this order, so that each step may trust the ones before it: envelope, version,
// flatbuffers' own verifier (offsets and lengths), checksums, values. A checksum is no protection against
// a file made to do harm, so nothing after it is taken on trust either.
#include <bit>
#include <cstring>
#include <unordered_map>

#include "base/hash.hpp"
#include "exe/executable.hpp"
#include "executable_generated.h"

namespace peraxis::exe {
namespace {

constexpr size_t kIdentifierAt = 4;
constexpr size_t kMinFileBytes = 16;
constexpr size_t kAlignment = 16;  // of bytes vectors in the file, and of the content

template <class... Args>
tl::unexpected<Error> bad(fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorCode::InvalidModel, format, std::forward<Args>(args)...);
}

// flatbuffers reads numbers in place. `copy` is used when `bytes` is not aligned for that.
std::span<const uint8_t> aligned(std::span<const uint8_t> bytes, std::vector<uint8_t>& copy) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % kAlignment == 0) return bytes;
  copy.assign(bytes.begin(), bytes.end());  // operator new aligns to 16
  return copy;
}

flatbuffers::Verifier make_verifier(std::span<const uint8_t> bytes) {
  // A table has at least four bytes, so this limit never stops an honest file.
  return {bytes.data(), bytes.size(), 64, static_cast<flatbuffers::uoffset_t>(bytes.size() / 4 + 1)};
}

constexpr size_t kLongestName = 64;  // of a word of a closed set: all are shorter
// Bytes of the file that each record of a list takes at least, by the fields that must be there.
constexpr size_t kRecord = sizeof(flatbuffers::uoffset_t), kPlanRecord = 4 * sizeof(flatbuffers::uoffset_t);

// Builds the Executable. Our writer stores everything once, so all parts together are no larger than the
// file; a file whose tables point to one large part again and again is stopped before it fills memory. Only
// reasons are shared, in the file as in memory: each counts once.
class Reader {
 public:
  Reader(const file::Content& content, size_t bytes) : f_(content), budget_(bytes) {}

  Result<Executable> run() {
    Executable e;
    PERAXIS_TRY(name("target", f_.target(), e.target));
    PERAXIS_TRY(name("accuracy", f_.accuracy(), e.accuracy));
    PERAXIS_TRY(name("reference", f_.reference(), e.reference));
    PERAXIS_TRY(name("strategy", f_.strategy(), e.strategy));
    PERAXIS_TRY(text(f_.compiler(), e.compiler));
    PERAXIS_TRY(text(f_.model(), e.model));
    PERAXIS_TRY(text(f_.graph(), e.graph));
    e.model_hash = f_.model_hash();
    PERAXIS_TRY(constants(e));
    PERAXIS_TRY(buffers(e));
    PERAXIS_TRY(structs(f_.relocations(), e.relocations, [](const file::Relocation& r) {
      return Relocation{r.word(), r.buffer(), r.addend()};
    }));
    PERAXIS_TRY(structs(f_.tasks(), e.tasks, [](const file::Task& t) {
      return Task{t.first_word(),
                  t.words(),
                  t.op(),
                  static_cast<TaskKind>(t.kind()),
                  t.first_row(),
                  t.rows(),
                  t.real_input_channels(),
                  t.real_output_channels(),
                  t.set()};
    }));
    PERAXIS_TRY(structs(f_.placements(), e.placements, [](const file::Placement& p) {
      return Placement{p.tensor(), cube(p.cube()), p.c(), p.is_uint8(), p.zero_point(), {}, 0};
    }));
    PERAXIS_TRY(host_steps(e));
    PERAXIS_TRY(structs(f_.steps(), e.steps, [](const file::Step& s) {
      return Step{static_cast<StepKind>(s.kind()),
                  s.op(),
                  s.placement(),
                  s.first_task(),
                  s.task_count(),
                  s.host_step(),
                  {},
                  {}};
    }));
    PERAXIS_TRY(layers(e));
    PERAXIS_TRY(operators(e));
    PERAXIS_TRY(placement_slots(e));
    PERAXIS_TRY(packed_placements(e));
    PERAXIS_TRY(step_operands(e));
    PERAXIS_TRY(step_edges(e));
    if (f_.model_info() != nullptr) PERAXIS_TRY(text(f_.model_info(), e.model_info));
    return e;
  }

 private:
  Status spend(size_t count, size_t bytes_each) {
    if (count > budget_ / bytes_each) return bad("parts of the file are used more than once");
    budget_ -= count * bytes_each;
    return {};
  }

  Status text(const flatbuffers::String* from, std::string& to) {
    PERAXIS_TRY(spend(from->size(), 1));
    to = from->str();
    return {};
  }
  // A word of a closed set. Which one is verify()'s question; here none may fill memory.
  static Status name(const char* field, const flatbuffers::String* from, std::string& to) {
    if (from->size() > kLongestName)
      return bad("{} '{}...' has {} characters, the limit is {}", field, from->str().substr(0, 20),
                 from->size(), kLongestName);
    to = from->str();
    return {};
  }
  // One string for all records that point to the same place.
  Status shared(const flatbuffers::String* from, base::SharedText& to) {
    const auto [entry, first] = shared_.try_emplace(from);
    if (first) {
      PERAXIS_TRY(spend(from->size(), 1));
      entry->second = from->str();
    }
    to = entry->second;
    return {};
  }
  Status data(const flatbuffers::Vector<uint8_t>* from, std::vector<uint8_t>& to) {
    if (from == nullptr) return {};
    PERAXIS_TRY(spend(from->size(), 1));
    to.assign(from->begin(), from->end());
    return {};
  }
  template <class From, class To, class Fn>
  Status structs(const flatbuffers::Vector<const From*>* from, std::vector<To>& to, const Fn& convert) {
    if (from == nullptr) return {};
    PERAXIS_TRY(spend(from->size(), sizeof(From)));
    // flatbuffers' verifier only looks at the alignment of the length before the elements.
    if (from->size() > 0 && reinterpret_cast<uintptr_t>(from->Data()) % alignof(From) != 0)
      return bad("the executable's content is not aligned");
    to.reserve(from->size());
    for (const From* item : *from) to.push_back(convert(*item));
    return {};
  }

  static Cube cube(const file::Cube& c) {
    return {c.buffer(), c.offset(), c.h(), c.w(), c.channels(), c.element_bytes()};
  }

  Status constants(Executable& e) {
    for (const file::Constant* c : *f_.constants()) {
      PERAXIS_TRY(spend(1, kRecord));
      Executable::Constant& out = e.constants.emplace_back();
      out.tensor = c->tensor();
      PERAXIS_TRY(data(c->data(), out.data));
    }
    return {};
  }
  Status buffers(Executable& e) {
    for (const file::Buffer* b : *f_.buffers()) {
      PERAXIS_TRY(spend(1, kRecord));
      Buffer& out = e.buffers.emplace_back();
      PERAXIS_TRY(text(b->name(), out.name));
      out.kind = static_cast<BufferKind>(b->kind());
      out.size = b->size();
      PERAXIS_TRY(data(b->data(), out.data));
    }
    return {};
  }
  Status host_steps(Executable& e) {
    for (const file::HostStep* h : *f_.host_steps()) {
      PERAXIS_TRY(spend(1, kRecord));
      HostStep& out = e.host_steps.emplace_back();
      out.op = h->op();
      out.rounding = static_cast<Rounding>(h->rounding());
      out.zero_point = h->zero_point();
      out.low = h->low();
      out.high = h->high();
      PERAXIS_TRY(structs(h->regions(), out.regions, cube));
      PERAXIS_TRY(structs(h->channels(), out.channels, [](const file::HostChannel& c) {
        return HostChannel{c.region(),     c.slot(),     c.addend(),   c.sum_slot(),
                           c.sum_factor(), c.mantissa(), c.exponent(), c.multiplier()};
      }));
    }
    return {};
  }
  Status placement_slots(Executable& e) {
    if (f_.placement_slots() == nullptr) return {};
    for (const file::PlacementSlots* slots : *f_.placement_slots()) {
      const int32_t p = slots->placement();
      if (p < 0 || static_cast<size_t>(p) >= e.placements.size())
        return bad("channel slots for placement {} of {}", p, e.placements.size());
      PERAXIS_TRY(spend(slots->slot_of()->size(), sizeof(int32_t)));
      e.placements[static_cast<size_t>(p)].slot_of.assign(slots->slot_of()->begin(), slots->slot_of()->end());
    }
    return {};
  }
  Status packed_placements(Executable& e) {
    std::vector<file::PackedPlacement> packed;
    PERAXIS_TRY(structs(f_.packed_placements(), packed, [](const file::PackedPlacement& p) { return p; }));
    for (const file::PackedPlacement& p : packed) {
      if (p.placement() < 0 || static_cast<size_t>(p.placement()) >= e.placements.size())
        return bad("the pitch of placement {} of {}", p.placement(), e.placements.size());
      Placement& to = e.placements[static_cast<size_t>(p.placement())];
      if (p.pitch() < 1 || to.packed())
        return bad("placement {} has the pitch {}{}", p.placement(), p.pitch(), to.packed() ? " too" : "");
      to.pitch = p.pitch();
    }
    return {};
  }
  Status step_operands(Executable& e) {
    if (f_.step_operands() == nullptr) return {};
    for (const file::StepOperands* operands : *f_.step_operands()) {
      const int32_t s = operands->step();
      if (s < 0 || static_cast<size_t>(s) >= e.steps.size())
        return bad("operands of step {} of {}", s, e.steps.size());
      PERAXIS_TRY(numbers(operands->inputs(), e.steps[static_cast<size_t>(s)].inputs));
      PERAXIS_TRY(numbers(operands->outputs(), e.steps[static_cast<size_t>(s)].outputs));
    }
    return {};
  }
  Status numbers(const flatbuffers::Vector<int32_t>* from, std::vector<int32_t>& to) {
    PERAXIS_TRY(spend(from->size(), sizeof(int32_t)));
    to.assign(from->begin(), from->end());
    return {};
  }
  Status step_edges(Executable& e) {
    if (f_.step_edges() == nullptr) return {};
    for (const file::StepEdges* stored : *f_.step_edges()) {
      const int32_t s = stored->step();
      if (s < 0 || static_cast<size_t>(s) >= e.steps.size())
        return bad("edges of step {} of {}", s, e.steps.size());
      Edges& edges = e.steps[static_cast<size_t>(s)].edges;
      PERAXIS_TRY(numbers(stored->after(), edges.after));
      PERAXIS_TRY(numbers(stored->reads(), edges.reads));
      PERAXIS_TRY(numbers(stored->writes(), edges.writes));
      PERAXIS_TRY(numbers(stored->frees(), edges.frees));
      PERAXIS_TRY(spend(stored->completes()->size(), sizeof(file::Completion)));
      edges.completes.clear();
      for (const file::Completion* c : *stored->completes())
        edges.completes.push_back({c->placement(), c->task()});
    }
    return {};
  }
  Status operators(Executable& e) {
    if (f_.operators() == nullptr) return {};
    for (const file::OperatorPlan* o : *f_.operators()) {
      PERAXIS_TRY(spend(1, kPlanRecord));
      OperatorPlan& out = e.operators.emplace_back();
      out.op = o->op();
      PERAXIS_TRY(name("device", o->device(), out.device));
      PERAXIS_TRY(shared(o->reason(), out.reason));
    }
    return {};
  }

  Status layers(Executable& e) {
    for (const file::LayerPlan* l : *f_.layers()) {
      PERAXIS_TRY(spend(1, kPlanRecord));
      LayerPlan& out = e.layers.emplace_back();
      out.op = l->op();
      PERAXIS_TRY(name("device", l->device(), out.device));
      PERAXIS_TRY(name("strategy", l->strategy(), out.strategy));
      PERAXIS_TRY(shared(l->reason(), out.reason));
      out.tasks = l->tasks();
      out.macs = l->macs();
      out.every_reading = l->every_reading();
      PERAXIS_TRY(structs(l->certificate(), out.certificate, [](const file::ChannelCertificate& c) {
        return ChannelCertificate{c.acc_min(), c.acc_max(), c.differing(), c.max()};
      }));
    }
    return {};
  }

  const file::Content& f_;
  size_t budget_;
  std::unordered_map<const flatbuffers::String*, base::SharedText> shared_;
};

// The parts first: their error names what is damaged, the whole's error can only say that something is.
class PartChecker {
 public:
  explicit PartChecker(size_t content_bytes) : budget_(content_bytes) {}

  Status run(const file::Content& content) {
    for (const file::Buffer* b : *content.buffers())
      PERAXIS_TRY(
          check(b->data(), b->checksum(), [b] { return fmt::format("buffer '{}'", b->name()->str()); }));
    for (const file::Constant* c : *content.constants())
      PERAXIS_TRY(
          check(c->data(), c->checksum(), [c] { return fmt::format("constant of tensor {}", c->tensor()); }));
    return {};
  }

 private:
  template <class Name>
  Status check(const flatbuffers::Vector<uint8_t>* data, uint64_t expected, const Name& name) {
    const std::span<const uint8_t> bytes =
        data == nullptr ? std::span<const uint8_t>() : std::span(data->data(), data->size());
    if (bytes.size() > budget_) return bad("{}: its bytes are used more than once", name());
    budget_ -= bytes.size();
    const uint64_t found = base::hash64(bytes);
    if (found != expected)
      return bad("{}: checksum {:016x}, the file says {:016x}: the file is damaged", name(), found, expected);
    return {};
  }

  size_t budget_;  // as in Reader: many references to one large part must not cost more than the file
};

// The content ends the file but for the zeros that round its size up.
bool has_trailing_bytes(std::span<const uint8_t> bytes, std::span<const uint8_t> content) {
  const std::span<const uint8_t> rest =
      bytes.subspan(static_cast<size_t>(content.data() - bytes.data()) + content.size());
  if (rest.size() >= kAlignment) return true;
  for (const uint8_t byte : rest)
    if (byte != 0) return true;
  return false;
}

}  // namespace

bool looks_like_executable(std::span<const uint8_t> bytes) {
  return bytes.size() >= kIdentifierAt + 4 &&
         std::memcmp(bytes.data() + kIdentifierAt, file::FileIdentifier(), 4) == 0;
}

Result<Executable> read(std::span<const uint8_t> bytes) {
  if (!looks_like_executable(bytes)) return bad("not an executable of peraxis: 'PAX1' is missing");
  if (bytes.size() < kMinFileBytes) return bad("the executable ends after {} bytes", bytes.size());
  if (bytes.size() > FLATBUFFERS_MAX_BUFFER_SIZE)
    return bad("the executable has {} bytes, the limit is {}", bytes.size(), FLATBUFFERS_MAX_BUFFER_SIZE);
  std::vector<uint8_t> file_copy, content_copy;
  bytes = aligned(bytes, file_copy);
  flatbuffers::Verifier file_verifier = make_verifier(bytes);
  if (!file::VerifyFileBuffer(file_verifier)) return bad("the executable is damaged or cut off");
  const file::File& envelope = *file::GetFile(bytes.data());
  if (envelope.version() > kFormatVersion)
    return fail(ErrorCode::Unsupported,
                "the executable has format version {}, this program reads up to {}; compile the model again",
                envelope.version(), kFormatVersion);
  if (envelope.version() < 1)
    return bad("the executable has format version {}, the first is 1", envelope.version());

  const std::span<const uint8_t> stored(envelope.content()->data(), envelope.content()->size());
  if (has_trailing_bytes(bytes, stored)) return bad("the executable is followed by other bytes");
  const std::span<const uint8_t> content = aligned(stored, content_copy);
  flatbuffers::Verifier content_verifier = make_verifier(content);
  const bool well_formed =
      content.size() >= kMinFileBytes && content_verifier.VerifyBuffer<file::Content>(nullptr);
  if (well_formed)
    PERAXIS_TRY(PartChecker(content.size()).run(*flatbuffers::GetRoot<file::Content>(content.data())));
  const uint64_t found = base::hash64(content);
  if (found != envelope.checksum())
    return bad("the executable's checksum is {:016x}, the file says {:016x}: the file is damaged", found,
               envelope.checksum());
  if (!well_formed) return bad("the executable's content is not well-formed");

  Executable executable =
      PERAXIS_TRY(Reader(*flatbuffers::GetRoot<file::Content>(content.data()), content.size()).run());
  if (envelope.version() < format_version(executable))
    return bad("the executable has format version {}, what it holds is of version {}", envelope.version(),
               format_version(executable));
  PERAXIS_TRY_NOTE(verify(executable), "while reading the executable of '{}'", executable.model);
  return executable;
}

}  // namespace peraxis::exe
