// A picture as it lies on the host, pixels of 1 to 4 bytes side by side: the chip makes atoms of 16 channels
// of them on their way into CBUF (docs/hardware/cna.md#packed-pixels), so that the host copies rows and the
// chip reads 1 to 4 bytes a pixel in place of 16.
//
// In memory a row takes a multiple of 16 pixels, and so every row begins at a multiple of 16 bytes, where a
// tile may begin. Every width in a vendor stream is such a multiple; other widths rest on the reading that
// LINE_STRIDE counts pixels (E16, docs/hardware/cna.md#guessed).
#pragma once

#include "lower/geometry.hpp"

namespace peraxis::lower {

// Pixels from one row of `width` pixels to the next.
int64_t packed_pitch(int64_t width);

// Bytes of all rows.
int64_t packed_bytes(const Geometry& geometry);

// Whether the operator can read its input so: a direct convolution over 1 to 4 channels whose tasks read
// whole rows, and fewer bytes than a cube has.
bool takes_packed_input(const ir::Graph& graph, size_t op);

}  // namespace peraxis::lower
