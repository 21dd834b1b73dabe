// See replay.hpp.
#include "trace/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <variant>

namespace peraxis::trace {

using namespace rk3588;

namespace {

constexpr int64_t kGap = 1 << 16;
constexpr int64_t kFirstAddress = 0x01000000;
constexpr int64_t kNowhere = 0xFFFFFFC0;  // in no buffer of ours
constexpr int64_t kMostMemory = int64_t{1} << 31;
constexpr int64_t kAtom = 16;

struct Moved {
  int64_t address = 0;  // its new one
  std::vector<uint8_t> bytes;
};

uint64_t load_word(const std::vector<uint8_t>& bytes, size_t at) {
  uint64_t word = 0;
  for (size_t i = 0; i < 8; ++i) word |= uint64_t{bytes[at + i]} << (8 * i);
  return word;
}
void store_word(std::vector<uint8_t>& bytes, size_t at, uint64_t word) {
  for (size_t i = 0; i < 8; ++i) bytes[at + i] = static_cast<uint8_t>(word >> (8 * i));
}

// Where element (y, x, c) of the tensor lies in its buffer.
int64_t place_of(const CaptureTensor& t, int64_t y, int64_t x, int64_t c) {
  const int64_t pixel = y * t.w + x;
  return t.offset + c / kAtom * t.surface_bytes + pixel * t.pixel_channels + c % kAtom;
}

class Player {
 public:
  Player(const Capture& capture, const ReplayOptions& options)
      : c_(capture), options_(options), machine_(machine_options(options)) {}

  Result<Replay> run() {
    PERAXIS_TRY(check_work());
    PERAXIS_TRY(place_buffers());
    PERAXIS_TRY(fill_inputs());
    for (const CaptureTask& task : c_.tasks) PERAXIS_TRY(move_addresses(task));
    for (size_t i = 0; i < moved_.size(); ++i) PERAXIS_TRY(map(i));
    run_jobs();
    if (out_.tasks == 0 && !c_.tasks.empty() && out_.refusal.empty())
      out_.refusal = fmt::format("none of the {} tasks is submitted", c_.tasks.size());
    for (const std::string& text : machine_.memory().unwritten_reads()) note("read before written: " + text);
    if (out_.refusal.empty()) {
      for (const CaptureTensor& t : c_.tensors)
        if (t.use == TensorUse::Expected) compare(t);
      for (size_t i = 0; i < c_.buffers.size(); ++i) compare_buffer(i);
    }
    return std::move(out_);
  }

 private:
  static machine::Options machine_options(const ReplayOptions& options) {
    machine::Options out;
    out.switches = options.switches;
    out.max_task_macs = options.max_task_macs;
    return out;
  }

  // Jobs in the order they were submitted; tasks and their words may be named again and again.
  Status check_work() {
    constexpr int64_t kMostWords = int64_t{1} << 24, kMostJobs = int64_t{1} << 20;
    std::vector<int64_t> words_before{0};
    for (const CaptureTask& t : c_.tasks) words_before.push_back(words_before.back() + t.words);
    int64_t jobs = 0, words = c_.jobs.empty() ? words_before.back() : 0;
    const auto add = [&](const CaptureJob& j) {
      ++jobs;
      words += words_before[static_cast<size_t>(j.first_task + j.task_count)] -
               words_before[static_cast<size_t>(j.first_task)];
      return jobs <= kMostJobs && words <= kMostWords;
    };
    bool fits = words <= kMostWords;
    if (c_.submits.empty())
      for (const CaptureJob& j : c_.jobs) fits = fits && add(j);
    for (const CaptureSubmit& s : c_.submits)
      for (int32_t j = 0; fits && j < s.job_count; ++j)
        fits = add(c_.jobs[static_cast<size_t>(s.first_job + j)]);
    if (!fits)
      return fail(ErrorCode::Unsupported, "the capture submits more than {} jobs or {} command words",
                  kMostJobs, kMostWords);
    return {};
  }

  Status place_buffers() {
    int64_t next = kFirstAddress, all = 0;
    for (const CaptureBuffer& b : c_.buffers) {
      all += b.size;
      const int64_t address = next + b.address % kGap;
      next = (address + b.size + kGap - 1) / kGap * kGap + kGap;
      if (all > kMostMemory || next >= kNowhere)
        return fail(ErrorCode::Unsupported, "the capture's buffers have more than {} bytes", kMostMemory);
      moved_.push_back({address, {}});
    }
    for (size_t i = 0; i < c_.buffers.size(); ++i) {
      moved_[i].bytes = c_.buffers[i].before;
      moved_[i].bytes.resize(static_cast<size_t>(c_.buffers[i].size));
      written_.emplace_back();
      if (!c_.buffers[i].before.empty())
        written_[i].emplace_back(0, static_cast<int64_t>(c_.buffers[i].before.size()));
    }
    return {};
  }

