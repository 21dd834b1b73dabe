// The layers whose certificates are tested: random ones, most of them with sums short enough to try every
// one, and the single-operator models of the shared collection.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/graph.hpp"

namespace peraxis::property {

struct CertificateLayer {
  std::string name;
  ir::Graph graph;
  size_t op = 0;
};

// A function of the seed alone. Scale ratios up to 2^20 and more, dead channels, multipliers of 1 and above,
// all kinds, types and activations (random_layer), weights divided so that sums stay short.
CertificateLayer random_certificate_layer(uint64_t seed);

// Every convolution-like operator with constant int8 or uint8 weights of ../shared/models/ops (or of
// PERAXIS_SHARED), sorted by name; empty when the folder is not there.
std::vector<CertificateLayer> shared_certificate_layers();
// Where they were looked for.
std::string shared_ops_folder();

}  // namespace peraxis::property
