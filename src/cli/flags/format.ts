import { usageError } from '../../errors.ts';
import { isObject, type JsonObject } from '../../json.ts';
import { splitShellLine } from '../../shell-word.ts';
import {
  type FlagTable,
  parseJson,
  quoteWord,
  notAFlag,
  imageFormat,
  parseImageSize,
  pairOrJson,
  ratio,
  safety,
  whole,
} from './flag.ts';
import { maxCost, settingFlags } from './shared.ts';

/** Values for completion. Only the form is checked: a service can take other values. */
const aspects = ['1:1', '16:9', '9:16', '4:3', '3:4', '3:2', '2:3', '21:9'];
const safetySettings = ['HARASSMENT', 'HATE_SPEECH', 'SEXUALLY_EXPLICIT', 'DANGEROUS_CONTENT'].flatMap((category) =>
  ['BLOCK_NONE', 'BLOCK_ONLY_HIGH', 'BLOCK_MEDIUM_AND_ABOVE', 'BLOCK_LOW_AND_ABOVE'].map((at) => `${category}=${at}`),
);

/** Fields of the content format: text, image gen, image edit. */
export const contentFlags = {
  candidates: {
    flags: '--candidates <n>',
    text: 'number of alternative answers in one reply, 1 to 100',
    parse: whole(1, 100),
    advanced: true,
  },
  seed: {
    flags: '--seed <n>',
    text: 'integer that makes answers repeatable, if the model supports it',
    advanced: true,
    parse: whole(-(2 ** 31), 2 ** 31 - 1),
  },
  safety: {
    flags: '--safety <CATEGORY=THRESHOLD>',
    text: 'block content of a category from this probability on, such as HARASSMENT=BLOCK_ONLY_HIGH',
    parse: safety,
    repeat: true,
    advanced: true,
    values: safetySettings,
  },
  toolConfig: {
    flags: '--tool-config <path|->',
    text: 'which tools the model may or must call: a JSON object, in a file; - is stdin',
    advanced: true,
  },
  cachedContent: {
    flags: '--cached-content <name>',
    text: 'use context that the service keeps under this name',
    advanced: true,
  },
  contents: {
    flags: '--contents <path|->',
    text: 'earlier turns of the conversation: a JSON array, in a file; - is stdin',
    advanced: true,
  },
} satisfies FlagTable;

/** The place of images. */
const fileFlags = {
  output: {
    flags: '-o, --output <path|->',
    text: 'image file, folder/ or {slug}-{n}.{ext}; - is stdout',
    parse: notAFlag,
  },
  force: { flags: '-f, --force', text: 'overwrite existing files' },
  maxImages: {
    flags: '--max-images <n>',
    text: 'maximum number of images to write from one reply (default: 256)',
    parse: whole(1),
    advanced: true,
  },
} satisfies FlagTable;

/** The place of a text. */
export const answerFileFlags = {
  ...fileFlags,
  output: { ...fileFlags.output, text: 'file for the answer, or a folder/ for its images' },
} satisfies FlagTable;

/** Inputs in addition to the prompt. */
const inputFlags = {
  image: {
    flags: '-i, --image <path|url|->',
    text: 'image file or URL to send; - is stdin',
    parse: notAFlag,
    repeat: true,
  },
  attach: { flags: '--attach <path|url|->', text: 'file or URL to send, such as a PDF', repeat: true },
  schema: { flags: '--schema <path|json|->', text: 'get JSON that fits this JSON Schema, a file or {…}' },
} satisfies FlagTable;

/** Of every command that reads a text. */
export const maxTurns = {
  flags: '--max-turns <n>',
  text: 'maximum number of requests for one answer, 1 to 1000 (default: 10): for tools, and where the service pauses',
  parse: whole(1, 1000),
  advanced: true,
} as const;

/** Both have one value, which is undefined without either. */
const sourcesFlags = {
  sources: { flags: '--sources', text: 'print the sources under the answer: on terminals, they are', advanced: true },
  noSources: { flags: '--no-sources', text: 'on a terminal, do not print the sources', advanced: true },
} satisfies FlagTable;

const code = { flags: '--code', text: 'print only the code blocks; -o saves them' } as const;
const jsonl = { flags: '--jsonl', text: 'print each event of a stream as one line of JSON', advanced: true } as const;

/** Only `text`. */
export const textFlags = {
  attach: inputFlags.attach,
  responseMime: {
    flags: '--response-mime <type>',
    text: 'media type of the answer, such as application/json',
    values: ['application/json', 'text/plain'],
    advanced: true,
  },
  schema: inputFlags.schema,
  stream: { flags: '--stream', text: 'print the answer while it arrives' },
  maxTurns,
  ...sourcesFlags,
  code,
  jsonl,
  ...settingFlags('answer'),
} satisfies FlagTable;

