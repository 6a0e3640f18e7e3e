import { createHash } from 'node:crypto';
import { checkFile, GatewayError, isMediaPlace, type Result, writeNewFile } from '../../library/index.ts';
import { writeEscaped } from '../terminal/escape.ts';
import type { Context, Selection, WriteAnswer } from '../context.ts';
import { prefixUsageError } from '../flags/flag.ts';
import { answerTexts, joinAnswerTexts } from './print.ts';
import type { ImagePlan } from './save-images.ts';
import { renderFootnotes } from './footnotes.ts';

/** Flags that select a part of an answer, or a file for it, as they were typed. */
export interface AnswerFlags {
  field?: readonly string[] | undefined;
  sources?: boolean | undefined;
  code?: true | undefined;
  output?: string | undefined;
  force?: boolean | undefined;
  dryRun?: boolean | undefined;
}

/**
 * Checks the file of `-o`. Returns the part of the answer for stdout or the file, and the function that writes the code or the
 * text of a complete answer there. Throws GatewayError usage.
 */
export async function prepareAnswerFile(
  flags: AnswerFlags,
  context: Context,
): Promise<{ selected: Selection; writeFile: WriteAnswer } | undefined> {
  const { field, code, force = false, dryRun } = flags;
  const { cwd } = context.io;
  const output = await answerFile(flags, cwd);
  if (!code && output === undefined) return undefined;
  if (output !== undefined) {
    await checkFile(output, { cwd, force, dryRun }).catch(prefixUsageError('-o: '));
  }
  const writeFile: WriteAnswer = async (result, json) => {
    const notes = flags.sources && result.sources && json === undefined ? `\n${renderFootnotes(result.sources)}` : '';
    const text = code ? await extractCode(result) : joinAnswerTexts(answerTexts(result, json)) + notes;
    if (output === undefined) {
      await writeEscaped(context.io.stdout, text);
      return undefined;
    }
    await writeNewFile(output, (append) => append(text), { cwd, force });
    const sha256 = createHash('sha256').update(text).digest('hex');
    await context.ui.notice(`${code ? 'code' : 'answer'} saved: ${output}`);
    return { path: output, mimeType: 'text/plain', bytes: Buffer.byteLength(text), sha256, candidate: 0 };
  };
  return { selected: { field, code, file: output }, writeFile };
}

/**
 * The place of the images of a text: `-o` if it is a folder, a template or the file of an image or a sound; otherwise beside the
 * file of the text.
 */
export async function planTextImages(
  flags: AnswerFlags,
  { io }: Context,
): Promise<Pick<ImagePlan, 'output' | 'beside'>> {
  const { code, output } = flags;
  if (code || output === '-') return {};
  const file = await answerFile(flags, io.cwd);
  return file === undefined ? { output } : { beside: file };
}

/** The file of `-o` for the text, or with `--code` for the code. */
async function answerFile({ code, output }: AnswerFlags, cwd: string): Promise<string | undefined> {
  if (output === undefined || output === '-') return undefined;
  if (code) return output;
  return (await isMediaPlace(output, cwd)) ? undefined : output;
}

async function extractCode({ text }: Result): Promise<string> {
  const { codeBlocks } = await import('../terminal/code-blocks.ts');
  const blocks = codeBlocks(text);
  if (blocks.length > 0) return blocks.join('\n');
  throw new GatewayError('no-result', 'the answer has no fenced code block', {
    hint: 'say in the prompt that you want a code block',
    sent: 'yes',
    retryable: false,
  });
}
