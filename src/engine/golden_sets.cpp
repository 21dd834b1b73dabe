// See golden_sets.hpp.
#include "engine/golden_sets.hpp"

#include <charconv>
#include <optional>
#include <string_view>

#include "base/npy.hpp"
#include "engine/inputs.hpp"

namespace peraxis::engine {
namespace {

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < 0)
    return std::nullopt;
  return value;
}

struct Key {
  char kind = 0;  // 'i', 'o' or 't'
  int64_t first = 0, second = 0;
};
std::optional<Key> parse_key(std::string_view name) {
  if (name.size() < 2 || (name[0] != 'i' && name[0] != 'o' && name[0] != 't')) return std::nullopt;
  const std::string_view rest = name.substr(1);
  if (name[0] == 't') {
    const auto index = number(rest);
    return index ? std::optional<Key>({'t', *index, 0}) : std::nullopt;
  }
  const size_t underscore = rest.find('_');
  if (underscore == std::string_view::npos) return std::nullopt;
  const auto set = number(rest.substr(0, underscore)), n = number(rest.substr(underscore + 1));
  return set && n ? std::optional<Key>({name[0], *set, *n}) : std::nullopt;
}

// The tensor an array of this key belongs to.
Result<int32_t> tensor_of(const Key& key, const ir::Graph& graph, const std::string& what) {
  if (key.kind == 't') {
    if (key.first >= static_cast<int64_t>(graph.tensors.size()))
      return fail(ErrorCode::InvalidModel, "{}: the model has {} tensors", what, graph.tensors.size());
    return static_cast<int32_t>(key.first);
  }
  const std::vector<int32_t>& list = key.kind == 'i' ? graph.inputs : graph.outputs;
  if (key.second >= static_cast<int64_t>(list.size()))
    return fail(ErrorCode::InvalidModel, "{}: the model has {} {}", what, list.size(),
                key.kind == 'i' ? "inputs" : "outputs");
  return list[static_cast<size_t>(key.second)];
}

}  // namespace

Result<Goldens> read_goldens(const std::string& path, const ir::Graph& graph) {
  const base::ArrayMap arrays = PERAXIS_TRY(base::read_npz(path));
  std::map<int64_t, GoldenSet> sets;
  std::map<int64_t, std::map<size_t, std::vector<uint8_t>>> inputs;
  Goldens out;
  for (const auto& [name, array] : arrays) {
    const std::optional<Key> key = parse_key(name);
    if (!key) continue;
    const std::string what = fmt::format("{}: array {}", path, name);
    const int32_t tensor = PERAXIS_TRY(tensor_of(*key, graph, what));
    std::vector<uint8_t> bytes = PERAXIS_TRY(tensor_bytes(array, graph.tensor(tensor), what));
    if (key->kind == 't')
      out.tensors[tensor] = std::move(bytes);
    else if (key->kind == 'i')
      inputs[key->first][static_cast<size_t>(key->second)] = std::move(bytes);
    else
      sets[key->first].outputs[static_cast<size_t>(key->second)] = std::move(bytes);
  }
  for (auto& [k, by_index] : inputs) {
    GoldenSet& set = sets[k];
    for (size_t n = 0; n < graph.inputs.size(); ++n) {
      const auto found = by_index.find(n);
      if (found == by_index.end())
        return fail(ErrorCode::InvalidModel, "{}: set {} lacks i{}_{}, the values of input {}", path, k, k, n,
                    n);
      set.inputs.push_back(std::move(found->second));
    }
  }
  for (auto& [k, set] : sets) {
    if (set.inputs.size() != graph.inputs.size())
      return fail(ErrorCode::InvalidModel, "{}: set {} has outputs but no inputs", path, k);
    set.number = k;
    out.sets.push_back(std::move(set));
  }
  if (out.sets.empty() && out.tensors.empty())
    return fail(ErrorCode::InvalidModel, "{} holds no arrays named i<set>_<n>, o<set>_<n> or t<tensor>",
                path);
  return out;
}

}  // namespace peraxis::engine
