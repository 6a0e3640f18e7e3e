import type { Result } from '../../client/result.ts';
import { GatewayError } from '../../errors.ts';
import type { Context } from '../context.ts';
import { behind } from '../flags/behind.ts';
import type { ImagePlan } from './pictures.ts';

/** Flags that ask for a part of an answer, as they were typed. */
interface SelectFlags {
  field?: readonly string[];
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
    const { checkFile } = await import('../../images/output-check.ts');
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
  const { isPicturePlace } = await import('../../images/output-check.ts');
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
  const { startPayload } = await import('./payload.ts');
  const payload = await startPayload(context, { isMarkdown: false });
  await payload.write(code);
  await payload.end();
}
