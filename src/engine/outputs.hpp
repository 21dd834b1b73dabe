// From output tensors to detections or classes, with what the model itself cannot say taken from a
// --model-info file, the file beside the model, or the COCO defaults.
#pragma once

#include <string>
#include <vector>

#include "engine/model.hpp"
#include "ir/graph.hpp"
#include "vision/heads.hpp"

namespace peraxis::engine {

// What the user gives; empty: nothing.
struct InfoOptions {
  std::string model_info;  // path of a JSON file (docs/model-info.md)
  std::string labels;      // path of a text file
  std::string head;        // of vision::head_names()
};

// What the user gives goes before the file beside the model, and that before what is inside the model or
// executable. Warnings say why something found beside or inside it was not used.
Result<vision::SourcedInfo> find_model_info(const Loaded& loaded, const InfoOptions& options,
                                            std::vector<std::string>& warnings);

// Writes it into the executable, so that a run needs no file beside it; nothing where nothing is known.
Status store_model_info(const vision::SourcedInfo& info, exe::Executable& executable);

struct Interpretation {
  vision::HeadChoice choice;
  std::vector<vision::Detection> detections;  // of a detector
  std::vector<vision::ClassScore> top;        // of a classifier
  std::string note;                           // why the outputs stay tensors
  std::vector<std::string> assumed;           // what nothing but the outputs' form and values said

  bool is(vision::HeadTask task) const { return choice.head != nullptr && choice.head->task == task; }
  bool detects() const { return is(vision::HeadTask::Detect); }
  bool classifies() const { return is(vision::HeadTask::Classify); }
};
// `stated`: the user gave the model info; one that names a task or head the outputs do not fit is an error.
Result<Interpretation> interpret(const ir::Graph& graph, const std::vector<std::vector<uint8_t>>& outputs,
                                 const vision::ModelInfo& info, const vision::InputGeometry& geometry,
                                 bool stated);

}  // namespace peraxis::engine
