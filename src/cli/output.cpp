// See output.hpp.
#include "cli/output.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

namespace peraxis::cli {

std::string json_text(const Json& document) {
  return base::printable_json(document.dump(2, ' ', false, Json::error_handler_t::replace));
}

namespace {

void print_to(std::FILE* file, const std::string& text) {
  const std::string shown = base::printable_lines(text);
  std::fwrite(shown.data(), 1, shown.size(), file);
}

}  // namespace

void print_text(const std::string& text) {
  print_to(stdout, text);
}

void print_notice(const std::string& text) {
  print_to(stderr, text);
}

void print_json(const Json& document) {
  print_text(json_text(document) + "\n");
}

std::string share_text(double share) {
  return share == 0 ? "0" : fmt::format("{:.4f}", 100 * share);
}

std::string short_name(const std::string& text) {
  constexpr size_t kLongest = 48;
  return base::printable_start(text, kLongest);
}

Status flush_stdout() {
  errno = 0;
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    return fail(ErrorCode::Io, "cannot write to stdout: {}",
                errno != 0 ? std::strerror(errno) : "write failed");
  return {};
}

Json tensor_json(const ir::Tensor& tensor) {
  Json out;
  out["name"] = tensor.name;
  out["shape"] = tensor.shape;
  out["dtype"] = ir::data_type_name(tensor.type);
  const ir::QuantParams& quant = tensor.quant;
  if (!quant.quantized()) {
    out["scale"] = nullptr;
    out["zero_point"] = nullptr;
  } else if (quant.per_axis()) {
    out["scale"] = quant.scale;
    out["zero_point"] = quant.zero_point;
    out["quantized_dimension"] = quant.quantized_dimension;
  } else {
    out["scale"] = quant.first_scale();
    out["zero_point"] = quant.first_zero_point();
  }
  return out;
}

std::string shape_text(const ir::Tensor& tensor) {
  if (tensor.shape.empty()) return "scalar";
  return fmt::format("{}", fmt::join(tensor.shape, "x"));
}

std::string quant_text(const ir::QuantParams& quant) {
  if (!quant.quantized()) return "-";
  if (quant.per_axis()) return fmt::format("per-axis {}", quant.scale.size());
  return fmt::format("{:.6g} ({})", quant.first_scale(), quant.first_zero_point());
}

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
double milliseconds_since(double start_ms) {
  return now_ms() - start_ms;
}

}  // namespace peraxis::cli
