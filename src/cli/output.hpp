// What commands print: JSON that is valid whatever bytes a name holds, and stdout whose failure is noticed.
// All text passes base::printable_lines here, so nothing that a file holds reaches the terminal as a command
// to it; names pass printable() before they become part of a line.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/printable.hpp"
#include "base/result.hpp"
#include "ir/graph.hpp"

namespace peraxis::cli {

using Json = nlohmann::ordered_json;

// One document and a newline on stdout. Bytes that are not UTF-8 become the replacement character, control
// characters and their like are escaped.
void print_json(const Json& document);
// The same as text.
std::string json_text(const Json& document);
void print_text(const std::string& text);
// To stderr; a stderr that cannot be written to is no reason to fail.
void print_notice(const std::string& text);
// A share of 0..1 as per cent: "0.0647"; "0" when there is nothing at all.
std::string share_text(double share);
using base::printable;  // names in text for people
using base::printable_message;
using base::printable_name;
// The same for names in tables, cut after 48 characters: converters join the names of all fused operators.
std::string short_name(const std::string& text);

// An error when stdout did not take everything (disk full, closed).
Status flush_stdout();

// {"name", "shape", "dtype", "scale", "zero_point"}: null when not quantized, a list when per-axis.
Json tensor_json(const ir::Tensor& tensor);
std::string shape_text(const ir::Tensor& tensor);  // "1x160x160x3"
// "0.00392 (-128)", "per-axis 32", "-"
std::string quant_text(const ir::QuantParams& quant);

double milliseconds_since(double start_ms);
double now_ms();

}  // namespace peraxis::cli
