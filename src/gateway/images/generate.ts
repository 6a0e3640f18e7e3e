import jpeg from 'jpeg-js';
import {
  type Bitmap,
  cropTo,
  type Decoded,
  decodeWithin,
  encodePng,
  findOwn,
  imageFacts,
  maxPixels,
  scaleTo,
  type Size,
} from '../../library/index.ts';
import { createByteBudget } from '../http/body.ts';
import { badValue } from '../fields/rule.ts';
import type { ModelRequest } from '../types.ts';
import type { Candidate, MadeImage, DecodedMedia } from '../models/task.ts';
import { drawCard, layBand } from './test-card.ts';

const jpegQuality = 90;
const notes = { Software: 'gateway-cli offline model', Comment: 'Drawn on this machine; no model was asked.' };

/** Output tokens of an image, as the public image models count them. */
const madeImageTokens = 1290;

/** An image and its caption. */
interface Drawn {
  caption: string;
  image: MadeImage;
}

/**
 * The candidates of an image model: edits of the first image of a request, or drawings if it has none. The same request again has
 * the next `variant`, so that it gets other images, unless it has a seed. Throws Violation.
 */
export async function drawCandidates(request: ModelRequest, variant: number): Promise<Candidate[]> {
  const { task, image } = request;
  if (task.prompt.trim() === '') throw badValue(image.promptPath, 'a prompt or an instruction is required');
  const images = task.media.filter(({ mimeType }) => mimeType.startsWith('image/'));
  if (task.model === 'local-edit' && images.length === 0) {
    throw badValue(image.imagePath, 'an image to edit is required');
  }
  const free = await pixels.take(countPixels(images), new AbortController().signal);
  try {
    const made = await makeImages(images, request, variant);
    return made.map((each) => toCandidate(each, image.withoutText === true));
  } finally {
    free();
  }
}

/** A candidate whose text says what the image shows, followed by the image. */
function toCandidate({ caption, image }: Drawn, withoutText: boolean): Candidate {
  return {
    parts: withoutText ? [{ image }] : [{ text: caption }, { image }],
    ended: 'end',
    usage: { thinking: 0, answer: madeImageTokens },
  };
}

/** Limits the pixels of all requests together to those of the largest image, since a small file can have many pixels. */
const pixels = createByteBudget(maxPixels);

function countPixels(images: readonly DecodedMedia[]): number {
  const facts = images.map(({ bytes }) => imageFacts(bytes));
  return facts.reduce((sum, { width = 0, height = 0 }) => sum + width * height, 0);
}

async function makeImages(images: readonly DecodedMedia[], request: ModelRequest, variant: number): Promise<Drawn[]> {
  const { task, candidates } = request;
  const [first, ...others] = await Promise.all(images.map(decodeImage));
  const made: Drawn[] = [];
  const start = task.seed === undefined ? variant * candidates : 0;
  for (let index = start; index < start + candidates; index++) {
    const seed = `${task.seed ?? ''}/${index === 0 ? '' : index}`;
    const edit = first?.bitmap && editImage(request, { ...first, bitmap: first.bitmap, more: others.length }, seed);
    made.push(await (edit ?? drawImage(request, first, seed)));
  }
  return made;
}

/** A test card. It replaces an edit whose input cannot be decoded, and has the size of the input, or the requested size. */
async function drawImage(
  { task, image: wanted }: ModelRequest,
  input: Decoded | undefined,
  seed: string,
): Promise<Drawn> {
  const { aspectRatio, imageSize, mimeType = 'image/png' } = wanted;
  const size = wanted.size ?? (input ? fitSize(input.size, aspectRatio) : sizeFor(aspectRatio, imageSize));
  const card = drawCard(size, `${task.prompt}\n${seed}`);
  const caption = input
    ? `An offline test card of the size of the picture: ${input.mimeType} cannot be edited offline, and no model was asked.`
    : `An offline test card of ${sizeText(size)} pixels, no model was asked.`;
  return { caption, image: await encodeAs(card, mimeType) };
}

/** The first input with a band, in the requested size or ratio. */
async function editImage(
  { task, image: wanted }: ModelRequest,
  { mimeType, bitmap, more }: { mimeType: string; bitmap: Bitmap; more: number },
  seed: string,
): Promise<Drawn> {
  const edited = fitted(bitmap, wanted);
  const others = more === 0 ? '' : ` and ${more} more`;
  layBand(edited, `${task.prompt}\n${seed}`);
  const caption = `An offline edit of the ${sizeText(bitmap)} picture${others}, no model was asked.`;
  return { caption, image: await encodeAs(edited, wanted.mimeType ?? mimeType) };
}

