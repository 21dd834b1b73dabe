// What the runtime and the machine model rely on. Every number of an Executable is checked here against
// the thing it indexes or measures, so code that walks a verified executable needs no checks of its own.
// All sums and products are formed so that no value of the file can make them overflow.
#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "exe/executable.hpp"
#include "exe/names.hpp"
#include "exe/verify_edges.hpp"

namespace peraxis::exe {
namespace {

constexpr int64_t kWordBytes = 8;
constexpr int64_t kAddressSpaceBytes = int64_t{1} << 32;  // device addresses have 32 bits
constexpr int32_t kTailWords = 4;                         // Task::words includes them
constexpr int32_t kInt8Low = -128, kInt8High = 127;
constexpr int32_t kMaxExponent = 31;  // what the rounding functions shift by without loss
// With this bound, raw + sum_factor * window sum + addend stays in int64 for any int32 values.
constexpr int64_t kMaxAddend = int64_t{1} << 60;

template <class... Args>
tl::unexpected<Error> bad(fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorCode::InvalidModel, format, std::forward<Args>(args)...);
}

template <class T>
bool is_index(int32_t index, const std::vector<T>& of) {
  return index >= 0 && static_cast<size_t>(index) < of.size();
}

// [first, first + count) inside [0, limit).
bool is_range(int64_t first, int64_t count, int64_t limit) {
  return first >= 0 && count >= 0 && first <= limit && count <= limit - first;
}

// [offset, offset + the product of `extents`, none of them negative) inside [0, limit).
bool is_block(int64_t offset, std::initializer_list<int64_t> extents, int64_t limit) {
  int64_t bytes = 1;
  for (const int64_t extent : extents)
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return false;
  return is_range(offset, bytes, limit);
}

bool is_int8(int64_t value) {
  return value >= kInt8Low && value <= kInt8High;
}

class Verifier {
 public:
  explicit Verifier(const Executable& executable) : e_(executable) {}

  Status run() {
    PERAXIS_TRY(word("target", e_.target, target_names()));
    PERAXIS_TRY(word("accuracy", e_.accuracy, accuracy_names()));
    PERAXIS_TRY(word("reference", e_.reference, reference_names()));
    PERAXIS_TRY(word("strategy", e_.strategy, requested_names()));
    PERAXIS_TRY(constants());
    PERAXIS_TRY(buffers());
    for (size_t i = 0; i < e_.relocations.size(); ++i)
      PERAXIS_TRY_NOTE(relocation(e_.relocations[i]), "in relocation {}", i);
    PERAXIS_TRY(words_relocated_once());
    for (size_t i = 0; i < e_.tasks.size(); ++i) PERAXIS_TRY_NOTE(task(e_.tasks[i]), "in task {}", i);
    PERAXIS_TRY(tasks_apart());
    for (size_t i = 0; i < e_.placements.size(); ++i)
      PERAXIS_TRY_NOTE(placement(e_.placements[i]), "in placement {}", i);
    for (size_t i = 0; i < e_.host_steps.size(); ++i)
      PERAXIS_TRY_NOTE(host_step(e_.host_steps[i]), "in host step {}", i);
    for (size_t i = 0; i < e_.steps.size(); ++i) PERAXIS_TRY_NOTE(step(e_.steps[i]), "in step {}", i);
    PERAXIS_TRY(verify_edges(e_));
    if (static_cast<int64_t>(e_.model_info.size()) > kMaxModelInfoBytes)
      return bad("the model info has {} bytes, the limit is {}", e_.model_info.size(), kMaxModelInfoBytes);
    std::set<int32_t> recorded;
    for (size_t i = 0; i < e_.layers.size(); ++i)
      PERAXIS_TRY_NOTE(layer(e_.layers[i], recorded), "in layer {}", i);
    for (size_t i = 0; i < e_.operators.size(); ++i)
      PERAXIS_TRY_NOTE(placed(e_.operators[i], recorded), "in operator record {}", i);
    return {};
  }

 private:
  static Status word(const char* field, const std::string& value, Names known) {
    if (std::ranges::find(known, value) != known.end()) return {};
    return bad("{} '{}' is not known; valid are {}", field, value, listed(known));
  }
  // The byte of an enumeration.
  template <class Enum>
  static Status kind(const char* field, Enum value, Names known) {
    const auto number = static_cast<size_t>(value);
    if (number < known.size()) return {};
    return bad("{} {} is not known; valid are 0 to {}: {}", field, number, known.size() - 1, listed(known));
  }

