import type { JsonObject, Size } from '../../library/index.ts';
import { listAt, numberAt, objectAt, textAt, textsAt } from '../fields/read.ts';
import { badValue } from '../fields/rule.ts';
import type { ModelRequest, GatewayOperation } from '../types.ts';
import { tokensPerImage, type ModelAnswer, type TextTask } from '../models/task.ts';
import { Problem } from '../problem.ts';
import { modelSeconds } from '../models/local.ts';
import { badParameter } from './reply.ts';
import { imagesBody } from './fields.ts';
import { readDataUrl } from './format.ts';

/** Images by one local model. An edit comes as a form, which is read as an object with data URLs. */
function imagesBy(usual: 'local-image' | 'local-edit'): GatewayOperation {
  return {
    serves: ({ draws }) => draws,
    modelOf: (_request, body) => textAt(body, 'model') ?? usual,
    check: (body, mode) => imagesBody({ ...body, ...typedFields(body) }, [], mode),
    fallback: () => usual,
    read: readImagesRequest,
    wantsImage: () => true,
    reply: imagesReply,
    contentType: 'application/json',
  };
}

/** `/v1/images/generations`. */
export const imagesOperation = imagesBy('local-image');
/** `/v1/images/edits`. */
export const editsOperation = imagesBy('local-edit');

/** OpenRouter's `/v1/images`: it draws, or changes the images that it refers to. */
export const referencesOperation: GatewayOperation = {
  ...imagesBy('local-image'),
  check({ input_references: references, ...body }, mode) {
    const images = listAt({ references: references ?? null }, 'references').map((each) => ({
      image_url: textAt(objectAt(each, 'image_url'), 'url') ?? '',
    }));
    return imagesBody({ ...body, ...(images.length > 0 && { images }) }, [], mode);
  },
  fallback: (_requested, checked) => (checked['images'] === undefined ? 'local-image' : 'local-edit'),
};

/** Fields of a form are strings, and a single image becomes a list of one. */
function typedFields({ image, n, stream }: JsonObject): JsonObject {
  return {
    ...(image !== undefined && { image: [image].flat() }),
    ...(/^\d+$/.test(String(n)) && { n: Number(n) }),
    ...(stream !== undefined && { stream: String(stream) === 'true' }),
  };
}

/** Values that the offline models cannot satisfy; another type, or a whole reply instead of a stream, would mislead. */
const notMade: readonly [field: string, value: unknown][] = [
  ['stream', true],
  ...['webp', 'gif', 'svg'].map((type): [string, unknown] => ['output_format', type]),
];

function readImagesRequest(checked: JsonObject, model: string): ModelRequest {
  const [missing] = notMade.find(([field, value]) => checked[field] === value) ?? [];
  if (missing) throw badParameter(missing, null, `The local gateway does not make '${missing}': ${checked[missing]}.`);
  const format = textAt(checked, 'output_format');
  const media = [
    ...textsAt(checked, 'image').flatMap((url, index) => readDataUrl(url, ['image', index])),
    ...listAt(checked, 'images').flatMap((image, index) => {
      const url = textAt(image, 'image_url');
      return url === undefined ? [] : readDataUrl(url, ['images', index, 'image_url']);
    }),
  ];
  return {
    task: { ...plainTask, model, prompt: textAt(checked, 'prompt') ?? '', media, seed: numberAt(checked, 'seed') },
    candidates: numberAt(checked, 'n') ?? 1,
    stream: false,
    showThinking: false,
    image: {
      isAsked: true,
      size: readSize(textAt(checked, 'size') ?? 'auto'),
      aspectRatio: textAt(checked, 'aspect_ratio'),
      imageSize: textAt(checked, 'resolution'),
      mimeType: format && `image/${format}`,
      url: textAt(checked, 'response_format') === 'url',
      withoutText: true,
      promptPath: ['prompt'],
      imagePath: ['image'],
    },
  };
}

/** The pixels of a square image of the class 4K. */
const maxPixels = 2 ** 24;

function readSize(size: string): Size | undefined {
  if (size === 'auto') return undefined;
  const [, width = 0, height = 0] = (/^(\d{1,5})x(\d{1,5})$/.exec(size) ?? []).map(Number);
  if (width >= 16 && height >= 16 && width * height <= maxPixels) return { width, height };
  throw badValue(['size'], `Expected 'auto', or WIDTHxHEIGHT with at most ${maxPixels} pixels.`);
}

const plainTask: Omit<TextTask, 'model' | 'prompt'> = {
  earlier: [],
  media: [],
  toolResults: [],
  tools: [],
  choice: { mode: 'none' },
  json: false,
  thinking: false,
  stop: [],
};

const rejected =
  'Your request was rejected as a result of our safety system. Your request may contain content that is not allowed by our safety system.';

function imagesReply({ candidates, tokens, blocked, bare }: ModelAnswer, { task, image }: ModelRequest): JsonObject {
  if (blocked || candidates.some(({ ended }) => ended === 'refused')) {
    throw new Problem(400, rejected, { type: 'image_generation_user_error', errorCode: 'moderation_blocked' });
  }
  const made = candidates
    .flatMap(({ parts }) => parts)
    .flatMap(({ text, image }) => (image && !image.isDraft ? [{ text, ...image }] : []));
  // An image inside a text is returned as a URL, because this reply has no text.
  const data = made.map((each) =>
    image.url || each.text !== undefined
      ? { url: `data:${each.mimeType};base64,${each.data}` }
      : { b64_json: each.data },
  );
  if (bare) return { created: modelSeconds, data };
  const [first] = made;
  const imageTokens = task.media.length * tokensPerImage;
  return {
    created: modelSeconds,
    background: 'opaque',
    data,
    output_format: first?.mimeType.replace('image/', '') ?? 'png',
    quality: 'high',
    ...(first && { size: `${first.size.width}x${first.size.height}` }),
    usage: {
      input_tokens: tokens.input,
      input_tokens_details: { image_tokens: imageTokens, text_tokens: tokens.input - imageTokens },
      output_tokens: tokens.answer,
      total_tokens: tokens.input + tokens.answer,
    },
  };
}
