import { spawn } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { delimiter, dirname, join, resolve } from 'node:path';
import { type ToolResult, toolResultBlock } from '../../chat/message.ts';
import {
  describeRunError,
  getTurnBlocks,
  isObject,
  type Result,
  serviceNames,
  shellWord,
  type ToolCall,
  type Turn,
  usageError,
} from '../../../library/index.ts';
import { keyNames } from '../../settings/vendor-variables.ts';
import { escapeLine, jsonLine } from '../../terminal/escape.ts';
import type { BuiltRequest } from '../../request/build-request.ts';
import type { Context, RunCall } from '../../context.ts';
import { prefixUsageError } from '../../flags/flag.ts';
import type { ToolCommand } from '../../flags/format.ts';
import type { ChatFlags } from './session.ts';

/** The commands that can answer tool calls of the model. */
export interface ToolCommands {
  /** Whether these are all calls of the answer, each is complete, and each has a command. */
  canRun(result: Result, calls: readonly ToolCall[]): boolean;
  /** Runs the calls, one after the other. */
  run(calls: readonly ToolCall[], signal: AbortSignal): Promise<RunCall[]>;
}

/** Checks `--tool-exec` against the tools that are offered. Throws GatewayError usage, before anything is sent. */
export async function openTools(
  flags: ChatFlags,
  { format, post }: Pick<BuiltRequest, 'format' | 'post'>,
  { context, ask }: { context: Context; ask?: AskUser },
): Promise<ToolCommands | undefined> {
  const { toolExec, confirm, maxCost } = flags;
  if (!toolExec) {
    const lone = [confirm && '--confirm', maxCost && '--max-cost'].find((flag) => flag);
    if (lone)
      throw usageError(`${lone} is for tools that are run, and there is none`, "add --tool-exec 'name=command'");
    return undefined;
  }
  const byName = new Map<string, ToolCommand>();
  const offered = format.toolNames(post.body);
  for (const command of toolExec) {
    if (byName.has(command.name)) throw usageError(`--tool-exec names ${command.name} twice`, 'one command a tool');
    if (!offered.includes(command.name)) throw notOffered(command.name, offered);
    await checkProgram(command, context.io).catch(prefixUsageError('--tool-exec '));
    byName.set(command.name, command);
  }
  const runner = { flags, context, ask: confirm && (ask ?? askOnTerminal(context)) };
  return {
    canRun: ({ toolCalls, complete }, calls) =>
      complete &&
      calls.length > 0 &&
      calls.length === toolCalls.length &&
      calls.every(({ id, name, input }) => byName.has(name) && id !== undefined && isObject(input)),
    async run(calls, signal) {
      const done: RunCall[] = [];
      for (const call of calls)
        done.push(await runCall(call, byName.get(call.name) as ToolCommand, { ...runner, signal }));
      return done;
    },
  };
}

function notOffered(name: string, offered: readonly string[]): Error {
  const hint = offered.length === 0 ? 'describe it: --tools tools.json' : `there are: ${offered.join(', ')}`;
  return usageError(`--tool-exec ${name}: no such tool is offered to the model`, hint);
}

/** Checks that the program of a command exists, before a request is paid for. Throws GatewayError usage. */
async function checkProgram(
  { name, argv }: ToolCommand,
  { cwd, env }: Pick<Context['io'], 'cwd' | 'env'>,
): Promise<void> {
  const [program = ''] = argv;
  const isPath = /[\\/]/.test(program);
  const folders = isPath ? [''] : (env['PATH'] ?? env['Path'] ?? '').split(delimiter);
  const endings = ['', ...(env['PATHEXT'] ?? '').split(';').filter((ending) => ending !== '')];
  for (const folder of folders) {
    for (const ending of endings) {
      const path = isPath ? resolve(cwd, program + ending) : join(folder, program + ending);
      if (await isAccessible(path, constants.X_OK)) return;
    }
  }
  const named = `${name}: ${JSON.stringify(program)}`;
  if (!isPath)
    throw usageError(`${named} is not a program in PATH`, 'name a program in PATH, or a path to one; no shell runs it');
  const path = resolve(cwd, program);
  if (!(await isAccessible(path, constants.F_OK)))
    throw usageError(`${named}: there is no such file`, `look for it: ls -l ${shellWord(dirname(path))}`);
  throw usageError(`${named}: you do not have permission to run it`, `make it executable: chmod +x ${shellWord(path)}`);
}

function isAccessible(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}

/** Asks a person; the answer is a line. */
type AskUser = (question: string) => Promise<string>;

