import { GatewayError } from '../errors.ts';
import { readReason, runReason } from '../files/file-reason.ts';
import { formatDuration } from './duration.ts';
import { createRedactor } from './redact.ts';
import { Secret } from './secret.ts';
import type { KeySource } from './types.ts';

/** The effects of reading a key. */
export interface KeyEffects {
  readFile(path: string): Promise<string>;
  /** All of standard input. */
  readStdin(): Promise<string>;
  /** Ends a key command. */
  signal?: AbortSignal | undefined;
}

const commandTimeoutMs = 30_000;
const maxOutput = 64 * 1024;

/**
 * Reads the key from its source, without the blanks around it. Throws GatewayError auth where there is none, where it cannot
 * be had, or where it holds what no header can carry; the message names the position, never the key.
 */
export async function readKey(source: KeySource, effects: KeyEffects): Promise<Secret> {
  switch (source.kind) {
    case 'missing':
      throw new GatewayError('auth', source.reason, { hint: source.hint, sent: 'no' });
    case 'value':
      return checkKey(source.secret.reveal(), source.from);
    case 'file':
      return checkKey(await readKeyFile(source.path, source.from, effects), source.from);
    case 'command':
      if (source.distrust !== undefined)
        throw keyError(`apiKeyCommand is not run: ${source.distrust.reason}`, source.distrust.hint);
      return checkKey(await runKeyCommand(source.argv, source.from, { signal: effects.signal }), source.from);
  }
}

async function readKeyFile(path: string, from: string, effects: KeyEffects): Promise<string> {
  if (path === '-') return effects.readStdin();
  try {
    return await effects.readFile(path);
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    throw keyError(`the key file cannot be read (${from}): ${readReason(error)}`, 'check its path and rights', error);
  }
}

/**
 * Runs a key command without a shell and gives what it printed: no stdin (it would eat the prompt), output up to 64 KiB.
 * Throws GatewayError auth where it cannot be started, fails or takes too long; then it is killed.
 */
export async function runKeyCommand(
  argv: readonly string[],
  from: string,
  { timeoutMs = commandTimeoutMs, signal }: { timeoutMs?: number; signal?: AbortSignal | undefined } = {},
): Promise<string> {
  const { execFile } = await import('node:child_process');
  const [program = '', ...words] = argv;
  // When the time is up Node closes the pipes too: a grandchild may hold them open for ever.
  const options = {
    maxBuffer: maxOutput,
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    windowsHide: true,
    signal,
  } as const;
  return new Promise((resolve, reject) => {
    const child = execFile(program, words, options, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      if (signal?.aborted) return reject(signal.reason as Error);
      const hint = `try it by hand: ${program} …`;
      const failed = `the key command did not run (${from})`;
      if (error.killed) return reject(keyError(`${failed}: no key after ${formatDuration(timeoutMs)}`, hint));
      const ended = endOf(error);
      if (ended === undefined) return reject(keyError(`${failed}: ${runReason(error)}`, hint, error));
      const redact = createRedactor([stdout, ...words].map((secret) => new Secret(secret)));
      const [said = ''] = redact(stderr)
        .trimStart()
        .split(/[\r\n]/, 1);
      const told = said === '' ? '' : `: ${said.slice(0, 200)}`;
      reject(keyError(`the key command failed (${from}): ${ended}${told}`, hint));
    });
    child.stdin?.end();
  });
}

/** How a program ended that ran; undefined where it did not, or printed too much. */
function endOf({ code, signal }: { code?: unknown; signal?: unknown }): string | undefined {
  if (typeof code === 'number') return `exit code ${code}`;
  return typeof signal === 'string' ? `ended by ${signal}` : undefined;
}

/** The key without blanks around it. Throws GatewayError auth where no header can carry it; the message never shows it. */
export function checkKey(text: string, from: string): Secret {
  const key = text.trim();
  if (key === '') throw keyError(`the key is empty (${from})`, 'set GATEWAY_API_KEY, or give --api-key-file <path>');
  if (/^(["']).*\1$/.test(key))
    throw keyError(`the key begins and ends with quotes (${from})`, 'remove the quotes: they are not part of the key');
  const position = key.search(/[^\x21-\x7e]/);
  if (position === -1) return new Secret(key);
  const hint = 'a key is one word of plain characters; look for a second line, quotes or a pasted blank';
  throw keyError(`the key has an invalid character at position ${position + 1} (${from})`, hint);
}

function keyError(message: string, hint: string, cause?: unknown): GatewayError {
  return new GatewayError('auth', message, { hint, cause, sent: 'no', retryable: false });
}
