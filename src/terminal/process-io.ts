import { createReadStream, fstatSync } from 'node:fs';
import type { Stats } from 'node:fs';
import type { Readable } from 'node:stream';
import { monotonic } from '../clock.ts';
import type { Dialog } from './dialog.ts';
import { createInput, inputKind } from './input.ts';
import type { InputKind, Io } from './io.ts';
import type { EditorOptions, LineEditor } from './line-editor.ts';
import { createStderr, createStdout, nullDevice } from './output.ts';
import { afterOnClock } from './timers.ts';

/**
 * The edges of a real process. Nothing is read or written yet, and Node's own streams are not even made: each costs some ms.
 */
export function createProcessIo(process: NodeJS.Process): Io {
  const describe = (fd: 0 | 1 | 2) => {
    const stats = statsOf(fd);
    return { stats, isTTY: isTerminal(process, fd, stats) };
  };
  const input = describe(0);
  const kind = inputKind(input.stats, input.isTTY);
  return {
    stdin: createInput(kind, () => streamOf(kind, process)),
    stdout: createStdout({ fd: 1, stream: () => process.stdout, ...describe(1) }),
    stderr: createStderr({ fd: 2, stream: () => process.stderr, ...describe(2) }),
    env: process.env,
    cwd: currentFolder(process),
    platform: process.platform,
    openEditor: kind === 'terminal' && describe(1).isTTY ? (options) => editorOf(process, options) : undefined,
    openDialog: kind === 'terminal' && describe(2).isTTY ? () => dialogOf(process) : undefined,
    runPager: describe(1).isTTY ? (pager, text) => pagerOf(process, pager, text) : undefined,
    now: () => Date.now(),
    elapsed: monotonic,
    after: afterOnClock,
    random: () => Math.random(),
  };
}

/** Loaded only for a long text. */
async function pagerOf(process: NodeJS.Process, pager: string, text: string): Promise<boolean> {
  const { runPager } = await import('./run-pager.ts');
  return runPager(pager, text, process);
}

/** Loaded only when somebody is asked. */
async function dialogOf(process: NodeJS.Process): Promise<Dialog> {
  const { openDialog } = await import('./dialog.ts');
  const { stdin, stderr } = process;
  return openDialog({ stdin, stderr, interrupt: () => void process.kill(process.pid, 'SIGINT') });
}

/** Loaded only for the interactive mode. */
async function editorOf(process: NodeJS.Process, options: EditorOptions): Promise<LineEditor> {
  const { openLineEditor } = await import('./line-editor.ts');
  const { stdin, stdout } = process;
  // Emitted, not sent: with its terminal gone nothing may keep the process alive until a signal arrives.
  return openLineEditor({ stdin, stdout, hangUp: () => void process.emit('SIGHUP', 'SIGHUP') }, options);
}

/** Node's own stdin is empty, without a word, where it is a folder; this one fails. */
function streamOf(kind: InputKind, process: NodeJS.Process): Readable {
  return kind === 'file' || kind === 'null' ? createReadStream('', { fd: 0, autoClose: false }) : process.stdin;
}

function statsOf(fd: number): Stats | undefined {
  try {
    return fstatSync(fd);
  } catch {
    return undefined;
  }
}

/** node:tty (2 ms) is loaded only for devices that may be one; /dev/null, the stdin of many scripts, is none. */
function isTerminal(process: NodeJS.Process, fd: number, stats: Stats | undefined): boolean {
  if (stats !== undefined && (!stats.isCharacterDevice() || stats.rdev === nullDevice())) return false;
  return process.getBuiltinModule('node:tty').isatty(fd);
}

/** A folder that was removed under a running shell still has its name there. */
function currentFolder(process: NodeJS.Process): string {
  try {
    return process.cwd();
  } catch {
    return process.env['PWD'] ?? '/';
  }
}
