import type { Counts } from '../../batch/types.ts';

/** What to type to get the rest of a batch that is not done. Where its limit of tokens is spent, nothing goes out under it. */
export function nextStep({ failed, unknown, pending }: Counts, isSpent: boolean): string {
  const limit = 'a greater --max-tokens-total';
  if (pending > 0)
    return isSpent
      ? `to go on: the same command with ${limit}`
      : 'run the same command again: it goes on where it stopped';
  const flags = [failed > 0 && '--retry-failed', unknown > 0 && '--retry-unknown'].filter(Boolean).join(' ');
  return `to send them again: the same command with ${flags}${isSpent ? ` and ${limit}` : ''}`;
}

/** Whoever pays again for what is unknown shall know that its reply may be there. */
export async function tellKept({ unknown }: Counts, beganAt: number | undefined): Promise<string | undefined> {
  if (unknown === 0 || beganAt === undefined) return undefined;
  const { isReplyKept } = await import('../../cli/run/kept-files.ts');
  if (!(await isReplyKept(beganAt))) return undefined;
  return 'replies that could not be written were kept since this batch began: gateway-cli recover lists them';
}
