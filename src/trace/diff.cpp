// See diff.hpp. The pairing is the global alignment of two sequences with a score for each pair of tasks.
#include "trace/diff.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.hpp"
#include "trace/text.hpp"

namespace peraxis::trace {

namespace {

// A task with everything the comparison needs, so that the streams need not be kept apart.
struct Side {
  Facts facts;
  std::string key;  // operation and shape
  const Stream* stream = nullptr;
  TaskWords words;

  std::span<const uint64_t> span() const {
    return std::span(stream->words)
        .subspan(static_cast<size_t>(words.first), static_cast<size_t>(words.count));
  }
};

std::vector<Side> sides_of(const std::vector<Stream>& streams) {
  std::vector<Side> out;
  for (const Stream& stream : streams) {
    const std::vector<TaskWords> tasks = split_tasks(stream.words);
    std::vector<Facts> facts = facts_of(stream);
    for (size_t t = 0; t < tasks.size(); ++t) {
      std::string key = fmt::format("{} {} {}", operation_name(facts[t].operation), facts[t].elementwise,
                                    shape_text(facts[t]));
      out.push_back({std::move(facts[t]), std::move(key), &stream, tasks[t]});
    }
  }
  return out;
}

bool identical(const Side& a, const Side& b) {
  return a.key == b.key && std::ranges::equal(a.span(), b.span());
}

int pairing_score(const Side& a, const Side& b) {
  if (a.facts.operation != b.facts.operation) return -1;
  if (a.key != b.key) return 1;
  return identical(a, b) ? 6 : 5;
}

using Pairs = std::vector<std::pair<std::optional<size_t>, std::optional<size_t>>>;

// The best alignment of two runs of tasks, of which the first is task `first` of both sides.
void align(std::span<const Side> a, std::span<const Side> b, size_t first, Pairs& out) {
  const size_t n = a.size(), m = b.size();
  enum Step : uint8_t { Both, OnlyA, OnlyB };
  std::vector<uint8_t> steps((n + 1) * (m + 1), Both);
  std::vector<int> below(m + 1, 0), here(m + 1, 0);
  // From the end, so that the path is read forwards.
  for (size_t j = 0; j < m; ++j) steps[n * (m + 1) + j] = OnlyB;
  for (size_t i = n; i-- > 0;) {
    here[m] = 0;
    steps[i * (m + 1) + m] = OnlyA;
    for (size_t j = m; j-- > 0;) {
      const int score = pairing_score(a[i], b[j]);
      int best = below[j];
      Step step = OnlyA;
      if (here[j + 1] > best) best = here[j + 1], step = OnlyB;
      if (score > 0 && below[j + 1] + score >= best) best = below[j + 1] + score, step = Both;
      here[j] = best;
      steps[i * (m + 1) + j] = step;
    }
    std::swap(below, here);
  }
  for (size_t i = 0, j = 0; i < n || j < m;) {
    const uint8_t step = steps[i * (m + 1) + j];
    out.emplace_back(step == OnlyB ? std::nullopt : std::optional(first + i),
                     step == OnlyA ? std::nullopt : std::optional(first + j));
    i += step == OnlyB ? 0 : 1;
    j += step == OnlyA ? 0 : 1;
  }
}

Pairs pairs_of(const std::vector<Side>& a, const std::vector<Side>& b) {
  Pairs out;
  size_t head = 0, end_a = a.size(), end_b = b.size();
  while (head < end_a && head < end_b && identical(a[head], b[head])) {
    out.emplace_back(head, head);
    ++head;
  }
  while (end_a > head && end_b > head && identical(a[end_a - 1], b[end_b - 1])) --end_a, --end_b;
  if ((end_a - head + 1) * (end_b - head + 1) <= kMostPairings) {
    align(std::span(a).subspan(head, end_a - head), std::span(b).subspan(head, end_b - head), head, out);
  } else {
    const size_t both = std::min(end_a, end_b);
    for (size_t i = head; i < both; ++i) out.emplace_back(i, i);  // too many to search
    for (size_t i = both; i < end_a; ++i) out.emplace_back(i, std::nullopt);
    for (size_t i = both; i < end_b; ++i) out.emplace_back(std::nullopt, i);
  }
  for (; end_a < a.size(); ++end_a, ++end_b) out.emplace_back(end_a, end_b);
  return out;
}

// What a task writes, by register in the order of first writes; words of other kinds under null.
struct Writes {
  const RegisterEntry* entry = nullptr;
  std::vector<uint64_t> words;
  std::vector<int64_t> places;  // indices in the stream
};

std::vector<Writes> writes_of(const Side& side) {
  std::vector<Writes> out(kRegisterCount + 1);
  for (int64_t i = side.words.first; i < side.words.first + side.words.count; ++i) {
    const uint64_t word = side.stream->words[static_cast<size_t>(i)];
    if (word == 0) continue;
    const RegisterEntry* entry = find_register(target_of(word), offset_of(word));
    Writes& writes = out[entry != nullptr ? entry->number : kRegisterCount];
    writes.entry = entry;
    writes.words.push_back(word);
    writes.places.push_back(i);
  }
  return out;
}

class Comparer {
 public:
  Comparer(const Side& a, const Side& b, const DiffOptions& options, TaskPair& out)
      : a_(a), b_(b), options_(options), out_(out) {}

