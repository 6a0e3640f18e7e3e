import { toolResult } from '../../chat/message.ts';
import { checkProgram, runTool, type ToolCommand, type ToolOutcome } from '../../chat/tool-run.ts';
import type { Result, ToolCall } from '../../client/result.ts';
import { usageError } from '../../errors.ts';
import { blocksOf, type Turn } from '../../formats/turns.ts';
import { isObject, type JsonValue } from '../../json.ts';
import type { ServiceName } from '../../services.ts';
import { escapeLine, jsonLine } from '../../terminal/escape.ts';
import type { BuiltRequest } from '../../cli/request/build-request.ts';
import type { Context, RunCall } from '../../cli/context.ts';
import { prefixUsageError } from '../../cli/flags/flag.ts';
import type { ChatFlags } from './session.ts';

/** Asks a person; the answer is a line. */
export type Ask = (question: string) => Promise<string>;

/** The commands that may answer calls of the model, and nothing else. */
export interface ToolBelt {
  /** Requests to make at most. */
  maxTurns: number;
  /** Whether these are all calls of the answer, whole, and each of a named tool. */
  canRun(result: Result, calls: readonly ToolCall[]): boolean;
  /** Runs the calls, one after the other. */
  run(calls: readonly ToolCall[], signal: AbortSignal): Promise<RunCall[]>;
}

const defaultMaxTurns = 10;

/** Checks `--tool-exec` against the tools that are offered. Throws GatewayError usage, before anything is sent. */
export async function openTools(
  flags: ChatFlags,
  { format, post }: Pick<BuiltRequest, 'format' | 'post'>,
  { context, service, ask }: { context: Context; service: ServiceName; ask?: Ask | undefined },
): Promise<ToolBelt | undefined> {
  const commands = flags.toolExec;
  if (!commands) {
    const { confirm, maxTurns, maxCost } = flags;
    const lone = [confirm && '--confirm', maxTurns && '--max-turns', maxCost && '--max-cost'].find((flag) => flag);
    if (lone)
      throw usageError(`${lone} is for tools that are run, and there is none`, "add --tool-exec 'name=command'");
    return undefined;
  }
  const { io } = context;
  const byName = new Map<string, ToolCommand>();
  const offered = format.toolNames(post.body);
  for (const command of commands) {
    if (byName.has(command.name)) throw usageError(`--tool-exec names ${command.name} twice`, 'one command a tool');
    if (!offered.includes(command.name)) throw notOffered(command.name, offered);
    await checkProgram(command, { cwd: io.cwd, env: io.env }).catch(prefixUsageError('--tool-exec '));
    byName.set(command.name, command);
  }
  const confirm = flags.confirm ? (ask ?? askOnTerminal(context)) : undefined;
  return {
    maxTurns: flags.maxTurns ?? defaultMaxTurns,
    canRun: ({ toolCalls, complete }, calls) =>
      complete &&
      calls.length > 0 &&
      calls.length === toolCalls.length &&
      calls.every((call) => byName.has(call.name) && isWhole(call)),
    async run(calls, signal) {
      const done: RunCall[] = [];
      for (const call of calls) {
        const command = byName.get(call.name) as ToolCommand;
        const outcome = await runOne(call, command, { flags, context, service, confirm, signal });
        done.push({ ...call, result: outcome.content, isError: outcome.isError });
      }
      return done;
    },
  };
}

/** The calls of an answer's turn, each with an id by which its result is joined to it. */
export function callsOf(turn: Turn): ToolCall[] {
  return blocksOf(turn).flatMap(({ type, id, name, input = {} }) =>
    type === 'tool_use' ? [{ id: textOrNothing(id), name: textOrNothing(name) ?? '', input }] : [],
  );
}

function textOrNothing(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The turn of the user that answers the calls. */
export function resultsTurn(calls: readonly RunCall[]): Turn {
  const content = calls.map((call) => toolResult(call.id ?? '', { content: call.result, isError: call.isError }));
  return { role: 'user', content };
}

interface Running {
  flags: ChatFlags;
  context: Context;
  service: ServiceName;
  confirm: Ask | undefined;
  signal: AbortSignal;
}

async function runOne(call: ToolCall, command: ToolCommand, running: Running): Promise<ToolOutcome> {
  const { flags, context, service, confirm, signal } = running;
  const { io, ui } = context;
  const input = JSON.stringify(call.input);
  await writeLine(running, { type: 'tool-call', id: call.id, name: call.name, input: call.input });
  if (!flags.jsonl && !confirm) await ui.note(`tool ${call.name} ${input}`);
  const question = escapeLine(ui.redact(`run ${command.argv.join(' ')} for ${call.name} ${input}?`));
  const allowed = !confirm || isYes(await confirm(`${question} [y/N] `));
  const outcome = allowed
    ? await runTool(command, call.input, { cwd: io.cwd, env: io.env, service, signal })
    : { content: 'the user did not allow this call', isError: true };
  if (outcome.isError) await ui.note(`tool ${call.name}: ${outcome.content}`);
  await writeLine(running, { type: 'tool-result', id: call.id, name: call.name, ...outcome });
  return outcome;
}

async function writeLine({ flags, context }: Running, line: object): Promise<void> {
  if (flags.jsonl) await context.io.stdout.write(jsonLine(line));
}

function isYes(answer: string): boolean {
  return /^\s*y(es)?\s*$/i.test(answer);
}

/** Throws GatewayError usage if stdin is not a terminal, where no one can answer. */
function askOnTerminal({ io }: Context): Ask {
  const { openDialog } = io;
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

function isWhole({ id, input }: ToolCall): boolean {
  return id !== undefined && isObject(input);
}

function notOffered(name: string, offered: readonly string[]): Error {
  const hint = offered.length === 0 ? 'describe it: --tools tools.json' : `there are: ${offered.join(', ')}`;
  return usageError(`--tool-exec ${name}: no such tool is offered to the model`, hint);
}
