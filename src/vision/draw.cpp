// Drawing. Text comes from stb's easy font, whose glyphs are axis-parallel rectangles on a grid 12 high:
// scaled by a whole number they stay sharp.
#include "vision/draw.hpp"

#include <stb/stb_easy_font.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/printable.hpp"

namespace peraxis::vision {
namespace {

struct Colour {
  uint8_t r, g, b;
};

struct Rectangle {
  int x0, y0, x1, y1;  // x1 and y1 are outside

  bool touches(const Rectangle& other) const {
    return x0 < other.x1 && other.x0 < x1 && y0 < other.y1 && other.y0 < y1;
  }
};

// Strong, far apart in hue, and seen on light and dark pictures.
constexpr std::array<Colour, 12> kColours = {{{230, 57, 70},
                                              {29, 122, 243},
                                              {42, 177, 80},
                                              {255, 159, 28},
                                              {155, 81, 224},
                                              {0, 180, 200},
                                              {255, 99, 181},
                                              {140, 180, 20},
                                              {255, 209, 40},
                                              {120, 88, 64},
                                              {90, 110, 250},
                                              {20, 150, 130}}};
constexpr Colour kBlack = {20, 20, 20};
constexpr Colour kWhite = {255, 255, 255};
constexpr size_t kMaxName = 40;  // longer names are cut, so that the score stays in sight
constexpr int kGlyphHeight = 9;  // easy font: capitals are rows 0..6, descenders end in row 8

Colour class_colour(int class_id) {
  return kColours[static_cast<size_t>(class_id < 0 ? 0 : class_id) % kColours.size()];
}

// Black or white, whichever stands out more (ITU-R BT.601 luma).
Colour text_colour(Colour back) {
  return 299 * back.r + 587 * back.g + 114 * back.b > 150'000 ? kBlack : kWhite;
}

void fill(Image& image, Rectangle area, Colour colour) {
  area.x0 = std::clamp(area.x0, 0, image.width), area.x1 = std::clamp(area.x1, 0, image.width);
  area.y0 = std::clamp(area.y0, 0, image.height), area.y1 = std::clamp(area.y1, 0, image.height);
  for (int y = area.y0; y < area.y1; ++y) {
    uint8_t* to = image.rgb.data() + (int64_t{y} * image.width + area.x0) * 3;
    for (int x = area.x0; x < area.x1; ++x) {
      *to++ = colour.r;
      *to++ = colour.g;
      *to++ = colour.b;
    }
  }
}

// ASCII only: the font has no other glyph and does not check. Any other character becomes one '?'.
std::string drawable(std::string_view text) {
  std::string out;
  for (const char c : base::printable(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xc0) == 0x80) continue;
    out += byte < 0x80 ? c : '?';
    if (out.size() == kMaxName) break;
  }
  return out;
}

struct Text {
  std::vector<Rectangle> bars;  // at scale 1, origin top left
  int width = 0;
};

Text lay_out(std::string text) {
  struct Vertex {
    float x, y, z;
    uint8_t colour[4];
  };
  static_assert(sizeof(Vertex) == 16, "easy font's vertex");
  std::vector<Vertex> vertices(text.size() * 4 * 20);  // no glyph has more than 20 bars
  const int quads = stb_easy_font_print(0, 0, text.data(), nullptr, vertices.data(),
                                        static_cast<int>(vertices.size() * sizeof(Vertex)));
  Text out;
  out.width = stb_easy_font_width(text.data());
  for (int i = 0; i < quads; ++i) {
    const Vertex& first = vertices[static_cast<size_t>(i) * 4];
    const Vertex& opposite = vertices[static_cast<size_t>(i) * 4 + 2];
    out.bars.push_back({static_cast<int>(std::lround(first.x)), static_cast<int>(std::lround(first.y)),
                        static_cast<int>(std::lround(opposite.x)),
                        static_cast<int>(std::lround(opposite.y))});
  }
  return out;
}

// A box edge as a pixel position: anything far outside stays just outside the picture.
int edge(float value, int factor, int side) {
  if (std::isnan(value)) return 0;
  const double scaled = static_cast<double>(value) * factor;
  return static_cast<int>(std::lround(std::clamp(scaled, -2.0 * side, 3.0 * side)));
}

void draw_frame(Image& image, const Rectangle& box, int thickness, Colour colour) {
  const Rectangle outer{box.x0 - thickness / 2, box.y0 - thickness / 2, box.x1 + (thickness + 1) / 2,
                        box.y1 + (thickness + 1) / 2};
  fill(image, {outer.x0, outer.y0, outer.x1, outer.y0 + thickness}, colour);
  fill(image, {outer.x0, outer.y1 - thickness, outer.x1, outer.y1}, colour);
  fill(image, {outer.x0, outer.y0, outer.x0 + thickness, outer.y1}, colour);
  fill(image, {outer.x1 - thickness, outer.y0, outer.x1, outer.y1}, colour);
}

// Above the frame, inside it at the top, below it: the first place within the picture that covers no earlier
// name.
Rectangle place_text(const Image& image, const Rectangle& box, int width, int height, int thickness,
                     std::span<const Rectangle> taken) {
  const int x = std::clamp(box.x0 - thickness / 2, 0, std::max(0, image.width - width));
  const int lowest = std::max(0, image.height - height);
  const int above = box.y0 - thickness / 2 - height;
  const int inside = std::clamp(box.y0 + (thickness + 1) / 2, 0, lowest);
  const int below = box.y1 + (thickness + 1) / 2;
  for (int y : {above, inside, below}) {
    const Rectangle area{x, y, x + width, y + height};
    const bool free =
        std::none_of(taken.begin(), taken.end(), [&](const Rectangle& t) { return t.touches(area); });
    if (y >= 0 && y <= lowest && free) return area;
  }
  const int y = above >= 0 && above <= lowest ? above : inside;
  return {x, y, x + width, y + height};
}

void draw_text(Image& image, const Rectangle& area, const Text& text, int scale, int margin, Colour colour) {
  for (const Rectangle& bar : text.bars)
    fill(image,
         {area.x0 + 2 * margin + bar.x0 * scale, area.y0 + margin + bar.y0 * scale,
          area.x0 + 2 * margin + bar.x1 * scale, area.y0 + margin + bar.y1 * scale},
         colour);
}

}  // namespace

