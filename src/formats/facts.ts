import type { Use } from '../services.ts';
import type { Ask } from './ask.ts';

/** Every format, by its name. */
export const formatNames = ['content', 'messages', 'completions'] as const;
export type FormatName = (typeof formatNames)[number];

/** What a request is for; it decides the header that carries the key (formats 1). */
export type AuthUse = 'text' | 'image' | 'messages' | 'completions';

/** How the key of a request is carried depends on its format, and in the content format on whether an image is asked for. */
export function authUseOf(format: FormatName, use: Use): AuthUse {
  if (format !== 'content') return format;
  return use === 'image' || use === 'edit' ? 'image' : 'text';
}

/** What is said of a format before any of it is loaded. */
export interface FormatFacts {
  /** For messages: `the messages format`. */
  title: string;
  /** The paths of its requests. */
  path: RegExp;
  /** Fields of an ask that it has no place for. */
  lacks: readonly (keyof Ask)[];
  /** The field of the service tier; absent where no cheaper one can be asked for. */
  tierField?: 'serviceTier' | 'service_tier';
  /** The field of earlier turns. */
  turnsField: 'contents' | 'messages';
  /** Fields of a body that the request itself decides. */
  reserved: readonly string[];
  /** Files of any type are bytes in it; else text is sent as text. */
  takesTextFiles: boolean;
  /** Whether the count of output tokens holds those of thinking, and the count of input tokens those of the cache. */
  billing: { outputHasThinking: boolean; inputHasCached: boolean };
}

export const formatFacts: Readonly<Record<FormatName, FormatFacts>> = {
  content: {
    title: 'the content format',
    path: /\/models\/[^/]+:(?:streamG|g)enerateContent/,
    lacks: ['metadata'],
    tierField: 'serviceTier',
    turnsField: 'contents',
    reserved: ['model', 'stream'],
    takesTextFiles: true,
    billing: { outputHasThinking: false, inputHasCached: true },
  },
  messages: {
    title: 'the messages format',
    path: /^\/v1\/messages(?:\?|$)/,
    lacks: ['candidates', 'seed', 'responseMime', 'aspect', 'size', 'safety', 'toolConfig', 'cachedContent', 'tier'],
    turnsField: 'messages',
    reserved: ['stream'],
    takesTextFiles: false,
    billing: { outputHasThinking: true, inputHasCached: false },
  },
  completions: {
    title: 'the completions format',
    path: /^\/v1\/(?:chat\/completions|images\/(?:generations|edits))(?:\?|$)/,
    lacks: ['topK', 'safety', 'toolConfig', 'cachedContent'],
    tierField: 'service_tier',
    turnsField: 'messages',
    reserved: ['stream'],
    takesTextFiles: false,
    billing: { outputHasThinking: true, inputHasCached: true },
  },
};

/** The format whose requests have a path, if one has. */
export function formatOfPath(path: string): FormatName | undefined {
  return formatNames.find((name) => formatFacts[name].path.test(path));
}
