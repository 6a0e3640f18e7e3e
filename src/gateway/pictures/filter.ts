import type { Picture } from '../../images/pixels/picture.ts';

/** Every pixel by its brightness (ITU-R BT.601). */
export function grayscale(picture: Picture): Picture {
  return mapColours(picture, (red, green, blue) => {
    const gray = Math.round(red * 0.299 + green * 0.587 + blue * 0.114);
    return [gray, gray, gray];
  });
}

/** The negative. */
export function invert(picture: Picture): Picture {
  return mapColours(picture, (red, green, blue) => [255 - red, 255 - green, 255 - blue]);
}

/** The brown of old photographs. */
export function sepia(picture: Picture): Picture {
  return mapColours(picture, (red, green, blue) => [
    Math.min(255, red * 0.393 + green * 0.769 + blue * 0.189),
    Math.min(255, red * 0.349 + green * 0.686 + blue * 0.168),
    Math.min(255, red * 0.272 + green * 0.534 + blue * 0.131),
  ]);
}

/** Lighter (factor over 1) or darker. */
export function brighten(picture: Picture, factor: number): Picture {
  const lift = (value: number): number => Math.min(255, value * factor);
  return mapColours(picture, (red, green, blue) => [lift(red), lift(green), lift(blue)]);
}

/** Blurs by averaging over a neighbourhood, twice along each axis; its size goes with the picture's. */
export function blur(picture: Picture): Picture {
  const { width, height, data } = picture;
  const radius = Math.max(1, Math.round(Math.min(width, height) / 64));
  const rows = { lines: height, length: width, line: width * 4, step: 4, radius };
  const columns = { lines: width, length: height, line: 4, step: width * 4, radius };
  const blurred = [rows, columns, rows, columns].reduce(average, data);
  return { width, height, data: blurred };
}

interface Axis {
  lines: number;
  length: number;
  /** Bytes from one line to the next, and from one pixel of a line to the next. */
  line: number;
  step: number;
  radius: number;
}

function average(data: Uint8Array, { lines, length, line, step, radius }: Axis): Uint8Array {
  const result = new Uint8Array(data.length);
  const reach = Math.min(radius, length - 1);
  for (let number = 0; number < lines; number++) {
    for (let channel = 0; channel < 4; channel++) {
      const start = number * line + channel;
      const valueAt = (index: number): number => data[start + Math.min(length - 1, Math.max(0, index)) * step] ?? 0;
      let sum = 0;
      for (let index = -reach; index <= reach; index++) sum += valueAt(index);
      for (let index = 0; index < length; index++) {
        result[start + index * step] = Math.round(sum / (reach * 2 + 1));
        sum += valueAt(index + reach + 1) - valueAt(index - reach);
      }
    }
  }
  return result;
}

function mapColours(
  { width, height, data }: Picture,
  change: (red: number, green: number, blue: number) => [number, number, number],
): Picture {
  const changed = new Uint8Array(data.length);
  for (let at = 0; at < data.length; at += 4) {
    const [red, green, blue] = change(data[at] ?? 0, data[at + 1] ?? 0, data[at + 2] ?? 0);
    changed[at] = red;
    changed[at + 1] = green;
    changed[at + 2] = blue;
    changed[at + 3] = data[at + 3] ?? 255;
  }
  return { width, height, data: changed };
}
