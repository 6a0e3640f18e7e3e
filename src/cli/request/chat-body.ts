import { usageError } from '../../errors.ts';
import { encodeMessagesRequest } from '../../formats/messages/request.ts';
import type { MessageInline } from '../../formats/messages/types.ts';
import { isObject, type JsonObject, type JsonValue } from '../../json.ts';
import type { Body } from '../../upload.ts';
import type { BodyFiles, BodyFlags } from './content-input.ts';
import { defaultMaxTokens } from '../../settings/resolve.ts';
import { applySettings } from '../flags/set.ts';
import { parseJson, quote } from '../flags/values.ts';

/** Flags that shape a messages-format request, as they were typed. */
export interface ChatFlags extends BodyFlags {
  toolChoice?: string;
  metadata?: JsonObject[];
  /** false by `--no-stream` */
  stream?: boolean;
}

/** What a request is made of beside its flags. */
export interface ChatParts extends BodyFiles {
  model: string;
  maxTokens: number | undefined;
  prompt: string | undefined;
  inline: readonly MessageInline[];
  messages: readonly JsonValue[] | undefined;
}

/** The body of a messages-format request: `--body` < flags < `--set`. */
export function chatBody(flags: ChatFlags, parts: ChatParts): Body {
  const { temperature, topP, topK, stop } = flags;
  const given = parts.body?.['max_tokens'];
  const maxTokens = flags.maxTokens ?? (typeof given === 'number' ? given : (parts.maxTokens ?? defaultMaxTokens));
  const metadata = flags.metadata && (Object.assign({}, ...flags.metadata) as JsonObject);
  const body = encodeMessagesRequest({
    ...parts,
    temperature,
    topP,
    topK,
    stop,
    metadata,
    maxTokens,
    toolChoice: flags.toolChoice === undefined ? undefined : parseToolChoice(flags.toolChoice),
    stream: flags.stream === false ? undefined : true,
  });
  if (flags.stream === false) delete body['stream'];
  return applySettings(body, flags.set ?? [], ['stream']);
}

/** `auto`, `any`, `none`, `tool:<name>` or the JSON object itself. Throws GatewayError usage. */
function parseToolChoice(word: string): JsonObject {
  if (['auto', 'any', 'none'].includes(word)) return { type: word };
  if (word.startsWith('tool:') && word.length > 'tool:'.length)
    return { type: 'tool', name: word.slice('tool:'.length) };
  const value = word.startsWith('{') ? parseJson('--tool-choice', word) : undefined;
  if (isObject(value)) return value;
  throw usageError(
    `--tool-choice takes auto, any, none, tool:<name> or JSON, not ${quote(word)}`,
    'for example: --tool-choice tool:get_weather',
  );
}
