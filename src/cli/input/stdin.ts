import { usageError } from '../../errors.ts';
import type { Stdin } from '../context.ts';
import type { Io } from '../../terminal/io.ts';
import { type After, afterOnClock } from '../../terminal/progress.ts';

/** Who is told that stdin is waited for, and by which clock. */
export interface StdinNotes {
  note: (text: string) => void;
  after?: After;
}

const noteMs = 2000;

/** Wraps the process's stdin so that two flags cannot both read it. */
export function createStdin(io: Pick<Io, 'stdin'>, notes?: StdinNotes): Stdin {
  let claimedBy: string | undefined;
  let reserved = false;
  const take = (by: string): void => {
    if (claimedBy !== undefined && !(reserved && claimedBy === by)) {
      throw usageError(
        `stdin is read by ${claimedBy} already, so ${by} - cannot read it too`,
        'put one of them into a file',
      );
    }
    claimedBy = by;
  };
  return {
    get claimedBy() {
      return claimedBy;
    },
    claim(by, { quiet } = { quiet: false }) {
      take(by);
      reserved = false;
      const input = io.stdin.read();
      return quiet || !notes ? input : telling(input, { ...notes, isTerminal: io.stdin.kind === 'terminal' });
    },
    reserve(by) {
      take(by);
      reserved = true;
    },
  };
}

/** The same bytes; who waits for the first of them is told. */
function telling(
  input: AsyncIterable<Uint8Array>,
  { note, after = afterOnClock, isTerminal }: StdinNotes & { isTerminal: boolean },
): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      const source = input[Symbol.asyncIterator]();
      let callOff: (() => void) | undefined;
      if (isTerminal) note('reading stdin; end with Ctrl-D');
      else callOff = after(noteMs, () => note('waiting for stdin'));
      return {
        async next() {
          return source.next().finally(() => callOff?.());
        },
        async return() {
          callOff?.();
          return (await source.return?.()) ?? { done: true, value: undefined };
        },
      };
    },
  };
}
