import { join } from 'node:path';
import { usageError } from '../../src/library/errors.ts';
import { runProgram } from '../../src/cli/run.ts';
import type { Dialog } from '../../src/cli/terminal/dialog.ts';
import type { InputKind, Io, Output } from '../../src/cli/terminal/io.ts';
import { afterOnClock } from '../../src/library/clock.ts';
import { scratchFolder } from './scratch.ts';

/** What a test gives a run; the rest is a bare environment without terminal, network or key. */
export interface RunOptions {
  env?: Record<string, string>;
  /** Bytes on stdin, all at once or as they come; the kind is `pipe` then, unless said otherwise. */
  stdin?: string | Uint8Array | AsyncIterable<Uint8Array>;
  kind?: InputKind;
  /** Which of the output streams are terminals. */
  tty?: { stdout?: boolean; stderr?: boolean };
  /** How wide the terminals are. */
  columns?: number;
  rows?: number;
  cwd?: string;
  signal?: AbortSignal;
  clock?: Pick<Io, 'elapsed' | 'after'>;
  /** Told of every write to stdout, as it happens; the program waits for what it returns. */
  onStdout?: (text: string) => unknown;
  /** What a person answers, or what gives the answer when it is asked for; then stdin is a terminal. The questions are in `stderr`, as on a screen. */
  answers?: readonly (string | (() => string))[];
  /** The line editor of a conversation; then stdin is a terminal. */
  openEditor?: Io['openEditor'];
}

/** How a run ended, and all that it printed. */
export interface Ran {
  code: number;
  stdout: string;
  stdoutBytes: Buffer;
  stderr: string;
  cwd: string;
}

/** Runs the program inside this process, as `gateway-cli <argv>` would. */
export async function run(argv: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const cwd = options.cwd ?? scratchFolder();
  const stdout = collect(options.tty?.stdout === true, options);
  const stderr = collect(options.tty?.stderr === true, { ...options, onStdout: undefined });
  const answers = options.answers && [...options.answers];
  const io: Io = {
    stdin: {
      kind:
        options.kind ??
        (options.answers || options.openEditor ? 'terminal' : options.stdin === undefined ? 'null' : 'pipe'),
      read: () => input(options.stdin),
    },
    stdout: stdout.output,
    stderr: stderr.output,
    env: { GATEWAY_CONFIG: join(cwd, 'no-config.json'), ...options.env },
    cwd,
    platform: 'linux',
    openEditor: options.openEditor,
    openDialog: answers && (async () => dialog(answers, stderr.output)),
    now: () => Date.now(),
    elapsed: options.clock?.elapsed ?? (() => performance.now()),
    after: options.clock?.after ?? afterOnClock,
    random: () => 0.5,
  };
  const { exitCode } = await runProgram(argv, io, {
    signal: options.signal ?? new AbortController().signal,
    gracePeriod: { ms: 0 },
  });
  return { code: exitCode, stdout: stdout.text(), stdoutBytes: stdout.bytes(), stderr: stderr.text(), cwd };
}

function dialog(answers: (string | (() => string))[], screen: Output): Dialog {
  return {
    async ask(question) {
      await screen.write(`${question}\n`);
      const next = answers.shift();
      const answer = typeof next === 'function' ? next() : next;
      if (answer === undefined) throw usageError('the input ended before every question was answered');
      return answer;
    },
    close: () => undefined,
  };
}

async function* input(content: NonNullable<RunOptions['stdin']> = ''): AsyncGenerator<Uint8Array> {
  if (typeof content === 'string' || content instanceof Uint8Array) yield Buffer.from(content);
  else yield* content;
}

function collect(
  isTTY: boolean,
  {
    columns = 80,
    rows,
    onStdout: onWrite,
  }: { columns?: number; rows?: number; onStdout?: RunOptions['onStdout'] | undefined },
): { output: Output; text(): string; bytes(): Buffer } {
  const chunks: Buffer[] = [];
  const bytes = () => Buffer.concat(chunks);
  const output: Output = {
    isTTY,
    columns,
    rows,
    async write(chunk) {
      chunks.push(Buffer.from(chunk));
      await onWrite?.(Buffer.from(chunk).toString('utf8'));
    },
  };
  return { output, bytes, text: () => bytes().toString('utf8') };
}
