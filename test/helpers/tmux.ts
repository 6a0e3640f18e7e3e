import { execFile, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { vi } from 'vitest';
import { bareEnv } from './spawn.ts';
import { scratchFolder } from './scratch.ts';
import { isFull } from './full.ts';

const runFile = promisify(execFile);

/** Whether tests in a real terminal are skipped: tmux is absent, and the full run does not demand it. */
export const withoutTmux = spawnSync('tmux', ['-V']).status !== 0 && !isFull;

/** A real terminal of 100 columns and 40 rows with one program in it. */
export interface Terminal {
  /** The folder in which the program runs; its home too. */
  readonly cwd: string;
  /** Types text as it is. */
  type(text: string): Promise<void>;
  /** Presses keys by their names: `Enter`, `C-c`, `Tab`, `Up`. */
  press(...keys: string[]): Promise<void>;
  /** Pastes text as a terminal does, with the marks around it if the program asked for them. */
  paste(text: string): Promise<void>;
  /** The screen, without the blanks at its ends; with `colors` the escape sequences too. */
  screen(options?: { colors?: boolean }): Promise<string>;
  /** Waits until the screen holds the text or pattern. */
  shows(wanted: string | RegExp): Promise<string>;
  close(): Promise<void>;
}

/** Runs a bash script in a terminal of its own; `$BIN` is the program. At its end the screen says `exit <code>`. */
export async function openTerminal(
  script: string,
  { env = {}, cwd }: { env?: Record<string, string>; cwd?: string } = {},
): Promise<Terminal> {
  const folder = cwd ?? scratchFolder();
  const socket = join(tmpdir(), `gateway-tmux-${randomBytes(6).toString('hex')}`);
  const tmux = async (...words: string[]) =>
    (await runFile('tmux', ['-S', socket, '-f', '/dev/null', ...words])).stdout;
  const settings = Object.entries(bareEnv(folder, env)).map(([name, value]) => `${name}=${value}`);
  const held = `${script}; echo "exit $?"; exec cat`;
  const size = ['-x', '100', '-y', '40'];
  await tmux(
    'new-session',
    '-d',
    ...size,
    '-c',
    folder,
    'env',
    '-i',
    'TERM=tmux-256color',
    ...settings,
    'bash',
    '-c',
    held,
  );
  const screen = async ({ colors = false } = {}) =>
    (await tmux('capture-pane', '-p', ...(colors ? ['-e'] : []))).trimEnd();
  return {
    cwd: folder,
    screen,
    async type(text) {
      await tmux('send-keys', '-l', '--', text);
    },
    async press(...keys) {
      await tmux('send-keys', ...keys);
    },
    async paste(text) {
      await tmux('set-buffer', '--', text);
      await tmux('paste-buffer', '-p');
    },
    async shows(wanted) {
      return vi.waitFor(
        async () => {
          const text = await screen();
          if (typeof wanted === 'string' ? text.includes(wanted) : wanted.test(text)) return text;
          throw new Error(`the screen does not show ${String(wanted)}:\n${text}`);
        },
        { timeout: 50_000, interval: 30 },
      );
    },
    async close() {
      await tmux('kill-server').catch(() => {});
    },
  };
}
