import type { Result } from '../../client/result.ts';
import { GatewayError, usageError } from '../../errors.ts';
import type { Context } from '../context.ts';
import { behind } from '../flags/flag.ts';
import type { ImagePlan } from './pictures.ts';
import { isObject } from '../../json.ts';
import { closest } from '../../settings/closest.ts';
import { shellWord } from '../../shell-word.ts';
import { jsonLine } from '../../terminal/escape.ts';
import { fieldPathText } from '../flags/field.ts';

/** Flags that ask for a part of an answer, as they were typed. */
interface SelectFlags {
  field?: readonly string[] | undefined;
  code?: true;
  output?: string | undefined;
  force?: boolean | undefined;
  dryRun?: boolean | undefined;
}

/** What ends an answer that is complete: its code or its text is written where `--code` or `-o` says. */
type WriteAnswer = (result: Result) => Promise<void>;

/**
 * Notes what stdout gets in place of the answer, and checks the file that `-o` names for the text or the code. Throws
 * GatewayError usage.
 */
export async function select(flags: SelectFlags, context: Context): Promise<WriteAnswer> {
  const { field, code, force = false, dryRun } = flags;
  const { cwd } = context.io;
  const output = await textFile(flags, cwd);
  if (field !== undefined || code || output !== undefined)
    context.report.selected = { field, code, file: output !== undefined };
  if (output !== undefined) {
    const { checkFile } = await import('../../images/publish.ts');
    await checkFile(output, { cwd, force, dryRun }).catch(behind('-o: '));
  }
  if (!code && output === undefined) return async () => undefined;
  return async (result) => {
    const text = code ? await codeOf(result) : answerTexts(result).map(withLineEnd).join('---\n');
    if (output === undefined) return printCode(text, context);
    const { writeNewFile } = await import('./new-file.ts');
    await writeNewFile(output, (append) => append(text), { cwd, force });
    await context.ui.note(`${code ? 'code' : 'answer'} saved: ${output}`);
  };
}

/** The texts of a result as they are printed: those of all candidates, with the code that the service ran. */
export function answerTexts({ candidates }: Pick<Result, 'candidates'>): string[] {
  return candidates.map(({ text, markdown = text }) => markdown).filter((text) => text !== '');
}

/**
 * Where the pictures of a text go: `-o` names their place where it is a folder, a template or an image file. Beside a file
 * for the text they have its name.
 */
export async function picturesTo(flags: SelectFlags, { io }: Context): Promise<Pick<ImagePlan, 'output' | 'beside'>> {
  const { code, output } = flags;
  if (code || output === '-') return {};
  const file = await textFile(flags, io.cwd);
  return file === undefined ? { output } : { beside: file };
}

/** The file that `-o` names for the text, or with `--code` for the code. */
async function textFile({ code, output }: SelectFlags, cwd: string): Promise<string | undefined> {
  if (output === undefined || output === '-') return undefined;
  if (code) return output;
  const { isPicturePlace } = await import('../../images/publish.ts');
  return (await isPicturePlace(output, cwd)) ? undefined : output;
}

async function codeOf({ text }: Result): Promise<string> {
  const { codeBlocks } = await import('./code-blocks.ts');
  const blocks = codeBlocks(text);
  if (blocks.length > 0) return blocks.join('\n');
  throw new GatewayError('no-result', 'the answer has no fenced code block', {
    hint: 'say in the prompt that you want a code block',
    sent: 'yes',
    retryable: false,
  });
}