  Status fill_inputs() {
    for (const auto& [name, data] : options_.inputs)
      if (std::ranges::none_of(c_.tensors, [&, n = &name](const CaptureTensor& t) {
            return t.use == TensorUse::Input && t.name == *n;
          }))
        return fail(ErrorCode::InvalidArgument, "the capture has no input '{}'", name);
    for (const CaptureTensor& t : c_.tensors) {
      if (t.use != TensorUse::Input) continue;
      const auto buffer = static_cast<size_t>(t.buffer);
      const auto given = options_.inputs.find(t.name);
      if (given == options_.inputs.end() && (t.data.empty() || !c_.buffers[buffer].before.empty())) continue;
      const std::vector<uint8_t>& data = given != options_.inputs.end() ? given->second : t.data;
      if (static_cast<int64_t>(data.size()) != int64_t{t.h} * t.w * t.c)
        return fail(ErrorCode::InvalidArgument, "input '{}' is {}x{}x{}: {} values, {} are given", t.name,
                    t.h, t.w, t.c, int64_t{t.h} * t.w * t.c, data.size());
      fill(t, data);
    }
    return {};
  }

  void fill(const CaptureTensor& t, const std::vector<uint8_t>& data) {
    const auto buffer = static_cast<size_t>(t.buffer);
    std::vector<uint8_t>& bytes = moved_[buffer].bytes;
    const int64_t slots = t.pixel_channels < kAtom ? t.pixel_channels : (t.c + kAtom - 1) / kAtom * kAtom;
    size_t next = 0;
    for (int64_t y = 0; y < t.h; ++y)
      for (int64_t x = 0; x < t.w; ++x)
        for (int64_t c = 0; c < slots; ++c) {
          const int value = c < t.c ? data[next++] - t.bias : t.padding;
          bytes[static_cast<size_t>(place_of(t, y, x, c))] = static_cast<uint8_t>(value);
        }
    for (int64_t first = 0; first < slots; first += kAtom) {
      const int64_t at = place_of(t, 0, 0, first);
      written_[buffer].emplace_back(at, int64_t{t.h} * t.w * t.pixel_channels);
    }
  }

  Status map(size_t i) {
    if (c_.buffers[i].size == 0) return {};
    PERAXIS_TRY(
        machine_.memory().map(static_cast<uint32_t>(moved_[i].address), moved_[i].bytes, c_.buffers[i].name));
    for (const auto& [at, size] : written_[i])
      PERAXIS_TRY(machine_.memory().mark_written(moved_[i].address + at, size));
    return {};
  }

  // The buffer of a captured address; the end of one counts as inside when nothing else begins there.
  std::optional<size_t> buffer_of(int64_t address) const {
    std::optional<size_t> ending;
    for (size_t i = 0; i < c_.buffers.size(); ++i) {
      const int64_t offset = address - c_.buffers[i].address;
      if (offset >= 0 && offset < c_.buffers[i].size) return i;
      if (offset == c_.buffers[i].size && offset > 0) ending = i;
    }
    return ending;
  }
  int64_t moved_address(int64_t address, bool& known) const {
    const auto buffer = buffer_of(address);
    known = buffer.has_value();
    return known ? moved_[*buffer].address + address - c_.buffers[*buffer].address : kNowhere;
  }

