import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, vi } from 'vitest';
import { exitCodes } from '../../src/library/errors.ts';
import { hurriedClock } from '../batch/lane/with-lane.ts';
import { bundle } from '../helpers/bundle.ts';
import { run } from '../helpers/run.ts';
import { removeFolder, scratchFolder } from '../helpers/scratch.ts';
import { bin } from '../helpers/spawn.ts';
import { canaryKey } from '../helpers/with-server.ts';
import { jsonLines } from '../helpers/json-lines.ts';
import { writeFiles } from './disk.ts';
import type { Change } from './shim.ts';
import type { Payee, Task } from './tasks.ts';

/** How a run of the program ended. */
export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** The folder of one run: also its home, and its temporary files. */
export interface Place {
  cwd: string;
  /** Runs the command again, in the process of the test, and nothing fails. */
  run(more?: readonly string[]): Promise<Ran>;
  /** What was paid for and could not be written: `gateway-cli recover` with the file that the hint names. */
  recover(ran: Ran): Promise<Buffer>;
  /** Paths of all files and folders. */
  files(): string[];
}

/** A call of the program, and how it can fail. */
export interface Failure {
  at: number;
  call: string;
  fault: string;
}

const root = join(import.meta.dirname, '../..');
const kinds: readonly [RegExp, readonly string[]][] = [
  [/^(?:handle\.)?(?:write|append)/, ['ENOSPC', 'short', 'EIO', 'short']],
  [/^(?:handle\.)?(?:sync|datasync|fsync|fdatasync)/, ['EIO', 'ENOSPC']],
  [/^(?:mkdir|mkdtemp|rename|link|symlink|copyFile)|truncate/, ['ENOSPC', 'EACCES', 'EIO']],
  [/^(?:open|readFile|readdir|opendir)/, ['EMFILE', 'EACCES', 'EIO']],
  [/^connect$/, ['ECONNRESET', 'EMFILE']],
  [/^(?:send|receive)$/, ['ECONNRESET']],
  [/close/, ['EIO']],
  [/./, ['EACCES', 'EIO']],
];
const network = /^(?:connect|send|receive)$/;

/** The number of calls, or of states, that the page about the tests promises for a task. */
export function countIn(column: 'calls' | 'states', name: string): number {
  const page = readFileSync(join(root, 'src/cli/help/topics/trust.md'), 'utf8');
  const row = page.split('\n').find((line) => line.startsWith(`| \`${name}\` |`));
  return Number(row?.split('|')[column === 'calls' ? 2 : 3]);
}

/** The calls of an undisturbed run, each with every way to fail. */
export async function listFailures(task: Task): Promise<Failure[]> {
  const calls = await inPlace(task, async (place) => {
    const ran = await place.start({});
    expect(ran).toMatchObject({ code: 0 });
    await judge(task, place, ran, undefined);
    return readCalls(place.log);
  });
  // The same call is made several times: the next one fails in the next way.
  return calls.map(({ at, call }) => {
    const faults = kinds.find(([pattern]) => pattern.test(call))?.[1] ?? ['EIO'];
    return { at, call, fault: faults[at % faults.length] ?? 'EIO' };
  });
}

/** So many runs at once: one whose connection broke may look for its batch for two minutes. */
const atOnce = 6;

