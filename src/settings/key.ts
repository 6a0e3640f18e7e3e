import { GatewayError, messageOf } from '../errors.ts';
import { readReason } from '../files/file-reason.ts';
import { createRedactor } from './redact.ts';
import { Secret } from './secret.ts';
import type { KeySource } from './types.ts';

/** What a key command did. */
export interface CommandResult {
  /** Exit code, or the name of the signal that ended it. */
  status: number | string;
  stdout: string;
  stderr: string;
}

/** The effects of reading a key. */
export interface KeyEffects {
  readFile(path: string): Promise<string>;
  /** All of standard input. */
  readStdin(): Promise<string>;
  /** Runs a program without a shell. Rejects where it cannot be started or takes longer than `timeoutMs`. */
  run(argv: readonly string[], timeoutMs: number): Promise<CommandResult>;
}

const commandTimeoutMs = 30_000;

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
      return checkKey(await runKeyCommand(source.argv, source.from, effects), source.from);
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

async function runKeyCommand(argv: readonly string[], from: string, effects: KeyEffects): Promise<string> {
  let result: CommandResult;
  try {
    result = await effects.run(argv, commandTimeoutMs);
  } catch (error) {
    throw keyError(`the key command did not run (${from}): ${messageOf(error)}`, `try it by hand: ${argv[0]} …`, error);
  }
  if (result.status === 0) return result.stdout;
  const redact = createRedactor([new Secret(result.stdout), ...argv.slice(1).map((word) => new Secret(word))]);
  const said =
    redact(result.stderr)
      .trimStart()
      .split(/[\r\n]/, 1)[0]
      ?.slice(0, 200) ?? '';
  const words = typeof result.status === 'number' ? `exit code ${result.status}` : result.status;
  throw keyError(
    `the key command failed (${from}): ${words}${said === '' ? '' : `: ${said}`}`,
    `try it by hand: ${argv[0]} …`,
  );
}

function checkKey(text: string, from: string): Secret {
  const key = text.trim();
  if (key === '') throw keyError(`the key is empty (${from})`, 'set GATEWAY_API_KEY, or give --api-key-file <path>');
  const position = key.search(/[^\x21-\x7e]/);
  if (position === -1) return new Secret(key);
  const hint = 'a key is one word of plain characters; look for a second line, quotes or a pasted blank';
  throw keyError(`the key has an invalid character at position ${position + 1} (${from})`, hint);
}

function keyError(message: string, hint: string, cause?: unknown): GatewayError {
  return new GatewayError('auth', message, { hint, cause, sent: 'no', retryable: false });
}
