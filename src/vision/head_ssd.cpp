// SSD. With the operator TFLite_Detection_PostProcess the outputs are boxes (ymin, xmin, ymax, xmax as
// fractions of the input), classes, scores and their number, already suppressed. Without it they are codes of
// boxes around anchors and scores; nothing in the file tells the anchors, so the model info must: centre =
// anchor's centre + code * centre variance * anchor's size, size = anchor's size * exp(code * size variance).
#include <algorithm>

#include "vision/head_parts.hpp"

namespace peraxis::vision {
namespace {

struct Parts {
  size_t boxes = 0, scores = 0;
  int64_t rows = 0, columns = 0;
};

// Of [1, n, 4] and [1, n, classes]; two of four columns: boxes first.
std::optional<Parts> parts_of(std::span<const OutputTensor> outputs) {
  if (outputs.size() != 2) return std::nullopt;
  for (const OutputTensor& output : outputs)
    if (output.shape.size() != 3 || output.shape[0] != 1 || output.shape[1] < 1 || output.shape[2] < 1 ||
        output.shape[1] != outputs[0].shape[1])
      return std::nullopt;
  const size_t boxes = outputs[0].shape[2] == 4 ? 0 : 1;
  if (outputs[boxes].shape[2] != 4) return std::nullopt;
  return Parts{boxes, 1 - boxes, outputs[0].shape[1], outputs[1 - boxes].shape[2]};
}

// Whether column 0 is no class: TensorFlow's and PyTorch's SSD networks have one of background there.
// Labels that begin with a name for the background are then as many as the columns.
bool has_background(const ModelInfo& info, int64_t columns) {
  if (info.background) return *info.background;
  const auto labels = static_cast<int64_t>(info.labels.size());
  if (labels == 0) return columns > 1;
  return info.labels_background ? columns != labels - 1 : columns != labels;
}

std::optional<Fit> fit(const HeadView& view) {
  const auto parts = parts_of(view.outputs);
  if (!parts) return std::nullopt;
  const int64_t classes = parts->columns - (has_background(view.info, parts->columns) ? 1 : 0);
  if (!classes_fit(classes, view.info)) return std::nullopt;
  // Decoding refuses without the anchors, which are the model info's, so nothing is guessed here.
  Fit fit{classes, true, "there is an output of boxes and one of scores with as many rows", {}};
  if (!view.info.variances_stated)
    fit.assumed.emplace_back("variances 0.1 of centres and 0.2 of sizes (\"variances\" in the model info)");
  if (!view.info.background && view.info.labels.empty())
    fit.assumed.push_back(fmt::format("{} (\"background\" in the model info, or labels, say it)",
                                      parts->columns > 1 ? "column 0 of the scores is the background"
                                                         : "no column of the scores is the background"));
  if (parts->columns == 4) fit.assumed.emplace_back("boxes are the first of the two outputs of 4 columns");
  return fit;
}

// One anchor a row: those of the model info, or its anchors at the centres of the cells of its strides.
Result<std::vector<Prior>> priors_of(const HeadView& view, int64_t rows) {
  const ModelInfo& info = view.info;
  std::vector<Prior> priors = info.priors;
  if (priors.empty()) {
    if (!info.anchors_stated)
      return fail(ErrorCode::Unsupported,
                  "head 'ssd': the {} boxes are codes around anchors, which the file does not tell; give "
                  "\"priors\", or \"strides\" and \"anchors\", and \"box_order\" in the model info",
                  rows);
    const auto width = static_cast<float>(view.input.width), height = static_cast<float>(view.input.height);
    int64_t count = 0;
    for (size_t i = 0; i < std::min(info.strides.size(), info.anchors.size()); ++i) {
      const Grid grid = grid_of(view.input, info.strides[i]);
      count += grid.width * grid.height * static_cast<int64_t>(info.anchors[i].size());
    }
    if (count != rows)
      return fail(
          ErrorCode::Unsupported,
          "head 'ssd': the strides and anchors of the model info make {} boxes of an input of {} x {} "
          "pixels, the outputs have {}",
          count, view.input.height, view.input.width, rows);
    for (size_t i = 0; i < info.strides.size(); ++i) {
      const Grid grid = grid_of(view.input, info.strides[i]);
      const auto stride = static_cast<float>(info.strides[i]);
      for (int64_t y = 0; y < grid.height; ++y)
        for (int64_t x = 0; x < grid.width; ++x)
          for (const Anchor& anchor : info.anchors[i])
            priors.push_back({(static_cast<float>(x) + 0.5f) * stride / width,
                              (static_cast<float>(y) + 0.5f) * stride / height, anchor.width / width,
                              anchor.height / height});
    }
  }
  if (static_cast<int64_t>(priors.size()) != rows)
    return fail(ErrorCode::Unsupported, "head 'ssd': {} priors in the model info, the outputs have {} boxes",
                priors.size(), rows);
  if (info.box_order.empty())
    return fail(
        ErrorCode::Unsupported,
        "head 'ssd': the model info must tell \"box_order\", \"xywh\" or \"yxhw\": the order of a box's "
        "code");
  return priors;
}

Result<Decoded> decode(const HeadView& view) {
  PERAXIS_TRY(check_geometry(view.input));
  const ModelInfo& info = view.info;
  const Parts parts = *parts_of(view.outputs);
  const std::vector<Prior> priors = PERAXIS_TRY(priors_of(view, parts.rows));
  const RowValues codes = PERAXIS_TRY(read_rows(view.outputs[parts.boxes], {parts.rows, 4, false}));
  const OutputTensor& score_output = view.outputs[parts.scores];
  const RowValues scores = PERAXIS_TRY(read_rows(score_output, {parts.rows, parts.columns, false}));
  PERAXIS_TRY(check_probabilities("ssd", score_output, scores, 0));
  const int64_t x = info.box_order == "yxhw" ? 1 : 0, y = 1 - x;
  const int64_t first_class = has_background(info, parts.columns) ? 1 : 0;
  std::vector<Candidate> candidates;
  for (int64_t row = 0; row < parts.rows; ++row) {
    const Prior& prior = priors[static_cast<size_t>(row)];
    const double width = static_cast<double>(prior.width) * view.input.width;
    const double height = static_cast<double>(prior.height) * view.input.height;
    const auto code = [&](int64_t i) { return static_cast<double>(codes.at(row, i)); };
    const Candidate box{
        0,
        0,
        static_cast<double>(prior.cx) * view.input.width + code(x) * info.centre_variance * width,
        static_cast<double>(prior.cy) * view.input.height + code(y) * info.centre_variance * height,
        width * std::exp(code(2 + x) * info.size_variance),
        height * std::exp(code(2 + y) * info.size_variance)};
    add_candidates(candidates, box, 1, scores.tail(row, first_class), info.score);
  }
  return finish(std::move(candidates), view);
}

constexpr int kClassesOutput = 1;  // of TFLite_Detection_PostProcess

// The outputs of TFLite_Detection_PostProcess. `lists`: the two [1, n] in the model's order.
struct Processed {
  size_t boxes = 0, count = 0;
  std::vector<size_t> lists;
  int64_t rows = 0;
};

std::optional<Processed> processed_of(std::span<const OutputTensor> outputs) {
  if (outputs.size() != 4) return std::nullopt;
  Processed found;
  int boxes = 0, counts = 0;
  for (size_t i = 0; i < 4; ++i) {
    const auto& shape = outputs[i].shape;
    if (shape.size() == 3 && shape[0] == 1 && shape[1] >= 1 && shape[2] == 4) {
      ++boxes;
      found.boxes = i;
      found.rows = shape[1];
    } else if (shape.size() == 1 && shape[0] == 1) {
      ++counts;
      found.count = i;
    } else if (shape.size() == 2 && shape[0] == 1) {
      found.lists.push_back(i);
    }
  }
  const auto has_rows = [&](size_t i) { return outputs[i].shape[1] == found.rows; };
  if (boxes != 1 || counts != 1 || found.lists.size() != 2 ||
      !std::all_of(found.lists.begin(), found.lists.end(), has_rows))
    return std::nullopt;
  return found;
}

// Whether the model itself says which output is which.
bool is_operator(std::span<const OutputTensor> outputs) {
  return std::all_of(outputs.begin(), outputs.end(),
                     [](const OutputTensor& output) { return output.detection_output >= 0; });
}

std::optional<Fit> fit_processed(const HeadView& view) {
  if (!processed_of(view.outputs)) return std::nullopt;
  if (is_operator(view.outputs))
    return Fit{view.operator_classes,
               true,
               "the outputs are those of the operator TFLite_Detection_PostProcess",
               {}};
  return Fit{0,
             true,
             "the outputs have the shapes of TFLite_Detection_PostProcess",
             {"boxes are ymin, xmin, ymax, xmax, as TFLite_Detection_PostProcess gives them"}};
}

bool are_classes(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(),
                     [](float v) { return v >= 0 && v < 1e6f && v == std::floor(v); });
}

float largest_of(std::span<const float> values) {
  float largest = 0;
  for (const float value : values)
    if (std::isfinite(value)) largest = std::max(largest, value);
  return largest;
}

bool are_scores(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float v) { return v >= 0 && v <= 1; });
}

