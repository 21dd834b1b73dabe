// Boxes, names and scores on a picture, for people.
#pragma once

#include <span>

#include "vision/heads.hpp"
#include "vision/image.hpp"

namespace peraxis::vision {

struct DrawOptions {
  // A picture whose longer side is smaller is enlarged by a whole factor first, so that the text can be read.
  int min_side = 480;
};

// A copy of the picture with one frame a detection: the class decides the colour, the picture's size the
// thickness. Names are placed so that they do not cover one another where there is room; better scores first.
// Characters outside ASCII are shown as '?'. Boxes may lie outside the picture.
Result<Image> draw_detections(const Image& image, std::span<const Detection> detections,
                              const DrawOptions& options = {});

}  // namespace peraxis::vision
