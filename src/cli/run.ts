import { type Command, CommanderError } from 'commander';
import { buildProgram, type CommanderHooks, isShown, refuseOtherDash, shownDocument, throwParsed } from './cli.ts';
import { findTypedCommand, getCommandName, helpAsFlag } from './command-words.ts';
import type { Action, CommandEnd, Context, GracePeriod, Report, RootOptions } from './context.ts';
import { fieldLine, missingField, ownDocument, resultDocument } from './output/document.ts';
import { createUi, noSecrets } from './output/log.ts';
import { emptyOutcome, getAttempts } from './output/outcome.ts';
import { createStdin } from './input/stdin.ts';
import { endSignals, exitCodes, type GatewayError, toGatewayError } from '../library/index.ts';
import { escapeForTerminal, jsonLine, writeEscaped } from './terminal/escape.ts';
import { githubErrorLine } from './terminal/ci-guard.ts';
import { formatError, sanitizeOutput, tolerateFailure, wrapForStderr } from './terminal/output.ts';
import { createStyle, wantsColor } from './terminal/style.ts';
import type { Io } from './terminal/io.ts';

/** The ways by which a run is ended from outside. */
export interface EndSignals {
  signal: AbortSignal;
  gracePeriod: GracePeriod;
  /** An unhandled rejection: a bug, whatever the run returns. */
  bug?: { value: unknown } | undefined;
}

/** The end of a run. */
interface ProgramEnd {
  exitCode: number;
  error: GatewayError | undefined;
}

/** The state of a run: the facts that are reported with an error at any moment. */
interface RunState {
  argv: readonly string[];
  io: Io;
  ending: EndSignals;
  /** Known when argv is parsed. */
  command?: string;
  warnings: readonly string[];
  /** The end of the command; empty while it runs. */
  ended: CommandEnd;
  root: RootOptions;
  redaction: typeof noSecrets;
}

/** Runs the program once and prints all of its output, without touching the process. Never throws. */
export async function runProgram(argv: readonly string[], bare: Io, ending: EndSignals): Promise<ProgramEnd> {
  const { stdout, stderr, env } = bare;
  const io = { ...bare, stdout: sanitizeOutput(stdout, env), stderr: sanitizeOutput(stderr, env) };
  const started = io.elapsed();
  const run: RunState = {
    argv,
    io,
    ending,
    warnings: [],
    ended: {},
    root: rootBeforeParsing(argv),
    redaction: noSecrets,
  };
  const thrown = (await catchError(() => parseAndAct(run))) ?? ending.bug;
  let error = thrown === undefined ? undefined : toGatewayError(thrown.value);
  if ((run.root.json || run.ended.selected?.field) && !run.ended.isPrinted) {
    const durationMs = io.elapsed() - started;
    const unprinted = await catchError(() => printDocument(run, error, durationMs));
    if (unprinted) error ??= await saveLostDocument(toGatewayError(unprinted.value), run);
  }
  if (error) await catchError(() => printError(error as GatewayError, run));
  return { exitCode: error?.exitCode ?? run.ended.exitCode ?? exitCodes.ok.code, error };
}

/** Runs a body and returns the value that it throws. */
async function catchError(body: () => Promise<void>): Promise<{ value: unknown } | undefined> {
  try {
    await body();
    return undefined;
  } catch (value) {
    return { value };
  }
}

async function parseAndAct(run: RunState): Promise<void> {
  const { argv, io } = run;
  const words = helpAsFlag(argv);
  const written = { out: '', err: '' };
  const hooks: CommanderHooks = {
    get columns() {
      return io.stdout.columns;
    },
    isColored: (stream) => wantsHelpColors(io, io[stream], argv),
    out: (text) => void (written.out += text),
    err: (text) => void (written.err += text),
    async act(action, command) {
      run.root = rootOptions(command);
      await refuseOtherDash(words, command);
      await runAction(action, command, run);
    },
  };
  const program = await buildProgram(words, hooks);
  const thrown = await catchError(async () => void (await program.parseAsync(words, { from: 'user' })));
  if (run.root.json && thrown?.value instanceof CommanderError && isShown(thrown.value)) {
    run.ended = { document: shownDocument(thrown.value, written.out) };
    written.out = '';
  }
  if (written.out !== '') await io.stdout.write(written.out);
  if (written.err !== '') await io.stderr.write(written.err);
  if (thrown) await throwParsed(thrown.value, words);
}

