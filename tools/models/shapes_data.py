"""Endless labelled pictures of four drawn shapes on synthetic backgrounds. NumPy and Pillow only.

Everything follows from the seed: make_set(500, 1001) begins with the pictures of examples/demo.
"""
import numpy as np
from PIL import Image, ImageDraw, ImageFilter

CLASSES = ["circle", "square", "triangle", "star"]
OVERSAMPLING = 3


def _background(rng, size):
    kind = rng.integers(0, 5)
    if kind == 0:
        pixels = np.full((size, size, 3), rng.integers(0, 256, 3), np.float32)
    elif kind == 1:  # linear gradient
        first, last = rng.integers(0, 256, 3), rng.integers(0, 256, 3)
        t = np.linspace(0, 1, size)
        t = t[:, None, None] if rng.random() < .5 else t[None, :, None]
        pixels = (first * (1 - t) + last * t) * np.ones((size, size, 3))
    else:  # low-frequency colour noise, three octaves
        pixels = np.zeros((size, size, 3), np.float32)
        amplitude = 1.0
        for side in (rng.integers(2, 6), rng.integers(6, 16), rng.integers(16, 40)):
            noise = Image.fromarray(rng.integers(0, 256, (side, side, 3), np.uint8).astype(np.uint8))
            pixels += amplitude * np.asarray(noise.resize((size, size), Image.BICUBIC), np.float32)
            amplitude *= rng.uniform(.2, .6)
        pixels = (pixels - pixels.min()) / max(1e-3, pixels.max() - pixels.min()) * 255
    picture = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
    _clutter(rng, picture, size)
    return picture


def _clutter(rng, picture, size):
    """Lines and arcs, never one of the four classes."""
    draw = ImageDraw.Draw(picture)
    for _ in range(rng.integers(0, 6)):
        colour = tuple(int(x) for x in rng.integers(0, 256, 3))
        p = [int(x) for x in rng.integers(0, size, 4)]
        if rng.random() < .6:
            draw.line(p, fill=colour, width=int(rng.integers(1, 4)))
        else:
            box = [min(p[0], p[2]), min(p[1], p[3]), max(p[0], p[2]) + 2, max(p[1], p[3]) + 2]
            draw.arc(box, int(rng.integers(0, 360)), int(rng.integers(0, 360)), fill=colour, width=2)


def _polygon(cls, cx, cy, radius, rotation):
    if cls == 0:
        angle, radii = np.arange(40) / 40 * 2 * np.pi, np.full(40, radius)
    elif cls == 1:
        angle, radii = np.arange(4) / 4 * 2 * np.pi + np.pi / 4, np.full(4, radius)
    elif cls == 2:
        angle, radii = np.arange(3) / 3 * 2 * np.pi - np.pi / 2, np.full(3, radius)
    else:
        angle = np.arange(10) / 10 * 2 * np.pi - np.pi / 2
        radii = np.where(np.arange(10) % 2 == 0, radius, radius * .42)
    angle = angle + rotation
    return np.stack([cx + radii * np.cos(angle), cy + radii * np.sin(angle)], 1)


def _place_shape(rng, size, taken):
    """A shape that overlaps no earlier one by 2 pixels or more: class, centre, corners, box; None after 20 tries."""
    for _ in range(20):
        cls = int(rng.integers(0, len(CLASSES)))
        radius = float(np.exp(rng.uniform(np.log(8), np.log(46))))
        cx, cy = rng.uniform(radius * .8, size - radius * .8, 2)
        corners = _polygon(cls, cx, cy, radius, rng.uniform(-.5, .5) if cls else 0)
        corners[:, 1] = cy + (corners[:, 1] - cy) * rng.uniform(.85, 1.15)
        x0, y0 = np.clip(corners.min(0), 0, size)
        x1, y1 = np.clip(corners.max(0), 0, size)
        if all(min(x1, b[3]) - max(x0, b[1]) < 2 or min(y1, b[4]) - max(y0, b[2]) < 2 for b in taken):
            return cls, cx, cy, corners, (x0, y0, x1, y1)
    return None


def _sample(rng, size):
    """One uint8 picture [size, size, 3] and its boxes [n, 5]: class, cx, cy, w, h in pixels."""
    background = _background(rng, size)
    big = background.resize((size * OVERSAMPLING, size * OVERSAMPLING), Image.BILINEAR)
    draw = ImageDraw.Draw(big)
    small = np.asarray(background, np.float32)
    boxes = []
    for _ in range(rng.integers(1, 6)):
        shape = _place_shape(rng, size, boxes)
        if shape is None:
            continue
        cls, cx, cy, corners, box = shape
        behind = small[int(min(size - 1, cy)), int(min(size - 1, cx))]
        for _ in range(20):
            colour = rng.integers(0, 256, 3)
            if np.abs(colour - behind).sum() > 120:
                break
        colour = tuple(int(x) for x in colour)
        points = [tuple(point) for point in corners * OVERSAMPLING]
        if rng.random() < .8:
            draw.polygon(points, fill=colour)
        else:  # outline only
            width = int(OVERSAMPLING * rng.uniform(1.5, 3.5))
            draw.line(points + [points[0], points[1]], fill=colour, width=width, joint="curve")
        boxes.append((cls, *box))
    picture = big.resize((size, size), Image.BOX)
    if rng.random() < .3:
        picture = picture.filter(ImageFilter.GaussianBlur(rng.uniform(.2, 1.0)))
    pixels = np.asarray(picture, np.float32)
    pixels = pixels * rng.uniform(.7, 1.1) + rng.normal(0, rng.uniform(0, 10), pixels.shape)
    labels = np.array([[c, (x0 + x1) / 2, (y0 + y1) / 2, x1 - x0, y1 - y0] for c, x0, y0, x1, y1 in boxes], np.float32)
    return np.clip(pixels, 0, 255).astype(np.uint8), labels.reshape(-1, 5)


def make_set(count, seed, size=160):
    """count pictures [count, size, size, 3] and a list of their boxes."""
    rng = np.random.default_rng(seed)
    pictures, labels = np.empty((count, size, size, 3), np.uint8), []
    for i in range(count):
        pictures[i], boxes = _sample(rng, size)
        labels.append(boxes)
    return pictures, labels
