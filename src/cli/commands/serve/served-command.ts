import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { basename, resolve } from 'node:path';
import { kill } from 'node:process';
import {
  describeRunError,
  describeWriteError,
  type ErrorClass,
  GatewayError,
  type ModelsByUse,
  modelVariableNames,
  recordedModelsByUse,
  savedVariables,
  saveVariables,
  usageError,
  type Use,
  useNames,
} from '../../../library/index.ts';
import { misleadingVariables } from '../../../gateway/index.ts';
import { useDefaults } from '../../settings/resolve.ts';
import type { Context, CommandEnd } from '../../context.ts';

type Variables = Record<string, string>;

/** The variables under which commands look for their models; chat and edit have one only if they have their own model. */
export function modelVariables({ text, chat, image, edit }: ModelsByUse): Variables {
  return withoutUnset({
    GATEWAY_MODEL: text,
    GATEWAY_CHAT_MODEL: chat === text ? undefined : chat,
    GATEWAY_IMAGE_MODEL: image,
    GATEWAY_EDIT_MODEL: edit === image ? undefined : edit,
  });
}

/** The variables that name the offline models for these uses. */
export function localModelVariables(uses: readonly Use[] = useNames): Variables {
  return modelVariables(Object.fromEntries(uses.map((use) => [use, useDefaults[use].local])));
}

/**
 * The environment of a served command: the variables replace those of the environment, and models of chat or edit alone are
 * removed, since they would win over the served model.
 */
function servedEnvironment(env: Context['io']['env'], variables: Variables): Record<string, string | undefined> {
  const served: Record<string, string | undefined> = { ...env, ...variables };
  if (variables['GATEWAY_MODEL'] && !variables['GATEWAY_CHAT_MODEL']) delete served['GATEWAY_CHAT_MODEL'];
  if (variables['GATEWAY_IMAGE_MODEL'] && !variables['GATEWAY_EDIT_MODEL']) delete served['GATEWAY_EDIT_MODEL'];
  return served;
}

/** Writes the variables of the command to the recordings, for the replay. Throws GatewayError usage. */
export async function keepVariables(record: string, served: Variables, { io }: Context): Promise<void> {
  const variables = { ...modelsIn(servedEnvironment(io.env, served)), ...served };
  if (Object.keys(variables).length === 0) return;
  try {
    await saveVariables(resolve(io.cwd, record), variables);
  } catch (error) {
    throw usageError(`--record '${record}': ${describeWriteError(error)}`, 'name a folder that can be written', error);
  }
}

/** The variables of a replay: those of the recording, otherwise the environment's, otherwise those that the recordings hold. */
export async function replayedVariables(replay: string, { io }: Context): Promise<Variables> {
  const folder = resolve(io.cwd, replay);
  const kept = await savedVariables(folder);
  if (kept !== undefined) return kept;
  const variables = modelsIn(io.env);
  return Object.keys(variables).length > 0 ? variables : modelVariables(await recordedModelsByUse(folder));
}

function modelsIn(env: Context['io']['env']): Variables {
  return withoutUnset(Object.fromEntries(modelVariableNames.map((name) => [name, env[name]])));
}

function withoutUnset(variables: Record<string, string | undefined>): Variables {
  return Object.fromEntries(Object.entries(variables).filter((entry): entry is [string, string] => !!entry[1]));
}

/** Programs that go to a host of their own, whatever the variables of the SDKs name. */
const ownHosts: Readonly<Record<string, string>> = {
  codex: 'codex does not read OPENAI_BASE_URL: it calls the provider in its own config.toml, by default OpenAI',
};

/** The warnings for a command that does not send its requests to this server. Another program can start it: `npx @openai/codex`. */
export function notRedirected(words: readonly string[]): string[] {
  const programs = words.slice(0, 3).map((word) => basename(word).replace(/(?:@.*|\.\w+)$/, ''));
  return programs.flatMap((name) => (Object.hasOwn(ownHosts, name) ? [ownHosts[name] as string] : [])).slice(0, 1);
}

/** Runs a command against the gateway; its exit code becomes ours (128 + n if a signal ended it). */
export async function runServed(
  words: readonly string[],
  { variables, unset, context }: { variables: Record<string, string>; unset: readonly string[]; context: Context },
): Promise<CommandEnd> {
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
  const stopServed = (): void => passSignal(context.signal.reason, { child, leads });
  context.signal.addEventListener('abort', stopServed, { once: true });
  const ended = await new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve, reject) => {
    child.on('error', (error) => reject(cannotRun(program, error)));
    child.on('exit', (code, signal) => resolve({ code, signal }));
  });
  context.signal.removeEventListener('abort', stopServed);
  context.signal.throwIfAborted();
  const exitCode = ended.code ?? 128 + (ended.signal === null ? 0 : constants.signals[ended.signal]);
  return { isPrinted: true, exitCode };
}

const signals: Partial<Record<ErrorClass, NodeJS.Signals>> = {
  interrupted: 'SIGINT',
  hangup: 'SIGHUP',
  quit: 'SIGQUIT',
};

/** The signal that ended the run, for the command and all that it started. */
function passSignal(reason: unknown, { child, leads }: { child: ChildProcess; leads: boolean }): void {
  const signal = (reason instanceof GatewayError ? signals[reason.class] : undefined) ?? 'SIGTERM';
  if (!leads || child.pid === undefined) return void child.kill(signal);
  try {
    kill(-child.pid, signal);
  } catch {
    // All processes of the group have ended.
  }
}

function cannotRun(program: string, error: Error): Error {
  const reason = describeRunError(error);
  return usageError(`cannot run '${program}': ${reason}`, 'for example: gateway-cli serve -- npm test', error);
}
