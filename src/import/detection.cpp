// Options of the custom operator TFLite_Detection_PostProcess: a FlexBuffers map from names to numbers.
#include <flatbuffers/flexbuffers.h>

#include "import/tflite_reader.hpp"

namespace peraxis::import {

namespace {

class Options {
 public:
  explicit Options(const flexbuffers::Map& map) : map_(map) {}

  Status read(const char* name, bool required, int32_t& out) const {
    const flexbuffers::Reference found = map_[name];
    if (found.IsNull()) return missing(name, required);
    if (!found.IsNumeric()) return no_number(name);
    // AsInt64() of a float beyond int64 is undefined; doubles hold every int32.
    const double value = found.AsDouble();
    if (!(value >= INT32_MIN && value <= INT32_MAX)) {
      return fail(ErrorCode::InvalidModel, "the option {} is {}, no int32", name, value);
    }
    out = static_cast<int32_t>(value);
    return {};
  }
  Status read(const char* name, bool required, float& out) const {
    const flexbuffers::Reference found = map_[name];
    if (found.IsNull()) return missing(name, required);
    if (!found.IsNumeric()) return no_number(name);
    out = found.AsFloat();
    return {};
  }
  Status read(const char* name, bool required, bool& out) const {
    const flexbuffers::Reference found = map_[name];
    if (found.IsNull()) return missing(name, required);
    if (!found.IsNumeric() && !found.IsBool()) return no_number(name);
    out = found.IsFloat() ? found.AsDouble() != 0.0 : found.AsBool();
    return {};
  }

 private:
  static Status missing(const char* name, bool required) {
    if (!required) return {};
    return fail(ErrorCode::InvalidModel, "the option {} is missing", name);
  }
  static Status no_number(const char* name) {
    return fail(ErrorCode::InvalidModel, "the option {} is no number", name);
  }

  const flexbuffers::Map& map_;
};

}  // namespace

Result<ir::Attributes> read_detection(std::span<const uint8_t> bytes) {
  if (bytes.empty()) return fail(ErrorCode::InvalidModel, "it has no options");
  // A copy: the reader takes numbers at their own alignment from the start of its bytes.
  const std::vector<uint8_t> copy(bytes.begin(), bytes.end());
  if (!flexbuffers::VerifyBuffer(copy.data(), copy.size())) {
    return fail(ErrorCode::InvalidModel, "its options ({} bytes) are damaged", copy.size());
  }
  const flexbuffers::Reference root = flexbuffers::GetRoot(copy.data(), copy.size());
  if (!root.IsMap()) return fail(ErrorCode::InvalidModel, "its options are no map");
  const flexbuffers::Map map = root.AsMap();
  const Options options(map);
  ir::DetectionAttributes out;
  PERAXIS_TRY(options.read("max_detections", true, out.max_detections));
  PERAXIS_TRY(options.read("max_classes_per_detection", true, out.max_classes_per_detection));
  PERAXIS_TRY(options.read("detections_per_class", false, out.detections_per_class));
  PERAXIS_TRY(options.read("use_regular_nms", false, out.use_regular_nms));
  PERAXIS_TRY(options.read("nms_score_threshold", true, out.nms_score_threshold));
  PERAXIS_TRY(options.read("nms_iou_threshold", true, out.nms_iou_threshold));
  PERAXIS_TRY(options.read("num_classes", true, out.num_classes));
  PERAXIS_TRY(options.read("y_scale", true, out.y_scale));
  PERAXIS_TRY(options.read("x_scale", true, out.x_scale));
  PERAXIS_TRY(options.read("h_scale", true, out.h_scale));
  PERAXIS_TRY(options.read("w_scale", true, out.w_scale));
  return ir::Attributes{out};
}

}  // namespace peraxis::import
