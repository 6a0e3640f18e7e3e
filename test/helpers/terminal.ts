import { EventEmitter, once } from 'node:events';
import { spawn } from '@lydell/node-pty';
import xterm from '@xterm/headless';
import { scratchFolder } from './scratch.ts';
import { bareEnv, bin } from './spawn.ts';

/** A program in a terminal, and what a person sees of it. */
export interface Terminal {
  /** All lines down to the last that is not empty, also those above the window; without blanks at their ends. */
  lines(): string[];
  /** Waits until the lines, joined by line feeds, hold the text. Rejects where the program ends before. */
  shows(text: string | RegExp): Promise<void>;
  type(text: string): void;
  resize(columns: number, rows: number): void;
  /** The exit code, when all that it wrote is on the screen. */
  readonly ended: Promise<number>;
  readonly cwd: string;
  /** Each time that the program asked the terminal to mark pastes, or not to. */
  readonly pastes: readonly boolean[];
  /** All that the program wrote, with its escape sequences. */
  written(): string;
}

interface TerminalOptions {
  columns?: number;
  rows?: number;
  env?: Record<string, string>;
}

/** A terminal emulator alone: what a person sees of what was written. */
export interface Screen {
  /** Resolves when it is drawn. */
  write(data: string | Uint8Array): Promise<void>;
  /** All lines down to the last that is not empty, also those above the window; without blanks at their ends. */
  lines(): string[];
  /** The same, but what the terminal broke at its edge is one line. */
  wholeLines(): string[];
  resize(columns: number, rows: number): void;
  /** Calls the listener where the window is erased from its corner on, which tmux keeps in its history. */
  onCleared(listener: () => void): void;
  readonly parser: xterm.Terminal['parser'];
  /** What it answers to questions about it. */
  onAnswer(listener: (data: string) => void): void;
}

/** Opens an emulator. With `convertEol`, a line feed begins a line, as it does behind a pseudo-terminal. */
export function openScreen(columns: number, rows: number, { convertEol = true } = {}): Screen {
  const screen = new xterm.Terminal({ cols: columns, rows, scrollback: 10_000, allowProposedApi: true, convertEol });
  function bufferLines(): { text: string; isWrapped: boolean }[] {
    const { active } = screen.buffer;
    const all = Array.from({ length: active.length }, (_, at) => {
      const line = active.getLine(at);
      return { text: line?.translateToString(true) ?? '', isWrapped: line?.isWrapped ?? false };
    });
    return all.slice(0, all.findLastIndex(({ text }) => text.trim() !== '') + 1);
  }
  return {
    write: (data) => new Promise((resolve) => screen.write(data, resolve)),
    lines: () => bufferLines().map(({ text }) => text.trimEnd()),
    wholeLines() {
      const whole: string[] = [];
      for (const { text, isWrapped } of bufferLines()) whole.push(isWrapped ? `${whole.pop() ?? ''}${text}` : text);
      return whole.map((line) => line.trimEnd());
    },
    resize: (next, height) => screen.resize(next, height),
    onCleared(listener) {
      screen.parser.registerCsiHandler({ final: 'J' }, () => {
        const { cursorX, cursorY } = screen.buffer.active;
        if (cursorX === 0 && cursorY === 0) listener();
        return false;
      });
    },
    parser: screen.parser,
    onAnswer: (listener) => void screen.onData(listener),
  };
}

/** Runs the built program in a pseudo-terminal, in a new folder; what it writes goes to a terminal emulator. */
export function openTerminal(argv: readonly string[], options: TerminalOptions = {}): Terminal {
  return openProgram(process.execPath, [bin, ...argv], options);
}

/** Runs a bash script with job control in a pseudo-terminal; `$BIN` is the built program. */
export function openShell(script: string, options: TerminalOptions = {}): Terminal {
  return openProgram('bash', ['-c', `set -m\n${script}`], options);
}

function openProgram(
  program: string,
  argv: readonly string[],
  { columns = 80, rows = 24, env = {} }: TerminalOptions,
): Terminal {
  const cwd = scratchFolder();
  const screen = openScreen(columns, rows, { convertEol: false });
  const changes = new EventEmitter();
  const child = spawn(program, [...argv], {
    cols: columns,
    rows,
    cwd,
    env: bareEnv(cwd, { TERM: 'xterm-256color', ...env }),
  });
  const pastes: boolean[] = [];
  for (const [final, isOn] of [
    ['h', true],
    ['l', false],
  ] as const)
    screen.parser.registerCsiHandler({ prefix: '?', final }, (modes) => {
      if (modes.includes(2004)) pastes.push(isOn);
      return false;
    });
  let written = '';
  let isOver = false;
  /** The emulator draws in order. */
  let drawn: Promise<void> = Promise.resolve();
  child.onData((data) => {
    written += data;
    drawn = screen.write(data).then(() => void changes.emit('change'));
  });
  screen.onAnswer((data) => child.write(data));
  const ended = new Promise<number>((resolve) => {
    child.onExit(({ exitCode, signal }) => {
      void drawn.then(() => {
        isOver = true;
        changes.emit('change');
        resolve(signal ? 128 + signal : exitCode);
      });
    });
  });
  const { lines } = screen;
  return {
    lines,
    async shows(text) {
      for (;;) {
        const now = lines().join('\n');
        if (typeof text === 'string' ? now.includes(text) : text.test(now)) return;
        if (isOver) throw new Error(`the program ended, and the screen does not show ${String(text)}:\n${now}`);
        await once(changes, 'change');
      }
    },
    type: (text) => child.write(text),
    resize(next, height) {
      screen.resize(next, height);
      child.resize(next, height);
    },
    ended,
    cwd,
    pastes,
    written: () => written,
  };
}
