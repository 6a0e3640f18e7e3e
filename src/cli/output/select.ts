import { GatewayError } from '../../errors.ts';
import type { Context } from '../context.ts';
import { behind } from '../flags/behind.ts';

/** Flags that ask for a part of an answer, as they were typed. */
interface SelectFlags {
  field?: readonly string[];
  code?: true;
  output?: string | undefined;
  force?: boolean | undefined;
  dryRun?: boolean | undefined;
}

/**
 * Notes what stdout gets in place of the answer, and checks the file that `--code` writes. Returns what ends an answer that is
 * complete: its code is written; without `--code` nothing happens. Throws GatewayError usage.
 */
export async function select(flags: SelectFlags, context: Context): Promise<(text: string) => Promise<void>> {
  const { field, code, output = '-', force = false, dryRun } = flags;
  if (field !== undefined || code) context.report.selected = { field, code };
  if (!code) return async () => undefined;
  if (output !== '-') {
    const { checkFile } = await import('../../images/output-check.ts');
    await checkFile(output, { cwd: context.io.cwd, force, dryRun }).catch(behind('-o: '));
  }
  return (text) => writeCode(text, { output, force }, context);
}

/** Where pictures go: with `--code`, `-o` names the file for the code. */
export function picturesTo({ code, output }: SelectFlags): string | undefined {
  return code ? undefined : output;
}

async function writeCode(
  text: string,
  { output, force }: { output: string; force: boolean },
  context: Context,
): Promise<void> {
  const { codeBlocks } = await import('./code-blocks.ts');
  const blocks = codeBlocks(text);
  if (blocks.length === 0)
    throw new GatewayError('no-result', 'the answer has no fenced code block', {
      hint: 'say in the prompt that you want a code block',
      sent: 'yes',
      retryable: false,
    });
  const code = blocks.join('\n');
  if (output === '-') return printCode(code, context);
  const { writeNewFile } = await import('./new-file.ts');
  await writeNewFile(output, (append) => append(code), { cwd: context.io.cwd, force });
  await context.ui.note(`code saved: ${output}`);
}

async function printCode(code: string, context: Context): Promise<void> {
  const { startPayload } = await import('./payload.ts');
  const payload = await startPayload(context, { isMarkdown: false });
  await payload.write(code);
  await payload.end();
}
