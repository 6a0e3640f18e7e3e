import { settingError, usageError } from '../../errors.ts';
import { isObject, type JsonObject, type JsonValue, listField, textField } from '../../json.ts';
import { type Body, type BodyValue, isUpload, setFields, type Upload } from '../../body.ts';
import { fitOpenaiSize, openaiSizeClasses } from '../../vendors/image-sizes.ts';
import { imagesFields, type ImagesOperation, outputFormats } from '../../vendors/image-types.ts';
import type { PlainRequest, EncodedRequest, Media } from '../plain-request.ts';
import type { ReplyEvent } from '../events.ts';
import { toDataUrl } from '../data-url.ts';
import { encodeMedia } from '../openai-parts.ts';
import { chatParts } from './turns.ts';
import { findOwn } from '../../find-own.ts';

/** The fields of an image request in the words of one service. */
interface ImagesForm {
  /** Fields of each request; a field that the user sets wins. */
  always?: Body;
  /** The fields for shape and size. Throws usage. */
  shape(request: PlainRequest): Record<string, BodyValue | undefined>;
  /** The paths that create and change images, if they are not OpenAI's. */
  paths?: { draw?: string; edit?: string };
  /** The fields for the images to change. */
  inputs(media: readonly Media[], mask: Media | undefined): Record<string, BodyValue | undefined>;
  /** The images are sent as files of a form. */
  isForm?: true;
}

const drawPath = '/v1/images/generations';
export const editsPath = '/v1/images/edits';

const openaiForm: ImagesForm = {
  shape: (request) => ({ size: bothSides(request) }),
  // Servers of this format take one picture as `image` alone (openai-ruby#311).
  inputs(media, mask) {
    const files = media.map(imageFile);
    const pictures = files.length === 1 ? { image: files[0] } : { 'image[]': files };
    return { ...pictures, mask: mask && imageFile(mask) };
  },
  isForm: true,
};

const forms: Readonly<Record<ImagesOperation, ImagesForm>> = {
  openai: openaiForm,
  // Public programs ask Vercel in the same way as OpenAI, for Base64: otherwise some of its models answer with a link (November
  // 2026).
  vercel: { ...openaiForm, always: { response_format: 'b64_json' } },
  // This operation draws, and changes the images that the request refers to.
  openrouter: {
    shape: ({ aspect, size }) =>
      isSizeClass(size) ? { aspect_ratio: aspect, resolution: size } : { aspect_ratio: aspect, size },
    paths: { draw: '/v1/images', edit: '/v1/images' },
    inputs: (media) => ({ input_references: media.map((one) => encodeMedia(one, chatParts)) }),
  },
  // npm @ai-sdk/xai 5.0.12, xai-image-model.ts and its options.
  xai: {
    always: { response_format: 'b64_json' },
    shape: ({ aspect, size }) => ({ aspect_ratio: aspect, resolution: oneOf(size, ['1K', '2K'])?.toLowerCase() }),
    inputs(media) {
      const images = media.map((one) => ({ type: 'image_url', url: pictureUrl(one) }));
      return images.length === 1 ? { image: images[0] } : { images };
    },
  },
  // npm together-ai 0.52.0, resources/images.d.ts; npm @ai-sdk/togetherai 3.0.54 sends a data URL.
  together: {
    always: { response_format: 'base64' },
    shape(request) {
      const [width, height] = bothSides(request)?.split('x').map(Number) ?? [];
      return { width, height };
    },
    paths: { edit: drawPath },
    inputs(media) {
      const urls = media.map(pictureUrl);
      return urls.length === 1 ? { image_url: urls[0] } : { reference_images: urls };
    },
  },
  // ollama docs/api/openai-compatibility.mdx @043e9900; middleware/openai.go: an edit has one picture, as a data URL.
  ollama: {
    always: { response_format: 'b64_json' },
    shape: (request) => ({ size: bothSides(request) }),
    inputs([first, ...others]) {
      if (others.length > 0)
        throw usageError('the images operation of this service changes one picture', 'send them one by one');
      return { image: first && pictureUrl(first) };
    },
  },
};

/**
 * An image request for the service's own operation for images (formats 7). Throws usage for a field that the operation does not
 * have.
 */
export function encodeImages(request: PlainRequest, operation: ImagesOperation): EncodedRequest {
  refuseUnfit(request, operation);
  const { always, shape, paths = {}, inputs, isForm } = forms[operation];
  const own = { ...always, ...request.body };
  const byName = findOwn(outputFormats[operation], request.imageType ?? '');
  const body = setFields(own, {
    model: request.model,
    prompt: request.prompt,
    n: request.candidates,
    seed: request.seed,
    ...shape(request),
    quality: request.quality,
    background: request.background,
    output_format: request.outputFormat ?? own['output_format'] ?? byName,
  });
  if (body['background'] === 'transparent' && /^jpe?g$/.test(String(body['output_format'])))
    throw usageError('a JPEG has no transparent background', 'ask for another type, such as -o a.png');
  const { media = [], mask } = request;
  if (media.length === 0) return { path: paths.draw ?? drawPath, body };
  for (const one of mask ? [...media, mask] : media) requirePicture(one);
  const edited = setFields(body, inputs(media, mask));
  return { path: paths.edit ?? editsPath, body: edited, ...(isForm && { form: true }) };
}

