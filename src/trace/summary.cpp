// See summary.hpp.
#include "trace/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/table.hpp"
#include "trace/text.hpp"

namespace peraxis::trace {

using rk3588::Source;

namespace {

using Counts = std::vector<std::pair<std::string, int64_t>>;

void count(Counts& counts, const std::string& key) {
  for (auto& [name, n] : counts)
    if (name == key) {
      ++n;
      return;
    }
  counts.emplace_back(key, 1);
}

std::string counts_text(const Counts& counts) {
  std::string out;
  for (const auto& [name, n] : counts) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", n, name);
  return out.empty() ? "none" : out;
}

std::string extent_text(const Extent& e) {
  return fmt::format("{}x{}x{}", e.w, e.h, e.c);
}

std::string kernel_text(const Facts& f) {
  if (f.kernel.x == 0) return "";
  std::string out = fmt::format("{}x{}", f.kernel.x, f.kernel.y);
  if (f.stride != Pair{1, 1})
    out += f.stride.x == f.stride.y ? fmt::format("s{}", f.stride.x)
                                    : fmt::format("s{}x{}", f.stride.x, f.stride.y);
  return out;
}

bool has_dpu(const Facts& f) {
  return f.operation != Operation::Unknown && f.operation != Operation::Pooling &&
         f.operation != Operation::Barrier;
}

std::vector<std::string> row_of(const Facts& f) {
  const bool dpu = has_dpu(f);
  std::string operation = operation_name(f.operation);
  if (!f.elementwise.empty())
    operation = f.convolves()                       ? fmt::format("{}+{}", operation, f.elementwise)
                : f.operation == Operation::Pooling ? fmt::format("{} pooling", f.elementwise)
                                                    : f.elementwise;
  std::string extra = f.core_split != 0 ? fmt::format("split{}", f.core_split) : "";
  if (f.barrier != 0) extra += fmt::format("{}wait{}", extra.empty() ? "" : " ", f.barrier + 1);
  return {
      operation,
      kernel_text(f),
      extent_text(f.in),
      extent_text(f.out),
      f.convolves() ? fmt::format("{}+{}{}", f.data_banks, f.weight_banks, f.weight_reuse ? "r" : "") : "",
      f.bs,
      f.bn,
      dpu ? brdma_text(f.brdma_use) : "",
      dpu ? fmt::format("{}>>{}", f.out_scale, f.out_shift) : "",
      mechanism_name(f.mechanism),
      extra};
}

std::string range_text(size_t first, size_t last) {
  return first == last ? fmt::format("{}", first) : fmt::format("{}..{}", first, last);
}

}  // namespace

Totals totals_of(const std::vector<Facts>& facts) {
  Totals t;
  for (const Facts& f : facts) {
    ++t.tasks;
    t.words += f.words;
    count(t.operations, operation_name(f.operation));
    count(t.core_splits, core_split_text(f.core_split));
    if (!has_dpu(f)) continue;
    t.one_channel += f.out.c == 1 ? 1 : 0;
    t.nrdma += f.nrdma_use != 0 ? 1 : 0;
    t.bn_multiplies += f.bn_multiplies && !f.table ? 1 : 0;
    count(t.mechanisms, mechanism_name(f.mechanism));
    count(t.bs, fmt::format("{:#x}", f.bs_cfg));
    count(t.bn, fmt::format("{:#x}", f.bn_cfg));
    count(t.brdma, brdma_text(f.brdma_use) == "-" ? "off" : brdma_text(f.brdma_use));
  }
  return t;
}

std::string summary_text(const std::vector<Facts>& facts) {
  base::Table table({"task", "operation", "kernel", "in", "out", "banks", "BS", "BN", "BRDMA", "OUT_CVT",
                     "mechanism", "cores"});
  table.align(0, base::Table::Align::Right);
  for (size_t first = 0; first < facts.size();) {
    const std::vector<std::string> row = row_of(facts[first]);
    size_t last = first;
    while (last + 1 < facts.size() && row_of(facts[last + 1]) == row) ++last;
    std::vector<std::string> cells{range_text(first, last)};
    cells.insert(cells.end(), row.begin(), row.end());
    table.add_row(std::move(cells));
    first = last + 1;
  }
  const Totals t = totals_of(facts);
  return table.text() + fmt::format(
                            "{} tasks, {} words: {}\nmechanisms: {}\nDPU cubes of one channel: {}; BN "
                            "multiplies: {}; NRDMA on: "
                            "{}\nBS_CFG: {}\nBN_CFG: {}\nBRDMA: {}\ncores: {}\n",
                            t.tasks, base::with_thousands(t.words), counts_text(t.operations),
                            counts_text(t.mechanisms), t.one_channel, t.bn_multiplies, t.nrdma,
                            counts_text(t.bs), counts_text(t.bn), counts_text(t.brdma),
                            counts_text(t.core_splits));
}

Sources sources_of(const std::vector<Stream>& streams) {
  std::map<const FieldEntry*, FieldUse> uses;
  std::map<std::string, int64_t> unknown;
  for (const Stream& stream : streams)
    for (const uint64_t word : stream.words) {
      const RegisterEntry* entry = find_register(target_of(word), offset_of(word));
      if (entry == nullptr) {
        if (word != 0 && !looks_like_command(word))
          ++unknown[fmt::format("raw word {:#018x}", word)];
        else if (word != 0 && target_of(word) != rk3588::kSeparatorTarget && !is_enable(word))
          ++unknown[fmt::format("register {:#06x} of target {:#06x}", offset_of(word), target_of(word))];
        continue;
      }
      const uint32_t value = value_of(word);
      if ((value & ~entry->known) != 0)
        ++unknown[fmt::format("{} reserved bits {:#x}", entry->info->name, value & ~entry->known)];
      for (const FieldEntry& field : entry->fields) {
        if ((value & field.mask) == 0) continue;
        FieldUse& use = uses[&field];
        use.field = &field;
        ++use.words;
        const int64_t is = field.decode(value);
        if (use.values.size() < kMostValues &&
            std::find(use.values.begin(), use.values.end(), is) == use.values.end())
          use.values.push_back(is);
      }
    }
  Sources out;
  for (const Source source :
       {Source::SILICON, Source::OBSERVED, Source::MAINLINE, Source::TRM, Source::GUESS}) {
    SourceUse group{source, {}};
    for (const auto& [field, use] : uses)
      if (field->info->source == source) group.fields.push_back(use);
    std::sort(group.fields.begin(), group.fields.end(), [](const FieldUse& a, const FieldUse& b) {
      return a.field->info->offset != b.field->info->offset ? a.field->info->offset < b.field->info->offset
                                                            : a.field->info->low < b.field->info->low;
    });
    out.by_source.push_back(std::move(group));
  }
  for (const auto& [what, words] : unknown) out.unknown.push_back({what, words});
  return out;
}

std::string sources_text(const Sources& sources) {
  std::string out = "fields that are set, by how their meaning is known:";
  for (const SourceUse& group : sources.by_source)
    out += fmt::format(" {} {}", group.fields.size(), source_name(group.source));
  out += "\n";
  base::Table table({"field", "source", "words", "values", "meaning"});
  for (const SourceUse& group : sources.by_source)
    for (const FieldUse& use : group.fields) {
      if (group.source != Source::GUESS) continue;
      std::string values;
      for (const int64_t v : use.values)
        values += fmt::format("{}{}", values.empty() ? "" : " ", value_text(*use.field, v));
      table.add_row({std::string(use.field->info->name), source_name(group.source), std::to_string(use.words),
                     values, std::string(use.field->info->meaning.substr(0, 70))});
    }
  if (table.rows() > 0) out += "\nresting on a guess:\n" + table.text();
  if (!sources.unknown.empty()) {
    out += "\nin no table:\n";
    for (const UnknownUse& use : sources.unknown)
      out += fmt::format("  {} in {} words\n", use.what, use.words);
  }
  return out;
}

}  // namespace peraxis::trace
