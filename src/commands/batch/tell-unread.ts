import type { Arranged } from '../../batch/arrange-results.ts';
import { asideOf } from '../../files/aside.ts';
import { countOf } from '../../batch/summary.ts';
import { batchFiles } from '../../batch/types.ts';
import type { Context } from '../../cli/context.ts';

const { results, journal } = batchFiles;

/** What of a batch's own files cannot be read: nothing here writes such lines, so a crash or somebody else did. */
export async function tellUnread({ unread, torn }: { unread: number; torn?: boolean }, { ui }: Context): Promise<void> {
  if (torn) await ui.warn(`the last line of ${journal} is torn; a run keeps it in ${asideOf(journal)}`);
  if (unread === 0) return;
  const them = unread === 1 ? 'it' : 'them';
  await ui.warn(`${countOf(unread, 'line')} of ${results} cannot be read; a run keeps ${them} in ${asideOf(results)}`);
}

/** Results that are gone and results that are nobody's: nothing here loses or invents them, so something else did. */
export async function tellArranged({ missing, strangers }: Arranged, { ui }: Context): Promise<void> {
  const changed = 'it was changed from outside';
  if (strangers > 0) {
    const are = strangers === 1 ? 'is' : 'are';
    const what = `${countOf(strangers, 'line')} of ${results} ${are} of no job of this batch: ${changed}`;
    await ui.warn(`${what}, and ${asideOf(results)} keeps ${strangers === 1 ? 'it' : 'them'}`);
  }
  if (missing === 0) return;
  const have = missing === 1 ? 'is done, but has' : 'are done, but have';
  await ui.warn(`${countOf(missing, 'job')} ${have} no line in ${results}: ${changed}`);
}