  void run() {
    const std::vector<Writes> writes_a = writes_of(a_), writes_b = writes_of(b_);
    for (size_t r = 0; r < writes_a.size(); ++r) compare(writes_a[r], writes_b[r]);
    out_.reordered = out_.differences.empty() && options_.addresses && !without_nops_equal();
  }

 private:
  bool without_nops_equal() const {
    const auto words = [](const Side& side) {
      std::vector<uint64_t> out;
      std::ranges::copy_if(side.span(), std::back_inserter(out), [](uint64_t w) { return w != 0; });
      return out;
    };
    const std::vector<uint64_t> a = words(a_), b = words(b_);
    if (a.size() != b.size()) return true;  // written more often, with the same values: no other order
    for (size_t i = 0; i < a.size(); ++i)
      if (target_of(a[i]) != target_of(b[i]) || offset_of(a[i]) != offset_of(b[i])) return false;
    return true;
  }

  void add(std::string where, std::string a, std::string b, bool address = false) {
    out_.differences.push_back({std::move(where), std::move(a), std::move(b), address});
  }

  void compare(const Writes& a, const Writes& b) {
    if (a.words.empty() && b.words.empty()) return;
    const RegisterEntry* entry = a.entry != nullptr ? a.entry : b.entry;
    if (entry == nullptr) return compare_others(a, b);
    if (entry->address && (!options_.addresses || same_places(a, b))) return;
    const std::string name(entry->info->name);
    if (a.words.empty() || b.words.empty()) {
      add(name, a.words.empty() ? "not written" : shown(a, a_),
          b.words.empty() ? "not written" : shown(b, b_), entry->address);
      return;
    }
    // A register that is written again with the same value says nothing new.
    if (repeats(a) && repeats(b)) return compare_values(*entry, a, b);
    size_t differing = 0, first = 0;
    const size_t common = std::min(a.words.size(), b.words.size());
    for (size_t i = common; i-- > 0;)
      if (a.words[i] != b.words[i]) ++differing, first = i;
    if (differing > 0)
      add(fmt::format("{} (write {} of {}, {} differ)", name, first, common, differing),
          word_text(a.words[first]), word_text(b.words[first]));
    if (a.words.size() != b.words.size())
      add(name, fmt::format("{} writes", a.words.size()), fmt::format("{} writes", b.words.size()));
  }

  static bool repeats(const Writes& w) {
    return std::ranges::all_of(w.words, [&](uint64_t word) { return word == w.words.front(); });
  }

  void compare_values(const RegisterEntry& entry, const Writes& a, const Writes& b) {
    const uint32_t va = value_of(a.words.front()), vb = value_of(b.words.front());
    if (va == vb && !(entry.address && (place(a_, a) || place(b_, b)))) return;
    if (entry.address) {
      if (const std::string ta = shown(a, a_), tb = shown(b, b_); ta != tb)
        add(std::string(entry.info->name), ta, tb, true);
      return;
    }
    for (const FieldEntry& field : entry.fields)
      if (((va ^ vb) & field.mask) != 0)
        add(std::string(field.info->name), value_text(field, field.decode(va)),
            value_text(field, field.decode(vb)));
    if (((va ^ vb) & ~entry.known) != 0)
      add(fmt::format("{} reserved bits", entry.info->name), fmt::format("{:#x}", va & ~entry.known),
          fmt::format("{:#x}", vb & ~entry.known));
  }