  Status move_addresses(const CaptureTask& task) {
    const auto buffer = buffer_of(task.address);
    const int64_t offset = buffer ? task.address - c_.buffers[*buffer].address : 0;
    if (!buffer || offset + int64_t{task.words} * 8 > static_cast<int64_t>(c_.buffers[*buffer].before.size()))
      return fail(ErrorCode::InvalidModel, "the {} command words at {:#x} are not recorded", task.words,
                  task.address);
    for (int64_t i = 0; i < task.words; ++i) {
      const auto at = static_cast<size_t>(offset + i * 8);
      if (!moved_words_.emplace(*buffer, at).second) continue;  // tasks may share words
      const uint64_t word = load_word(moved_[*buffer].bytes, at);
      const RegisterEntry* entry = find_register(target_of(word), offset_of(word));
      if (entry == nullptr || !entry->address) continue;
      // Zero is no address, except where a driver gives its first buffer that one; it never continues a
      // chain.
      const bool zero_is_none = entry->info->block == Block::PC || !buffer_of(0);
      if (value_of(word) == 0 && zero_is_none) continue;
      bool known = false;
      // The lowest bits of PC.BASE_ADDRESS are no address.
      const uint32_t flags = entry->info->block == Block::PC ? value_of(word) & 0xF : 0;
      const int64_t address = moved_address(value_of(word) - flags, known);
      if (!known) note(fmt::format("{} = {:#x} points into no buffer", entry->info->name, value_of(word)));
      store_word(moved_[*buffer].bytes, at,
                 command_word(target_of(word), static_cast<uint32_t>(address) | flags, offset_of(word)));
    }
    return {};
  }

  void note(std::string text) {
    constexpr size_t kMostNotes = 20;
    if (out_.notes.size() < kMostNotes && std::ranges::find(out_.notes, text) == out_.notes.end())
      out_.notes.push_back(std::move(text));
  }

  void run_jobs() {
    if (c_.jobs.empty()) return run_tasks(0, c_.tasks.size());
    std::vector<size_t> order;  // bounded by check_work
    for (const CaptureSubmit& s : c_.submits)
      for (int32_t j = 0; j < s.job_count; ++j) order.push_back(static_cast<size_t>(s.first_job + j));
    if (c_.submits.empty())
      for (size_t j = 0; j < c_.jobs.size(); ++j) order.push_back(j);
    for (const size_t j : order) {
      if (!out_.refusal.empty()) return;
      if (c_.jobs[j].task_count == 0) continue;
      const auto first = static_cast<size_t>(c_.jobs[j].first_task);
      const size_t end = first + static_cast<size_t>(c_.jobs[j].task_count);
      const bool one_core = std::all_of(c_.tasks.begin() + static_cast<int64_t>(first),
                                        c_.tasks.begin() + static_cast<int64_t>(end),
                                        [&](const CaptureTask& t) { return t.core == c_.tasks[first].core; });
      if (one_core)
        run_tasks(first, end);
      else
        run_on_cores(first, end);
    }
  }

  // Tasks that name their successor are one chain, as the chip runs them; others are started one by one.
  void run_tasks(size_t first, size_t end) {
    while (first < end && out_.refusal.empty()) {
      size_t last = first;
      while (last + 1 < end && follows(last, last + 1)) ++last;
      const auto count = std::min<size_t>(last - first + 1, 4095);
      const auto reports = machine_.run(kick(first, count));
      if (!reports) return refuse(first, reports.error());
      take(first, *reports);
      first += count;
    }
  }

  // One chain a core, all at once.
  void run_on_cores(size_t first, size_t end) {
    std::vector<machine::Kick> kicks;
    std::vector<size_t> starts;
    for (size_t i = first; i < end; ++i) {
      if (i > first && c_.tasks[i].core == c_.tasks[i - 1].core && follows(i - 1, i)) {
        ++kicks.back().tasks;
        continue;
      }
      kicks.push_back(kick(i, 1));
      starts.push_back(i);
    }
    if (kicks.size() > 3) {
      out_.refusal =
          fmt::format("from task {} on: the job's tasks are {} chains on several cores; one a core can run",
                      first, kicks.size());
      return;
    }
    const auto reports = machine_.run(kicks);
    if (!reports) return refuse(first, reports.error());
    for (size_t i = 0; i < starts.size(); ++i) take(starts[i], (*reports)[i]);
  }

  bool follows(size_t task, size_t next) const {
    return c_.tasks[next].core == c_.tasks[task].core &&
           next_address(c_.tasks[task]) == moved_of(c_.tasks[next]);
  }
  machine::Kick kick(size_t first, size_t count) const {
    const CaptureTask& task = c_.tasks[first];
    return {static_cast<uint32_t>(moved_of(task)), static_cast<uint32_t>(task.words),
            static_cast<int32_t>(count), task.core};
  }
  void refuse(size_t first, const Error& error) {
    out_.refusal = fmt::format("from task {} on: {}", first, error.message);
    out_.unsupported = error.code == ErrorCode::Unsupported;
  }
  void take(size_t first, const std::vector<machine::TaskReport>& reports) {
    out_.tasks += static_cast<int64_t>(reports.size());
    for (const machine::TaskReport& report : reports) {
      const size_t task = first + static_cast<size_t>(report.index);
      if (report.dropped_output_bytes > 0)
        note(fmt::format("task {}: {} bytes of dummy channels were dropped", task,
                         report.dropped_output_bytes));
      if (report.feature_width != report.dma_width)
        note(
            fmt::format("task {}: CNA.DATA_SIZE0.DATAIN_WIDTH is {}, FC_DATA_SIZE0.DMA_WIDTH {}: rows are "
                        "fetched with the second",
                        task, report.feature_width, report.dma_width));
    }
  }

