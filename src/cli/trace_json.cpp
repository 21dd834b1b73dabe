// See trace_json.hpp.
#include "cli/trace_json.hpp"

#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "cli/load.hpp"

namespace peraxis::cli {
namespace {

Json extent_json(const trace::Extent& e) {
  return {{"width", e.w}, {"height", e.h}, {"channels", e.c}};
}
Json pair_json(const trace::Pair& p) {
  return Json::array({p.x, p.y});
}

std::string hex(int64_t value, int digits) {
  return fmt::format("0x{:0{}x}", value, digits);
}

Json word_json(const trace::Stream& stream, int64_t index, const std::optional<uint32_t>& before) {
  const uint64_t word = stream.words[static_cast<size_t>(index)];
  Json out{{"word", index}, {"raw", fmt::format("0x{:016x}", word)}};
  const trace::RegisterEntry* entry = trace::find_register(trace::target_of(word), trace::offset_of(word));
  if (entry == nullptr) {
    out["text"] = trace::word_text(word);
    return out;
  }
  const uint32_t value = trace::value_of(word);
  const std::string name(entry->info->name);
  out["block"] = name.substr(0, name.find('.'));
  out["register"] = name.substr(name.find('.') + 1);
  out["offset"] = hex(entry->info->offset, 4);
  out["value"] = hex(value, 8);
  out["fields"] = fields_json(*entry, value);
  if ((value & ~entry->known) != 0) out["reserved"] = hex(value & ~entry->known, 8);
  if (const auto place = trace::place_of(stream, index))
    out["place"] = {{"buffer", place->buffer}, {"offset", place->offset}};
  if (before && *before != value) {
    Json previous = Json::object();
    for (const trace::FieldEntry& field : entry->fields)
      if (((*before ^ value) & field.mask) != 0) previous[std::string(field.name)] = field.decode(*before);
    out["previous"] = std::move(previous);
  }
  return out;
}

Json counts_json(const std::vector<std::pair<std::string, int64_t>>& counts) {
  Json out = Json::object();
  for (const auto& [name, n] : counts) out[name] = n;
  return out;
}

}  // namespace

Json fields_json(const trace::RegisterEntry& entry, uint32_t value) {
  Json out = Json::object();
  for (const trace::FieldEntry& field : entry.fields) out[std::string(field.name)] = field.decode(value);
  return out;
}

Json facts_json(const trace::Facts& f) {
  Json out{{"operation", trace::operation_name(f.operation)},
           {"description", trace::describe(f)},
           {"complete", f.complete},
           {"enable", hex(f.enable, 2)},
           {"words", f.words},
           {"register_writes", f.writes},
           {"inherited_registers", f.inherited},
           {"input", extent_json(f.in)},
           {"output", extent_json(f.out)},
           {"real_output_channels", f.real_channels},
           {"input_bits", f.input_bits},
           {"output_bits", f.output_bits}};
  if (f.convolves() || f.operation == trace::Operation::Pooling) {
    out["kernel"] = pair_json(f.kernel);
    out["stride"] = pair_json(f.stride);
    out["padding"] = pair_json(f.pad);
  }
  if (f.convolves()) {
    out["dilation"] = pair_json(f.dilation);
    out["pad_value"] = f.pad_value;
    out["kernels"] = f.kernels;
    out["packed_input"] = f.packed_input;
    out["cbuf"] = {{"data_banks", f.data_banks},     {"weight_banks", f.weight_banks},
                   {"weight_reuse", f.weight_reuse}, {"data_reuse", f.data_reuse},
                   {"data_entries", f.entries},      {"feature_grains", f.grains}};
  }
  out["core_split"] = {{"kind", f.core_split}, {"text", trace::core_split_text(f.core_split)}};
  out["barrier"] = f.barrier;
  if (f.next_address != 0) out["next"] = {{"address", hex(f.next_address, 8)}, {"words", f.next_words}};
  out["stages"] = {{"bs", f.bs},
                   {"bn", f.bn},
                   {"ew", f.ew},
                   {"bs_cfg", hex(f.bs_cfg, 1)},
                   {"bn_cfg", hex(f.bn_cfg, 1)},
                   {"brdma_data_use", f.brdma_use},
                   {"nrdma_data_use", f.nrdma_use},
                   {"activation", f.activation}};
  if (!f.elementwise.empty()) out["elementwise"] = f.elementwise;
  out["requantization"] = {{"mechanism", trace::mechanism_name(f.mechanism)},
                           {"bs_shift", f.bs_shift},
                           {"scale", f.out_scale},
                           {"shift", f.out_shift},
                           {"offset", f.out_offset},
                           {"ties_away", f.ties_away}};
  out["addresses"] = Json::object();
  for (const auto& [name, address] : f.addresses) out["addresses"][name] = hex(address, 8);
  return out;
}

Json totals_json(const trace::Totals& t) {
  return {{"tasks", t.tasks},
          {"words", t.words},
          {"one_channel_cubes", t.one_channel},
          {"bn_multiplies", t.bn_multiplies},
          {"nrdma_on", t.nrdma},
          {"operations", counts_json(t.operations)},
          {"mechanisms", counts_json(t.mechanisms)},
          {"bs_cfg", counts_json(t.bs)},
          {"bn_cfg", counts_json(t.bn)},
          {"brdma", counts_json(t.brdma)},
          {"core_splits", counts_json(t.core_splits)}};
}

Json sources_json(const trace::Sources& sources) {
  Json out = Json::object();
  for (const trace::SourceUse& group : sources.by_source) {
    Json fields = Json::array();
    for (const trace::FieldUse& use : group.fields)
      fields.push_back({{"field", use.field->info->name},
                        {"words", use.words},
                        {"values", use.values},
                        {"meaning", use.field->info->meaning}});
    out[trace::source_name(group.source)] = std::move(fields);
  }
  out["unknown"] = Json::array();
  for (const trace::UnknownUse& use : sources.unknown)
    out["unknown"].push_back({{"what", use.what}, {"words", use.words}});
  return out;
}

Json stream_json(const trace::Stream& stream, bool registers) {
  Json out{{"name", stream.name}, {"words", stream.words.size()}, {"rest_bytes", stream.rest.size()}};
  out["tasks"] = Json::array();
  trace::RegisterImage image;
  std::vector<trace::Facts> all;
  int64_t index = 0;
  for (const trace::TaskWords& task : trace::split_tasks(stream.words)) {
    image.begin_task();
    Json words = Json::array();
    for (int64_t i = task.first; i < task.first + task.count; ++i) {
      const uint64_t word = stream.words[static_cast<size_t>(i)];
      const std::optional<uint32_t> before =
          index > 0 ? image.previous(trace::offset_of(word)) : std::nullopt;
      if (registers) words.push_back(word_json(stream, i, before));
      image.write(word);
    }
    all.push_back(trace::facts_of(stream, task, image));
    Json entry{{"task", index++}, {"first_word", task.first}};
    entry.update(facts_json(all.back()));
    if (const auto origin = stream.origins.lower_bound(task.first);
        origin != stream.origins.end() && origin->first < task.first + task.count)
      entry["origin"] = origin->second;
    if (registers) entry["registers"] = std::move(words);
    out["tasks"].push_back(std::move(entry));
    image.end_task();
  }
  out["totals"] = totals_json(trace::totals_of(all));
  return out;
}

Result<trace::Input> load_streams(const std::string& path, bool as_words) {
  const std::vector<uint8_t> bytes = PERAXIS_TRY(base::read_file(path));
  if (as_words) return trace::Input{trace::InputKind::Words, {trace::stream_of_bytes(path, bytes)}};
  Result<trace::Input> input = trace::read_input(path, bytes);
  if (input) return input;
  Error error = std::move(input).error();
  const std::string what = trace::looks_like_vendor_model(bytes) ? "" : describe_content(bytes);
  error.message =
      fmt::format("{}: {}{}{}", path, error.message, what.empty() ? "" : "; it looks like ", what);
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace peraxis::cli
