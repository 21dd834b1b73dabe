// Random layers and small networks for the property tests, and the ways to run them. A case is a function of
// its seed alone; a failing test prints the seed and what came of it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "compiler/compile.hpp"
#include "device/machine/machine_device.hpp"
#include "exe/executable.hpp"
#include "ir/graph.hpp"
#include "kernels/kernels.hpp"

namespace peraxis::property {

using Bytes = std::vector<uint8_t>;

struct Case {
  uint64_t seed = 0;
  ir::Graph graph;
  std::vector<Bytes> inputs;
  // Small limits that force row tiles and channel splits; 0: the chip's own.
  int32_t max_tile_rows = 0, max_task_channels = 0;

  std::string text() const;  // the seed and every shape: what a failure needs
  compiler::Options options(const std::string& strategy, num::Reference reference) const;
};

// The plan that compile() makes of the graph; a failure of the test when there is none.
plan::Plan plan_of(const Case& test, const compiler::Options& options);

// Seeds of a test are this plus `own`, `own` + 1, ...; PERAXIS_PROPERTY_SEED=n (decimal) tries others.
uint64_t first_seed(uint64_t own);

// One conv_2d, depthwise_conv_2d or fully_connected that the NPU takes.
Case random_layer(uint64_t seed);
// One convolution of a less common form, some of them with several images.
enum class Form : uint8_t { Dilated, Grouped, Multiplied, Batch, Transposed, Strided, Padded, Wide };
inline constexpr Form kForms[] = {Form::Dilated,    Form::Grouped, Form::Multiplied, Form::Batch,
                                  Form::Transposed, Form::Strided, Form::Padded,     Form::Wide};
Case random_form(uint64_t seed, Form form);
// Dilated so far that the rows of a window do not fit CBUF together: each row of outputs is a task.
Case deep_dilation(uint64_t seed);
// Three to five convolutions of any form in a row, of one or several images.
Case form_network(uint64_t seed);
// Convolutions with pools, additions and concatenations between them, some of them branching.
Case random_network(uint64_t seed);
// The body of a detector in small: blocks of convolutions joined by channels, pooling pyramids, maps enlarged
// twofold and joined with earlier ones, additions, subtractions, changes of scale, early outputs.
Case random_body(uint64_t seed);
// conv_2d, depthwise_conv_2d, conv_2d, fully_connected in a row; wide enough for two groups of every kind.
Case chain_network(uint64_t seed, bool is_uint8);

// Tensor index -> stored bytes.
using Activations = std::map<int32_t, Bytes>;

// Written to a file and read from it, which must change nothing; on a machine model of its own; `occupied`
// bytes are allocated on it first, so addresses differ.
Result<std::vector<Bytes>> run_on_machine(const exe::Executable& executable, const std::vector<Bytes>& inputs,
                                          Activations* seen = nullptr, machine::Options options = {},
                                          int64_t occupied = 0, int threads = 1);
Result<std::vector<Bytes>> run_on_kernels(const Case& test, kernels::Path path, num::Reference reference,
                                          Activations* seen = nullptr);

// Output `output` of operator `op` alone on the reference kernels, with the inputs that a run had.
Result<Bytes> operator_reference(const Case& test, size_t op, const Activations& seen, size_t output = 0);

// A form or a refusal; an error is a failure of the test.
lower::DeviceForm form_of(const ir::Graph& graph, size_t op, const lower::FormRequest& request);

// Operators whose arithmetic a task may round otherwise than the reference; the others compare and move.
bool may_round(ir::OpKind kind);

// |a - b| of the stored values; both int8 or both uint8.
int largest_difference(ir::DataType type, std::span<const uint8_t> a, std::span<const uint8_t> b);

// "equal", or where the first of the differing bytes is.
std::string difference_text(std::span<const uint8_t> got, std::span<const uint8_t> want);

}  // namespace peraxis::property
