import { type After, afterOnClock, settingError, untilAborted, usageError } from '../../library/index.ts';
import type { InputContext } from '../context.ts';
import { quoteWord } from '../flags/flag.ts';
import { type TemplateValues, fillText } from './template-variables.ts';
import { decodeText, readTextFlag } from './input-files.ts';
import { type ImageInputFlags, refuseStrayFiles } from './stray-files.ts';
import type { InputKind } from '../terminal/io.ts';
import { noteMs } from './stdin.ts';

/** The flags and words that a prompt can come from. */
export interface PromptFlags extends ImageInputFlags {
  prompt?: string;
  promptFile?: string;
  /** The path of a text that comes before the prompt. */
  template?: string;
  stdinTimeout?: number;
  /** The sources of texts in flags, for messages. */
  places?: TextPlaces;
}

/** The sources of a request's texts, if they are not flags. */
export interface TextPlaces {
  prompt?: string;
  system?: string;
  turns?: string;
  model?: string;
}

interface PromptRules {
  /** text and chat read stdin in addition to a prompt; image commands only for `-`. */
  readsStdin: boolean;
  /** `--no-stdin`, or its environment variable. */
  noStdin: boolean;
  /** The request can lack a prompt: its body or its turns have one. */
  optional: boolean;
  /** Values for the template variables of the prompt; text from stdin has none. */
  templateValues: TemplateValues | undefined;
}

/**
 * The prompt of a command: words (the single word `-` is stdin), otherwise `-p` or `--prompt-file` (one of the two), otherwise
 * stdin. Throws GatewayError usage if there is none.
 */
export async function readPrompt(
  words: readonly string[],
  flags: PromptFlags,
  context: InputContext,
  rules: PromptRules,
): Promise<string | undefined> {
  const { readsStdin, noStdin, optional, templateValues } = rules;
  const typed = await typedPrompt(words, flags, context, templateValues);
  const { template } = flags;
  const given = template === undefined ? typed : await addTemplate(template, typed, context, templateValues);
  if (given?.trim() === '') throw missingPrompt(rules, context, true);
  const { kind } = context.io.stdin;
  const hasPrompt = given !== undefined || optional;
  const isFree = readsStdin && context.stdin.claimedBy === undefined;
  const isRead = isFree && shouldReadStdin({ kind, hasPrompt, noStdin });
  const input = isRead ? await readStdinPart(given, flags, context, hasPrompt) : undefined;
  const parts = [given, input].filter((part) => part !== undefined && part.trim() !== '');
  if (parts.length > 0) return parts.join('\n\n');
  if (!optional) throw missingPrompt(rules, context, input !== undefined && input !== '');
  return undefined;
}

/** The text of `--template`, followed by the typed text. */
async function addTemplate(
  template: string,
  typed: string | undefined,
  context: InputContext,
  templateValues: TemplateValues | undefined,
): Promise<string> {
  const text = (await readTextFlag('--template', template, context)).replace(/^\uFEFF/, '');
  const filled = fillText(text, `--template ${quoteWord(template)}`, templateValues);
  return typed === undefined ? filled : `${filled.trimEnd()}\n\n${typed}`;
}

async function typedPrompt(
  words: readonly string[],
  flags: PromptFlags,
  context: InputContext,
  templateValues: TemplateValues | undefined,
): Promise<string | undefined> {
  // This check is the first: with --prompt, a stray image would be reported as a second prompt.
  if (words.some((word) => /\.\w+$/.test(word))) {
    await refuseStrayFiles(words, flags, context);
  }
  refuseTwoPrompts(words, flags);
  const { prompt, promptFile } = flags;
  const isStdin = words.length === 1 && words[0] === '-';
  if (promptFile !== undefined || isStdin) {
    const [flag, path] = promptFile === undefined ? ['the prompt', '-'] : ['--prompt-file', promptFile];
    const text = (await readTextFlag(flag, path, context)).replace(/^\uFEFF/, '');
    return fillText(text, path === '-' ? 'stdin' : `${flag} ${quoteWord(path)}`, templateValues);
  }
  const typed = words.length > 0 ? words.join(' ') : prompt;
  return typed === undefined ? undefined : fillText(typed, flags.places?.prompt ?? 'the prompt', templateValues);
}

/** Throws GatewayError usage if a prompt is given in two ways. */
export function refuseTwoPrompts(words: readonly string[], { prompt, promptFile }: PromptFlags): void {
  const used = [
    words.length > 0 && 'words',
    prompt !== undefined && '--prompt',
    promptFile !== undefined && '--prompt-file',
  ].filter((way) => way !== false);
  if (used.length > 1)
    throw usageError(`the prompt is given twice: ${used.join(' and ')}`, `keep one of them: ${used[0]}`);
}

/** Node's `exec` gives a child process a socket that stays open and silent. */
const abandonSocketMs = 3000;