/** The form of an edit as JSON: a batch holds no files. */
export function toEditBody({ image, 'image[]': images = image ?? [], mask, ...fields }: Body): Body {
  const pictures = { images: [images].flat().map(referTo) };
  return { ...fields, ...pictures, ...(mask !== undefined && { mask: referTo(mask) }) };
}

function referTo(file: BodyValue): Body {
  const { file: { mimeType } = { mimeType: 'image/png' }, ...data } = file as Upload;
  return { image_url: toDataUrl({ mimeType, data }) };
}

/** Fields that each operation has. */
const commonFields: ReadonlySet<keyof PlainRequest> = new Set([
  ...(['use', 'model', 'stream', 'body', 'prompt', 'media', 'store', 'keepThink'] as const),
  ...(['aspect', 'size', 'imageType'] as const),
]);

function refuseUnfit(request: PlainRequest, operation: ImagesOperation): void {
  if (request.tier !== undefined)
    throw usageError(
      `the images operation of this service has no ${request.tier} tier`,
      'text and chat have it; pictures go at full price',
    );
  const given = (Object.keys(request) as (keyof PlainRequest)[]).filter(
    (field) => [request[field] ?? []].flat().length > 0,
  );
  const found = given.find((field) => !(commonFields.has(field) || imagesFields[operation].includes(field)));
  if (found !== undefined)
    throw settingError(`the images operation of this service has no place for '${found}'`, {
      reason: 'no-place',
      value: found,
    });
}

function requirePicture({ mimeType, data }: Media): void {
  if (!isUpload(data) || !mimeType.toLowerCase().startsWith('image/'))
    throw usageError(`the images operation of this service takes pictures, not ${mimeType}`, 'leave the file out');
}

function pictureUrl({ mimeType, data }: Media): BodyValue {
  return toDataUrl({ mimeType: mimeType.toLowerCase(), data });
}

function imageFile(media: Media): BodyValue {
  const type = media.mimeType.toLowerCase();
  // The service judges a file by its name, too.
  return {
    ...(media.data as Upload),
    file: { name: media.title ?? `image.${type.slice('image/'.length)}`, mimeType: type },
  };
}

function isSizeClass(size: string | undefined): boolean {
  return size !== undefined && /^\d+K?$/i.test(size);
}

/** Width and height, chosen by aspect ratio and size class unless the size is in pixels. */
function bothSides({ size, aspect }: PlainRequest): string | undefined {
  if (size === undefined && aspect === undefined) return undefined;
  return size === undefined || isSizeClass(size) ? chooseImageSize(aspect ?? '1:1', size ?? '1K') : size;
}

/** Throws GatewayError usage for a size that is not in the list. */
function oneOf(size: string | undefined, sizes: readonly string[]): string | undefined {
  if (size === undefined || sizes.includes(size)) return size;
  throw usageError(`the images operation of this service has no size '${size}'`, `it has ${sizes.join(', ')}`);
}

function chooseImageSize(aspect: string, size: string): string {
  if (!openaiSizeClasses.includes(size))
    throw usageError(
      `the images operation of this service has no size '${size}'`,
      `it has ${openaiSizeClasses.join(', ')}, or WxH in pixels`,
    );
  const fitting = fitOpenaiSize(aspect, size);
  if (fitting !== undefined) return fitting;
  throw usageError(
    `the images operation of this service has no aspect ratio '${aspect}'`,
    'it has those from 1:3 to 3:1 whose sides can be multiples of 16 pixels; a size in pixels is sent unchanged',
  );
}

/** Whether a reply has the shape of the images operations. */
export function isImagesReply(json: JsonObject): boolean {
  const data = json['data'];
  return Array.isArray(data) && data.every((item) => isObject(item) && ('b64_json' in item || 'url' in item));
}

/** The events of a reply of the images operations. An image that is only linked becomes a Markdown link (deviation 3). */
export function readImagesReply(json: JsonObject): ReplyEvent[] {
  const format = textField(json, 'outputFormat');
  return (listField(json, 'data') ?? []).filter(isObject).flatMap((item) => imageItemEvents(item, format));
}

function imageItemEvents(item: JsonObject, format: string | undefined): ReplyEvent[] {
  // An empty value counts as absent, like null: the link of a paid image is beside it.
  const data = textField(item, 'b64Json') ?? '';
  const mimeType = textField(item, 'mediaType') ?? (format && `image/${format}`);
  if (data !== '') return [{ type: 'blob', mimeType, data, candidate: 0 }];
  return linkedImage(item['url'], 0);
}

const dataUrl = /^data:([^,;]*)(?:;[^,]*)?;base64,/i;

/** An image at a URL: its bytes if the URL holds them, otherwise a link. */
export function linkedImage(url: JsonValue | undefined, candidate: number): ReplyEvent[] {
  if (typeof url !== 'string' || url === '') return [];
  const [head, mimeType] = dataUrl.exec(url.slice(0, 200)) ?? [];
  if (head === undefined) return [{ type: 'text', text: `![image](${url})`, candidate }];
  if (head === url) return [];
  return [{ type: 'blob', mimeType: mimeType?.toLowerCase() || undefined, data: url.slice(head.length), candidate }];
}
