import type { Result, Source } from '../../library/index.ts';
import { escapeLine } from '../terminal/escape.ts';
import type { AnswerContext } from '../context.ts';
import { isPrintedAtEnd } from './print.ts';

/** Flags of the sources under an answer. */
interface FootnoteFlags {
  /** `--sources`, or false by `--no-sources`; undefined: on terminals. */
  sources?: boolean | undefined;
}

/** Prints the sources of an answer that was printed before: on a terminal, or where `--sources` asks for it. */
export async function printFootnotes(
  { sources }: Pick<Result, 'sources'>,
  flags: FootnoteFlags,
  context: AnswerContext,
): Promise<void> {
  const { stdout } = context.io;
  if (sources === undefined || isPrintedAtEnd(context) || !(flags.sources ?? stdout.isTTY)) return;
  await stdout.write(`\n${renderFootnotes(sources)}`);
}

/**
 * `[1] title  url`: the sources that the answer cites, by its own numbers if it has some; if it cites none, the pages that its
 * searches found.
 */
export function renderFootnotes(sources: readonly Source[]): string {
  const cited = sources.filter((source) => source.cited);
  const shown = cited.length > 0 ? cited : sources;
  return shown
    .map(({ mark, title, url, page }, at) => {
      const place = url ?? (page === undefined ? undefined : `page ${page}`);
      const words = [title, place].filter((word) => word !== undefined);
      return `${escapeLine([mark ?? `[${at + 1}]`, words.join('  ')].join(' '))}\n`;
    })
    .join('');
}