/** Runs a command, then its cleanups, the last one first. The error of a cleanup never hides that of the command. */
async function runAction(action: Action, command: Command, run: RunState): Promise<void> {
  const { io, root } = run;
  const { signal, gracePeriod } = run.ending;
  const name = getCommandName(command);
  run.command = name;
  const ui = createUi(io, root);
  run.redaction = ui;
  run.warnings = ui.warnings;
  const stdin = createStdin(io, { note: (text) => void ui.notice(text) });
  const stdout = tolerateFailure(io.stdout, signal);
  const cleanups: (() => Promise<void>)[] = [];
  const atEnd: Context['atEnd'] = (cleanup) => void cleanups.unshift(cleanup);
  const context = { command: name, argv: run.argv, io: { ...io, stdout }, signal, gracePeriod, root, ui, stdin, atEnd };
  const flags = command.opts();
  try {
    const thrown = await catchError(async () => {
      run.ended = (await action(context, command.args, flags)) ?? {};
      if (run.ended.error !== undefined) throw run.ended.error;
    });
    const failure = run.ended.outcome?.unsaved.failure ?? stdout.failure;
    if (thrown === undefined && failure === undefined) return;
    const report = getReport(run, thrown?.value);
    const explained = thrown && { value: await explain(thrown.value, report, { root, flags }) };
    const { saveLost } = await import('./run/recovery.ts');
    const lost = await saveLost(failure, explained, { report, io: context.io, ui });
    run.ended = { ...run.ended, kept: lost.kept };
    if (lost.thrown) throw lost.thrown.value;
  } finally {
    for (const cleanup of cleanups) await catchError(cleanup);
  }
}

/** Adds to an error of an action the hint that its reply gives. */
async function explain(
  value: unknown,
  report: Report,
  { root, flags }: { root: RootOptions; flags: Readonly<Record<string, unknown>> },
): Promise<unknown> {
  const { withReplyHint } = await import('./run/failure-hint.ts');
  return withReplyHint(value, { report, root }, flags['raw'] === true);
}

/** The facts of a run for its document: of the answer of a model, or whether another command sent anything. */
function getReport({ argv, command, warnings, ended }: RunState, error?: unknown): Report {
  const { selected, tags, kept } = ended;
  const outcome = ended.outcome ?? { ...emptyOutcome, attempts: getAttempts(error) };
  return { command: command ?? findTypedCommand(argv), outcome, warnings, selected, tags, kept };
}

/** The document could not be written to stdout, or it lacks the value of `--field`: saves the answer. */
async function saveLostDocument(failure: GatewayError, run: RunState): Promise<GatewayError> {
  if (failure.class !== 'not-written' && failure.class !== 'no-result') return failure;
  const { saveForRecovery } = await import('./run/recovery.ts');
  const { outcome, ...known } = getReport(run);
  const text = failure.class === 'not-written' || (outcome.reply?.text ?? '') !== '';
  const report = { ...known, outcome: { ...outcome, unsaved: { ...outcome.unsaved, text } } };
  return (await saveForRecovery(failure, { ...run, report })).error;
}

/** Root flags can come before or after the command's name, and between the words of a group. */
function rootOptions(command: Command): RootOptions {
  const found: RootOptions[] = [];
  for (let at: Command | null = command; at; at = at.parent) found.unshift(at.opts<RootOptions>());
  const merged = Object.fromEntries(found.flatMap((options) => Object.entries(options))) as RootOptions;
  const isOn = (flag: 'color' | 'stdin'): boolean => found.every((options) => options[flag] !== false);
  return { ...merged, color: isOn('color'), stdin: isOn('stdin') };
}

/** Whether help is coloured: never in a JSON document. */
function wantsHelpColors({ env }: Io, { isTTY }: Io['stdout'], argv: readonly string[]): boolean {
  const { color, json } = rootBeforeParsing(argv);
  return json !== true && wantsColor({ env, isTTY, color });
}

/** The root flags that matter before argv is parsed, or if that fails. */
function rootBeforeParsing(argv: readonly string[]): RootOptions {
  const end = argv.indexOf('--');
  const words = new Set(argv.slice(0, end < 0 ? undefined : end));
  return { ...(words.has('--json') && { json: true }), color: !words.has('--no-color') };
}

async function printDocument(run: RunState, error: GatewayError | undefined, durationMs: number): Promise<void> {
  const { io, ended, redaction } = run;
  const report = getReport(run, error);
  if (error?.class === 'closed') return;
  const document =
    ended.document === undefined
      ? resultDocument(report, { error, durationMs, redaction })
      : ownDocument(ended.document, report, { error, redaction });
  const { field } = report.selected ?? {};
  const line = field === undefined ? jsonLine(document) : fieldLine(document, field);
  if (line !== undefined) await writeEscaped(io.stdout, line);
  else if (error === undefined) throw missingField(document, field ?? []);
}

async function printError(error: GatewayError, { io, root, redaction: { redact } }: RunState): Promise<void> {
  // The user pressed Ctrl-C, the shell reports the signal, or stdout is closed.
  if (endSignals.has(error.class)) return;
  const style = createStyle({ env: io.env, isTTY: io.stderr.isTTY, color: root.color });
  const text = formatError(error, redact, await style.failure(error.class));
  await io.stderr.write(`${await wrapForStderr(text, io)}\n`);
  if (root.debug && error.stack) await io.stderr.write(`${escapeForTerminal(redact(error.stack))}\n`);
  if (io.env['GITHUB_ACTIONS'] !== 'true') return;
  const line = githubErrorLine(redact(error.message), `gateway-cli ${error.class}`);
  // The line is written as bytes, so that it is not escaped: GitHub's runner must read it as a command.
  await io.stderr.write(Buffer.from(`${line}\n`));
}
