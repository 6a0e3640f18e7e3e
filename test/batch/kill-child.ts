// A batch in a process of its own that kills itself at one step of one job: bundled and started by kill.test.ts.
import process from 'node:process';
import { runBatch } from '../../src/commands/batch-run.ts';
import type { Context } from '../../src/commands/context.ts';
import { emptyReport } from '../../src/commands/document.ts';
import { createStdin } from '../../src/commands/stdin.ts';
import { createUi } from '../../src/commands/ui.ts';
import { createProcessIo } from '../../src/terminal/process-io.ts';

const [step, nth = '1', ...flags] = process.argv.slice(2);
const io = createProcessIo(process);
const report = emptyReport('batch run');
const context: Context = {
  io,
  signal: new AbortController().signal,
  patience: { ms: 2000 },
  root: {},
  ui: createUi(io, { quiet: true }, report),
  stdin: createStdin(io),
  report,
  atEnd: () => undefined,
};
let seen = 0;
const hooks = {
  step(name: string) {
    if (name === step && ++seen === Number(nth)) process.kill(process.pid, 'SIGKILL');
  },
};
await runBatch(
  ['jobs.jsonl'],
  { output: 'out', concurrency: 4, ...(flags.includes('unknown') && { retryUnknown: true }) },
  context,
  hooks,
);