Result<Image> draw_detections(const Image& image, std::span<const Detection> detections,
                              const DrawOptions& options) {
  PERAXIS_TRY(check_image(image));
  const int longer = std::max(image.width, image.height);
  const int wanted = std::clamp(options.min_side, 0, 4096);
  const int factor = std::max(1, (wanted + longer - 1) / longer);
  Image out = PERAXIS_TRY(resize_bilinear(image, image.width * factor, image.height * factor));

  const int side = std::max(out.width, out.height);
  const int thickness = std::max(1, (side + 120) / 240);  // 2 at 480, 3 at 640, 8 at 1920
  const int text_scale = std::max(1, (side + 160) / 320);
  std::vector<Rectangle> boxes;
  for (const Detection& d : detections)
    boxes.push_back({edge(d.box[0], factor, out.width), edge(d.box[1], factor, out.height),
                     edge(d.box[2], factor, out.width), edge(d.box[3], factor, out.height)});
  for (size_t i = detections.size(); i-- > 0;)  // the best last, on top
    draw_frame(out, boxes[i], thickness, class_colour(detections[i].class_id));

  std::vector<Rectangle> taken;
  const int margin = text_scale;
  for (size_t i = 0; i < detections.size(); ++i) {
    const Detection& d = detections[i];
    const std::string name = d.label ? *d.label : fmt::format("class {}", d.class_id);
    const Text text = lay_out(fmt::format("{} {:.2f}", drawable(name), d.score));
    const int width = text.width * text_scale + 4 * margin;
    const int height = kGlyphHeight * text_scale + 2 * margin;
    const Rectangle area = place_text(out, boxes[i], width, height, thickness, taken);
    const Colour colour = class_colour(d.class_id);
    fill(out, area, colour);
    draw_text(out, area, text, text_scale, margin, text_colour(colour));
    taken.push_back(area);
  }
  return out;
}

}  // namespace peraxis::vision
