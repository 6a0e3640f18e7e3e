import type { Body } from '../body.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import { type Effort, effortNames } from '../vendors/effort.ts';
import type { Use } from '../vendors/services.ts';
import type { FormatName } from './types.ts';

/** The type of each kind of field, in a plain request and as an option of the library. */
export interface PlainValues {
  text: string;
  /** One word, which cannot be mistaken for a flag. */
  word: string;
  /** `W:H` */
  ratio: string;
  /** `1K`, `2K`, `4K`, `512` or `WxH` */
  size: string;
  /** `png`, `jpeg` */
  imageType: string;
  number: number;
  whole: number;
  switch: boolean;
  effort: Effort;
  texts: readonly string[];
  safety: readonly { category: string; threshold: string }[];
}

/** The type of each kind of JSON field in a plain request; on the command line the value can be a file. */
export interface JsonValues {
  object: JsonObject;
  list: readonly JsonValue[];
  schema: JsonValue;
  body: Body;
  /** Parts of an object, each given by itself. */
  pairs: JsonObject;
  /** A word, or an object in the format's own form. */
  toolChoice: string | JsonObject;
}

/** The type of each kind of JSON field as an option of the library, whose users have interfaces. */
interface JsonOptionValues {
  object: object;
  list: readonly object[];
  schema: object | boolean;
  body: object;
  pairs: object;
  toolChoice: string | object;
}

/** Flags of the command line that give the same as other fields in other words. */
type GivenKind = 'model' | 'path' | 'paths' | 'input' | 'inputs' | 'turns' | 'variables' | 'values' | 'changes';

export type FieldKind = keyof PlainValues | keyof JsonValues | GivenKind;

export interface RequestField<Kind extends FieldKind = FieldKind, Flag extends string = string> {
  kind: Kind;
  /** The flag in the syntax of commander: `-p, --prompt <text>`. */
  flag: Flag;
  /** The line in help. */
  help: string;
  /** The flag that says the opposite. */
  opposite?: { flag: string; help: string };
  /** The place in help: its part about requests, or among the flags of a command, first or last. */
  group: 'request' | 'input' | 'chat' | 'content';
  /** The uses that have the field (default: all). */
  uses?: readonly Use[];
  /** Help shows the flag with `--verbose` only. */
  advanced?: true;
  /** Values for completion; others may be allowed. */
  values?: readonly string[];
  /** Bounds of a whole number. */
  minimum?: number;
  maximum?: number;
  /** Formats that have no place for it: it is refused before anything is sent. */
  lackedBy?: readonly FormatName[];
  /** Only operations for images have the field. */
  isOfImages?: true;
  /** Names of the field in requests of the formats, by which a refusal or a typed flag means it. */
  wireNames?: string;
  /**
   * The description for MCP clients, and the uses whose tools have the argument (default: all uses of the field); absent: no tool
   * has it.
   */
  tool?: { text: string; uses?: readonly Use[] };
}

const pictures = ['image', 'edit'] as const;
const notChat = ['text', 'image', 'edit'] as const;
const onlyContent = ['messages', 'completions', 'responses'] as const;
const onlyImages = { lackedBy: ['content', 'messages', 'responses'], isOfImages: true } as const;

/** Values for completion. Only the form is checked: a service can take others. */
const safetySettings = ['HARASSMENT', 'HATE_SPEECH', 'SEXUALLY_EXPLICIT', 'DANGEROUS_CONTENT'].flatMap((category) =>
  ['BLOCK_NONE', 'BLOCK_ONLY_HIGH', 'BLOCK_MEDIUM_AND_ABOVE', 'BLOCK_LOW_AND_ABOVE'].map((at) => `${category}=${at}`),
);

/** A row, of which types keep the kind and the flag. */
function row<const Kind extends FieldKind, const Flag extends string>(
  field: RequestField<Kind, Flag>,
): RequestField<Kind, Flag> {
  return field;
}

/**
 * Every field of a request, in the order of help. A row decides the flag of the commands, the key of jobs and its schema, the
 * argument of MCP tools, the option of the library and its check, the refusal by formats without the field, and the flag that the
 * hint of a service's refusal names.
 */