Result<Decoded> decode_processed(const HeadView& view) {
  PERAXIS_TRY(check_geometry(view.input));
  const Processed found = *processed_of(view.outputs);
  const float counted = PERAXIS_TRY(dequantize(view.outputs[found.count]))[0];
  if (!(counted >= 0 && counted <= static_cast<float>(found.rows) && counted == std::floor(counted)))
    return fail(ErrorCode::Unsupported,
                "head 'ssd-postprocess': the number of detections is {}, the outputs hold {}", counted,
                found.rows);
  const auto count = static_cast<size_t>(counted);
  const std::vector<float> boxes = PERAXIS_TRY(dequantize(view.outputs[found.boxes]));
  const std::vector<float> lists[2] = {PERAXIS_TRY(dequantize(view.outputs[found.lists[0]])),
                                       PERAXIS_TRY(dequantize(view.outputs[found.lists[1]]))};
  const auto possible = [&](size_t classes) {
    return are_classes(std::span(lists[classes]).first(count)) &&
           are_scores(std::span(lists[1 - classes]).first(count));
  };
  // Without the operator's word: it gives classes before scores and boxes first; saved models with signatures
  // give boxes after the scores. Where the values allow both, the place of the boxes decides.
  std::vector<std::string> assumed;
  const bool known = is_operator(view.outputs);
  size_t classes = found.boxes < found.lists[0] ? 0 : 1;
  if (known) {
    classes = view.outputs[found.lists[0]].detection_output == kClassesOutput ? 0 : 1;
  } else if (!possible(classes)) {
    classes = 1 - classes;
  } else if (possible(1 - classes)) {
    assumed.push_back(fmt::format("output {} holds the classes and output {} the scores, by their places",
                                  found.lists[classes], found.lists[1 - classes]));
  }
  if (!possible(classes))
    return fail(ErrorCode::Unsupported,
                "head 'ssd-postprocess': of the outputs {} neither list holds whole classes beside scores "
                "between 0 and 1",
                shapes_text(view.outputs));
  const std::span<const float> used = std::span(boxes).first(count * 4);
  BoxScale scale{static_cast<double>(view.input.width), static_cast<double>(view.input.height), {}};
  if (!known || !view.info.boxes.empty())
    scale = PERAXIS_TRY(box_scale("ssd-postprocess", largest_of(used), view));
  assumed.insert(assumed.end(), scale.assumed.begin(), scale.assumed.end());
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < count; ++i) {
    const auto side = [&](size_t k) { return static_cast<double>(used[i * 4 + k]); };
    const double width = scale.x, height = scale.y;
    const Candidate box{0,
                        0,
                        (side(1) + side(3)) / 2 * width,
                        (side(0) + side(2)) / 2 * height,
                        (side(3) - side(1)) * width,
                        (side(2) - side(0)) * height};
    const size_t before = candidates.size();
    add_candidates(candidates, box, 1, std::span(lists[1 - classes]).subspan(i, 1), view.info.score);
    if (candidates.size() > before) candidates.back().class_id = static_cast<int>(lists[classes][i]);
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
  return finish_suppressed(std::move(candidates), view, std::move(assumed));
}

}  // namespace

const Head ssd_head = {
    "ssd",
    HeadTask::Detect,
    "two outputs [1, n, 4] and [1, n, classes], with or without a column for the background",
    false,
    fit,
    decode};

const Head ssd_postprocess_head = {
    "ssd-postprocess",
    HeadTask::Detect,
    "the four outputs of TFLite_Detection_PostProcess: [1, n, 4], [1, n], [1, n] and [1]",
    false,
    fit_processed,
    decode_processed};

}  // namespace peraxis::vision
