import { type ChildProcess, execFileSync, spawn, type StdioOptions } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { run } from '../helpers/run.ts';
import { removeFolder } from '../helpers/scratch.ts';
import { type ScriptedServer, startScriptedServer } from '../helpers/scripted-server.ts';
import { bareEnv, bin, type Shell, shell } from '../helpers/spawn.ts';
import { canaryKey } from '../helpers/with-server.ts';

/** A server that is closed, and checked, when the test is over. */
export async function serve(options?: Parameters<typeof startScriptedServer>[0]): Promise<ScriptedServer> {
  const server = await startScriptedServer(options);
  onTestFinished(() => server.close());
  return server;
}

/** An empty folder that is removed after the test. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'gateway-cli-faults-'));
  onTestFinished(() => removeFolder(path));
  return path;
}

/** What points the program at a server. */
function pointAt(url: string): Record<string, string> {
  return { GATEWAY_BASE_URL: url, GATEWAY_API_KEY: canaryKey, GATEWAY_MODEL: 'm', GATEWAY_IMAGE_MODEL: 'm' };
}

/** Runs a bash script in which `$CLI` is the built program that asks the server; HOME and folder are new. */
export function bash(
  script: string,
  server: { url: string },
  more: { env?: Record<string, string>; cwd?: string } = {},
) {
  const env = { ...pointAt(server.url), CLI: `${process.execPath} ${bin}`, ...more.env };
  return shell(script, { cwd: more.cwd ?? folder(), env });
}

/** Runs a command in this process, words or a line of plain ones: for what is the same without a process of its own. */
export function ask(
  words: string | readonly string[],
  server: { url: string },
  more: { env?: Record<string, string>; cwd?: string } = {},
) {
  const cwd = more.cwd ?? folder();
  const argv = typeof words === 'string' ? words.split(' ') : words;
  return run(argv, { cwd, env: { ...pointAt(server.url), HOME: cwd, ...more.env } });
}

export interface Started {
  child: ChildProcess;
  cwd: string;
  /** Resolves when stdout, or stderr, holds a text. */
  printed(text: string): Promise<void>;
  ended: Promise<Shell>;
}

/** Starts the built program itself, without a shell, so that signals reach it. */
export function start(
  argv: readonly string[],
  server: { url: string },
  { env = {}, cwd = folder(), stdio = ['ignore', 'pipe', 'pipe'] }: StartOptions = {},
): Started {
  const child = spawn(process.execPath, [bin, ...argv], {
    cwd,
    env: bareEnv(cwd, { ...pointAt(server.url), ...env }),
    stdio,
  });
  const seen = { out: '', err: '' };
  const watchers = new Set<() => void>();
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    seen.out += text;
    for (const look of watchers) look();
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    seen.err += text;
    for (const look of watchers) look();
  });
  const ended = new Promise<Shell>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, stdout: seen.out, stderr: seen.err, cwd }));
  });
  const printed = (text: string) =>
    new Promise<void>((resolve) => {
      const look = () => (seen.out + seen.err).includes(text) && (watchers.delete(look), resolve());
      watchers.add(look);
      look();
    });
  return { child, cwd, printed, ended };
}

interface StartOptions {
  env?: Record<string, string>;
  cwd?: string;
  stdio?: StdioOptions;
}

/** Waits until something is so, or until the program has ended; it looks a thousand times a second, and leaves it the processor. */
export async function becomes(isSo: () => boolean, ended: Promise<unknown>): Promise<void> {
  const turn = Symbol('turn');
  while (!isSo()) if ((await Promise.race([ended, setTimeout(1, turn)])) !== turn) return;
}

/** Names in a folder, hidden ones too. */
export function namesIn(path: string): string[] {
  return existsSync(path) ? readdirSync(path).toSorted() : [];
}

/** Whether small file systems can be mounted here. */
export const canMount = tryMount();

function tryMount(): boolean {
  const path = mkdtempSync(join(tmpdir(), 'gateway-cli-mount-'));
  try {
    mount(path, '64k');
    unmount(path);
    return true;
  } catch {
    return false;
  } finally {
    removeFolder(path);
  }
}

function mount(path: string, size: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', path], { stdio: 'ignore' });
}

function unmount(path: string): void {
  execFileSync('umount', ['-l', path], { stdio: 'ignore' });
}

/** A folder on a disk of this size (`256k`), removed after the test. */
export function smallDisk(size: string): string {
  const path = folder();
  mount(path, size);
  onTestFinished(() => unmount(path));
  return path;
}
