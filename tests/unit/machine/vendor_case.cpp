#include "vendor_case.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <sstream>

namespace peraxis::machine::test {
namespace {

using nlohmann::json;

constexpr uint32_t kCommandBase = 0x100000;
constexpr int kInput = 1, kConstant = 4, kParameter = 5, kScratch = 6;  // "kind" of a tensor

std::vector<uint64_t> parse_words(const std::string& text) {
  std::vector<uint64_t> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words.push_back(std::stoull(word, nullptr, 16));
  return words;
}

// The look-up table's words, which the recording keeps apart: the first of lut_le follows the neutral write
// of LUT_ACCESS_CFG, then 513 follow the start of each table.
std::vector<uint64_t> with_table(const json& task) {
  std::vector<uint64_t> out;
  const std::vector<uint64_t> words = parse_words(task["regcmd"]);
  if (!task.contains("lut_le")) return words;
  const auto data = [&](const json& value) {
    out.push_back(uint64_t{0x1001} << 48 | static_cast<uint64_t>(value.get<int>() & 0xFFFF) << 16 | 0x4104);
  };
  const json& le = task["lut_le"];
  for (const uint64_t word : words) {
    out.push_back(word);
    if ((word & 0xFFFF) != 0x4100) continue;
    const auto value = static_cast<uint32_t>(word >> 16);
    if (value == 0) data(le[0]);
    for (size_t i = 0; i < 513; ++i) {
      if (value == 0x20000) data(le[i + 1]);
      if (value == 0x30000) data(task["lut_lo"][i]);
    }
  }
  return out;
}

std::vector<uint8_t> random_bytes(size_t size, std::mt19937& rng) {
  std::vector<uint8_t> out(size);
  for (uint8_t& b : out) b = static_cast<uint8_t>(rng());
  return out;
}

// Records of 8 channels with a bias, a small correction and a factor that is no power of two.
std::vector<uint8_t> random_records(size_t size, std::mt19937& rng) {
  std::vector<uint8_t> out(size);
  const auto put = [&](size_t at, int64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i)
      out[at + i] = static_cast<uint8_t>(static_cast<uint64_t>(value) >> (8 * i));
  };
  for (size_t record = 0; record + 64 <= size; record += 64)
    for (size_t c = 0; c < 8; ++c) {
      put(record + 4 * c, static_cast<int64_t>(rng() % 40001) - 20000, 4);
      put(record + 32 + 2 * c, static_cast<int64_t>(rng() % 9) - 4, 2);
      put(record + 48 + 2 * c, static_cast<int64_t>(8192 + rng() % 8193), 2);
    }
  return out;
}

}  // namespace

std::filesystem::path shared_folder() {
  const char* env = std::getenv("PERAXIS_SHARED");
  return env != nullptr ? std::filesystem::path(env) : std::filesystem::path("../shared");
}