/** A copy of the middle part with the ratio; an image that fits already (4 %, as the client measures) stays whole. */
function fitted(bitmap: Bitmap, { aspectRatio, size }: ModelRequest['image']): Bitmap {
  if (size) return scaleTo(cropTo(bitmap, size.width / size.height), size);
  const ratio = aspectRatio === undefined ? undefined : parseRatio(aspectRatio);
  const fits = ratio === undefined || Math.abs(bitmap.width / bitmap.height / ratio - 1) <= 0.04;
  return fits ? { ...bitmap, data: bitmap.data.slice() } : cropTo(bitmap, ratio);
}

function sizeText({ width, height }: Size): string {
  return `${width}×${height}`;
}

function fitSize({ width, height }: Size, aspectRatio: string | undefined): Size {
  if (aspectRatio === undefined) return { width, height };
  const ratio = parseRatio(aspectRatio);
  return {
    width: Math.max(1, Math.min(width, Math.round(height * ratio))),
    height: Math.max(1, Math.min(height, Math.round(width / ratio))),
  };
}

/** A JPEG stays a JPEG, everything else becomes a PNG. */
async function encodeAs(bitmap: Bitmap, mimeType: string): Promise<MadeImage> {
  const { width, height } = bitmap;
  const size = { width, height };
  const made = (bytes: Buffer, type: string) => ({ mimeType: type, data: bytes.toString('base64'), size });
  if (mimeType !== 'image/jpeg') return made(await encodePng(bitmap, notes), 'image/png');
  return made(jpeg.encode(bitmap, jpegQuality).data, mimeType);
}

/** An input image, decoded. Throws Violation if it is not an image, or too large. */
async function decodeImage({ bytes, mimeType, path }: DecodedMedia): Promise<Decoded> {
  const decoded = await decodeWithin({ bytes, mimeType }, maxPixels);
  if (decoded === 'damaged') throw badValue(path, 'Unable to process input image');
  if (!('tooLarge' in decoded)) return decoded;
  const { width, height } = decoded.tooLarge;
  throw badValue(
    path,
    `the image has ${width}×${height} pixels; the offline models take at most ${maxPixels / 2 ** 20} megapixels`,
  );
}

/** Sizes of the public image models for a ratio in the 1K class. */
const known: Readonly<Record<string, readonly [number, number]>> = {
  '1:1': [1024, 1024],
  '2:3': [832, 1248],
  '3:2': [1248, 832],
  '3:4': [864, 1184],
  '4:3': [1184, 864],
  '4:5': [896, 1152],
  '5:4': [1152, 896],
  '9:16': [768, 1344],
  '16:9': [1344, 768],
  '21:9': [1536, 672],
};

const scales: Readonly<Record<string, number>> = { '512': 0.5, '1K': 1, '2K': 2, '4K': 4 };
const area = 2 ** 20;
const grid = 16;

/** The size of an image by `imageConfig`: about one megapixel times the class, in the ratio (1:1 by default). */
export function sizeFor(aspectRatio = '1:1', imageSize = '1K'): Size {
  const [width, height] = findOwn(known, aspectRatio) ?? nearest(parseRatio(aspectRatio));
  const scale = findOwn(scales, imageSize) ?? 1;
  return { width: width * scale, height: height * scale };
}

/** Width divided by height of `W:H`. */
function parseRatio(aspectRatio: string): number {
  const [width, height] = aspectRatio.split(':').map(Number);
  return (width ?? 1) / (height ?? 1);
}

/** The grid size near one megapixel whose ratio is closest. */
function nearest(ratio: number): [number, number] {
  const ideal = Math.sqrt(area * ratio);
  let best: [number, number] = [1024, 1024];
  let bestError = Infinity;
  for (let width = snap(ideal * 0.94); width <= ideal * 1.06; width += grid) {
    const height = snap(width / ratio);
    const error = Math.abs(width / height / ratio - 1);
    if (error < bestError) [best, bestError] = [[width, height], error];
  }
  return best;
}

function snap(value: number): number {
  return Math.max(grid, Math.round(value / grid) * grid);
}