  Status constants() const {
    std::set<int32_t> seen;
    for (const Executable::Constant& c : e_.constants) {
      if (c.tensor < 0) return bad("a constant has tensor index {}", c.tensor);
      if (!seen.insert(c.tensor).second) return bad("tensor {} has two constants", c.tensor);
    }
    return {};
  }

  Status buffers() {
    int64_t total = 0;
    const Buffer* commands = nullptr;
    for (const Buffer& b : e_.buffers) {
      PERAXIS_TRY_NOTE(kind("kind", b.kind, buffer_kind_names()), "in buffer '{}'", b.name);
      if (b.size < 0 || b.size >= kAddressSpaceBytes)
        return bad("buffer '{}' has size {}, the limit is {}", b.name, b.size, kAddressSpaceBytes - 1);
      total += b.size;
      if (total >= kAddressSpaceBytes)
        return bad("the buffers up to '{}' have {} bytes, the limit is {}", b.name, total,
                   kAddressSpaceBytes - 1);
      const int64_t expected = b.kind == BufferKind::Activations ? 0 : b.size;
      if (static_cast<uint64_t>(expected) != b.data.size())
        return bad("buffer '{}' has {} bytes of data, it needs {}", b.name, b.data.size(), expected);
      if (b.kind != BufferKind::Commands) continue;
      if (commands != nullptr) return bad("buffers '{}' and '{}' both hold commands", commands->name, b.name);
      if (b.size % kWordBytes != 0)
        return bad("command buffer '{}' has {} bytes, no whole number of 64-bit words", b.name, b.size);
      commands = &b;
    }
    if (commands == nullptr) return bad("no buffer holds commands");
    words_ = commands->size / kWordBytes;
    return {};
  }

  Status relocation(const Relocation& r) const {
    if (!is_range(r.word, 1, words_)) return bad("word {} of {} command words", r.word, words_);
    if (!is_index(r.buffer, e_.buffers)) return bad("buffer {} of {}", r.buffer, e_.buffers.size());
    const Buffer& target = e_.buffers[static_cast<size_t>(r.buffer)];
    if (r.addend < 0 || r.addend > target.size)
      return bad("addend {} leaves buffer '{}' of {} bytes", r.addend, target.name, target.size);
    return {};
  }

  Status words_relocated_once() const {
    std::vector<int64_t> words;
    words.reserve(e_.relocations.size());
    for (const Relocation& r : e_.relocations) words.push_back(r.word);
    std::sort(words.begin(), words.end());
    const auto twice = std::adjacent_find(words.begin(), words.end());
    if (twice != words.end()) return bad("command word {} is relocated twice", *twice);
    return {};
  }

  Status task(const Task& t) const {
    PERAXIS_TRY(kind("kind", t.kind, task_kind_names()));
    if (t.words < kTailWords) return bad("{} words, the tail alone has {}", t.words, kTailWords);
    if (!is_range(t.first_word, t.words, words_))
      return bad("words {} + {} leave the {} command words", t.first_word, t.words, words_);
    if (t.op < 0) return bad("operator index {}", t.op);
    if (!is_range(t.first_row, t.rows, INT32_MAX)) return bad("output rows {} + {}", t.first_row, t.rows);
    if (t.real_input_channels < 0 || t.real_output_channels < 0 || t.set < 0)
      return bad("a negative count: {} input channels, {} output channels, set {}", t.real_input_channels,
                 t.real_output_channels, t.set);
    return {};
  }

  Status tasks_apart() const {
    std::vector<const Task*> by_place;
    by_place.reserve(e_.tasks.size());
    for (const Task& t : e_.tasks) by_place.push_back(&t);
    std::sort(by_place.begin(), by_place.end(),
              [](const Task* a, const Task* b) { return a->first_word < b->first_word; });
    for (size_t i = 1; i < by_place.size(); ++i)
      if (by_place[i]->first_word < by_place[i - 1]->first_word + by_place[i - 1]->words)
        return bad("the tasks at command words {} and {} overlap", by_place[i - 1]->first_word,
                   by_place[i]->first_word);
    return {};
  }

