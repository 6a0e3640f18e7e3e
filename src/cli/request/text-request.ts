import { streamedContentPost } from '../../client/content.ts';
import { usageError } from '../../errors.ts';
import { objectAt } from '../../formats/set-fields.ts';
import type { Body } from '../../upload.ts';
import type { Attached } from '../input/attachments.ts';
import { type Building, type BuiltRequest, schemaCheck } from './built-request.ts';
import { type ContentFlags, contentRequest, readBodyFiles, readContentFiles } from './content-input.ts';
import { type PromptFlags, readPrompt } from '../input/prompt.ts';
import { readBlanks, warnOfUnused } from '../input/vars.ts';

/** Flags that shape a request of `text`, as they were typed. */
export type TextRequestFlags = ContentFlags & PromptFlags & { attach?: string[]; stream?: true };

/** The request of `text`. Throws GatewayError usage. */
export async function buildTextRequest(
  words: readonly string[],
  flags: TextRequestFlags,
  building: Building,
): Promise<BuiltRequest> {
  const { context, settings } = building;
  const blanks = await readBlanks(flags, context, building.adviseBlank);
  const files = await readBodyFiles(flags, { context, blanks });
  const { contents, toolConfig } = await readContentFiles(flags, { context, blanks });
  const read = { ...files, contents, toolConfig };
  const check = await schemaCheck(read.schema, building);
  const inline = flags.attach === undefined ? [] : await readAttached(flags.attach, building);
  const optional = read.body !== undefined || read.contents !== undefined;
  const rules = { command: 'text', readsStdin: true, optional, noStdin: settings.noStdin.value, blanks };
  const prompt = await readPrompt(words, flags, context, rules);
  await warnOfUnused(flags, blanks, context);
  const built = { ...contentRequest('text', flags, { ...read, prompt, inline }, settings), check };
  if (!flags.stream) return built;
  requireOneCandidate(built.post.body);
  return { ...built, post: streamedContentPost(built.model, built.post.body) };
}

async function readAttached(words: readonly string[], building: Building): Promise<Attached[]> {
  const { readAttachments } = await import('../input/attachments.ts');
  return readAttachments(words, building);
}

/** Throws GatewayError usage: the text of several would be mixed. */
function requireOneCandidate(body: Body): void {
  const count = objectAt(body, 'generationConfig')['candidateCount'];
  if (typeof count !== 'number' || count <= 1) return;
  throw usageError(
    `--stream prints one candidate, and ${count} are asked for`,
    'leave one of them out: --stream or --candidates',
  );
}
