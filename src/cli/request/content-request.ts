import type { SessionMessage } from '../../chat/message.ts';
import type { Post } from '../../client/connection.ts';
import type { Settings } from '../../settings/types.ts';
import type { JsonValue } from '../../json.ts';
import type { Attached } from '../input/attachments.ts';
import type { FetchUrl } from '../input/url-input.ts';
import type { Context } from '../context.ts';
import { type Blanks, fillLeaves, fillText, type VarFlags, readBlanks, warnOfUnused } from '../input/blanks.ts';
import type { SchemaCheck } from '../input/schema.ts';
import { contentPost, streamedContentPost } from '../../client/content.ts';
import { applySettings, type Setting } from '../flags/set.ts';
import { encodeContentRequest } from '../../formats/content/request.ts';
import type { ContentInput, InlineInput } from '../../formats/content/types.ts';
import { usageError } from '../../errors.ts';
import type { Body } from '../../upload.ts';
import { quote } from '../flags/flag.ts';
import { type FileOrJson, readListFlag, readObjectFlag, readJsonFlag, readTextFlag } from '../input/input-files.ts';
import { type TextPlaces, type PromptFlags, readPrompt } from '../input/prompt.ts';
import { objectAt } from '../../formats/fields.ts';

/** What a request is built with beside its words and flags. */
export interface Building {
  context: Context;
  fetchUrl: FetchUrl;
  settings: Pick<Settings, 'model' | 'noStdin' | 'maxTokens'>;
  /** Replaced where many requests share a schema. */
  compile?: ((schema: JsonValue) => Promise<SchemaCheck>) | undefined;
  /** What to type for a blank without a value, where it is not a flag. */
  adviseBlank?: Blanks['advice'] | undefined;
  /** What was said in a session before. */
  earlier?: readonly SessionMessage[] | undefined;
}

/** A request that is ready to be shown or sent, and what its answer is held against. */
export interface BuiltRequest {
  post: Post;
  model: string;
  prompt: string | undefined;
  /** The `--schema` that the answer must fit. */
  check: SchemaCheck | undefined;
  /** Input pictures. */
  inputs: readonly Attached[];
}

/** Compiles what stands behind `--schema`, if anything does. Throws GatewayError usage. */
export async function schemaCheck(
  schema: JsonValue | undefined,
  { compile }: Building,
): Promise<SchemaCheck | undefined> {
  if (schema === undefined) return undefined;
  return compile ? compile(schema) : (await import('../input/schema.ts')).compileSchema(schema);
}

/** Flags that shape the body in both formats, as they were typed. */
export interface BodyFlags extends VarFlags {
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
  places?: TextPlaces;
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

/** What the files of a request are read with. */
export interface FileReading {
  context: Context;
  blanks: Blanks | undefined;
}

/** Reads `--system-file`, `--tools`, `--body` and `--schema`. Throws GatewayError usage. */
export async function readBodyFiles(flags: BodyFlags, { context, blanks }: FileReading): Promise<BodyFiles> {
  return {
    system: await readSystem(flags, { context, blanks }),
    tools:
      flags.tools === undefined ? undefined : await readListFlag('--tools', flags.tools, { key: 'tools', context }),
    body: flags.body === undefined ? undefined : await readObjectFlag('--body', flags.body, context),
    schema: flags.schema === undefined ? undefined : await readJsonFlag('--schema', flags.schema, context),
  };
}

/** The system instruction, with its blanks filled. Throws GatewayError usage. */
export async function readSystem(
  { system, systemFile, places }: BodyFlags,
  { context, blanks }: FileReading,
): Promise<string | undefined> {
  if (system !== undefined && systemFile !== undefined)
    throw usageError('the system instruction is given twice: --system and --system-file', 'keep one of them');
  if (system !== undefined) return fillText(system, places?.system ?? '--system', blanks);
  if (systemFile === undefined) return undefined;
  return fillText(
    await readTextFlag('--system-file', systemFile, context),
    nameOf('--system-file', systemFile),
    blanks,
  );
}

/** Earlier turns, `--contents` or `--messages`, with their blanks filled. Throws GatewayError usage. */
export async function readTurns(
  flag: '--contents' | '--messages',
  turns: FileOrJson,
  { context, blanks, place }: FileReading & { place: string | undefined },
): Promise<JsonValue[]> {
  const list = await readListFlag(flag, turns, { key: flag.slice(2), context });
  return fillLeaves(list, place ?? nameOf(flag, turns), blanks);
}

/** What `--contents` and `--tool-config` hold. */
export async function readContentFiles(
  flags: ContentFlags,
  { context, blanks }: FileReading,
): Promise<Pick<ContentInput, 'contents' | 'toolConfig'>> {
  const { contents, toolConfig, places } = flags;
  return {
    contents:
      contents === undefined
        ? undefined
        : await readTurns('--contents', contents, { context, blanks, place: places?.turns }),
    toolConfig: toolConfig === undefined ? undefined : await readObjectFlag('--tool-config', toolConfig, context),
  };
}

function nameOf(flag: string, path: FileOrJson): string {
  return typeof path === 'string' && path !== '-' ? `${flag} ${quote(path)}` : flag;
}

/** What a content-format request is made of beside its flags. */
interface ContentParts extends BodyFiles, Pick<ContentInput, 'contents' | 'toolConfig'> {
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