/** Has each of these calls fail, in a run of its own; returns what is wrong after that. */
export async function torture(task: Task, failures: readonly Failure[]): Promise<string[]> {
  const isNetwork = ({ call }: Failure): boolean => network.test(call);
  const left = [...failures.filter(isNetwork), ...failures.filter((failure) => !isNetwork(failure))];
  const wrong: string[] = [];
  const work = async (): Promise<void> => {
    for (let failure = left.shift(); failure !== undefined; failure = left.shift()) {
      const found = await strike(task, failure);
      if (found !== undefined) wrong.push(found);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return wrong;
}

function strike(task: Task, failure: Failure): Promise<string | undefined> {
  return inPlace(task, async (place) => {
    const ran = await place.start(failure);
    const struck = readCalls(place.log).find(({ fault }) => fault !== '');
    try {
      await judge(task, place, ran, struck);
      return undefined;
    } catch (error) {
      const what =
        struck === undefined ? 'nothing failed' : `${struck.at} ${struck.call} ${struck.subject}: ${struck.fault}`;
      return `${what}\n  exit ${ran.code}: ${ran.stderr.trim()}\n  ${String(error instanceof Error ? error.message : error)} ${JSON.stringify((error as { actual?: unknown }).actual)}`;
    }
  });
}

/** The changes that an undisturbed run makes, with paths in its folder, and the files that were there before. */
export async function recordChanges(
  task: Task,
  payee: Payee,
): Promise<{ before: Map<string, Buffer>; changes: Change[] }> {
  const record = async (place: OpenPlace) => {
    const before = new Map(place.files().flatMap((path) => readIfFile(place.cwd, path)));
    const file = `${place.log}.changes`;
    expect(await place.start({ changes: file })).toMatchObject({ code: 0 });
    const changes = jsonLines<Change>(readFileSync(file, 'utf8'));
    const inside = (path: string): string => (path === '' ? '' : relative(place.cwd, resolve(place.cwd, path)) || '.');
    return {
      before,
      changes: changes.map((change) => ({ ...change, path: inside(change.path), to: inside(change.to ?? '') })),
    };
  };
  return inPlace(task, record, payee);
}

/** Does work with files of another run in a new folder. The payee is that of the run: what a row asks has its address in it. */
export function goOn<Result>(
  task: Task,
  files: ReadonlyMap<string, Buffer>,
  { payee, work }: { payee: Payee; work: (place: Place) => Promise<Result> },
): Promise<Result> {
  payee.counts.clear();
  const workThere = (place: Place): Promise<Result> => {
    writeFiles(place.cwd, files);
    return work(place);
  };
  return inPlace(task, workThere, payee);
}

function readIfFile(folder: string, path: string): [string, Buffer][] {
  return statSync(join(folder, path)).isFile() ? [[path, readFileSync(join(folder, path))]] : [];
}

async function judge(task: Task, place: OpenPlace, ran: Ran, struck: Struck | undefined): Promise<void> {
  // What cannot be removed stays.
  const leftOver = (): string[] =>
    place.files().filter((path) => !task.leaves.test(path) && !struck?.subject.endsWith(`/${path}`));
  const codes = new Set<unknown>(Object.values(exitCodes).map(({ code }) => code));
  expect(codes).toContain(ran.code);
  expect(ran.code).not.toBe(exitCodes.internal.code);
  expect(ran.stderr).not.toMatch(/^\s+at /m);
  if (ran.code !== 0) expect(ran.stderr).toMatch(/^gateway-cli: [a-z-]+: ./m);
  expect(leftOver()).toEqual([]);
  await task.check({ place, ran, payee: place.payee, isCut: struck !== undefined && network.test(struck.call) });
  expect(leftOver()).toEqual([]);
}

interface OpenPlace extends Place {
  log: string;
  payee: Payee;
  start(order: Partial<Pick<Failure, 'at' | 'fault'>> & { changes?: string }): Promise<Ran>;
}

let lastTurn: Promise<unknown> = Promise.resolve();

/** Does one piece of work after the other, each with its environment: that is the one of the process. */
function inTurn<Result>(env: Record<string, string>, work: () => Result | Promise<Result>): Promise<Result> {
  const turn = lastTurn.then(async () => {
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
    try {
      return await work();
    } finally {
      vi.unstubAllEnvs();
    }
  });
  lastTurn = turn.catch(() => undefined);
  return turn;
}

/** `known`: a payee of the caller; by default a new one. */
async function inPlace<Result>(
  task: Task,
  work: (place: OpenPlace) => Promise<Result>,
  known?: Payee,
): Promise<Result> {
  const preload = await bundle('test/torture/shim.ts');
  const folder = await inTurn({}, scratchFolder);
  const [cwd, temp] = ['work', 'temp'].map((name) => join(folder, name)) as [string, string];
  for (const path of [cwd, temp]) mkdirSync(path);
  const log = join(folder, 'calls');
  const payee = known ?? (await task.serve());
  const userFolders = {
    TMPDIR: temp,
    XDG_CONFIG_HOME: join(cwd, 'config'),
    XDG_STATE_HOME: join(cwd, 'state'),
    XDG_CACHE_HOME: join(cwd, 'cache'),
  };
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: cwd,
    ...userFolders,
    GATEWAY_BASE_URL: payee.url,
    GATEWAY_API_KEY: canaryKey,
    GATEWAY_MODEL: 'm',
    GATEWAY_IMAGE_MODEL: 'm',
  };
  const place: OpenPlace = {
    cwd,
    log,
    payee,
    files: () => [...list(cwd), ...list(temp).map((path) => `temp/${path}`)],
    start: (order) =>
      program(cwd, task.argv, {
        env: {
          ...env,
          ...task.env,
          NODE_OPTIONS: `--require=${preload}`,
          TORTURE: JSON.stringify({ log, code: root, ...order }),
        },
        file: task.toFile && join(cwd, 'stdout'),
      }),
    run: (more = []) =>
      inTurn(userFolders, () =>
        run([...task.argv, ...more], {
          cwd,
          env: { ...env, ...task.env },
          ...(task.isHurried && { clock: hurriedClock() }),
        }),
      ),
    async recover({ stderr }) {
      const file = /gateway-cli recover (\S+)/.exec(stderr)?.[1] ?? 'nothing';
      const ran = await inTurn(userFolders, () => run(['recover', file, '-o', '-'], { cwd, env }));
      expect(ran).toMatchObject({ code: 0 });
      return ran.stdoutBytes;
    },
  };
  task.prepare?.(place);
  try {
    return await work(place);
  } finally {
    if (!known) await payee.close();
    removeFolder(folder);
  }
}

/** The program in a process of its own; `file` gets its stdout. */
async function program(
  cwd: string,
  argv: readonly string[],
  { env, file }: { env: Record<string, string>; file?: string | undefined },
): Promise<Ran> {
  const out = file === undefined ? undefined : openSync(file, 'w');
  const child = spawn(process.execPath, [bin, ...argv], { cwd, env, stdio: ['ignore', out ?? 'pipe', 'pipe'] });
  const [stdout, stderr, [code]] = await Promise.all([
    child.stdout ? text(child.stdout) : '',
    child.stderr ? text(child.stderr) : '',
    once(child, 'close') as Promise<[number | null]>,
  ]);
  if (out !== undefined) closeSync(out);
  return { code, stdout: file === undefined ? stdout : readFileSync(file, 'utf8'), stderr };
}

interface Struck extends Failure {
  /** The path that it was about. */
  subject: string;
}

function readCalls(log: string): Struck[] {
  if (!existsSync(log)) return [];
  return readFileSync(log, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [at, call = '', subject = '', fault = ''] = line.split('\t');
      return { at: Number(at), call, subject, fault };
    });
}

function list(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory()
      ? [entry.name, ...list(join(folder, entry.name)).map((path) => `${entry.name}/${path}`)]
      : [entry.name],
  );
}
