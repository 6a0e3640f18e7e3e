import { readImages } from '../input/attachments.ts';
import { readBlanks, warnOfUnused } from '../input/blanks.ts';
import { type PromptFlags, readPrompt } from '../input/prompt.ts';
import {
  type Building,
  type BuiltRequest,
  type ContentFlags,
  readBodyFiles,
  readContentFiles,
  contentRequest,
} from './content-request.ts';

/** Flags that shape a request of `image gen` and `image edit`, as they were typed. */
export type ImageRequestFlags = ContentFlags & PromptFlags & { image?: string[]; sidecar?: boolean | undefined };

/** The request of `image gen` and `image edit` (`command`). Throws GatewayError usage. */
export async function buildImageRequest(
  words: readonly string[],
  flags: ImageRequestFlags,
  building: Building & { command: string },
): Promise<BuiltRequest> {
  const { context, settings, fetchUrl, command } = building;
  const blanks = await readBlanks(flags, context, building.adviseBlank);
  const files = await readBodyFiles(flags, { context, blanks });
  const { contents, toolConfig } = await readContentFiles(flags, { context, blanks });
  const read = { ...files, contents, toolConfig };
  const inputs = await readImages(flags.image ?? [], { context, fetchUrl }, { hash: flags.sidecar === true });
  const optional = read.body !== undefined || read.contents !== undefined;
  const rules = { command, readsStdin: false, optional, noStdin: true, blanks };
  const prompt = await readPrompt(words, flags, context, rules);
  await warnOfUnused(flags, blanks, context);
  return { ...contentRequest('image', flags, { ...read, prompt, inline: inputs }, settings), inputs };
}
