import { spawn } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { delimiter, dirname, join, resolve } from 'node:path';
import { usageError } from '../errors.ts';
import { runReason } from '../files/file-reason.ts';
import type { JsonValue } from '../json.ts';
import { type ServiceName, services } from '../services.ts';
import { shellWord } from '../shell-word.ts';

/** A local command that answers the calls of one tool. */
export interface ToolCommand {
  name: string;
  /** Program and arguments, without a shell. */
  argv: readonly string[];
}

/** The result of a call for the model. */
export interface ToolOutcome {
  content: string;
  isError: boolean;
}

/** Where the command of a tool runs. */
export interface ToolPlace {
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
  /** The service of the conversation: the variables of its key are not in the environment of the command. */
  service: ServiceName;
  /** Kills the command. */
  signal: AbortSignal;
}

/** Limit of a tool's output, in bytes: a request has at most 32 MB. */
const maxOutput = 1024 * 1024;

/** Checks that the program of a command exists, before a request is paid for. Throws GatewayError usage. */
export async function checkProgram(
  { name, argv }: ToolCommand,
  { cwd, env }: Pick<ToolPlace, 'cwd' | 'env'>,
): Promise<void> {
  const [program = ''] = argv;
  const isPath = /[\\/]/.test(program);
  const folders = isPath ? [''] : (env['PATH'] ?? env['Path'] ?? '').split(delimiter);
  const endings = ['', ...(env['PATHEXT'] ?? '').split(';').filter((ending) => ending !== '')];
  for (const folder of folders) {
    for (const ending of endings) {
      const path = isPath ? resolve(cwd, program + ending) : join(folder, program + ending);
      if (await exists(path, constants.X_OK)) return;
    }
  }
  const named = `${name}: ${JSON.stringify(program)}`;
  if (!isPath)
    throw usageError(`${named} is not a program in PATH`, 'name a program in PATH, or a path to one; no shell runs it');
  const path = resolve(cwd, program);
  if (!(await exists(path, constants.F_OK)))
    throw usageError(`${named}: there is no such file`, `look for it: ls -l ${shellWord(dirname(path))}`);
  throw usageError(`${named}: you do not have permission to run it`, `make it executable: chmod +x ${shellWord(path)}`);
}

function exists(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}

/**
 * Runs the command of a tool: the input is JSON on stdin, the result is its stdout. An exit status other than 0 is an error, with
 * its stderr. The key is not in its environment. Rejects only with the signal's reason.
 */
export async function runTool({ argv }: ToolCommand, input: JsonValue, place: ToolPlace): Promise<ToolOutcome> {
  const { signal } = place;
  signal.throwIfAborted();
  const keys = new Set(['GATEWAY_API_KEY', ...services[place.service].keyVariables]);
  const env = Object.fromEntries(Object.entries(place.env).filter(([name]) => !keys.has(name)));
  const [program = '', ...words] = argv;
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, { cwd: place.cwd, env: env as NodeJS.ProcessEnv, windowsHide: true });
    const out = createCollector();
    const err = createCollector();
    const stop = (): void => {
      child.kill('SIGKILL');
      // A grandchild can keep the pipes open forever.
      child.stdout.destroy();
      child.stderr.destroy();
    };
    const abort = (): void => {
      stop();
      reject(signal.reason);
    };
    const finish = (outcome: ToolOutcome): void => {
      signal.removeEventListener('abort', abort);
      resolve(outcome);
    };
    child.on('error', (error) => finish({ content: `the command cannot run: ${runReason(error)}`, isError: true }));
    // Without a descriptor left it has no pipes.
    if (child.pid === undefined) return;
    signal.addEventListener('abort', abort, { once: true });
    child.stdout.on('data', (chunk: Buffer) => {
      if (out.add(chunk)) return;
      stop();
      finish({ content: `the output is larger than ${maxOutput} bytes`, isError: true });
    });
    child.stderr.on('data', (chunk: Buffer) => void err.add(chunk));
    child.on('close', (code, endedBy) => finish(outcomeOf({ code, endedBy, out: out.text(), err: err.text() })));
    // A command that does not read its input closes the pipe.
    child.stdin.on('error', () => {});
    child.stdin.end(JSON.stringify(input));
  });
}

function outcomeOf(end: { code: number | null; endedBy: string | null; out: string; err: string }): ToolOutcome {
  if (end.code === 0) return { content: end.out, isError: false };
  const how = end.code === null ? `ended by ${end.endedBy}` : `exit status ${end.code}`;
  return { content: [how, end.err.trim(), end.out.trim()].filter((part) => part !== '').join('\n'), isError: true };
}

/** Collects output. `add` returns false once it is over the limit. */
function createCollector(): { add(chunk: Buffer): boolean; text(): string } {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return {
    add(chunk) {
      bytes += chunk.length;
      if (bytes > maxOutput) return false;
      chunks.push(chunk);
      return true;
    },
    text: () => Buffer.concat(chunks).toString('utf8'),
  };
}