  int64_t moved_of(const CaptureTask& task) const {
    bool known = false;
    return moved_address(task.address, known);
  }

  // What the task's tail names, 0 for none.
  int64_t next_address(const CaptureTask& task) const {
    const auto buffer = buffer_of(task.address);
    if (!buffer) return 0;
    int64_t found = 0;
    const int64_t offset = task.address - c_.buffers[*buffer].address;
    for (int64_t i = 0; i < task.words; ++i) {
      const uint64_t word = load_word(moved_[*buffer].bytes, static_cast<size_t>(offset + i * 8));
      if (target_of(word) == (static_cast<uint16_t>(Block::PC) | kWriteBit) &&
          offset_of(word) == PC::BASE_ADDRESS::Reg::offset)
        found = value_of(word) & ~0xFU;
    }
    return found;
  }

  void compare(const CaptureTensor& t) {
    TensorResult r{t.name, t.origin, int64_t{t.h} * t.w * t.c, 0, 0, t.tolerance, 0, t.h, t.w, t.c, {}};
    r.values.resize(static_cast<size_t>(r.elements));
    const auto buffer = static_cast<size_t>(t.buffer);
    const int64_t base = moved_[buffer].address;
    size_t next = 0;
    for (int64_t y = 0; y < t.h; ++y)
      for (int64_t x = 0; x < t.w; ++x)
        for (int64_t c = 0; c < t.c; ++c, ++next) {
          const int64_t at = place_of(t, y, x, c);
          if (!machine_.memory().written(base + at, 1)) {
            ++r.unwritten;
            continue;
          }
          // The dense value in the cube's domain, as a byte that wraps.
          const auto want = static_cast<int8_t>(static_cast<uint8_t>(t.data[next] - t.bias));
          const auto is = static_cast<int8_t>(moved_[buffer].bytes[static_cast<size_t>(at)]);
          r.values[next] = static_cast<uint8_t>(is + t.bias);
          r.max = std::max(r.max, std::abs(is - want));
          r.equal += is == want ? 1 : 0;
        }
    out_.tensors.push_back(std::move(r));
  }

  void compare_buffer(size_t i) {
    const CaptureBuffer& b = c_.buffers[i];
    if (b.after.empty() || b.role == "commands") return;  // commands were moved
    BufferResult r{b.name, static_cast<int64_t>(b.after.size()), 0, -1};
    for (size_t at = 0; at < b.after.size(); ++at) {
      const bool same = machine_.memory().written(moved_[i].address + static_cast<int64_t>(at), 1) &&
                        moved_[i].bytes[at] == b.after[at];
      r.equal += same ? 1 : 0;
      if (!same && r.first < 0) r.first = static_cast<int64_t>(at);
    }
    out_.buffers.push_back(std::move(r));
  }

