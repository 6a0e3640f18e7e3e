import { readImages } from '../input/attachments.ts';
import { type Building, type BuiltRequest } from './built-request.ts';
import { type ContentFlags, contentRequest, readBodyFiles, readContentFiles } from './content-input.ts';
import { type PromptFlags, readPrompt } from '../input/prompt.ts';

/** Flags that shape a request of `image gen` and `image edit`, as they were typed. */
export type ImageRequestFlags = ContentFlags & PromptFlags & { image?: string[]; sidecar?: boolean | undefined };

/** The request of `image gen` and `image edit` (`command`). Throws GatewayError usage. */
export async function buildImageRequest(
  words: readonly string[],
  flags: ImageRequestFlags,
  { context, settings, fetchUrl, command }: Building & { command: string },
): Promise<BuiltRequest> {
  const files = await readBodyFiles(flags, context);
  const { contents, toolConfig } = await readContentFiles(flags, context);
  const read = { ...files, contents, toolConfig };
  const inputs = await readImages(flags.image ?? [], { context, fetchUrl }, { hash: flags.sidecar === true });
  const optional = read.body !== undefined || read.contents !== undefined;
  const prompt = await readPrompt(words, flags, context, { command, readsStdin: false, optional, noStdin: true });
  return { ...contentRequest('image', flags, { ...read, prompt, inline: inputs }, settings), inputs };
}