/** `image gen` and `image edit`. */
export const imageFlags = {
  aspect: {
    flags: '--aspect <W:H>',
    text: 'width to height of the image, such as 16:9; others too, as far as the model draws them',
    parse: ratio,
    values: aspects,
  },
  size: {
    flags: '--size <size>',
    text: 'class of size: 512, 1K, 2K or 4K, as far as the model has it; at OpenAI also WxH, such as 1536x1024',
    parse: parseImageSize,
    values: ['1K', '2K', '4K', '512'],
  },
  quality: {
    flags: '--quality <word>',
    text: 'how finely the image is drawn, such as low, medium or high (OpenAI, OpenRouter)',
    parse: notAFlag,
    values: ['auto', 'low', 'medium', 'high', 'xhigh', 'max'],
    advanced: true,
  },
  background: {
    flags: '--background <word>',
    text: 'what is behind the subject: transparent, opaque or auto (OpenAI, OpenRouter)',
    parse: notAFlag,
    values: ['auto', 'opaque', 'transparent'],
    advanced: true,
  },
  outputFormat: {
    flags: '--output-format <type>',
    text: 'type of the image: png, jpeg, webp, gif or svg (OpenAI, OpenRouter); without it, that of the name of -o',
    parse: imageFormat,
    values: ['png', 'jpeg', 'webp', 'gif', 'svg'],
    advanced: true,
  },
  maxTurns,
  count: { flags: '-n, --count <n>', text: 'number of requests, each billed, 1 to 1000', parse: whole(1, 1000) },
  concurrency: {
    flags: '--concurrency <n>',
    text: 'how many requests of -n are sent in parallel, 1 to 64 (default: 4)',
    parse: whole(1, 64),
    advanced: true,
  },
  ...fileFlags,
  fetch: {
    flags: '--no-fetch',
    text: 'print links of a reply in place of fetching the pictures that they lead to',
    advanced: true,
  },
  sidecar: {
    flags: '--sidecar',
    text: 'also write <image>.json with the prompt, parameters and usage',
    advanced: true,
  },
  ...settingFlags('image'),
  strict: {
    flags: '--strict',
    text: 'exit code 11 if the image is cut, more than 4 % off the aspect ratio, or 10 % off the size (4 % off WxH)',
    advanced: true,
  },
} satisfies FlagTable;

/** Only `image edit`. */
export const editFlags = {
  image: inputFlags.image,
  mask: {
    flags: '--mask <path|url|->',
    text: 'PNG whose transparent parts say where the first image may change (OpenAI only)',
    parse: notAFlag,
    advanced: true,
  },
} satisfies FlagTable;

/** Only `chat`. */
export const chatFlags = {
  ...inputFlags,
  ...answerFileFlags,
  toolChoice: {
    flags: '--tool-choice <choice>',
    text: 'whether the model calls a tool: auto, any (must), none, tool:<name> or JSON',
    values: ['auto', 'any', 'none', 'tool:'],
    advanced: true,
  },
  metadata: {
    flags: '--metadata <key=value>',
    text: 'value for the service, such as user_id=42; or a JSON object',
    parse: pairOrJson,
    repeat: true,
    advanced: true,
  },
  messages: {
    flags: '--messages <path|->',
    text: 'earlier turns of the conversation: a JSON array, in a file; - is stdin',
    advanced: true,
  },
  session: { flags: '--session <name|file>', text: 'continue or begin a saved conversation', parse: notAFlag },
  save: { flags: '--no-save', text: 'keep no session of this conversation', advanced: true },
  allowRemote: {
    flags: '--allow-remote',
    text: 'send a conversation with a model on this machine to another host',
    advanced: true,
  },
  continue: { flags: '-c, --continue', text: 'continue the conversation that was saved last' },
  toolExec: {
    flags: '--tool-exec <name=command>',
    text: 'program that runs when the model calls the tool: JSON input on stdin, result on stdout',
    parse: parseToolCommand,
    repeat: true,
    advanced: true,
  },
  maxTurns,
  maxCost: {
    ...maxCost,
    text: 'with --tool-exec, send no request that could make all cost more than this',
    advanced: true,
  },
  confirm: { flags: '--confirm', text: 'ask on the terminal before each --tool-exec program runs', advanced: true },
  stream: { flags: '--no-stream', text: 'print the answer when it is complete', advanced: true },
  thinking: { flags: '--thinking', text: "print the model's reasoning on stderr", advanced: true },
  ...sourcesFlags,
  code,
  jsonl,
  ...settingFlags('answer'),
} satisfies FlagTable;

/** A local command that answers the calls of one tool. */
export interface ToolCommand {
  name: string;
  /** Program and arguments, without a shell. */
  argv: readonly string[];
}

/** Reads `--tool-exec name=command`. Throws GatewayError usage. */
export function parseToolCommand(word: string): ToolCommand {
  const at = word.indexOf('=');
  const name = word.slice(0, Math.max(at, 0)).trim();
  const command = at < 0 ? '' : word.slice(at + 1);
  const { words: argv, quote: open } = splitShellLine(command);
  if (open !== '') throw usageError(`a ${open} is not closed in ${JSON.stringify(command)}`, `add the closing ${open}`);
  if (name !== '' && argv[0] !== undefined && argv[0] !== '') return { name, argv };
  throw usageError(
    `--tool-exec takes name=command, not ${JSON.stringify(word)}`,
    `for example: --tool-exec 'get_weather=python3 weather.py'`,
  );
}

/** `auto`, `any`, `none`, `tool:<name>` or the JSON object itself. Throws GatewayError usage. */
export function parseToolChoice(word: string): string | JsonObject {
  if (['auto', 'any', 'none'].includes(word)) return word;
  if (word.startsWith('tool:') && word.length > 'tool:'.length) return word;
  const value = word.startsWith('{') ? parseJson('--tool-choice', word) : undefined;
  if (isObject(value)) return value;
  throw usageError(
    `--tool-choice takes auto, any, none, tool:<name> or JSON, not ${quoteWord(word)}`,
    'for example: --tool-choice tool:get_weather',
  );
}
