import { decode, encode } from 'fast-png';
import { expect } from 'vitest';
import { dig, editPath, imageOf, type GatewayUnderTest } from '../gateway-under-test.ts';

/** Rows of pixels, each a list of its channels. */
export type Pixels = number[][][];

export const [red, green, blue, white] = [
  [255, 0, 0],
  [0, 255, 0],
  [0, 0, 255],
  [255, 255, 255],
] as const satisfies number[][];

/** Two rows of three pixels, no two of their turns alike. */
export const wide: Pixels = [
  [[...red], [...green], [...blue]],
  [[...white], [...white], [...red]],
];

/** Rows of pixels as a PNG. */
export function png(rows: Pixels): Buffer {
  const [first = []] = rows;
  const data = Uint8Array.from(rows.flat(2));
  return Buffer.from(
    encode({ width: first.length, height: rows.length, data, channels: first[0]?.length ?? 3, depth: 8 }),
  );
}

/** A PNG as rows of pixels. */
export function pixels(bytes: Buffer): Pixels {
  const { width, height, data, channels } = decode(bytes);
  const pixelAt = (index: number): number[] => Array.from(data.subarray(index * channels, (index + 1) * channels));
  return Array.from({ length: height }, (_, y) => Array.from({ length: width }, (_, x) => pixelAt(y * width + x)));
}

/** The reply of local-edit to an instruction and images. */
export async function edit(
  gateway: GatewayUnderTest,
  text: string,
  images: { mimeType: string; bytes: Buffer }[],
  generationConfig: object = {},
): Promise<unknown> {
  const inline = images.map(({ mimeType, bytes }) => ({ inlineData: { mimeType, data: bytes.toString('base64') } }));
  const { status, json } = await gateway.post(editPath, {
    contents: [{ role: 'user', parts: [{ text }, ...inline] }],
    generationConfig,
  });
  expect([status, dig(json, 'error')]).toEqual([200, undefined]);
  return json;
}

/** The pixels that local-edit makes of a PNG. */
export async function editPng(
  gateway: GatewayUnderTest,
  text: string,
  rows: Pixels,
  generationConfig: object = {},
): Promise<Pixels> {
  return pixels(
    imageOf(await edit(gateway, text, [{ mimeType: 'image/png', bytes: png(rows) }], generationConfig)).bytes,
  );
}