  Status data_buffer(const Cube& c) const {
    if (!is_index(c.buffer, e_.buffers)) return bad("cube in buffer {} of {}", c.buffer, e_.buffers.size());
    const Buffer& buffer = e_.buffers[static_cast<size_t>(c.buffer)];
    if (buffer.kind == BufferKind::Commands) return bad("cube in the command buffer '{}'", buffer.name);
    return {};
  }

  Status cube(const Cube& c) const {
    PERAXIS_TRY(data_buffer(c));
    if (c.element_bytes != 1 && c.element_bytes != 4)
      return bad("cube of {}-byte elements, 1 and 4 are known", c.element_bytes);
    const int64_t lanes = 16 / c.element_bytes;  // a pixel of a channel block has 16 bytes
    if (c.h < 1 || c.w < 1 || c.channels < 1) return bad("cube of {}x{}x{}", c.h, c.w, c.channels);
    if (c.channels % lanes != 0)
      return bad("cube of {} channels, no multiple of {} ({}-byte elements)", c.channels, lanes,
                 c.element_bytes);
    const Buffer& buffer = e_.buffers[static_cast<size_t>(c.buffer)];
    if (!is_block(c.offset, {c.h, c.w, c.channels, c.element_bytes}, buffer.size))
      return bad("cube of {}x{}x{} elements of {} bytes at {} leaves buffer '{}' of {} bytes", c.h, c.w,
                 c.channels, c.element_bytes, c.offset, buffer.name, buffer.size);
    if (c.offset % c.element_bytes != 0) return bad("cube of int32 at byte {}", c.offset);
    return {};
  }

  // Rows of `pitch` pixels of c bytes, from a multiple of 16 bytes on.
  Status packed_rows(const Placement& p) const {
    const Cube& c = p.cube;
    PERAXIS_TRY(data_buffer(c));
    if (p.c < 1 || p.c > kMaxPackedChannels || c.channels != p.c || c.element_bytes != 1)
      return bad(
          "tensor {}: packed pixels of {} channels, {} of them in the cube, of {} bytes; 1 to {} are known",
          p.tensor, p.c, c.channels, c.element_bytes, kMaxPackedChannels);
    if (c.h < 1 || c.w < 1 || p.pitch < c.w)
      return bad("tensor {}: {} rows of {} packed pixels, {} from one row to the next", p.tensor, c.h, c.w,
                 p.pitch);
    const Buffer& buffer = e_.buffers[static_cast<size_t>(c.buffer)];
    if (!is_block(c.offset, {c.h, p.pitch, p.c}, buffer.size))
      return bad("tensor {}: {} rows of {} packed pixels of {} bytes at {} leave buffer '{}' of {} bytes",
                 p.tensor, c.h, p.pitch, p.c, c.offset, buffer.name, buffer.size);
    if (!p.slot_of.empty()) return bad("tensor {}: channel slots of packed pixels", p.tensor);
    return {};
  }

  Status placement(const Placement& p) const {
    PERAXIS_TRY(p.packed() ? packed_rows(p) : cube(p.cube));
    if (p.tensor < 0) return bad("tensor index {}", p.tensor);
    if (p.cube.element_bytes != 1)
      return bad("tensor {}: cube of {}-byte elements, tensors have 1", p.tensor, p.cube.element_bytes);
    if (p.c < 1 || p.c > p.cube.channels)
      return bad("tensor {}: {} channels in a cube of {}", p.tensor, p.c, p.cube.channels);
    if (!is_int8(p.zero_point)) return bad("tensor {}: zero point {} is no int8", p.tensor, p.zero_point);
    if (p.slot_of.empty()) return {};
    if (static_cast<int64_t>(p.slot_of.size()) != p.c)
      return bad("tensor {}: slots of {} channels, it has {}", p.tensor, p.slot_of.size(), p.c);
    std::vector<bool> taken(static_cast<size_t>(p.cube.channels));
    for (const int32_t slot : p.slot_of) {
      if (slot < 0 || slot >= p.cube.channels)
        return bad("tensor {}: channel slot {} in a cube of {}", p.tensor, slot, p.cube.channels);
      if (taken[static_cast<size_t>(slot)]) return bad("tensor {}: two channels in slot {}", p.tensor, slot);
      taken[static_cast<size_t>(slot)] = true;
    }
    return {};
  }

