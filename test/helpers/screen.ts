import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { removeFolder } from './scratch.ts';
import { bareEnv } from './spawn.ts';
import { isFull } from './full.ts';

/** A real terminal, drawn by tmux, with one program in it. */
export interface Screen {
  /** Types text as it is. */
  type(text: string): void;
  /** Presses keys by tmux's names: `Tab`, `Enter`, `C-c`. */
  press(...keys: string[]): void;
  /** Resolves with the screen's text once it holds this. */
  shows(wanted: string | RegExp): Promise<string>;
}

/** Whether a tool is on the path. */
export function hasTool(name: string): boolean {
  try {
    execFileSync('bash', ['-c', `command -v ${name}`], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Tests that need a tool are skipped without it, by name; the full tests demand it. */
export function lacks(...tools: string[]): boolean {
  return !isFull && !tools.every(hasTool);
}

/** Opens a terminal of 100 × 30 in a bare environment; it is closed after the test. */
export function openScreen(command: string, { env = {}, cwd }: { env?: Record<string, string>; cwd: string }): Screen {
  const home = mkdtempSync(join(tmpdir(), 'gateway-cli-screen-'));
  const socket = join(home, 'tmux');
  writeFileSync(join(home, 'tmux.conf'), 'set -g status off\nset -g escape-time 0\n');
  const tmux = (...argv: string[]): string =>
    execFileSync('tmux', ['-S', socket, '-f', join(home, 'tmux.conf'), ...argv], {
      encoding: 'utf8',
      env: { ...bareEnv(home, env), TERM: 'xterm', HISTFILE: '/dev/null' },
      cwd,
    });
  tmux('new-session', '-d', '-x', '100', '-y', '30', command);
  onTestFinished(() => {
    try {
      tmux('kill-server');
    } catch {
      // It ended with its program.
    }
    removeFolder(home);
  });
  return {
    type: (text) => void tmux('send-keys', '-l', '--', text),
    press: (...keys) => void tmux('send-keys', ...keys),
    async shows(wanted) {
      const look = (): string => tmux('capture-pane', '-p');
      await expect.poll(look, { timeout: 50_000, interval: 50 }).toMatch(wanted);
      return look();
    },
  };
}
