import { mixPixel, type Colour, type Picture } from '../../images/pixels/picture.ts';

/** A point in pixels. */
export type Point = readonly [number, number];

/** How a shape is laid on: its colour, and how much of it covers what is there (1: all). */
export interface Ink {
  colour: Colour;
  alpha?: number;
}

/** Fills a convex polygon, corners clockwise as seen on the screen, with smooth edges. */
export function fillPolygon(picture: Picture, points: readonly Point[], ink: Ink): void {
  const edges = points.map((from, index) => edgeOf(from, points[(index + 1) % points.length] ?? from));
  const xs = points.map(([x]) => x);
  const ys = points.map(([, y]) => y);
  const box = { left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys) };
  cover(picture, box, ink, (x, y) => {
    let outside = -Infinity;
    for (const { nx, ny, offset } of edges) outside = Math.max(outside, nx * x + ny * y + offset);
    return outside;
  });
}

/** Fills an ellipse. */
export function fillEllipse(
  picture: Picture,
  { at: [cx, cy], rx, ry }: { at: Point; rx: number; ry: number },
  ink: Ink,
): void {
  const box = { left: cx - rx, right: cx + rx, top: cy - ry, bottom: cy + ry };
  const scale = Math.min(rx, ry);
  cover(picture, box, ink, (x, y) => (Math.hypot((x - cx) / rx, (y - cy) / ry) - 1) * scale);
}

/** Draws a line with round ends. */
export function drawLine(picture: Picture, [from, to]: readonly [Point, Point], radius: number, ink: Ink): void {
  const [ax, ay] = from;
  const [dx, dy] = [to[0] - ax, to[1] - ay];
  const length = dx * dx + dy * dy || 1;
  const box = {
    left: Math.min(ax, to[0]) - radius,
    right: Math.max(ax, to[0]) + radius,
    top: Math.min(ay, to[1]) - radius,
    bottom: Math.max(ay, to[1]) + radius,
  };
  cover(picture, box, ink, (x, y) => {
    const along = Math.min(1, Math.max(0, ((x - ax) * dx + (y - ay) * dy) / length));
    return Math.hypot(x - ax - dx * along, y - ay - dy * along) - radius;
  });
}

/**
 * Throws a beam of light: from a point to one side, wider and fainter with the distance. `slope` is the half angle's
 * tangent; `side` -1 is to the left.
 */
export function drawBeam(
  picture: Picture,
  { at: [cx, cy], length, slope, side }: { at: Point; length: number; slope: number; side: -1 | 1 },
  { colour, alpha = 1 }: Ink,
): void {
  const spread = length * slope;
  const [left, right] = side < 0 ? [cx - length, cx] : [cx, cx + length];
  eachPixel(picture, { left, right, top: cy - spread, bottom: cy + spread }, (x, y, at) => {
    const along = (x - cx) * side;
    const across = 1 - Math.abs(y - cy) / (along * slope + 1);
    if (along > 0 && across > 0)
      mixPixel(picture, at, colour, alpha * Math.min(1, across * 2) * (1 - along / length) ** 1.3);
  });
}

/** Lets a light shine: strongest in the middle, gone at the radius. */
export function shine(picture: Picture, { at: [cx, cy], radius }: { at: Point; radius: number }, ink: Ink): void {
  const { colour, alpha = 1 } = ink;
  eachPixel(picture, { left: cx - radius, right: cx + radius, top: cy - radius, bottom: cy + radius }, (x, y, at) => {
    const near = 1 - Math.sqrt((x - cx) * (x - cx) + (y - cy) * (y - cy)) / radius;
    if (near > 0.05) mixPixel(picture, at, colour, alpha * (near - 0.05) * (near - 0.05));
  });
}

interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** Paints where a distance function is negative; half a pixel around its edge is mixed. */
function cover(
  picture: Picture,
  box: Box,
  { colour, alpha = 1 }: Ink,
  distance: (x: number, y: number) => number,
): void {
  eachPixel(picture, box, (x, y, at) => {
    const covered = 0.5 - distance(x, y);
    if (covered > 0) mixPixel(picture, at, colour, Math.min(1, covered) * alpha);
  });
}

function eachPixel(picture: Picture, box: Box, visit: (x: number, y: number, at: number) => void): void {
  const { width, height } = picture;
  const right = Math.min(width - 1, Math.ceil(box.right));
  const bottom = Math.min(height - 1, Math.ceil(box.bottom));
  for (let y = Math.max(0, Math.floor(box.top)); y <= bottom; y++) {
    for (let x = Math.max(0, Math.floor(box.left)); x <= right; x++) visit(x + 0.5, y + 0.5, (y * width + x) * 4);
  }
}

function edgeOf([ax, ay]: Point, [bx, by]: Point): { nx: number; ny: number; offset: number } {
  const length = Math.hypot(bx - ax, by - ay) || 1;
  const nx = (by - ay) / length;
  const ny = -(bx - ax) / length;
  return { nx, ny, offset: -(nx * ax + ny * ay) };
}
