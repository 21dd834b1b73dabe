// NON_MAX_SUPPRESSION_V4 and V5: the best box, then the next one that overlaps none of the kept ones too
// much, and so on. V5 with sigma above 0 lowers the score of a box for every overlap and queues it again.
// Outputs behind the last kept box are 0.
#include "kernels/reference/non_max_suppression.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <queue>

#include "kernels/elements.hpp"

namespace peraxis::kernels::reference {
namespace {

struct Candidate {
  int32_t box = 0;
  float score = 0.0F;
  size_t compared = 0;  // kept boxes that have been compared with it
  bool operator<(const Candidate& other) const { return score < other.score; }
};

struct Sides {
  float low_y, high_y, low_x, high_x;
  float area() const { return (high_y - low_y) * (high_x - low_x); }
};

Sides sides(const Reader<float>& boxes, int32_t box) {
  const int64_t at = int64_t{box} * 4;
  const float y1 = boxes[at], x1 = boxes[at + 1], y2 = boxes[at + 2], x2 = boxes[at + 3];
  return {std::min(y1, y2), std::max(y1, y2), std::min(x1, x2), std::max(x1, x2)};
}

float overlap_of_sides(const Sides& a, const Sides& b) {
  const float area_a = a.area();
  const float area_b = b.area();
  if (area_a <= 0.0F || area_b <= 0.0F) return 0.0F;
  const float height = std::max(std::min(a.high_y, b.high_y) - std::max(a.low_y, b.low_y), 0.0F);
  const float width = std::max(std::min(a.high_x, b.high_x) - std::max(a.low_x, b.low_x), 0.0F);
  const float shared = height * width;
  const float both = area_a + area_b - shared;
  return both == 0.0F ? 0.0F : shared / both;
}

// Compares the candidate with the boxes kept since it was last compared, the newest first. False: too close.
bool passes(const Reader<float>& boxes, const std::vector<Candidate>& kept, const SuppressionLimits& limits,
            Candidate& candidate) {
  const float factor = limits.sigma > 0.0F ? -0.5F / limits.sigma : 0.0F;
  const Sides own = sides(boxes, candidate.box);
  for (size_t i = kept.size(); i-- > candidate.compared;) {
    const float share = overlap_of_sides(own, sides(boxes, kept[i].box));
    if (share >= limits.overlap) return false;
    if (limits.sigma > 0.0F) candidate.score *= std::exp(factor * share * share);
    if (candidate.score <= limits.score) break;
  }
  return true;
}

std::vector<Candidate> suppress_by_score(const Context& context, const SuppressionLimits& limits,
                                         size_t most) {
  const Reader<float> boxes(context.inputs[0]);
  const Reader<float> scores(context.inputs[1]);
  std::priority_queue<Candidate> queue;
  for (int32_t i = 0; i < context.input(1).shape[0]; ++i)
    if (scores[i] > limits.score) queue.push({i, scores[i], 0});
  most = std::min(most, queue.size());
  std::vector<Candidate> kept;
  while (kept.size() < most && !queue.empty()) {
    Candidate next = queue.top();
    queue.pop();
    const float before = next.score;
    if (!passes(boxes, kept, limits, next)) continue;
    next.compared = kept.size();
    if (next.score == before) kept.push_back(next);
    // LiteRT queues a kept box again too: it meets itself, and stays out unless it has no area.
    if (next.score > limits.score) queue.push(next);
  }
  return kept;
}

}  // namespace

Status suppress_boxes(const Context& context, const SuppressionLimits& limits, bool soft) {
  const auto most = static_cast<size_t>(context.output().elements());
  const std::vector<Candidate> kept = suppress_by_score(context, limits, most);
  for (const std::span<uint8_t>& output : context.outputs) std::ranges::fill(output, uint8_t{0});
  for (size_t i = 0; i < kept.size(); ++i) {
    Writer<int32_t>(context.outputs[0]).set(static_cast<int64_t>(i), kept[i].box);
    if (soft) Writer<float>(context.outputs[1]).set(static_cast<int64_t>(i), kept[i].score);
  }
  Writer<int32_t>(context.outputs[soft ? 2 : 1]).set(0, static_cast<int32_t>(kept.size()));
  return {};
}

}  // namespace peraxis::kernels::reference