async function readStdinPart(
  given: string | undefined,
  flags: PromptFlags,
  context: InputContext,
  hasPrompt: boolean,
): Promise<string> {
  const { io, stdin, ui } = context;
  const isAbandoned = io.stdin.kind === 'socket' && hasPrompt && flags.stdinTimeout === undefined;
  const silence = isAbandoned
    ? 'nothing came on stdin, so it is not read (--no-stdin does not wait for it)'
    : 'waiting for stdin (--no-stdin continues without it)';
  const text = await readStdinText(stdin.claim('the prompt', { quiet: true }), {
    timeoutMs: flags.stdinTimeout ?? 60_000,
    abandonAfterMs: isAbandoned ? abandonSocketMs : undefined,
    onWait: () => void (isAbandoned ? ui.note(silence) : ui.notice(silence)),
    signal: context.signal,
  });
  if (given === undefined) return text;
  if (text.trim() === '') await ui.notice('stdin is empty, so only the prompt is sent');
  // The note is given once in a loop such as `while read`: there is no more input for it then.
  else await ui.notice(`+ ${formatSize(Buffer.byteLength(text))} from stdin (in a loop: --no-stdin)`);
  return text;
}

/** `1.2 kB` */
export function formatSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

function missingPrompt({ readsStdin }: PromptRules, { io, stdin, command }: InputContext, empty: boolean): Error {
  const ignored = !empty && !readsStdin && stdin.claimedBy === undefined && /^(pipe|file)$/.test(io.stdin.kind);
  return usageError(
    empty ? 'the prompt is empty' : 'there is no prompt',
    ignored
      ? `to take it from stdin: gateway-cli ${command} --prompt-file -`
      : `for example: gateway-cli ${command} ${command === 'image edit' ? '-i photo.jpg "make it gray"' : '"a lighthouse at dusk"'}`,
  );
}

const mebibyte = 1024 * 1024;

/** Whether stdin is read for the prompt: never a terminal, and in addition to a prompt only a file, pipe or socket. */
export function shouldReadStdin(place: { kind: InputKind; hasPrompt: boolean; noStdin: boolean }): boolean {
  const { kind, hasPrompt, noStdin } = place;
  if (noStdin || kind === 'terminal' || kind === 'closed') return false;
  return !hasPrompt || kind !== 'null';
}

export interface StdinTextOptions {
  /** Longest wait for the first byte, in ms; later bytes can take any time. */
  timeoutMs: number;
  /** Called after 2 s without a byte, or when stdin is abandoned. */
  onWait: () => void;
  /** The longest wait for the first byte of a stdin that may stay silent, in ms. After it, stdin counts as empty. */
  abandonAfterMs?: number | undefined;
  /** Ends the wait; the promise rejects with its reason. */
  signal?: AbortSignal | undefined;
  maxBytes?: number;
  after?: After;
}

/**
 * Reads stdin to its end as text, without a byte order mark. Throws GatewayError usage if the first byte does not come in time,
 * if there are more than 64 MiB, or if it is not UTF-8.
 */
export async function readStdinText(input: AsyncIterable<Uint8Array>, options: StdinTextOptions): Promise<string> {
  const { maxBytes = 64 * mebibyte } = options;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const source = input[Symbol.asyncIterator]();
  try {
    let next = await readFirstChunk(source, options);
    while (!next.done) {
      bytes += next.value.byteLength;
      if (bytes > maxBytes)
        throw settingError(`stdin holds more than ${maxBytes / mebibyte} MiB`, { reason: 'stdin-size' });
      chunks.push(next.value);
      next = await untilAborted(source.next(), options.signal);
    }
  } catch (error) {
    // The end of the source is not awaited: a source that is blocked in a read may never return.
    void source.return?.().catch(() => undefined);
    throw error;
  }
  return decodeText(Buffer.concat(chunks), 'stdin');
}

function readFirstChunk(
  source: AsyncIterator<Uint8Array>,
  options: StdinTextOptions,
): Promise<IteratorResult<Uint8Array>> {
  const { timeoutMs, abandonAfterMs, onWait, signal, after = afterOnClock } = options;
  return new Promise((resolve, reject) => {
    const giveUp = (): void =>
      reject(settingError(`nothing came on stdin for ${timeoutMs / 1000} s`, { reason: 'stdin-late' }));
    const abandon = (): void => {
      void source.return?.().catch(() => undefined);
      onWait();
      resolve({ done: true, value: undefined });
    };
    const timers =
      abandonAfterMs === undefined
        ? [after(noteMs, onWait), after(timeoutMs, giveUp)]
        : [after(abandonAfterMs, abandon)];
    const settled = untilAborted(source.next(), signal).finally(() => timers.forEach((cancel) => cancel()));
    settled.then(resolve, reject);
  });
}
