import { type ErrorClass, GatewayError } from './library/index.ts';
import { createProcessIo, endProcess, type EndSignals, runProgram } from './cli/index.ts';

const classes = {
  SIGINT: 'interrupted',
  SIGTERM: 'terminated',
  SIGHUP: 'hangup',
  SIGQUIT: 'quit',
} as const satisfies Partial<Record<NodeJS.Signals, ErrorClass>>;

type EndingSignal = keyof typeof classes;

// Node 20 compiles undici's WebAssembly parser a second time: 55 ms, 34 MiB and a held exit for a run of a second.
if (process.versions.v8.startsWith('11.3.')) {
  const { setFlagsFromString } = process.getBuiltinModule('node:v8');
  for (const flag of ['--no-wasm-dynamic-tiering', '--no-wasm-tier-up']) setFlagsFromString(flag);
}

// With an empty HOME, every path in the home folder would be one in the current folder.
if (process.env['HOME'] === '') delete process.env['HOME'];

const abort = new AbortController();

const ending: EndSignals = { signal: abort.signal, gracePeriod: { ms: 2000 } };

let received: EndingSignal | undefined;

/**
 * The first signal ends the work in order, a second one of any kind at once. But SIGHUP comes several times when a terminal is
 * closed: by the kernel, by the shell, and at the end of its input.
 */
function onSignal(signal: EndingSignal): void {
  if (received === 'SIGHUP' && signal === 'SIGHUP') return;
  if (received !== undefined) return stopAtOnce(signal);
  received = signal;
  abort.abort(new GatewayError(classes[signal], `ended by ${signal}`));
  setTimeout(() => stopAtOnce(signal), ending.gracePeriod.ms).unref();
}

function stopAtOnce(signal: EndingSignal): void {
  const { lastWords } = ending.gracePeriod;
  if (lastWords) process.stderr.write(`${lastWords()}\n`);
  dieBy(signal);
}

/** Dies by the signal itself, so that the shell sees a signal and not an exit code. */
function dieBy(signal: EndingSignal): void {
  for (const name of Object.keys(classes)) process.removeAllListeners(name);
  process.kill(process.pid, signal);
}

for (const signal of Object.keys(classes) as EndingSignal[]) process.on(signal, () => onSignal(signal));

// An unhandled rejection: the work ends in order, and the run reports it like any other bug, redacted.
process.on('uncaughtException', (value) => {
  if (ending.bug !== undefined) return;
  ending.bug = { value };
  // An exception before the run is reported by the exit code alone.
  process.exitCode = 1;
  abort.abort(value);
  setTimeout(() => process.exit(1), 2000).unref();
});

void runProgram(process.argv.slice(2), createProcessIo(process), ending).then((ended) => {
  process.exitCode = ended.exitCode;
  if (received !== undefined) return dieBy(received);
  endProcess(process);
});