  Status host_step(const HostStep& h) const {
    if (h.op < 0) return bad("operator index {}", h.op);
    PERAXIS_TRY(kind("rounding", h.rounding, rounding_names()));
    if (!is_int8(h.zero_point)) return bad("zero point {} is no int8", h.zero_point);
    if (!is_int8(h.low) || !is_int8(h.high) || h.low > h.high)
      return bad("activation range {}..{} is none of int8", h.low, h.high);
    if (h.regions.empty()) return bad("no source cube");
    for (size_t i = 0; i < h.regions.size(); ++i) {
      const Cube& region = h.regions[i];
      PERAXIS_TRY_NOTE(cube(region), "in region {}", i);
      const Cube& first = h.regions[0];
      if (region.h != first.h || region.w != first.w || region.element_bytes != first.element_bytes)
        return bad("region {} is {}x{} of {} bytes, region 0 is {}x{} of {}", i, region.h, region.w,
                   region.element_bytes, first.h, first.w, first.element_bytes);
    }
    for (size_t i = 0; i < h.channels.size(); ++i)
      PERAXIS_TRY_NOTE(host_channel(h, h.channels[i]), "in channel {}", i);
    return {};
  }

  static Status host_channel(const HostStep& h, const HostChannel& c) {
    if (!is_index(c.region, h.regions)) return bad("region {} of {}", c.region, h.regions.size());
    const int64_t slots = h.regions[static_cast<size_t>(c.region)].channels;
    if (!is_range(c.slot, 1, slots)) return bad("slot {} of {}", c.slot, slots);
    if (c.sum_slot != -1 && !is_range(c.sum_slot, 1, slots))
      return bad("sum slot {} of {}", c.sum_slot, slots);
    if (c.addend < -kMaxAddend || c.addend > kMaxAddend) return bad("addend {} is beyond 2^60", c.addend);
    if (c.mantissa < 0) return bad("mantissa {} is negative", c.mantissa);
    if (c.exponent < -kMaxExponent || c.exponent > kMaxExponent)
      return bad("exponent {}, the limit is {}", c.exponent, kMaxExponent);
    if (!std::isfinite(c.multiplier)) return bad("multiplier {} is not finite", c.multiplier);
    return {};
  }

  Status step(const Step& s) const {
    PERAXIS_TRY(kind("kind", s.kind, step_kind_names()));
    if (s.kind != StepKind::Cpu && (!s.inputs.empty() || !s.outputs.empty()))
      return bad("operands of a step that is no operator of the CPU");
    switch (s.kind) {
      case StepKind::Cpu:
        if (s.op < 0) return bad("operator index {}", s.op);
        return operands(s);
      case StepKind::Upload:
        return plain_placement(s.placement);
      case StepKind::Download:
        return placement_index(s.placement);
      case StepKind::Job:
        if (s.task_count < 1 || !is_range(s.first_task, s.task_count, static_cast<int64_t>(e_.tasks.size())))
          return bad("tasks {} + {} of {}", s.first_task, s.task_count, e_.tasks.size());
        return {};
      case StepKind::Gather:
      case StepKind::Correct:
        return host_step_into_placement(s, 1);
      case StepKind::Requantize:
        return host_step_into_placement(s, 4);
    }
    return {};
  }

  Status operands(const Step& s) const {
    for (const std::vector<int32_t>* places : {&s.inputs, &s.outputs})
      for (const int32_t p : *places) {
        if (p == -1) continue;
        PERAXIS_TRY(placement_index(p));
        if (e_.placements[static_cast<size_t>(p)].packed())
          return bad("it works on placement {}, packed pixels, which are uploaded only", p);
        if (places == &s.outputs) PERAXIS_TRY(plain_placement(p));
      }
    return written_apart(s);
  }

  // What a kernel writes is nothing that it reads or writes elsewhere.
  Status written_apart(const Step& s) const {
    struct Operand {
      const Cube* cube;
      bool written;
    };
    std::vector<Operand> operands;
    for (const auto& [places, written] : {std::pair{&s.inputs, false}, {&s.outputs, true}})
      for (const int32_t p : *places)
        if (p != -1) operands.push_back({&e_.placements[static_cast<size_t>(p)].cube, written});
    std::ranges::sort(operands, {},
                      [](const Operand& o) { return std::pair(o.cube->buffer, o.cube->offset); });
    int64_t end = 0, written_end = 0;  // of those before, in this buffer
    for (size_t i = 0; i < operands.size(); ++i) {
      const Cube& c = *operands[i].cube;
      if (i > 0 && operands[i - 1].cube->buffer != c.buffer) end = written_end = 0;
      if (c.offset < (operands[i].written ? end : written_end))
        return bad("an output shares memory with another operand, at byte {} of buffer {}", c.offset,
                   c.buffer);
      const int64_t own_end = c.offset + c.h * c.w * c.channels * c.element_bytes;
      end = std::max(end, own_end);
      if (operands[i].written) written_end = std::max(written_end, own_end);
    }
    return {};
  }

