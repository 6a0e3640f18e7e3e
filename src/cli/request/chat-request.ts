import { lastSystem, type SessionMessage, wireMessage, withOpenCalls } from '../../chat/message.ts';
import { messagesPost } from '../../client/messages.ts';
import { usageError } from '../../errors.ts';
import type { Body } from '../../upload.ts';
import { readDocuments, readImages } from '../input/attachments.ts';
import { type Building, type BuiltRequest, schemaCheck } from './built-request.ts';
import { type ChatFlags, chatBody } from './chat-body.ts';
import { readBodyFiles, readTurns } from './content-input.ts';
import type { FileOrJson } from '../input/input-files.ts';
import { type PromptFlags, readPrompt } from '../input/prompt.ts';
import { readBlanks, warnOfUnused } from '../input/vars.ts';

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
