// A program of the vendor's compiler as ../shared/vendor records it: tensors with their constants, command
// blocks, relocations. Places it in the memory of a machine and runs it.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "machine/machine.hpp"

namespace peraxis::machine::test {

std::filesystem::path shared_folder();
std::vector<uint8_t> decode_base64(const std::string& text);
// Empty when the file does not exist.
std::string read_gzip(const std::filesystem::path& path);

class VendorCase {
 public:
  // `folder` is cases or nets. Tensors without recorded contents get random ones from `seed`.
  VendorCase(const std::string& folder, const std::string& name, Options options, uint32_t seed = 1);
  bool found() const { return found_; }
  const nlohmann::json& info() const { return info_; }

  // Chains of blocks: [0] for one core, then those for two, then those for three.
  size_t chains() const { return chains_.size(); }
  bool has_cores(size_t cores) const { return first_chain(cores) + cores <= chains_.size(); }
  // Unless `keep`, all bytes that the program writes count as unwritten again before the run.
  Result<std::vector<std::vector<TaskReport>>> run(size_t cores, bool keep = false);
  // [channel][pixel], as the recorded outputs are.
  std::vector<int8_t> output(const std::string& tensor);
  // What the convolution of a net gives, by a formula that knows nothing of the machine: plain sums over the
  // recorded layout of weights and records, then the compiler's published requantization with ties up. Only
  // for convolutions of stride 1 with as many rows out as in and no activation. As output().
  std::vector<int8_t> convolved(const nlohmann::json& node) const;
  // `tensor`, or the one the program writes when a reshape on the CPU follows.
  std::string written(const std::string& tensor) const;
  // Clears the barrier bits of all blocks.
  void remove_barriers();

 private:
  struct Chain {
    uint32_t address = 0, words = 0;
    int32_t tasks = 0;
  };
  static size_t first_chain(size_t cores) { return cores == 1 ? 0 : (cores == 2 ? 1 : 3); }
  void map_tensors(uint32_t seed);
  std::vector<uint8_t> contents(const nlohmann::json& tensor, uint32_t seed) const;
  std::vector<uint8_t> input(const nlohmann::json& tensor) const;
  void add(const std::string& name, std::vector<uint8_t> bytes, bool written);
  void map_commands();
  const nlohmann::json& tensor(const std::string& name) const;

  bool found_ = false;
  nlohmann::json info_;
  Machine machine_;
  std::map<std::string, uint32_t> address_;
  std::map<std::string, bool> written_;
  std::map<std::string, std::vector<uint8_t>> bytes_;
  std::vector<uint8_t> commands_;
  std::vector<Chain> chains_;
  uint32_t next_ = 0x1000000;
};

}  // namespace peraxis::machine::test
