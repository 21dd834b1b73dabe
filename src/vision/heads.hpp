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
  // Which output of TFLite_Detection_PostProcess it is (boxes, classes, scores, count); -1: of none.
  int detection_output = -1;
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

inline constexpr int kNoLabels = -1;

// Everything a head looks at.
struct HeadView {
  std::span<const OutputTensor> outputs;
  const ModelInfo& info;
  const InputGeometry& input;
  int64_t operator_classes = 0;  // num_classes of TFLite_Detection_PostProcess, when the model has it
  int label_shift = 0;           // class c has the label c + this, or kNoLabels; decode_with sets it

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
  // Whether anything but "the shape would do" speaks for this head. Without that nothing is decoded unless
  // the head is named. `evidence` says what it is, or what is missing, in words that follow "because".
  bool supported = false;
  std::string evidence;
  std::vector<std::string> assumed;  // what decoding takes for granted and the model does not say
};

struct Decoded {
  std::vector<Detection> detections;
  std::vector<std::string> assumed;  // what the values had to decide, beside Fit::assumed
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
  Result<Decoded> (*decode)(const HeadView& view);
};

std::span<const Head* const> heads();
const Head* find_head(std::string_view name);  // nullptr when there is none
std::vector<std::string> head_names();         // in the order of heads.def, "none" last

struct HeadChoice {
  const Head* head = nullptr;  // nullptr: none
  bool by_shapes = true;       // not by name
  int64_t classes = 0;         // Fit::classes
  std::vector<std::string> assumed;
};

// A named head is taken, or Unsupported when the outputs do not fit it. Else every head reads the shapes;
// with labels in info the number of classes must be theirs, unless strides are stated and no head fits so
// (`assumed` then says that no label is used), and a task named by info excludes heads of another. Of the
// readings the one that something supports is taken: grids or rows that are those of the strides, together
// with as many classes as labels, or as COCO or VOC have (80, 20), or what the head itself knows. When that
// does not leave exactly one, Unsupported names the readings and what would decide.
Result<HeadChoice> choose_head(const HeadView& view);

// Of a choice that detects: its decoder, with the labels in step with its classes.
Result<Decoded> decode_with(const HeadChoice& choice, const HeadView& view);

// How far the labels are ahead of `classes` classes (0: not known): 1 when the first label stands for the
// background, or numbers begin at 1, and there is a label more than classes.
int label_shift(const ModelInfo& info, int64_t classes);
// Whether the labels can be those of `classes` classes. Fewer names fit when the file numbers them.
bool labels_fit(const ModelInfo& info, int64_t classes);

// choose_head, then its decoder; Unsupported when the head is not a detector's.
Result<std::vector<Detection>> decode_detections(const HeadView& view);

struct ClassScore {
  int class_id = 0;
  std::optional<std::string> label;
  float score = 0;  // the dequantized output, as the model gives it
};

// The best `count` classes, best first; equal scores keep the order of the classes. Labels that do not fit
// the number of classes are not used.
Result<std::vector<ClassScore>> top_classes(const OutputTensor& output, const ModelInfo& info, int count = 5);

}  // namespace peraxis::vision
