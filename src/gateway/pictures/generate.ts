import type { MadePicture } from '../content/answer.ts';
import type { ContentRequest } from '../content/request.ts';
import { imageFacts } from '../../images/sniff.ts';
import { createBudget } from '../http/budget.ts';
import { badValue } from '../fields/violation.ts';
import type { Media } from '../models/task.ts';
import { type Decoded, decodeWithin } from '../../images/pixels/decode.ts';
import { drawOver } from './draw-over.ts';
import { cropEdit, readInstruction } from './instruction.ts';
import { mostPixels, type Picture, type Size } from '../../images/pixels/picture.ts';
import { encodePng } from '../../images/pixels/png.ts';
import { paintScene } from './scene/scene.ts';
import { ratioOf, sizeFor } from './size.ts';
import { inset } from '../../images/pixels/transform.ts';

const jpegQuality = 90;
const notes = { Software: 'gateway-cli offline model', Comment: 'Drawn on this machine; no model was asked.' };

/** Output tokens of a picture, as the public image models count them. */
const pictureTokens = 1290;

/**
 * The pictures of a request: edits of its first image, or drawings where it has none; one for each candidate. A later
 * variant of a request without a seed goes on where the one before ended.
 */
export async function makePictures(request: ContentRequest, variant = 0): Promise<MadePicture[]> {
  const { task } = request;
  if (task.prompt.trim() === '')
    throw badValue(['contents', 0, 'parts', 0, 'text'], 'a prompt or an instruction is required');
  const images = task.media.filter(({ mimeType }) => mimeType.startsWith('image/'));
  if (task.model === 'local-edit' && images.length === 0) {
    throw badValue(['contents', 0, 'parts', 1, 'inlineData'], 'an image to edit is required');
  }
  const free = await pixels.take(await pixelsOf(images), new AbortController().signal);
  try {
    return await makeFrom(images, request, variant);
  } finally {
    free();
  }
}

/** A small file can have many pixels: those of all requests together are no more than one picture may have. */
const pixels = createBudget(mostPixels);

async function pixelsOf(images: readonly Media[]): Promise<number> {
  const facts = await Promise.all(images.map(({ bytes }) => imageFacts(bytes)));
  return facts.reduce((sum, { width = 0, height = 0 }) => sum + width * height, 0);
}

async function makeFrom(images: readonly Media[], request: ContentRequest, variant: number): Promise<MadePicture[]> {
  const { task, candidates } = request;
  const inputs = await Promise.all(images.map((image: Media) => decodeImage(image)));
  const made: MadePicture[] = [];
  const start = task.seed === undefined ? variant * candidates : 0;
  for (let index = start; index < start + candidates; index++) {
    const seed = `${task.seed ?? ''}/${index === 0 ? '' : index}`;
    const [first, ...others] = inputs;
    made.push(first ? await editPicture(request, [first, ...others], seed) : await drawPicture(request, seed));
  }
  return made;
}

async function drawPicture({ task, aspectRatio, imageSize }: ContentRequest, seed: string): Promise<MadePicture> {
  const { picture, caption } = paintScene(task.prompt, seed, sizeFor(aspectRatio, imageSize));
  const bytes = await encodePng(picture, notes);
  return {
    mimeType: 'image/png',
    bytes,
    tokens: pictureTokens,
    caption: `An offline drawing, no model was asked: ${caption}.`,
  };
}

async function editPicture(
  request: ContentRequest,
  [first, ...others]: [Decoded, ...Decoded[]],
  seed: string,
): Promise<MadePicture> {
  const { task, aspectRatio } = request;
  const { mimeType, picture, size } = first;
  if (!picture) return redrawPicture(request, first, seed);
  const named = readInstruction(task.prompt, aspectRatio);
  const drawn = named.length === 0 ? drawOver(picture, task.prompt, seed) : undefined;
  const crop = aspectRatio === undefined ? undefined : cropEdit(aspectRatio);
  const edits = crop === undefined || named.at(-1)?.name === crop.name ? named : [...named, crop];
  const edited = edits.reduce((current, edit) => edit.apply(current), drawn?.picture ?? picture);
  for (const [index, { picture: other }] of others.entries()) if (other) layInCorner(edited, other, index);
  const done = [...(drawn ? [drawn.caption] : []), ...edits.map(({ name }) => name)].join(', ');
  const caption = `An offline edit of the ${size.width}×${size.height} picture, no model was asked: ${done}.`;
  return { ...(await encode(edited, mimeType)), tokens: pictureTokens, caption };
}

/** What cannot be decoded is answered by a new picture of the same size, or of that size in the asked ratio. */
async function redrawPicture(
  { task, aspectRatio }: ContentRequest,
  { mimeType, size }: Decoded,
  seed: string,
): Promise<MadePicture> {
  const { picture } = paintScene(task.prompt, seed, fitSize(size, aspectRatio));
  const caption = `An offline drawing of the size of the picture: ${mimeType} cannot be edited offline, and no model was asked.`;
  return { ...(await encode(picture, 'image/png')), tokens: pictureTokens, caption };
}

function fitSize({ width, height }: Size, aspectRatio: string | undefined): Size {
  if (aspectRatio === undefined) return { width, height };
  const ratio = ratioOf(aspectRatio);
  return {
    width: Math.max(1, Math.min(width, Math.round(height * ratio))),
    height: Math.max(1, Math.min(height, Math.round(width / ratio))),
  };
}

/** Further input images are laid small along the lower edge. */
function layInCorner(picture: Picture, other: Picture, index: number): void {
  const width = Math.max(1, Math.floor(picture.width / 5));
  const height = Math.ceil((other.height / other.width) * width);
  inset(picture, other, {
    left: Math.floor(width * 0.1) + index * Math.ceil(width * 1.1),
    top: Math.max(0, picture.height - height),
    width,
  });
}

/** A JPEG stays a JPEG, everything else becomes a PNG. */
async function encode(picture: Picture, mimeType: string): Promise<{ mimeType: string; bytes: Uint8Array }> {
  if (mimeType !== 'image/jpeg') return { mimeType: 'image/png', bytes: await encodePng(picture, notes) };
  const { default: jpeg } = await import('jpeg-js');
  return { mimeType, bytes: jpeg.encode(picture, jpegQuality).data };
}

/** An input image, decoded. Throws Violation for what is no image, or too large. */
async function decodeImage({ bytes, mimeType, path }: Media): Promise<Decoded> {
  const decoded = await decodeWithin({ bytes, mimeType }, mostPixels);
  if (decoded === 'damaged') throw badValue(path, 'Unable to process input image');
  if (!('tooLarge' in decoded)) return decoded;
  const { width, height } = decoded.tooLarge;
  throw badValue(
    path,
    `the image has ${width}×${height} pixels; the offline models take at most ${mostPixels / 2 ** 20} megapixels`,
  );
}
