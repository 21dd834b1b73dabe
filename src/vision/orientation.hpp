// How a camera was held: cameras store the rows as the sensor gives them and write an EXIF number beside
// them.
#pragma once

#include <cstdint>
#include <span>

#include "vision/image.hpp"

namespace peraxis::vision {

// The orientation 1 to 8 in an EXIF block ("Exif", two zero bytes, then a TIFF file); 1, upright, when it has
// none or is broken: it is a hint beside the picture, and viewers show such pictures as they lie.
int exif_orientation(std::span<const uint8_t> block);

// The picture as it is to be seen.
Image upright(Image image, int orientation);

}  // namespace peraxis::vision
