import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { usageError } from '../../errors.ts';
import { runReason } from '../../files/file-reason.ts';
import type { Context } from '../../cli/context.ts';
import { servedEnvironment } from './models.ts';

/** Variables that would lead the command elsewhere. */
const misleading = [
  'GATEWAY_OFFLINE',
  'GATEWAY_PROFILE',
  'GATEWAY_SERVICE',
  'GATEWAY_API_KEY_FILE',
  'GATEWAY_HEADER_NAMES',
  'GATEWAY_AUTH',
];

/** What the SDKs of Gemini, Anthropic and Vercel read, so that they call this gateway. */
export function vendorVariables(url: string, key: string): Record<string, string> {
  return {
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: key,
    GOOGLE_GEMINI_BASE_URL: url,
    GEMINI_API_KEY: key,
    // Vercel's client of Gemini reads no base URL: it shall at least not show the real key.
    GOOGLE_GENERATIVE_AI_API_KEY: key,
  };
}

/** What these SDKs prefer to the variables above: another key, or another service of the vendor. */
export const vendorRivals: readonly string[] = [
  'GOOGLE_API_KEY',
  'GOOGLE_GENAI_USE_VERTEXAI',
  'GOOGLE_GENAI_USE_ENTERPRISE',
  'ANTHROPIC_AUTH_TOKEN',
];

/** Runs a command against the gateway; its exit code becomes ours (128 + n where a signal ended it). */
export async function runServed(
  words: readonly string[],
  { variables, unset, context }: { variables: Record<string, string>; unset: readonly string[]; context: Context },
): Promise<void> {
  const env = servedEnvironment(context.io.env, variables);
  for (const name of [...misleading, ...unset]) if (!Object.hasOwn(variables, name)) delete env[name];
  const [program = '', ...args] = words;
  const child = spawn(program, args, {
    cwd: context.io.cwd,
    env,
    stdio: 'inherit',
    shell: context.io.platform === 'win32',
  });
  // Ctrl-C reaches the command too; a signal to us alone is passed on.
  const stop = (): void => void child.kill();
  context.signal.addEventListener('abort', stop, { once: true });
  const ended = await new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve, reject) => {
    child.on('error', (error) => reject(cannotRun(program, error)));
    child.on('exit', (code, signal) => resolve({ code, signal }));
  });
  context.signal.removeEventListener('abort', stop);
  context.signal.throwIfAborted();
  context.report.printed = true;
  context.report.exitCode = ended.code ?? 128 + (ended.signal === null ? 0 : constants.signals[ended.signal]);
}

function cannotRun(program: string, error: Error): Error {
  const reason = runReason(error);
  return usageError(`cannot run '${program}': ${reason}`, 'for example: gateway-cli serve -- npm test', error);
}
