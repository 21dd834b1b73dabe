// A capture file made of a JSON description and a file of arrays (docs/capture.md), for recorders and
// converters that are no C++ programs.
#pragma once

#include <string>

#include "cli/cli.hpp"

namespace peraxis::cli {

// `arrays_file`: an .npz with the arrays that the description names; may be empty.
CliStatus pack_capture(const std::string& description_file, const std::string& arrays_file,
                       const std::string& output);

}  // namespace peraxis::cli
