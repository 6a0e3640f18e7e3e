import { contentPost } from '../../client/content.ts';
import { applySettings, type Setting } from '../flags/set.ts';
import { encodeContentRequest } from '../../formats/content/request.ts';
import type { ContentInput, InlineInput } from '../../formats/content/types.ts';
import { usageError } from '../../errors.ts';
import type { Body } from '../../upload.ts';
import type { Building, BuiltRequest } from './built-request.ts';
import type { Context } from '../context.ts';
import { type FileOrJson, readListFlag, readObjectFlag, readJsonFlag, readTextFlag } from '../input/input-files.ts';

/** Flags that shape the body in both formats, as they were typed. */
export interface BodyFlags {
  prompt?: string;
  promptFile?: string;
  system?: string;
  systemFile?: string;
  maxTokens?: number;
  temperature?: number;
  topP?: number;
  topK?: number;
  stop?: string[];
  tools?: FileOrJson;
  set?: Setting[];
  body?: FileOrJson;
  schema?: FileOrJson;
}

/** Flags that only the content format has. */
export interface ContentFlags extends BodyFlags {
  candidates?: number;
  seed?: number;
  safety?: { category: string; threshold: string }[];
  toolConfig?: FileOrJson;
  cachedContent?: string;
  contents?: FileOrJson;
  responseMime?: string;
  aspect?: string;
  size?: string;
}

/** The files behind the flags of both formats, read once: before the prompt, so that `-` finds its one reader. */
export interface BodyFiles {
  system: string | undefined;
  tools: Awaited<ReturnType<typeof readListFlag>> | undefined;
  body: Body | undefined;
  schema: Awaited<ReturnType<typeof readJsonFlag>> | undefined;
}

/** Reads `--system-file`, `--tools`, `--body` and `--schema`. Throws GatewayError usage. */
export async function readBodyFiles(flags: BodyFlags, context: Context): Promise<BodyFiles> {
  if (flags.system !== undefined && flags.systemFile !== undefined) {
    throw usageError('the system instruction is given twice: --system and --system-file', 'keep one of them');
  }
  return {
    system:
      flags.systemFile === undefined ? flags.system : await readTextFlag('--system-file', flags.systemFile, context),
    tools:
      flags.tools === undefined ? undefined : await readListFlag('--tools', flags.tools, { key: 'tools', context }),
    body: flags.body === undefined ? undefined : await readObjectFlag('--body', flags.body, context),
    schema: flags.schema === undefined ? undefined : await readJsonFlag('--schema', flags.schema, context),
  };
}

/** What `--contents` and `--tool-config` hold. */
export async function readContentFiles(
  flags: ContentFlags,
  context: Context,
): Promise<Pick<ContentInput, 'contents' | 'toolConfig'>> {
  const { contents, toolConfig } = flags;
  return {
    contents:
      contents === undefined ? undefined : await readListFlag('--contents', contents, { key: 'contents', context }),
    toolConfig: toolConfig === undefined ? undefined : await readObjectFlag('--tool-config', toolConfig, context),
  };
}

/** What a content-format request is made of beside its flags. */
export interface ContentParts extends BodyFiles, Pick<ContentInput, 'contents' | 'toolConfig'> {
  prompt: string | undefined;
  inline: readonly InlineInput[];
}

/** The request of `text` or of an image command, of what was read. Throws GatewayError usage. */
export function contentRequest(
  use: 'text' | 'image',
  flags: ContentFlags,
  parts: ContentParts,
  { model: { value: model } }: Building['settings'],
): BuiltRequest {
  const post = contentPost(model, use, contentBody(flags, parts));
  return { post, model, prompt: parts.prompt, check: undefined, inputs: [] };
}

/** The body of a content-format request: `--body` < flags < `--set`. The model is no field of it. */
function contentBody(flags: ContentFlags, read: ContentParts): Body {
  // Field by field: a spread is several times slower, and batches have many jobs.
  const input: ContentInput = {
    prompt: read.prompt,
    inline: read.inline,
    contents: read.contents,
    system: read.system,
    tools: read.tools,
    toolConfig: read.toolConfig,
    schema: read.schema,
    body: read.body,
    maxTokens: flags.maxTokens,
    temperature: flags.temperature,
    topP: flags.topP,
    topK: flags.topK,
    stop: flags.stop,
    candidates: flags.candidates,
    seed: flags.seed,
    safety: flags.safety,
    cachedContent: flags.cachedContent,
    responseMime: flags.responseMime,
    aspect: flags.aspect,
    size: flags.size,
  };
  return applySettings(encodeContentRequest(input), flags.set ?? [], ['model', 'stream']);
}
