import { lastSystem, type SessionMessage, wireMessage, withOpenCalls } from '../../chat/message.ts';
import { messagesPost } from '../../client/messages.ts';
import { usageError } from '../../errors.ts';
import type { Body } from '../../upload.ts';
import { readDocuments, readImages } from '../input/attachments.ts';
import {
  type Building,
  type BuiltRequest,
  schemaCheck,
  readBodyFiles,
  readTurns,
  type BodyFiles,
  type BodyFlags,
} from './content-request.ts';
import type { FileOrJson } from '../input/input-files.ts';
import { type PromptFlags, readPrompt } from '../input/prompt.ts';
import { readBlanks, warnOfUnused } from '../input/blanks.ts';
import { encodeMessagesRequest } from '../../formats/messages/request.ts';
import type { MessageInline } from '../../formats/messages/types.ts';
import { isObject, type JsonObject, type JsonValue } from '../../json.ts';
import { defaultMaxTokens } from '../../settings/table.ts';
import { applySettings } from '../flags/set.ts';
import { parseJson, quote } from '../flags/flag.ts';

/** Flags that shape a request of `chat`, as they were typed. */
export type ChatRequestFlags = ChatFlags & PromptFlags & { image?: string[]; attach?: string[]; messages?: FileOrJson };

/** The request of `chat`. Throws GatewayError usage. */
export async function buildChatRequest(
  words: readonly string[],
  flags: ChatRequestFlags,
  building: Building,
): Promise<BuiltRequest> {
  const { context, settings } = building;
  const blanks = await readBlanks(flags, context, building.adviseBlank);
  const read = await readBodyFiles(flags, { context, blanks });
  const check = await schemaCheck(read.schema, building);
  const { earlier } = building;
  if (earlier && read.body?.['messages'] !== undefined) throw twice('--body');
  if (earlier && flags.messages !== undefined) throw twice('--messages');
  const messages =
    flags.messages === undefined
      ? earlier?.map(wireMessage)
      : await readTurns('--messages', flags.messages, { context, blanks, place: flags.places?.turns });
  const inputs = await readImages(flags.image ?? [], building);
  const inline = [...inputs, ...(await readDocuments(flags.attach ?? [], building))];
  const optional = !earlier && (read.body !== undefined || flags.messages !== undefined);
  const rules = { command: 'chat', readsStdin: true, optional, noStdin: settings.noStdin.value, blanks };
  const prompt = await readPrompt(words, flags, context, rules);
  await warnOfUnused(flags, blanks, context);
  const system = read.system ?? (earlier && lastSystem(earlier));
  const model = settings.model.value;
  const maxTokens = settings.maxTokens?.value;
  const body = chatBody(flags, { ...read, system, messages, inline, prompt, model, maxTokens });
  answerOpenCalls(body, earlier);
  return { post: messagesPost(body), model, prompt, check, inputs };
}

/** A session that ended with calls which nobody answered can still go on. */
function answerOpenCalls(body: Body, earlier: readonly SessionMessage[] | undefined): void {
  const { messages } = body;
  const last = Array.isArray(messages) ? (messages.at(-1) as Body | undefined) : undefined;
  const content = last?.['content'];
  if (earlier && last && content !== undefined) last['content'] = withOpenCalls(content, earlier.at(-1));
}

function twice(flag: string): Error {
  return usageError(`${flag} and the session both hold earlier turns`, 'keep one of them');
}

/** Flags that shape a messages-format request, as they were typed. */
interface ChatFlags extends BodyFlags {
  toolChoice?: string;
  metadata?: JsonObject[];
  /** false by `--no-stream` */
  stream?: boolean;
}

/** What a request is made of beside its flags. */
interface ChatParts extends BodyFiles {
  model: string;
  maxTokens: number | undefined;
  prompt: string | undefined;
  inline: readonly MessageInline[];
  messages: readonly JsonValue[] | undefined;
}

/** The body of a messages-format request: `--body` < flags < `--set`. */
function chatBody(flags: ChatFlags, parts: ChatParts): Body {
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
