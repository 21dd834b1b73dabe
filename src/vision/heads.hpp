// From output tensors to boxes and classes. heads.def lists the heads; each is a line of facts and two
// functions (struct Head) in a file head_<family>.cpp. Which one a model has is told by the shapes of its
// outputs, or by name: choose_head states the rule. What the tensors cannot say comes from ModelInfo.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "vision/image.hpp"
#include "vision/model_info.hpp"

namespace peraxis::vision {

// One output of the model. type: "int8", "uint8", "int16" (real = (stored - zero_point) * scale) or
// "float32".
struct OutputTensor {
  std::vector<int64_t> shape;
  std::string type;
  float scale = 0;
  int64_t zero_point = 0;
  std::span<const uint8_t> data;
};

// What the boxes are measured in: the model's input, and how the picture was put into it.
struct InputGeometry {
  int width = 0;
  int height = 0;
  Letterbox letterbox;
};

struct Detection {
  int class_id = 0;
  std::optional<std::string> label;  // absent when info has no label for the class
  float score = 0;
  float box[4] = {0, 0, 0, 0};  // x1, y1, x2, y2 in pixels of the picture before the letterbox; not clipped
};

// Everything a head looks at.
struct HeadView {
  std::span<const OutputTensor> outputs;
  const ModelInfo& info;
  const InputGeometry& input;

  bool named() const { return !info.head.empty(); }
};

enum class HeadTask {
  Detect,    // boxes
  Classify,  // a list of class scores: top_classes
  Tensors,   // known, but not decoded: the tensors are the result
};

// What a head reads from the outputs' shapes.
struct Fit {
  int64_t classes = 0;  // 0: the shapes do not tell
  bool usual = false;   // exactly the shape that this head mostly has
};

struct Head {
  std::string_view name;
  HeadTask task;
  std::string_view outputs;  // what the outputs must be, for error texts; of Tensors also what they are
  bool by_name_only;         // its shapes are another head's too, which they mean unless this one is named
  // Nothing when the outputs cannot be this head. A named head is less strict: what only tells heads apart is
  // not asked for.
  std::optional<Fit> (*fit)(const HeadView& view);
  // Of Detect: boxes after the threshold and the suppression within a class. Called when `fit` fits.
  Result<std::vector<Detection>> (*decode)(const HeadView& view);
};

std::span<const Head* const> heads();
const Head* find_head(std::string_view name);  // nullptr when there is none
std::vector<std::string> head_names();         // in the order of heads.def, "none" last

struct HeadChoice {
  const Head* head = nullptr;  // nullptr: none
  bool by_shapes = true;       // not by name
};

// A named head is taken, or Unsupported when the outputs do not fit it. Else the one head whose shapes fit.
// When several fit, they mostly read different numbers of classes from the same shape: the one that reads 80
// or 20 (COCO and VOC, which models without labels mostly are), or calls the shape its usual one, is taken,
// and when that does not leave one, Unsupported names them all. With labels in info the number of classes
// must be theirs. A task named by info excludes heads of another.
Result<HeadChoice> choose_head(const HeadView& view);

// choose_head, then its decoder; Unsupported when the head is not a detector's.
Result<std::vector<Detection>> decode_detections(const HeadView& view);

struct ClassScore {
  int class_id = 0;
  std::optional<std::string> label;
  float score = 0;  // the dequantized output, as the model gives it
};

// The best `count` classes, best first; equal scores keep the order of the classes.
Result<std::vector<ClassScore>> top_classes(const OutputTensor& output, const ModelInfo& info, int count = 5);

}  // namespace peraxis::vision