  void compare_others(const Writes& a, const Writes& b) {
    if (a.words == b.words) return;
    const auto list = [](const Writes& w) {
      std::string out;
      for (size_t i = 0; i < std::min<size_t>(w.words.size(), 4); ++i)
        out += fmt::format("{}{}", i == 0 ? "" : ", ", word_text(w.words[i]));
      return w.words.size() > 4 ? out + fmt::format(", ... ({} words)", w.words.size()) : out;
    };
    add("other words", list(a), list(b));
  }

  static std::optional<Place> place(const Side& side, const Writes& writes) {
    return place_of(*side.stream, writes.places.front());
  }
  bool same_places(const Writes& a, const Writes& b) const {
    if (a.words.empty() || b.words.empty()) return false;
    const auto pa = place(a_, a), pb = place(b_, b);
    return pa && pb && *pa == *pb;
  }
  static std::string shown(const Writes& writes, const Side& side) {
    if (const auto p = place(side, writes)) return p->text();
    const std::string text = word_text(writes.words.front());
    if (writes.entry != nullptr && writes.entry->address)
      return fmt::format("{:#x}", value_of(writes.words.front()));
    const size_t blank = text.find(' ');
    return blank == std::string::npos ? "written with 0" : text.substr(blank + 1);
  }

  const Side& a_;
  const Side& b_;
  const DiffOptions& options_;
  TaskPair& out_;
};

// Bytes after the last word and words after the last task.
std::string rest_of(const std::vector<Stream>& streams) {
  std::string out;
  for (const Stream& stream : streams)
    for (const uint8_t byte : stream.rest) out += fmt::format(" {:02x}", byte);
  return out;
}

}  // namespace

bool Diff::equal() const {
  return rest.empty() && std::ranges::all_of(pairs, [](const TaskPair& pair) { return pair.equal(); });
}

Diff diff_streams(const std::vector<Stream>& a, const std::vector<Stream>& b, const DiffOptions& options) {
  const std::vector<Side> sides_a = sides_of(a), sides_b = sides_of(b);
  Diff out{sides_a.size(), sides_b.size(), {}, {}};
  for (const auto& [i, j] : pairs_of(sides_a, sides_b)) {
    TaskPair pair;
    pair.a = i;
    pair.b = j;
    pair.operation = i ? describe(sides_a[*i].facts) : describe(sides_b[*j].facts);
    if (i && j) Comparer(sides_a[*i], sides_b[*j], options, pair).run();
    out.pairs.push_back(std::move(pair));
  }
  if (const std::string ra = rest_of(a), rb = rest_of(b); ra != rb)
    out.rest = fmt::format("bytes after the last word:{} and{}", ra.empty() ? " none" : ra,
                           rb.empty() ? " none" : rb);
  return out;
}

std::string diff_text(const Diff& diff, const std::string& name_a, const std::string& name_b) {
  std::string out =
      fmt::format("--- {} ({} tasks)\n+++ {} ({} tasks)\n", name_a, diff.tasks_a, name_b, diff.tasks_b);
  size_t same = 0;
  for (const TaskPair& pair : diff.pairs) {
    if (!pair.a) {
      out += fmt::format("+ task {}: {}\n", *pair.b, pair.operation);
    } else if (!pair.b) {
      out += fmt::format("- task {}: {}\n", *pair.a, pair.operation);
    } else if (!pair.differences.empty()) {
      out += fmt::format("* task {} and {}: {}\n", *pair.a, *pair.b, pair.operation);
      for (const Difference& d : pair.differences)
        out += fmt::format("    {}: {} -> {}\n", d.where, base::printable(d.a), base::printable(d.b));
    } else {
      ++same;
      if (pair.reordered)
        out += fmt::format("  task {} and {}: the same writes in another order\n", *pair.a, *pair.b);
    }
  }
  if (!diff.rest.empty()) out += diff.rest + "\n";
  return out + fmt::format("{} of {} tasks are the same\n", same, diff.pairs.size());
}

}  // namespace peraxis::trace