export const requestFields = {
  /** The text of the last turn: a prompt or an instruction. */
  prompt: row({
    kind: 'text',
    flag: '-p, --prompt <text>',
    help: 'the prompt, if it is not given as an argument',
    group: 'request',
    tool: { text: 'what to ask for' },
  }),
  promptFile: row({
    kind: 'path',
    flag: '--prompt-file <path|->',
    help: 'read the prompt from a file, such as x.prompt.yml; - is stdin',
    group: 'request',
    advanced: true,
  }),
  var: row({
    kind: 'variables',
    flag: '--var <name=value>',
    help: 'fill {{name}}, value or @file; or --vars',
    group: 'request',
  }),
  vars: row({
    kind: 'values',
    flag: '--vars <path|json>',
    help: 'values for many {{names}}: a JSON object, or a file with it',
    opposite: { flag: '--no-vars', help: 'send {{name}} unchanged' },
    group: 'request',
    advanced: true,
  }),
  /** Instructions in addition to the prompt. */
  system: row({
    kind: 'text',
    flag: '--system <text>',
    help: 'instructions for the model, in addition to the prompt',
    group: 'request',
    wireNames: 'system systemInstruction',
    tool: { text: 'instructions for the model, in addition to the prompt', uses: ['text'] },
  }),
  systemFile: row({
    kind: 'path',
    flag: '--system-file <path|->',
    help: 'read the --system text from a file; - is stdin',
    group: 'request',
    advanced: true,
  }),
  fallback: row({
    kind: 'model',
    flag: '--fallback <model>',
    help: 'ask this model once if the first one is busy (429, 503, 529) or gone, and nothing was billed',
    group: 'request',
    advanced: true,
    tool: { text: 'model that is asked once if the first is busy or gone and billed nothing' },
  }),
  maxTokens: row({
    kind: 'whole',
    flag: '--max-tokens <n>',
    help: 'maximum length of the answer in tokens',
    group: 'request',
    minimum: 1,
    wireNames: 'max_tokens max_completion_tokens maxOutputTokens',
    tool: { text: 'maximum length of the answer in tokens', uses: ['text'] },
  }),
  /** How much the model thinks; without it, nothing about thinking is sent. */
  effort: row({
    kind: 'effort',
    flag: '--effort <word>',
    help: `how much the model thinks: ${effortNames.join(', ')}`,
    group: 'request',
    advanced: true,
    values: effortNames,
    wireNames: 'effort reasoning_effort thinkingLevel',
    tool: { text: 'how much the model thinks; thinking is billed', uses: ['text'] },
  }),
  /**
   * Lets the service decide whether it keeps the request and its reply; without the field, a service that would keep them is told
   * not to.
   */
  store: row({
    kind: 'switch',
    flag: '--store',
    help: 'let the service keep the request and its answer; Google and the responses format are asked not to',
    group: 'request',
    advanced: true,
  }),
  /** Thinking in the tags `<think>` and `</think>` at the head of an answer stays in its text. */
  keepThink: row({
    kind: 'switch',
    flag: '--keep-think',
    help: 'leave thinking in <think> tags at the head of an answer in the text',
    group: 'request',
    advanced: true,
  }),
  temperature: row({
    kind: 'number',
    flag: '--temperature <x>',
    help: 'randomness of the answer, from 0 to 1 or 2',
    group: 'request',
    wireNames: 'temperature',
  }),
  topP: row({
    kind: 'number',
    flag: '--top-p <x>',
    help: 'sample from the most likely tokens up to this total probability, 0 to 1',
    group: 'request',
    advanced: true,
    wireNames: 'topP',
  }),
  topK: row({
    kind: 'whole',
    flag: '--top-k <n>',
    help: 'sample from this many most likely tokens',
    group: 'request',
    advanced: true,
    minimum: 0,
    lackedBy: ['completions', 'responses'],
    wireNames: 'topK',
  }),
  stop: row({
    kind: 'texts',
    flag: '--stop <text>',
    help: 'stop the answer where this text would appear',
    group: 'request',
    advanced: true,
    lackedBy: ['responses'],
    wireNames: 'stop stopSequences',
  }),
  /** Adds the service's own search tool. */
  search: row({
    kind: 'switch',
    flag: '--search',
    help: "let the model search the web: the service's own tool, billed",
    group: 'request',
    advanced: true,
    tool: { text: "whether the model searches the web by the service's own tool; searches are billed", uses: ['text'] },
  }),
  /** Tools by name, description and JSON Schema, or in the format's own form. */
  tools: row({
    kind: 'list',
    flag: '--tools <path|->',
    help: 'tools that the model may call: a JSON array, in a file; - is stdin',
    group: 'request',
    advanced: true,
    wireNames: 'tools',
  }),
  set: row({
    kind: 'changes',
    flag: '--set <path=value>',
    help: 'set a field: seed=7, a.b=1, tags[]=x',
    group: 'request',
  }),
  /** A whole body that the other fields are laid over. */
  body: row({
    kind: 'body',
    flag: '--body <path|->',
    help: 'start from this JSON request body; flags change it; - is stdin',
    group: 'request',
    advanced: true,
  }),

  image: row({
    kind: 'inputs',
    flag: '-i, --image <path|url|->',
    help: 'image file or URL to send; - is stdin',
    group: 'input',
    uses: ['edit', 'chat'],
    tool: { text: 'image files' },
  }),
  mask: row({
    kind: 'input',
    flag: '--mask <path|url|->',
    help: 'PNG whose transparent parts say where the first image may change (OpenAI only)',
    group: 'input',
    uses: ['edit'],
    advanced: true,
    ...onlyImages,
  }),
  attach: row({
    kind: 'paths',
    flag: '--attach <path|url|->',
    help: 'file or URL to send, such as a PDF',
    group: 'input',
    uses: ['text', 'chat'],
    tool: { text: 'files to send' },
  }),
  /** Media type of the answer. */
  responseMime: row({
    kind: 'text',
    flag: '--response-mime <type>',
    help: 'media type of the answer, such as application/json',
    group: 'input',
    uses: ['text'],
    advanced: true,
    values: ['application/json', 'text/plain'],
    lackedBy: ['messages'],
    wireNames: 'responseMimeType',
  }),
  /** The JSON Schema that the answer must fit. */
  schema: row({
    kind: 'schema',
    flag: '--schema <path|json|->',
    help: 'get JSON that fits this JSON Schema, a file or {…}',
    group: 'input',
    uses: ['text', 'chat'],
    wireNames: 'output_config response_format responseJsonSchema',
    tool: { text: 'JSON Schema that the answer must fit; the answer is then JSON' },
  }),
  /** Width to height of an image, `W:H`. */
  aspect: row({
    kind: 'ratio',
    flag: '--aspect <W:H>',
    help: 'width to height of the image, such as 16:9; others too, as far as the model draws them',
    group: 'input',
    uses: pictures,
    values: ['1:1', '16:9', '9:16', '4:3', '3:4', '3:2', '2:3', '21:9'],
    lackedBy: ['messages', 'responses'],
    wireNames: 'aspectRatio',
    tool: { text: 'width to height, such as 16:9' },
  }),
  /** Size of an image: `1K`, `2K`, `4K`, `512` or `WxH`. */
  size: row({
    kind: 'size',
    flag: '--size <size>',
    help: 'class of size: 512, 1K, 2K or 4K, as far as the model has it; at OpenAI also WxH, such as 1536x1024',
    group: 'input',
    uses: pictures,
    values: ['1K', '2K', '4K', '512'],
    lackedBy: ['messages', 'responses'],
    wireNames: 'imageSize resolution',
    tool: { text: 'pixels of the longer side, or of both: 512, 1K, 2K, 4K or 1536x1024' },
  }),
  /** How finely an image is drawn, in the service's own word, such as `low` or `high`. */
  quality: row({
    kind: 'word',
    flag: '--quality <word>',
    help: 'how finely the image is drawn, such as low, medium or high (OpenAI, OpenRouter)',
    group: 'input',
    uses: pictures,
    advanced: true,
    values: ['auto', 'low', 'medium', 'high', 'xhigh', 'max'],
    ...onlyImages,
    wireNames: 'quality',
    tool: { text: 'how finely it is drawn: low, medium or high (OpenAI, OpenRouter)' },
  }),
  /** The background behind the subject of an image: `transparent`, `opaque`. */
  background: row({
    kind: 'word',
    flag: '--background <word>',
    help: 'what is behind the subject: transparent, opaque or auto (OpenAI, OpenRouter)',
    group: 'input',
    uses: pictures,
    advanced: true,
    values: ['auto', 'opaque', 'transparent'],
    ...onlyImages,
    wireNames: 'background',
    tool: { text: 'transparent, opaque or auto (OpenAI, OpenRouter)' },
  }),
  /** The type of the wanted image, in the service's own word: `png`, `jpeg`, `webp`, `svg`. */
  outputFormat: row({
    kind: 'imageType',
    flag: '--output-format <type>',
    help: 'type of the image: png, jpeg, webp, gif or svg (OpenAI, OpenRouter); without it, that of the name of -o',
    group: 'input',
    uses: pictures,
    advanced: true,
    values: ['png', 'jpeg', 'webp', 'gif', 'svg'],
    ...onlyImages,
    wireNames: 'output_format',
    tool: { text: 'png, jpeg, webp, gif or svg (OpenAI, OpenRouter); without it, that of the name of output' },
  }),

  /** `auto`, `any`, `none`, `tool:<name>`, or an object in the format's own form. */
  toolChoice: row({
    kind: 'toolChoice',
    flag: '--tool-choice <choice>',
    help: 'whether the model calls a tool: auto, any (must), none, tool:<name> or JSON',
    group: 'chat',
    uses: ['chat'],
    advanced: true,
    values: ['auto', 'any', 'none', 'tool:'],
    wireNames: 'tool_choice',
  }),
  metadata: row({
    kind: 'pairs',
    flag: '--metadata <key=value>',
    help: 'value for the service, such as user_id=42; or a JSON object',
    group: 'chat',
    uses: ['chat'],
    advanced: true,
    lackedBy: ['content'],
    wireNames: 'metadata',
  }),
  messages: row({
    kind: 'turns',
    flag: '--messages <path|->',
    help: 'earlier turns of the conversation: a JSON array, in a file; - is stdin',
    group: 'chat',
    uses: ['chat'],
    advanced: true,
  }),

  /** The number of candidates that the reply should have. */
  candidates: row({
    kind: 'whole',
    flag: '--candidates <n>',
    help: 'number of alternative answers in one reply, 1 to 100',
    group: 'content',
    uses: notChat,
    advanced: true,
    minimum: 1,
    maximum: 100,
    lackedBy: ['messages', 'responses'],
    wireNames: 'candidateCount',
  }),
  seed: row({
    kind: 'whole',
    flag: '--seed <n>',
    help: 'integer that makes answers repeatable, if the model supports it',
    group: 'content',
    uses: notChat,
    advanced: true,
    minimum: -(2 ** 31),
    maximum: 2 ** 31 - 1,
    lackedBy: ['messages', 'responses'],
    wireNames: 'seed',
  }),
  safety: row({
    kind: 'safety',
    flag: '--safety <CATEGORY=THRESHOLD>',
    help: 'block content of a category from this probability on, such as HARASSMENT=BLOCK_ONLY_HIGH',
    group: 'content',
    uses: notChat,
    advanced: true,
    values: safetySettings,
    lackedBy: onlyContent,
    wireNames: 'safetySettings',
  }),
  toolConfig: row({
    kind: 'object',
    flag: '--tool-config <path|->',
    help: 'which tools the model may or must call: a JSON object, in a file; - is stdin',
    group: 'content',
    uses: notChat,
    advanced: true,
    lackedBy: onlyContent,
    wireNames: 'toolConfig',
  }),
  cachedContent: row({
    kind: 'text',
    flag: '--cached-content <name>',
    help: 'use context that the service keeps under this name',
    group: 'content',
    uses: notChat,
    advanced: true,
    lackedBy: onlyContent,
    wireNames: 'cachedContent',
  }),
  contents: row({
    kind: 'turns',
    flag: '--contents <path|->',
    help: 'earlier turns of the conversation: a JSON array, in a file; - is stdin',
    group: 'content',
    uses: notChat,
    advanced: true,
  }),
};