function withLineEnd(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`;
}

async function printCode(code: string, context: Context): Promise<void> {
  const { startPayload } = await import('./print.ts');
  const payload = await startPayload(context, { isMarkdown: false });
  await payload.write(code);
  await payload.end();
}

/** Whether stdout gets nothing while an answer comes: its end prints the document, one value of it, or the code alone. */
export function isPrintedAtEnd({ root, report }: Pick<Context, 'root' | 'report'>): boolean {
  return root.json === true || report.selected !== undefined;
}

/** The line that `--field` prints of a document; undefined where it has no such value. */
export function fieldLine(document: object, steps: readonly string[]): string | undefined {
  let value: unknown = document;
  for (const step of steps) value = valueAt(value, step);
  if (value === undefined) return undefined;
  if (typeof value !== 'string') return jsonLine(value);
  return value.endsWith('\n') ? value : `${value}\n`;
}

/** The value that was asked for is not there (exit 10). The hint has the nearest path that is. */
export function noSuchField(document: object, steps: readonly string[]): GatewayError {
  let known = 0;
  let value: unknown = document;
  for (let next = valueAt(value, steps[0] ?? ''); next !== undefined; next = valueAt(value, steps[known] ?? '')) {
    value = next;
    known++;
  }
  return new GatewayError('no-result', `the result has no value at ${fieldPathText(steps)}`, {
    hint: nearestHint(value, steps.slice(0, known), steps[known] ?? ''),
    sent: 'yes',
    retryable: false,
  });
}

function nearestHint(value: unknown, before: readonly string[], step: string): string {
  const names = keysOf(value);
  const path = before.length === 0 ? 'the result' : fieldPathText(before);
  if (before.length === 0 && step === 'answer') return 'the result has an answer only with --schema';
  if (names.length === 0) return `${path} holds nothing further`;
  if (Array.isArray(value))
    return `${path} has ${names.length} of them; the last is ${fieldPathText([...before, names.at(-1) ?? ''])}`;
  const near = closest(step, names);
  if (near === undefined) return `${path} has: ${names.join(', ')}`;
  return `the nearest that it has: --field ${shellWord(fieldPathText([...before, near]))}`;
}

function valueAt(value: unknown, step: string): unknown {
  if (Array.isArray(value)) return /^\d{1,9}$/.test(step) ? (value[Number(step)] as unknown) : undefined;
  return isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
}

/** Where a key has no value, the document does not have it. */
function keysOf(value: unknown): string[] {
  if (Array.isArray(value)) return [...value.keys()].map(String);
  return isObject(value) ? Object.keys(value).filter((key) => value[key] !== undefined) : [];
}

/** Flags of which one at most owns stdout. */
export interface StdoutFlags {
  dryRun?: true;
  curl?: true;
  raw?: true;
  jsonl?: true;
  field?: readonly string[];
  code?: true;
  output?: string | undefined;
}

/** Throws GatewayError usage when two flags want stdout. `--dry-run --json` is the one pair that goes together. */
export function checkStdoutOwner(flags: StdoutFlags, json: boolean): void {
  const owners = [
    flags.dryRun && '--dry-run',
    flags.curl && '--curl',
    flags.raw && '--raw',
    flags.jsonl && '--jsonl',
    flags.field && '--field',
    flags.code && (flags.output ?? '-') === '-' && '--code',
    flags.output === '-' && !flags.code && '-o -',
    json && !flags.dryRun && '--json',
  ].filter((owner) => typeof owner === 'string');
  if (owners.length > 1)
    throw usageError(`${owners.join(' and ')} both write to stdout`, `keep one of them: ${owners[0]}`);
}

/** Flags that mean nothing where the reply is only handed on. */
interface RawFlags {
  raw?: boolean | undefined;
  count?: number | undefined;
  output?: string | undefined;
  sidecar?: boolean | undefined;
  preview?: boolean | undefined;
  strict?: boolean | undefined;
}

/** Throws GatewayError usage for what `--raw` would silently leave undone. */
export function checkRaw(flags: RawFlags): void {
  if (!flags.raw) return;
  if ((flags.count ?? 1) > 1)
    throw usageError('--raw prints one reply, and -n asks for several', 'leave one of them out');
  const idle = (['output', 'sidecar', 'preview', 'strict'] as const).find((name) => flags[name] !== undefined);
  if (idle === undefined) return;
  const flag = idle === 'output' ? '-o' : `--${idle}`;
  throw usageError(`--raw writes no files, so ${flag} has nothing to do`, `leave one of them out: --raw or ${flag}`);
}
