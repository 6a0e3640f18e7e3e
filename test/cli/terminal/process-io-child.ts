// What the tests of process-io run in a process of its own: one act, by its first argument. It reports on stderr, for stdout is
// what is tested.
import { GatewayError } from '../../../src/library/errors.ts';
import { createProcessIo } from '../../../src/cli/terminal/process-io.ts';
import { readStdinText } from '../../../src/cli/input/prompt.ts';
import { startProgress } from '../../../src/cli/terminal/progress.ts';

const io = createProcessIo(process);
const tell = (value: unknown): Promise<void> => io.stderr.write(JSON.stringify(value) + '\n');
const failure = async (act: () => Promise<unknown>): Promise<string> => {
  try {
    await act();
    return 'none';
  } catch (error) {
    return error instanceof GatewayError ? `${error.class}: ${error.message}` : String(error);
  }
};
const count = Number(process.argv[3]);

const acts: Record<string, () => Promise<void>> = {
  kind: () => tell({ stdin: io.stdin.kind, stdout: io.stdout.isTTY, stderr: io.stderr.isTTY }),
  kindOut: () =>
    io.stdout.write(JSON.stringify({ stdin: io.stdin.kind, stdout: io.stdout.isTTY, stderr: io.stderr.isTTY })),
  write: async () => tell(await failure(() => io.stdout.write('x'.repeat(count)))),
  twice: async () =>
    tell([await failure(() => io.stdout.write('x'.repeat(count))), await failure(() => io.stdout.write('y'))]),
  endless: async () =>
    tell(
      await failure(async () => {
        for (;;) await io.stdout.write('x'.repeat(65536));
      }),
    ),
  stderr: async () => {
    for (let i = 0; i < 100; i++) await io.stderr.write('x'.repeat(65536));
    await io.stdout.write('done');
  },
  echo: async () =>
    io.stdout.write(await readStdinText(io.stdin.read(), { timeoutMs: 60000, onWait: () => undefined })),
  read: async () =>
    tell(await failure(() => readStdinText(io.stdin.read(), { timeoutMs: 60000, onWait: () => undefined }))),
  late: async () =>
    tell(await failure(() => readStdinText(io.stdin.read(), { timeoutMs: 50, onWait: () => undefined }))),
  first: async () => {
    for await (const chunk of io.stdin.read()) {
      await tell(String(chunk));
      break;
    }
  },
  spin: async () => {
    const progress = startProgress({
      io: { ...io, after: (ms, act) => (ms < 1000 && act(), () => undefined) },
      text: 'waiting',
      quiet: false,
    });
    await import('ora');
    await new Promise((resolve) => setImmediate(resolve));
    progress.stop();
    await io.stdout.write('done\n');
  },
};
void acts[process.argv[2] ?? '']?.();