type FieldTable = typeof requestFields;
export type FieldName = keyof FieldTable;

/** The fields whose kind has a value type in `Values`, with this type. */
type FieldsOf<Values, Name extends keyof FieldTable = NamesOf<Values>> = {
  [N in Name]?: Values[FieldTable[N]['kind'] & keyof Values] | undefined;
};
type NamesOf<Values> = { [N in FieldName]: FieldTable[N]['kind'] extends keyof Values ? N : never }[FieldName];

/** The plain fields of a request, which the library has under the same names. */
export type PlainFields = FieldsOf<PlainValues>;

/** The fields of a request that are JSON. */
export type JsonFields = FieldsOf<JsonValues>;

/** The JSON fields of a request as options of the library. */
export type JsonOptions = FieldsOf<JsonOptionValues>;

/** The field of this name, if there is one. */
export function findField(name: string): RequestField | undefined {
  return Object.hasOwn(requestFields, name) ? requestFields[name as FieldName] : undefined;
}

/** Every field with its name, in the order of the table. */
export const fieldEntries = Object.entries(requestFields) as readonly (readonly [FieldName, RequestField])[];

const plainKinds = [
  ...(['text', 'word', 'ratio', 'size', 'imageType', 'number', 'whole', 'switch', 'effort'] as const),
  ...(['texts', 'safety'] as const),
] satisfies (keyof PlainValues)[];
const jsonKinds = ['object', 'list', 'schema', 'body', 'pairs', 'toolChoice'] satisfies (keyof JsonValues)[];

/** Names of the plain fields, and of the JSON fields. */
export const plainNames = listNames(plainKinds) as (keyof PlainFields)[];
export const jsonNames = listNames(jsonKinds) as (keyof JsonFields)[];

function listNames(kinds: readonly FieldKind[]): FieldName[] {
  return fieldEntries.flatMap(([name, { kind }]) => (kinds.includes(kind) ? [name] : []));
}

/** The fields that each format has no place for. */
export const lackedFields: Readonly<Record<FormatName, readonly FieldName[]>> = {
  content: listLacked('content'),
  messages: listLacked('messages'),
  completions: listLacked('completions'),
  responses: listLacked('responses'),
};

function listLacked(format: FormatName): FieldName[] {
  return fieldEntries.flatMap(([name, { lackedBy }]) => (lackedBy?.includes(format) ? [name] : []));
}

/** The long name of a field's flag: `--max-tokens`. */
export function getFieldFlag({ flag }: Pick<RequestField, 'flag'>): string {
  return /--[\w-]+/.exec(flag)?.[0] ?? '';
}
