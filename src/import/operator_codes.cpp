// Which operators of a file are read, and why not the others. All of a file's are looked at before anything
// else, so that a refusal names every one.
#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "import/tflite_reader.hpp"

namespace peraxis::import {

namespace {

using tfl::BuiltinOperator;

constexpr const char* kDetectionName = "TFLite_Detection_PostProcess";

struct Versions {
  BuiltinOperator op;
  int32_t least, most;
};
constexpr std::array kVersions = {
#define PERAXIS_VERSIONS(name, least, most) Versions{BuiltinOperator::name, least, most},
#include "import/versions.def"
#undef PERAXIS_VERSIONS
};

struct Builtin {
  BuiltinOperator op;
  ir::OpKind kind;
};
constexpr std::array kBuiltins = {
#define PERAXIS_BUILTIN(name, kind) Builtin{BuiltinOperator::name, ir::OpKind::kind},
#include "import/builtins.def"
#undef PERAXIS_BUILTIN
};

std::optional<ir::OpKind> kind_of(BuiltinOperator op) {
  const auto row = std::ranges::find(kBuiltins, op, &Builtin::op);
  return row == kBuiltins.end() ? std::nullopt : std::optional(row->kind);
}

// Custom operators that stand for the part of a network that some chip's compiler took, by the start of their
// names.
struct Compiled {
  std::string_view prefix;
  const char* chip;
  const char* compiler;
};
constexpr Compiled kCompiled[] = {
    {"ethos-u", "Arm's Ethos-U", "Vela"},
    {"edgetpu-custom-op", "the Coral Edge TPU", "edgetpu_compiler"},
    {"NeutronGraph", "NXP's Neutron NPU", "the Neutron converter"},
    {"DISPATCH_OP", "the NPU of a phone or board (Qualcomm, MediaTek, Google Tensor, ...)",
     "LiteRT's compiler plugin"},
    {"vsi-npu", "a VeriSilicon NPU", "the VX delegate"},
    {"XC_", "XMOS xcore", "xmos-ai-tools"},
};

std::string custom_refusal(const std::string& name) {
  for (const Compiled& row : kCompiled) {
    if (!name.starts_with(row.prefix)) continue;
    return fmt::format("the file was compiled for {}; bring the TFLite file that was given to {}", row.chip,
                       row.compiler);
  }
  if (name.starts_with("Flex")) {
    return "it runs inside TensorFlow (Select TF ops); convert the model with TFLite's own operators only";
  }
  return "not supported";
}

const char* builtin_refusal(BuiltinOperator op) {
  switch (op) {
    case BuiltinOperator::IF:
    case BuiltinOperator::WHILE:
    case BuiltinOperator::CALL:
    case BuiltinOperator::STABLEHLO_WHILE:
    case BuiltinOperator::STABLEHLO_CASE:
    case BuiltinOperator::STABLEHLO_COMPOSITE:
      return "it runs another subgraph (control flow), which is not supported; export the model without";
    case BuiltinOperator::CALL_ONCE:
    case BuiltinOperator::VAR_HANDLE:
    case BuiltinOperator::READ_VARIABLE:
    case BuiltinOperator::ASSIGN_VARIABLE:
    case BuiltinOperator::HASHTABLE:
    case BuiltinOperator::HASHTABLE_FIND:
    case BuiltinOperator::HASHTABLE_IMPORT:
    case BuiltinOperator::HASHTABLE_SIZE:
      return "it keeps state from run to run (variables), which is not supported; export the model with its "
             "state "
             "as inputs and outputs";
    default:
      return "not supported";
  }
}

std::string version_refusal(BuiltinOperator op, int32_t version) {
  const auto row = std::ranges::find(kVersions, op, &Versions::op);
  if (row == kVersions.end() || (version >= row->least && version <= row->most)) return {};
  return fmt::format("version {}, but LiteRT 2.3.0 knows {} to {} and refuses the file, too", version,
                     row->least, row->most);
}

// Operators of the file by what makes them the same to a reader.
using Key = std::tuple<int32_t, std::string, int32_t>;

std::string subject(const OperatorCount& entry) {
  const std::string name =
      entry.custom
          ? fmt::format("the custom operator '{}'", entry.name)
          : fmt::format("{} (code {})", entry.name.empty() ? "of an unknown kind" : entry.name, entry.code);
  const std::string who = entry.count == 1
                              ? fmt::format("operator {} is", entry.first)
                              : fmt::format("operator {} and {} more are", entry.first, entry.count - 1);
  return fmt::format("{} {}", who, name);
}

}  // namespace

int32_t operator_code(ir::OpKind kind) {
  const auto row = std::ranges::find(kBuiltins, kind, &Builtin::kind);
  return static_cast<int32_t>(row == kBuiltins.end() ? BuiltinOperator::CUSTOM : row->op);
}

// Old files hold the operator in a byte, new ones in an int32 beside it (the byte then says 127 when the
// value does not fit): the larger of the two is meant.
Result<OperatorCode> read_code(const File& file, const tfl::Operator& op, size_t index) {
  const auto* codes = file.model().operator_codes();
  if (codes == nullptr || op.opcode_index() >= codes->size() || codes->Get(op.opcode_index()) == nullptr) {
    return fail(ErrorCode::InvalidModel, "operator {} names operator code {}, the file has {}", index,
                op.opcode_index(), codes == nullptr ? 0 : codes->size());
  }
  const tfl::OperatorCode& entry = *codes->Get(op.opcode_index());
  OperatorCode out;
  out.code = std::max(int32_t{entry.deprecated_builtin_code()}, static_cast<int32_t>(entry.builtin_code()));
  out.version = entry.version();
  const auto builtin = static_cast<BuiltinOperator>(out.code);
  if (builtin == BuiltinOperator::CUSTOM) {
    out.custom = true;
    out.name = entry.custom_code() == nullptr ? "" : entry.custom_code()->str();
    if (out.name == kDetectionName) {
      out.kind = ir::OpKind::DetectionPostProcess;
    } else {
      out.refusal = custom_refusal(out.name);
    }
    return out;
  }
  out.name = tfl::EnumNameBuiltinOperator(builtin);
  out.kind = kind_of(builtin);
  out.refusal = out.kind ? version_refusal(builtin, out.version) : builtin_refusal(builtin);
  return out;
}

Result<std::vector<OperatorCount>> count_codes(const File& file, const tfl::SubGraph& subgraph) {
  std::vector<OperatorCount> out;
  std::map<Key, size_t> places;
  const size_t count = subgraph.operators() == nullptr ? 0 : subgraph.operators()->size();
  for (size_t i = 0; i < count; ++i) {
    const tfl::Operator& op = *subgraph.operators()->Get(static_cast<flatbuffers::uoffset_t>(i));
    OperatorCode code = PERAXIS_TRY(read_code(file, op, i));
    const auto [place, added] = places.try_emplace(Key{code.code, code.name, code.version}, out.size());
    if (added) out.push_back({std::move(code), 0, i});
    ++out[place->second].count;
  }
  return out;
}

Status check_codes(const File& file, const tfl::SubGraph& subgraph) {
  std::vector<std::pair<std::string, std::string>> refused;  // reason, operators with it
  for (const OperatorCount& entry : PERAXIS_TRY(count_codes(file, subgraph))) {
    if (entry.refusal.empty()) continue;
    auto place = std::ranges::find(refused, entry.refusal, &std::pair<std::string, std::string>::first);
    if (place == refused.end()) place = refused.insert(place, {entry.refusal, ""});
    place->second += (place->second.empty() ? "" : ", ") + subject(entry);
  }
  std::string text;
  for (const auto& [reason, operators] : refused)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", operators, reason);
  if (text.empty()) return {};
  return fail(ErrorCode::Unsupported, "{}", text);
}

}  // namespace peraxis::import