std::string read_gzip(const std::filesystem::path& path) {
  std::string out;
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return out;
  char buffer[65536];
  for (int n = 0; (n = gzread(file, buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<size_t>(n));
  gzclose(file);
  return out;
}

std::vector<uint8_t> decode_base64(const std::string& text) {
  std::vector<uint8_t> out;
  uint32_t bits = 0;
  int have = 0;
  for (const char c : text) {
    const char* alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char* at = std::strchr(alphabet, c);
    if (at == nullptr || c == 0) continue;
    bits = bits << 6 | static_cast<uint32_t>(at - alphabet);
    have += 6;
    if (have < 8) continue;
    have -= 8;
    out.push_back(static_cast<uint8_t>(bits >> have));
  }
  return out;
}

VendorCase::VendorCase(const std::string& folder, const std::string& name, Options options, uint32_t seed)
    : machine_(options) {
  const std::string text = read_gzip(shared_folder() / "vendor" / folder / (name + ".json.gz"));
  if (text.empty()) return;
  found_ = true;
  info_ = json::parse(text);
  map_tensors(seed);
  map_commands();
}

// A logical NCHW array in the tensor's native form [1][groups][H][W][lanes]; spare lanes hold the zero point.
std::vector<uint8_t> VendorCase::input(const json& tensor) const {
  const std::vector<uint8_t> nchw = decode_base64(info_["inputs"][tensor["name"]]["nchw_int8"]);
  const json& native = tensor["native"];
  const size_t groups = native[1], pixels = native[2].get<size_t>() * native[3].get<size_t>(),
               lanes = native[4];
  std::vector<uint8_t> out(groups * pixels * lanes, static_cast<uint8_t>(tensor["zp"][0].get<int>()));
  for (size_t i = 0; i < nchw.size(); ++i) {
    const size_t c = i / pixels, p = i % pixels;
    out[(c / lanes * pixels + p) * lanes + c % lanes] = nchw[i];
  }
  return out;
}

std::vector<uint8_t> VendorCase::contents(const json& tensor, uint32_t seed) const {
  const std::string name = tensor["name"];
  const int kind = tensor["kind"];
  const size_t size = tensor.value("size", size_t{4096});
  std::mt19937 rng(seed + static_cast<uint32_t>(address_.size()));
  if (info_.contains("const") && info_["const"].contains(name)) return decode_base64(info_["const"][name]);
  if (info_.contains("inputs") && info_["inputs"].contains(name)) return input(tensor);
  if (kind == kInput) return random_bytes(size, rng);
  if (kind == kConstant)
    return tensor["dtype"] == "int32" ? random_records(size, rng) : random_bytes(size, rng);
  if (kind == kParameter || kind == kScratch) return std::vector<uint8_t>(size);
  return {};
}

void VendorCase::add(const std::string& name, std::vector<uint8_t> bytes, bool written) {
  address_[name] = next_;
  written_[name] = written;
  std::vector<uint8_t>& stored = bytes_[name] = std::move(bytes);
  if (!machine_.memory().map(next_, stored, name)) std::abort();
  if (written && !machine_.memory().mark_written(next_, static_cast<int64_t>(stored.size()))) std::abort();
  next_ += (static_cast<uint32_t>(stored.size()) + 0x1FFF) & ~0xFFFU;
}

void VendorCase::map_tensors(uint32_t seed) {
  for (const json& t : info_["tensors"]) {
    std::vector<uint8_t> bytes = contents(t, seed);
    const bool written = !bytes.empty();
    const size_t size = t.contains("size") && t["size"].is_number() ? t["size"].get<size_t>() : 4096;
    bytes.resize(std::max(size, bytes.size()));
    add(t["name"], std::move(bytes), written);
  }
  // Blocks that only make cores wait move an atom between tensors of their own.
  for (const json& r : info_["reloc"])
    if (!address_.contains(r["tensor"])) add(r["tensor"], std::vector<uint8_t>(4096), true);
}

void VendorCase::map_commands() {
  std::vector<uint64_t> words;
  bool ended = true;
  for (const json& task : info_["tasks"]) {
    const size_t first = std::stoull(task["addr"].get<std::string>(), nullptr, 16) / 8;
    const std::vector<uint64_t> block = with_table(task);
    words.resize(std::max(words.size(), first + block.size()));
    std::copy(block.begin(), block.end(), words.begin() + static_cast<int64_t>(first));
    if (ended)
      chains_.push_back(
          {kCommandBase + static_cast<uint32_t>(first) * 8, static_cast<uint32_t>(block.size()), 0});
    ++chains_.back().tasks;
    ended = true;
    for (size_t i = first; i < first + block.size(); ++i)
      if (words[i] >> 48 == 0x0101 && (words[i] & 0xFFFF) == 0x0010) {  // the next block's place in the list
        ended = false;
        words[i] += uint64_t{kCommandBase} << 16;
      }
  }
  for (const json& r : info_["reloc"])
    for (const json& at : r["at"]) {
      if (at[1].get<size_t>() >= words.size()) continue;  // of blocks that the recording leaves out
      uint64_t& word = words[at[1].get<size_t>()];
      const uint64_t value = address_.at(r["tensor"]) + at[0].get<uint32_t>();
      word = (word & 0xFFFF00000000FFFF) | value << 16;
    }
  commands_.resize(words.size() * 8);
  std::memcpy(commands_.data(), words.data(), commands_.size());
  if (!machine_.memory().map(kCommandBase, commands_, "commands")) std::abort();
  if (!machine_.memory().mark_written(kCommandBase, static_cast<int64_t>(commands_.size()))) std::abort();
}

void VendorCase::remove_barriers() {
  for (size_t i = 0; i + 8 <= commands_.size(); i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, commands_.data() + i, 8);
    if (word >> 48 != 0x0101 || (word & 0xFFFF) != 0x0014) continue;
    word &= ~(uint64_t{3} << 32);
    std::memcpy(commands_.data() + i, &word, 8);
  }
}

Result<std::vector<std::vector<TaskReport>>> VendorCase::run(size_t cores, bool keep) {
  for (const auto& [name, bytes] : bytes_)
    if (!keep && !written_.at(name))
      PERAXIS_TRY(machine_.memory().mark_unwritten(address_.at(name), static_cast<int64_t>(bytes.size())));
  std::vector<Kick> kicks;
  for (size_t i = 0; i < cores; ++i) {
    const Chain& chain = chains_[first_chain(cores) + i];
    kicks.push_back({chain.address, chain.words, chain.tasks, static_cast<int32_t>(i)});
  }
  return machine_.run(kicks);
}

std::string VendorCase::written(const std::string& tensor) const {
  for (const json& r : info_["reloc"])
    if (r["tensor"] == tensor) return tensor;
  for (const json& r : info_["reloc"])
    for (const json& t : info_["tensors"])
      if (t["name"] == r["tensor"] && t["kind"] == 3) return t["name"];
  return tensor;
}

std::vector<int8_t> VendorCase::output(const std::string& tensor) {
  for (const json& t : info_["tensors"]) {
    if (t["name"] != tensor) continue;
    const json& native = t["native"];
    const size_t channels = t["shape"][1];
    const size_t pixels = native.size() < 4 ? 1 : native[2].get<size_t>() * native[3].get<size_t>();
    const size_t groups = (channels + 15) / 16;
    // Several surfaces: their distance may be larger than a plane.
    const size_t plane =
        native.size() < 4 || groups == 1 ? pixels : t["size"].get<size_t>() / native[1].get<size_t>() / 16;
    std::vector<int8_t> out;
    for (size_t c = 0; c < channels; ++c) {
      const uint32_t surface = address_.at(tensor) + static_cast<uint32_t>(c / 16 * plane * 16);
      const auto bytes = machine_.memory().read(surface, static_cast<int64_t>(pixels * 16), "test");
      if (!bytes) return {};
      for (size_t p = 0; p < pixels; ++p) out.push_back(static_cast<int8_t>((*bytes)[p * 16 + c % 16]));
    }
    return out;
  }
  return {};
}

const json& VendorCase::tensor(const std::string& name) const {
  for (const json& t : info_["tensors"])
    if (t["name"] == name) return t;
  std::abort();
}

namespace {

int64_t little_endian(const std::vector<uint8_t>& bytes, size_t at, size_t size) {
  uint64_t out = 0;
  for (size_t i = 0; i < size; ++i) out |= uint64_t{bytes[at + i]} << (8 * i);
  const size_t shift = 64 - 8 * size;
  return static_cast<int64_t>(out << shift) >> shift;
}
int64_t shifted_up(int64_t value, int64_t shift) {
  return shift == 0 ? value : (value + (int64_t{1} << (shift - 1))) >> shift;
}
// The value that the first block writes to a register of the DPU.
int64_t register_value(const json& info, uint16_t offset) {
  for (const uint64_t word : parse_words(info["tasks"][0]["regcmd"]))
    if (word >> 48 == 0x1001 && (word & 0xFFFF) == offset)
      return static_cast<int64_t>(word >> 16 & 0xFFFFFFFF);
  std::abort();
}

}  // namespace

std::vector<int8_t> VendorCase::convolved(const json& node) const {
  const json& in = tensor(node["ins"][0]);
  const json& w = tensor(node["ins"][1]);
  const json& out = tensor(node["outs"][0]);
  const std::vector<uint8_t>&x = bytes_.at(in["name"]), &weights = bytes_.at(w["name"]),
        &records = bytes_.at(node["ins"][2]);
  const size_t ic = in["shape"][1], oc = out["shape"][1], height = in["shape"][2], width = in["shape"][3];
  const size_t kh = w["shape"][2], kw = w["shape"][3], kernels = w["native"][4], channels = w["native"][5],
               blocks = (ic + channels - 1) / channels, plane = height * width * 16;
  const int64_t zero = in["zp"][0], scale = register_value(info_, 0x4084),
                shift = register_value(info_, 0x4088);
  std::vector<int8_t> result;
  for (size_t k = 0; k < oc; ++k) {
    const size_t record = k / 8 * 64, lane = k % 8;
    const int64_t bias = little_endian(records, record + 4 * lane, 4),
                  per_input = little_endian(records, record + 32 + 2 * lane, 2),
                  multiplier = little_endian(records, record + 48 + 2 * lane, 2);
    for (size_t y = 0; y < height; ++y)
      for (size_t px = 0; px < width; ++px) {
        int64_t sum = bias;
        for (size_t i = 0; i < kh * kw; ++i) {
          const size_t sy = y + i / kw - kh / 2, sx = px + i % kw - kw / 2;  // wraps below zero
          const bool inside = sy < height && sx < width;
          for (size_t c = 0; c < ic; ++c) {
            const int64_t value =
                inside ? static_cast<int8_t>(x[c / 16 * plane + (sy * width + sx) * 16 + c % 16]) : zero;
            const size_t at =
                (((k / kernels * blocks + c / channels) * kh * kw + i) * kernels + k % kernels) * channels +
                c % channels;
            sum += value * (static_cast<int8_t>(weights[at]) + per_input);
          }
        }
        const int64_t v = shifted_up(shifted_up(sum * multiplier, 14) * scale, shift);
        result.push_back(
            static_cast<int8_t>(std::clamp<int64_t>(v + out["zp"][0].get<int64_t>(), -128, 127)));
      }
  }
  return result;
}

}  // namespace peraxis::machine::test
