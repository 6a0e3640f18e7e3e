import { type ChildProcess, spawn } from 'node:child_process';
import { kill } from 'node:process';
import { constants } from 'node:os';
import { type ErrorClass, GatewayError, usageError } from '../../errors.ts';
import { runReason } from '../../files/file-reason.ts';
import { misleadingVariables } from '../../gateway/variables.ts';
import type { Context } from '../../cli/context.ts';
import { servedEnvironment } from './models.ts';

/** Runs a command against the gateway; its exit code becomes ours (128 + n where a signal ended it). */
export async function runServed(
  words: readonly string[],
  { variables, unset, context }: { variables: Record<string, string>; unset: readonly string[]; context: Context },
): Promise<void> {
  const env = servedEnvironment(context.io.env, variables);
  for (const name of [...misleadingVariables, ...unset]) if (!Object.hasOwn(variables, name)) delete env[name];
  const [program = '', ...args] = words;
  const isWindows = context.io.platform === 'win32';
  // Without a terminal, whose keys reach every program by themselves, the command leads a group of its own.
  const leads = context.io.stdin.kind !== 'terminal' && !isWindows;
  const child = spawn(program, args, {
    cwd: context.io.cwd,
    env,
    stdio: 'inherit',
    shell: isWindows,
    detached: leads,
  });
  const stop = (): void => passOn(context.signal.reason, { child, leads });
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

const signals: Partial<Record<ErrorClass, NodeJS.Signals>> = { interrupted: 'SIGINT', hangup: 'SIGHUP' };

/** The signal that ended the run, for the command and all that it started. */
function passOn(reason: unknown, { child, leads }: { child: ChildProcess; leads: boolean }): void {
  const signal = (reason instanceof GatewayError ? signals[reason.class] : undefined) ?? 'SIGTERM';
  if (!leads || child.pid === undefined) return void child.kill(signal);
  try {
    kill(-child.pid, signal);
  } catch {
    // All processes of the group have ended.
  }
}

function cannotRun(program: string, error: Error): Error {
  const reason = runReason(error);
  return usageError(`cannot run '${program}': ${reason}`, 'for example: gateway-cli serve -- npm test', error);
}
