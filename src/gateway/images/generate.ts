import jpeg from 'jpeg-js';
import { encodePng, findOwn, imageFacts, type Size } from '../../library/index.ts';
import { badValue } from '../fields/rule.ts';
import type { ModelRequest } from '../types.ts';
import type { Candidate, MadeImage, DecodedMedia } from '../models/task.ts';
import { drawCard } from './test-card.ts';

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
 * The candidates of an image model: the first image of a request as it came, or drawings if it has none. The same request again
 * has the next `variant`, so that it gets other drawings, unless it has a seed. Throws Violation.
 */
export async function drawCandidates(request: ModelRequest, variant: number): Promise<Candidate[]> {
  const { task, image, candidates } = request;
  if (task.prompt.trim() === '') throw badValue(image.promptPath, 'a prompt or an instruction is required');
  const [input, ...others] = task.media.filter(({ mimeType }) => mimeType.startsWith('image/'));
  if (task.model === 'local-edit' && input === undefined) {
    throw badValue(image.imagePath, 'an image to edit is required');
  }
  const start = task.seed === undefined ? variant * candidates : 0;
  const made = Array.from({ length: candidates }, (_, index) =>
    input ? returnImage(input, others.length) : drawImage(request, start + index),
  );
  return (await Promise.all(made)).map((each) => toCandidate(each, image.withoutText === true));
}

/** A candidate whose text says what the image shows, followed by the image. */
function toCandidate({ caption, image }: Drawn, withoutText: boolean): Candidate {
  return {
    parts: withoutText ? [{ image }] : [{ text: caption }, { image }],
    ended: 'end',
    usage: { thinking: 0, answer: madeImageTokens },
  };
}

/** The input itself in place of an edit. Throws Violation if it is not an image. */
function returnImage({ bytes, mimeType: declared, path }: DecodedMedia, more: number): Drawn {
  const { mimeType = declared, width, height } = imageFacts(bytes);
  if (width === undefined || height === undefined) throw badValue(path, 'Unable to process input image');
  const others = more === 0 ? '' : ` and ${more} more`;
  return {
    caption: `The ${sizeText({ width, height })} picture${others} as it came, no model was asked.`,
    image: { mimeType, data: bytes.toString('base64'), size: { width, height } },
  };
}

/** A test card of the requested size: a JPEG if that is wanted, otherwise a PNG. */
async function drawImage({ task, image: wanted }: ModelRequest, index: number): Promise<Drawn> {
  const size = wanted.size ?? sizeFor(wanted.aspectRatio, wanted.imageSize);
  const card = drawCard(size, `${task.prompt}\n${task.seed ?? ''}/${index === 0 ? '' : index}`);
  const isJpeg = wanted.mimeType === 'image/jpeg';
  const bytes = isJpeg ? jpeg.encode(card, jpegQuality).data : await encodePng(card, notes);
  return {
    caption: `An offline test card of ${sizeText(size)} pixels, no model was asked.`,
    image: { mimeType: isJpeg ? 'image/jpeg' : 'image/png', data: bytes.toString('base64'), size },
  };
}

function sizeText({ width, height }: Size): string {
  return `${width}×${height}`;
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