/** Throws GatewayError usage if stdin is not a terminal, since no one can answer. */
function askOnTerminal({ io: { openDialog } }: Context): AskUser {
  if (!openDialog)
    throw usageError(
      '--confirm needs a terminal on stdin and stderr',
      'give the prompt as an argument, or leave --confirm out',
    );
  return async (question) => {
    const dialog = await openDialog();
    try {
      return await dialog.ask(question);
    } finally {
      dialog.close();
    }
  };
}

/** The calls of an answer's turn, each with an id by which its result is joined to it. */
export function listToolCalls(turn: Turn): ToolCall[] {
  return getTurnBlocks(turn).flatMap(({ type, id, name, input = {} }) => {
    if (type !== 'tool_use') return [];
    return [{ id: typeof id === 'string' ? id : undefined, name: typeof name === 'string' ? name : '', input }];
  });
}

/** The turn of the user that answers the calls. */
export function resultsTurn(calls: readonly RunCall[]): Turn {
  const content = calls.map((call) => toolResultBlock(call.id ?? '', { content: call.result, isError: call.isError }));
  return { role: 'user', content };
}

interface ToolRunner {
  flags: ChatFlags;
  context: Context;
  /** Asks the user, for `--confirm`. */
  ask: AskUser | undefined;
  signal: AbortSignal;
}

/** Runs the command for one call, if the user allows it, and shows both. */
async function runCall(call: ToolCall, command: ToolCommand, runner: ToolRunner): Promise<RunCall> {
  const { flags, context, ask } = runner;
  const { io, ui } = context;
  const { id, name } = call;
  const input = JSON.stringify(call.input);
  const writeLine = async (line: object): Promise<void> => {
    if (flags.jsonl) await io.stdout.write(jsonLine(line));
  };
  await writeLine({ type: 'tool-call', id, name, input: call.input });
  if (!flags.jsonl && !ask) await ui.notice(`tool ${name} ${input}`);
  const question = escapeLine(ui.redact(`run ${command.argv.join(' ')} for ${name} ${input}?`));
  const isAllowed = !ask || /^\s*y(es)?\s*$/i.test(await ask(`${question} [y/N] `));
  const outcome = isAllowed
    ? await runCommand(command, input, runner)
    : { content: 'the user did not allow this call', isError: true };
  if (outcome.isError) await ui.note(`tool ${name}: ${outcome.content}`);
  await writeLine({ type: 'tool-result', id, name, ...outcome });
  return { ...call, result: outcome.content, isError: outcome.isError };
}

/** Limit of a tool's output, in bytes: a request has at most 32 MB. */
const maxOutput = 1024 * 1024;

/**
 * Runs a command: the input is JSON on stdin, the result is its stdout. An exit status other than 0 is an error, with its
 * stderr. No key of a service is in its environment. Rejects only with the signal's reason.
 */
async function runCommand(
  { argv: [program = '', ...words] }: ToolCommand,
  input: string,
  { context: { io }, signal }: ToolRunner,
): Promise<ToolResult> {
  signal.throwIfAborted();
  const env = Object.fromEntries(Object.entries(io.env).filter(([name]) => !isKeyVariable(name)));
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, { cwd: io.cwd, env: env as NodeJS.ProcessEnv, windowsHide: true });
    const out = createCollector();
    const err = createCollector();
    const stopCommand = (): void => {
      child.kill('SIGKILL');
      // A grandchild can keep the pipes open forever.
      child.stdout.destroy();
      child.stderr.destroy();
    };
    const abortCommand = (): void => {
      stopCommand();
      reject(signal.reason);
    };
    const finish = (outcome: ToolResult): void => {
      signal.removeEventListener('abort', abortCommand);
      resolve(outcome);
    };
    child.on('error', (error) =>
      finish({ content: `the command cannot run: ${describeRunError(error)}`, isError: true }),
    );
    // If no file descriptor was left, the child has no pipes.
    if (child.pid === undefined) return;
    signal.addEventListener('abort', abortCommand, { once: true });
    child.stdout.on('data', (chunk: Buffer) => {
      if (out.add(chunk)) return;
      stopCommand();
      finish({ content: `the output is larger than ${maxOutput} bytes`, isError: true });
    });
    child.stderr.on('data', (chunk: Buffer) => void err.add(chunk));
    child.on('close', (code, endedBy) => finish(toToolOutcome({ code, endedBy, out: out.text(), err: err.text() })));
    // A command that does not read its input closes the pipe.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

const keyVariables = new Set(serviceNames.flatMap(keyNames));

/** The variables of keys, also of services that the conversation is not with, and of files with keys. */
function isKeyVariable(name: string): boolean {
  const upper = name.toUpperCase();
  return keyVariables.has(upper) || upper.startsWith('GATEWAY_API_KEY');
}

function toToolOutcome(end: { code: number | null; endedBy: string | null; out: string; err: string }): ToolResult {
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