  const Capture& c_;
  const ReplayOptions& options_;
  machine::Machine machine_;
  std::vector<Moved> moved_;
  std::vector<std::vector<std::pair<int64_t, int64_t>>> written_;  // offset, size
  std::set<std::pair<size_t, size_t>> moved_words_;
  Replay out_;
};

// ---- switches by name ----

using machine::Switches;

template <class Value>
struct Named {
  std::string_view name;
  Value value;
};
constexpr Named<bool> kFlags[] = {{"on", true}, {"off", false}};
constexpr Named<machine::Ties> kTies[] = {
    {"register", machine::Ties::ByRegister}, {"even", machine::Ties::Even}, {"up", machine::Ties::Up}};
constexpr Named<machine::PadLanes> kPadLanes[] = {{"two", machine::PadLanes::TwoInDepthwise},
                                                  {"byte0", machine::PadLanes::Byte0},
                                                  {"two_everywhere", machine::PadLanes::Two}};
constexpr Named<machine::StoredKernels> kStoredKernels[] = {{"kernels", machine::StoredKernels::ByKernels},
                                                            {"orig", machine::StoredKernels::ByOrigChannel}};

using Member = std::variant<bool Switches::*, machine::Ties Switches::*, machine::PadLanes Switches::*,
                            machine::StoredKernels Switches::*>;
constexpr std::span<const Named<bool>> values_of(bool Switches::*) {
  return kFlags;
}
constexpr std::span<const Named<machine::Ties>> values_of(machine::Ties Switches::*) {
  return kTies;
}
constexpr std::span<const Named<machine::PadLanes>> values_of(machine::PadLanes Switches::*) {
  return kPadLanes;
}
constexpr std::span<const Named<machine::StoredKernels>> values_of(machine::StoredKernels Switches::*) {
  return kStoredKernels;
}

constexpr Named<Member> kSettings[] = {
    {"out_cvt_ties", &Switches::out_cvt_ties},
    {"out_cvt_offset_inside", &Switches::out_cvt_offset_inside},
    {"clip_truncate_ties", &Switches::clip_truncate_ties},
    {"ew_cvt_ties", &Switches::ew_cvt_ties},
    {"lut_ties", &Switches::lut_ties},
    {"pool_average_ties", &Switches::pool_average_ties},
    {"pool_notch_is_row_pitch", &Switches::pool_notch_is_row_pitch},
    {"truncate_before_cpend", &Switches::truncate_before_cpend},
    {"bn_shift_first", &Switches::bn_shift_first},
    {"lut_after_op", &Switches::lut_after_op},
    {"pool_padding_competes", &Switches::pool_padding_competes},
    {"deconv_inserts_zero", &Switches::deconv_inserts_zero},
    {"ew_surf_stride_unread", &Switches::ew_surf_stride_unread},
    {"read_unwritten", &Switches::read_unwritten},
    {"cbuf_survives_jobs", &Switches::cbuf_survives_jobs},
    {"bs_ties", &Switches::bs_ties},
    {"bn_ties", &Switches::bn_ties},
    {"pad_lanes", &Switches::pad_lanes},
    {"ignore_ow_op_with_records", &Switches::ignore_ow_op_with_records},
    {"stored_kernels", &Switches::stored_kernels},
    {"refuse_partial_groups", &Switches::refuse_partial_groups},
    {"drop_dummy_output", &Switches::drop_dummy_output},
    {"refuse_full_last_bank", &Switches::refuse_full_last_bank},
};

// Sets the member to the value of that name, or says which names there are.
std::optional<std::string> set_by_name(Switches& switches, const Member& member, std::string_view name) {
  return std::visit(
      [&](auto pointer) -> std::optional<std::string> {
        std::vector<std::string_view> names;
        for (const auto& known : values_of(pointer)) {
          if (known.name == name) {
            switches.*pointer = known.value;
            return std::nullopt;
          }
          names.push_back(known.name);
        }
        const std::string_view last = names.back();
        names.pop_back();
        return fmt::format("{} or {}", fmt::join(names, ", "), last);
      },
      member);
}

}  // namespace

bool Replay::ok() const {
  return refusal.empty() && std::ranges::all_of(tensors, [](const TensorResult& t) { return t.ok(); }) &&
         std::ranges::all_of(buffers, [](const BufferResult& b) { return b.equal == b.bytes; });
}

Result<Replay> replay(const Capture& capture, const ReplayOptions& options) {
  PERAXIS_TRY(verify(capture));
  return Player(capture, options).run();
}

Status set_switch(machine::Switches& switches, std::string_view text) {
  const size_t equals = std::min(text.find('='), text.size());
  const std::string_view name = text.substr(0, equals);
  const std::string_view value = equals < text.size() ? text.substr(equals + 1) : std::string_view();
  for (const Named<Member>& setting : kSettings)
    if (setting.name == name) {
      const auto expected = set_by_name(switches, setting.value, value);
      if (!expected) return {};
      return fail(ErrorCode::InvalidArgument, "'{}': {} is {}", text, name, *expected);
    }
  return fail(ErrorCode::InvalidArgument, "'{}': there is no switch '{}'; there are {}", text, name,
              switch_names());
}

std::string switch_names() {
  std::string out;
  for (const Named<Member>& setting : kSettings)
    out += fmt::format("{}{}", out.empty() ? "" : ", ", setting.name);
  return out;
}

}  // namespace peraxis::trace
