import type { Counts } from '../../batch/types.ts';

/** What to type to get the rest of a batch that is not done. */
export function nextStep({ failed, unknown, pending }: Counts): string {
  if (pending > 0) return 'run the same command again: it goes on where it stopped';
  const flags = [failed > 0 && '--retry-failed', unknown > 0 && '--retry-unknown'].filter(Boolean);
  return `to send them again: the same command with ${flags.join(' ')}`;
}
