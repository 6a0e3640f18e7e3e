import { type After, afterOnClock, usageError } from '../../library/index.ts';
import type { Io } from '../terminal/io.ts';
import type { Stdin } from '../context.ts';

/** How to note that the program waits for stdin. */
interface StdinNotes {
  note: (text: string) => void;
  after?: After;
}

/** Wraps the process's stdin so that two flags cannot both read it. */
export function createStdin(io: Pick<Io, 'stdin'>, notes?: StdinNotes): Stdin {
  let claimedBy: string | undefined;
  let reserved = false;
  const takeStdin = (by: string): void => {
    if (claimedBy !== undefined && !(reserved && claimedBy === by))
      throw usageError(
        `stdin is read by ${claimedBy} already, so ${by} - cannot read it too`,
        'put one of them into a file',
      );
    claimedBy = by;
  };
  return {
    get claimedBy() {
      return claimedBy;
    },
    claim(by, { quiet } = { quiet: false }) {
      takeStdin(by);
      reserved = false;
      const input = io.stdin.read();
      return quiet || !notes ? input : withNotes(input, { ...notes, isTerminal: io.stdin.kind === 'terminal' });
    },
    reserve(by) {
      takeStdin(by);
      reserved = true;
    },
  };
}

/** Passes the bytes on, and notes a wait for the first one. */
function withNotes(
  input: AsyncIterable<Uint8Array>,
  { note, after = afterOnClock, isTerminal }: StdinNotes & { isTerminal: boolean },
): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      const source = input[Symbol.asyncIterator]();
      let cancel: (() => void) | undefined;
      if (isTerminal) note('reading stdin; end with Ctrl-D');
      else cancel = after(noteMs, () => note('waiting for stdin'));
      return {
        async next() {
          return source.next().finally(() => cancel?.());
        },
        async return() {
          cancel?.();
          return (await source.return?.()) ?? { done: true, value: undefined };
        },
      };
    },
  };
}

/** Time of silence after which a note says that stdin is awaited. */
export const noteMs = 2000;
