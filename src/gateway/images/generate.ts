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

const scales: Readonly<Record<string, number>> = { '512': 0.5, '1K': 1, '2K': 2, '4K': 4 };
const area = 2 ** 20;
const grid = 16;

/** The size of an image by `imageConfig`: about one megapixel times the class, in the ratio (1:1 by default). */
export function sizeFor(aspectRatio = '1:1', imageSize = '1K'): Size {
  const [across = 1, down = 1] = aspectRatio.split(':').map(Number);
  const scale = grid * (findOwn(scales, imageSize) ?? 1);
  const toSide = (ratio: number): number => Math.round(Math.sqrt(area * ratio) / grid) * scale;
  return { width: toSide(across / down), height: toSide(down / across) };
}
