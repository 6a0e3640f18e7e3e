import type { ToolCommand } from '../../chat/tool-run.ts';
import { usageError } from '../../errors.ts';
import { splitShellLine } from '../../shell-word.ts';
import { type FlagTable, notAFlag } from './flag.ts';
import { imageSize, pairOrJson, ratio, safety, whole } from './values.ts';

/** What completion offers; the form is checked, never these lists, for a service can take other values. */
const aspects = ['1:1', '16:9', '9:16', '4:3', '3:4', '3:2', '2:3'];
const safetySettings = ['HARASSMENT', 'HATE_SPEECH', 'SEXUALLY_EXPLICIT', 'DANGEROUS_CONTENT'].flatMap((category) =>
  ['BLOCK_NONE', 'BLOCK_ONLY_HIGH', 'BLOCK_MEDIUM_AND_ABOVE', 'BLOCK_LOW_AND_ABOVE'].map((at) => `${category}=${at}`),
);

/** Fields that only the content format has: text, image gen, image edit. */
export const contentFlags = {
  candidates: { flags: '--candidates <n>', text: 'candidates in one reply', parse: whole(1, 100) },
  seed: { flags: '--seed <n>', text: 'seed of the sampling', parse: whole(-(2 ** 31), 2 ** 31 - 1) },
  safety: {
    flags: '--safety <CATEGORY=THRESHOLD>',
    text: 'safety setting',
    parse: safety,
    repeat: true,
    values: safetySettings,
  },
  toolConfig: { flags: '--tool-config <path|->', text: 'toolConfig, a JSON object' },
  cachedContent: { flags: '--cached-content <name>', text: 'name of cached content' },
  contents: { flags: '--contents <path|->', text: 'earlier turns, a JSON array' },
} satisfies FlagTable;

/** Where pictures go. */
export const fileFlags = {
  output: {
    flags: '-o, --output <path|->',
    text: 'for images: file, folder/ or template; - is stdout',
    parse: notAFlag,
  },
  force: { flags: '-f, --force', text: 'replace files that exist' },
  maxImages: { flags: '--max-images <n>', text: 'most images of one reply that are written (256)', parse: whole(1) },
} satisfies FlagTable;

/** What goes in beside the prompt. */
const inputFlags = {
  image: {
    flags: '-i, --image <path|url|->',
    text: 'image to send; a URL is fetched',
    parse: notAFlag,
    repeat: true,
  },
  attach: {
    flags: '--attach <path|url|->',
    text: 'file to send; a URL is fetched',
    repeat: true,
  },
  schema: { flags: '--schema <path|->', text: 'JSON Schema that the answer must fit' },
} satisfies FlagTable;

const jsonl = { flags: '--jsonl', text: 'print stream events as JSON Lines' } as const;
const markdown = { flags: '--no-markdown', text: 'on a terminal, do not format Markdown' } as const;

/** `text` alone. */
export const textFlags = {
  attach: inputFlags.attach,
  responseMime: {
    flags: '--response-mime <type>',
    text: 'responseMimeType, such as application/json',
    values: ['application/json', 'text/plain'],
  },
  schema: inputFlags.schema,
  stream: { flags: '--stream', text: 'print text as it arrives, if the gateway can' },
  jsonl,
  markdown,
} satisfies FlagTable;

/** `image gen` and `image edit`. */
export const imageFlags = {
  aspect: { flags: '--aspect <W:H>', text: 'aspect ratio, such as 16:9', parse: ratio, values: aspects },
  size: {
    flags: '--size <size>',
    text: 'image size: 1K, 2K, 4K or 512',
    parse: imageSize,
    values: ['1K', '2K', '4K', '512'],
  },
  count: { flags: '-n, --count <n>', text: 'requests to make, four at a time, each paid for', parse: whole(1, 1000) },
  ...fileFlags,
  sidecar: { flags: '--sidecar', text: 'write <image>.json: prompt, parameters, usage' },
  preview: { flags: '--preview', text: 'show the picture on the terminal' },
  strict: { flags: '--strict', text: 'exit 11 when the picture is not of the asked shape' },
} satisfies FlagTable;

/** `image edit` alone. */
export const editFlags = { image: inputFlags.image } satisfies FlagTable;

/** `chat` alone. */
export const chatFlags = {
  ...inputFlags,
  ...fileFlags,
  toolChoice: {
    flags: '--tool-choice <choice>',
    text: 'auto, any, none, tool:<name> or JSON',
    values: ['auto', 'any', 'none', 'tool:'],
  },
  metadata: { flags: '--metadata <key=value>', text: 'request metadata, or JSON', parse: pairOrJson, repeat: true },
  messages: { flags: '--messages <path|->', text: 'earlier turns, a JSON array' },
  session: { flags: '--session <name|file>', text: 'go on with this conversation, and keep it', parse: notAFlag },
  continue: { flags: '--continue', text: 'go on with the newest session' },
  toolExec: {
    flags: '--tool-exec <name=command>',
    text: 'run for calls of that tool; no shell',
    parse: parseToolCommand,
    repeat: true,
  },
  maxTurns: { flags: '--max-turns <n>', text: 'most requests with --tool-exec (10)', parse: whole(1, 1000) },
  confirm: { flags: '--confirm', text: 'ask on the terminal before each of them' },
  stream: { flags: '--no-stream', text: 'ask for one JSON reply' },
  thinking: { flags: '--thinking', text: 'show thinking on stderr' },
  jsonl,
  markdown,
} satisfies FlagTable;

/** Reads `--tool-exec name=command`. Throws GatewayError usage. */
export function parseToolCommand(word: string): ToolCommand {
  const at = word.indexOf('=');
  const name = word.slice(0, Math.max(at, 0)).trim();
  const argv = at < 0 ? [] : splitCommand(word.slice(at + 1));
  if (name !== '' && argv[0] !== undefined && argv[0] !== '') return { name, argv };
  throw usageError(
    `--tool-exec takes name=command, not ${JSON.stringify(word)}`,
    `for example: --tool-exec 'get_weather=python3 weather.py'`,
  );
}

function splitCommand(command: string): string[] {
  const { words, quote } = splitShellLine(command);
  if (quote === '') return words;
  throw usageError(`a ${quote} is not closed in ${JSON.stringify(command)}`, `add the closing ${quote}`);
}
