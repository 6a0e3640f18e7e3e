import type { PlainRequest } from '../formats/plain-request.ts';
import type { ServiceName } from './services.ts';

/*
 * The types of images that services can be asked for, and those that they are known to refuse. Sources: npm openai 7.57.0
 * (2026-11-13), resources/images.d.ts; npm @openrouter/sdk 1.3.19, models/imagegenerationrequest.d.ts; npm @anthropic-ai/sdk
 * 1.14.0 (2026-11-24), Base64ImageSource. Some models draw only a part of them, which the service says.
 */

/** The words in which a service's own operation for images is asked. */
export type ImagesOperation = 'openai' | 'vercel' | 'openrouter' | 'xai' | 'together' | 'ollama';

const openaiFields = ['candidates', 'mask', 'quality', 'background', 'outputFormat'] as const;

/** The fields of each operation beside a prompt, pictures, shape and size; every other one is refused. */
export const imagesFields: Readonly<Record<ImagesOperation, readonly (keyof PlainRequest)[]>> = {
  openai: openaiFields,
  vercel: openaiFields,
  openrouter: ['candidates', 'seed', 'quality', 'background', 'outputFormat'],
  xai: ['candidates', 'quality', 'outputFormat'],
  together: ['candidates', 'seed', 'outputFormat'],
  ollama: ['seed'],
};

const openaiFormats = { 'image/jpeg': 'jpeg', 'image/webp': 'webp', 'image/gif': 'gif', 'image/svg+xml': 'svg' };

/**
 * The word of `output_format` for a media type that the name of a file asks for. The type that comes without the field is left
 * out: for most services PNG, and older models know no such field. Together: JPEG comes without it (npm together-ai 0.52.0).
 * Nobody says which types xAI has.
 */
export const outputFormats: Readonly<Record<ImagesOperation, Readonly<Record<string, string>>>> = {
  openai: openaiFormats,
  vercel: openaiFormats,
  together: { 'image/png': 'png' },
  xai: {},
  ollama: {},
  openrouter: { 'image/jpeg': 'jpeg', 'image/webp': 'webp', 'image/svg+xml': 'svg' },
};

/** Models of a service that its batches do not take, and models that they take; for every other model, the service decides. */
interface NotInBatches {
  models: RegExp;
  instead: string;
}

/** Batches take gpt-image-2 (the page of the model) and 2.5, and not yet 2.6 (dev.to and qiita.com, aihubmix, 2026-11). */
export const notInBatches: Readonly<Partial<Record<ServiceName, NotInBatches>>> = {
  openai: { models: /^gpt-image-2\.6-/, instead: 'gpt-image-2' },
};

/** Extensions of images that people send, and that no service is known to draw: services draw PNG and the types above. */
export const undrawnExtensions: ReadonlySet<string> = new Set(['heic', 'heif', 'bmp', 'tiff']);

/** The input images that a service is known to refuse. */
interface RefusedImages {
  types: RegExp;
  /** Types that are refused only for an image to edit. */
  editTypes?: RegExp;
  /** The most characters of Base64. */
  base64?: number;
  /** The most pictures to edit at once. */
  mostToEdit?: number;
  /** The longest side in pixels; `amongMany`: of each image, if there are more than `above`. */
  longestSide?: number;
  amongMany?: { above: number; longestSide: number };
}

/** A service without a row gets any image. */
export const refusedImages: Readonly<Partial<Record<ServiceName, RefusedImages>>> = {
  // Google's error lists PNG, JPEG, WebP, HEIC and HEIF (EvanZhouDev/gemini-ai#3); GIF: microsoft/vscode#286628, BMP:
  // google-gemini/gemini-cli#14838, TIFF: googleapis/js-genai#862, AVIF: googleapis/js-genai#1664 (2026-06).
  gemini: { types: /^image\/(?:gif|bmp|tiff|avif)$/ },
  // The limit is measured on the Base64: anthropics/claude-code#19631. Sides: anthropics/claude-code#4778 and #24630, charmbracelet/crush#3810.
  anthropic: {
    types: /^image\/(?:hei[cf]|bmp|tiff|avif)$/,
    base64: 5_242_880,
    longestSide: 8000,
    amongMany: { above: 20, longestSide: 2000 },
  },
  // 16: npm openai 7.57.0, ImageEditParamsBase.image.
  openai: { types: /^image\/(?:hei[cf]|bmp|tiff|avif)$/, editTypes: /^image\/gif$/, mostToEdit: 16 },
};
