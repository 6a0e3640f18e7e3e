import { splitShellLine, usageError } from '../../library/index.ts';
import { type FlagTable, notAFlag, whole } from './flag.ts';
import { maxCost, settingFlags } from './shared.ts';

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

/** Commands that read a text of the model have this flag. */
export const maxTurns = {
  flags: '--max-turns <n>',
  text: 'maximum number of requests for one answer, 1 to 1000 (default: 10): for tools, and where the service pauses',
  parse: whole(1, 1000),
  advanced: true,
} as const;

/** The two flags set one value, which is undefined if neither is typed. */
const sourcesFlags = {
  sources: { flags: '--sources', text: 'print the sources under the answer: on terminals, they are', advanced: true },
  noSources: { flags: '--no-sources', text: 'on a terminal, do not print the sources', advanced: true },
} satisfies FlagTable;

const code = { flags: '--code', text: 'print only the code blocks; -o saves them' } as const;
const jsonl = { flags: '--jsonl', text: 'print each event of a stream as one line of JSON', advanced: true } as const;

/** Flags that only `text` has, beside those of its fields. */
export const textFlags = {
  stream: { flags: '--stream', text: 'print the answer while it arrives' },
  maxTurns,
  ...sourcesFlags,
  code,
  jsonl,
  ...settingFlags('answer'),
} satisfies FlagTable;

/** `image gen` and `image edit`, beside their fields. */
export const imageFlags = {
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

/** Flags that only `chat` has, beside those of its fields and of the place of the answer. */
export const chatFlags = {
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
