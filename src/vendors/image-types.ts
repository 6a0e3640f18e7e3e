/*
 * The types of images that services can be asked for. Sources: npm openai 7.57.0 (2026-11-13), resources/images.d.ts; npm
 * @openrouter/sdk 1.3.19, models/imagegenerationrequest.d.ts. Some models draw only some of them, which the service says.
 */

/** A service's own operation for images. */
export type ImagesOperation = 'openai' | 'openrouter';

/**
 * The word of `output_format` for a media type. PNG is what comes without it, and is not asked for by the name of a file: older
 * models know no such field.
 */
export const outputFormats: Readonly<Record<ImagesOperation, Readonly<Record<string, string>>>> = {
  openai: { 'image/jpeg': 'jpeg', 'image/webp': 'webp', 'image/gif': 'gif', 'image/svg+xml': 'svg' },
  openrouter: { 'image/jpeg': 'jpeg', 'image/webp': 'webp', 'image/svg+xml': 'svg' },
};