  Status placement_index(int32_t p) const {
    if (!is_index(p, e_.placements)) return bad("placement {} of {}", p, e_.placements.size());
    return {};
  }

  // One that can be written channel by channel.
  Status plain_placement(int32_t p) const {
    PERAXIS_TRY(placement_index(p));
    if (!e_.placements[static_cast<size_t>(p)].slot_of.empty())
      return bad("it writes placement {}, whose channels lie in slots of their own", p);
    return {};
  }

  Status host_step_into_placement(const Step& s, int32_t element_bytes) const {
    PERAXIS_TRY(plain_placement(s.placement));
    if (e_.placements[static_cast<size_t>(s.placement)].packed())
      return bad("it makes placement {}, packed pixels, which are uploaded only", s.placement);
    if (!is_index(s.host_step, e_.host_steps))
      return bad("host step {} of {}", s.host_step, e_.host_steps.size());
    const HostStep& h = e_.host_steps[static_cast<size_t>(s.host_step)];
    const Placement& p = e_.placements[static_cast<size_t>(s.placement)];
    const Cube& region = h.regions[0];  // host_step() made sure that there is one
    if (region.element_bytes != element_bytes)
      return bad("host step {} reads {}-byte elements, this kind of step needs {}", s.host_step,
                 region.element_bytes, element_bytes);
    if (static_cast<int64_t>(h.channels.size()) != p.c)
      return bad("host step {} makes {} channels, placement {} has {}", s.host_step, h.channels.size(),
                 s.placement, p.c);
    if (region.h != p.cube.h || region.w != p.cube.w)
      return bad("host step {} reads cubes of {}x{}, placement {} is {}x{}", s.host_step, region.h, region.w,
                 s.placement, p.cube.h, p.cube.w);
    return {};
  }

  // `recorded`: the operators that have a record already.
  template <class Record>
  static Status placed(const Record& r, std::set<int32_t>& recorded) {
    if (r.op < 0) return bad("operator index {}", r.op);
    if (!recorded.insert(r.op).second) return bad("operator {} has two records", r.op);
    return word("device", r.device, device_names());
  }

  static Status layer(const LayerPlan& l, std::set<int32_t>& recorded) {
    PERAXIS_TRY(placed(l, recorded));
    if (l.device == "npu") PERAXIS_TRY(word("strategy", l.strategy, strategy_names()));
    if (l.device == "cpu" && !l.strategy.empty())
      return bad("strategy '{}' of a layer of the cpu, which has none", l.strategy);
    if (l.tasks < 0 || l.macs < 0) return bad("a negative count: {} tasks, {} MACs", l.tasks, l.macs);
    for (size_t c = 0; c < l.certificate.size(); ++c) {
      const ChannelCertificate& entry = l.certificate[c];
      if (entry.acc_min > entry.acc_max)
        return bad("channel {}: accumulators {}..{}", c, entry.acc_min, entry.acc_max);
      // In unsigned arithmetic: the range of a broken file may be all of int64.
      const uint64_t steps = static_cast<uint64_t>(entry.acc_max) - static_cast<uint64_t>(entry.acc_min);
      if (entry.differing < 0 ||
          static_cast<uint64_t>(entry.differing) > steps + (steps < UINT64_MAX ? 1 : 0))
        return bad("channel {}: {} differing values among accumulators {}..{}", c, entry.differing,
                   entry.acc_min, entry.acc_max);
      if (entry.max < 0 || entry.max > 255 || (entry.max == 0) != (entry.differing == 0))
        return bad("channel {}: {} differing values, at most by {}", c, entry.differing, entry.max);
    }
    return {};
  }

  const Executable& e_;
  int64_t words_ = 0;  // of the command buffer
};

}  // namespace

Status verify(const Executable& executable) {
  return Verifier(executable).run();
}

}  // namespace peraxis::exe
