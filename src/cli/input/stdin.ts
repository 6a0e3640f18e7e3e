import { settingError, usageError } from '../../errors.ts';
import type { Stdin } from '../context.ts';
import type { Io, InputKind } from '../../terminal/io.ts';
import { type After, afterOnClock, untilAborted } from '../../terminal/progress.ts';
import { isUtf8 } from 'node:buffer';

/** How to note that the program waits for stdin. */
export interface StdinNotes {
  note: (text: string) => void;
  after?: After;
}

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
      return quiet || !notes ? input : withNotes(input, { ...notes, isTerminal: io.stdin.kind === 'terminal' });
    },
    reserve(by) {
      take(by);
      reserved = true;
    },
  };
}

/** The same bytes; notes a wait for the first of them. */
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

const noteMs = 2000;
const mebibyte = 1024 * 1024;

/** Whether stdin is read for the prompt: never a terminal, and in addition to a prompt only a file, pipe or socket. */
export function shouldReadStdin(place: { kind: InputKind; hasPrompt: boolean; noStdin: boolean }): boolean {
  const { kind, hasPrompt, noStdin } = place;
  if (noStdin || kind === 'terminal' || kind === 'closed') return false;
  return !hasPrompt || kind !== 'null';
}

export interface StdinTextOptions {
  /** Longest wait for the first byte, in ms; later bytes can take any time. */
  timeoutMs: number;
  /** Called after 2 s without a byte, or when stdin is abandoned. */
  onWait: () => void;
  /** For a stdin that may stay silent: the longest wait for its first byte, in ms. After it, stdin counts as empty. */
  abandonAfterMs?: number | undefined;
  /** Ends the wait; the promise rejects with its reason. */
  signal?: AbortSignal | undefined;
  maxBytes?: number;
  after?: After;
}

/**
 * All of stdin as text, without a byte order mark. Throws GatewayError usage if the first byte does not come in time, if there
 * are more than 64 MiB, or if it is not UTF-8.
 */
export async function readStdinText(input: AsyncIterable<Uint8Array>, options: StdinTextOptions): Promise<string> {
  const { maxBytes = 64 * mebibyte } = options;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const source = input[Symbol.asyncIterator]();
  try {
    for (
      let next = await firstOf(source, options);
      !next.done;
      next = await untilAborted(source.next(), options.signal)
    ) {
      bytes += next.value.byteLength;
      if (bytes > maxBytes)
        throw settingError(`stdin holds more than ${maxBytes / mebibyte} MiB`, { reason: 'stdin-size' });
      chunks.push(next.value);
    }
  } catch (error) {
    // Not awaited: a source that is blocked in a read may never return.
    void source.return?.().catch(() => undefined);
    throw error;
  }
  return decodeText(Buffer.concat(chunks), 'stdin');
}

function firstOf(source: AsyncIterator<Uint8Array>, options: StdinTextOptions): Promise<IteratorResult<Uint8Array>> {
  const { timeoutMs, abandonAfterMs, onWait, signal, after = afterOnClock } = options;
  return new Promise((resolve, reject) => {
    const giveUp = (): void =>
      reject(settingError(`nothing came on stdin for ${timeoutMs / 1000} s`, { reason: 'stdin-late' }));
    const abandon = (): void => {
      void source.return?.().catch(() => undefined);
      onWait();
      resolve({ done: true, value: undefined });
    };
    const timers =
      abandonAfterMs === undefined
        ? [after(noteMs, onWait), after(timeoutMs, giveUp)]
        : [after(abandonAfterMs, abandon)];
    const settled = untilAborted(source.next(), signal).finally(() => timers.forEach((cancel) => cancel()));
    settled.then(resolve, reject);
  });
}

/**
 * The text of the user's input, `name` in messages, without a byte order mark; CRLF stays. Throws GatewayError usage with the
 * offset (from 0) of the first byte that is not UTF-8: nothing is replaced silently.
 */
export function decodeText(bytes: Uint8Array, name: string): string {
  if (isUtf8(bytes)) return new TextDecoder().decode(bytes);
  const utf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  const convert = utf16
    ? 'it looks like UTF-16; convert it: iconv -f UTF-16 -t UTF-8'
    : 'convert it to UTF-8, for example with iconv';
  throw usageError(`${name} is not UTF-8 text: invalid byte at offset ${invalidOffset(bytes)}`, convert);
}

/** Every invalid sequence decodes to U+FFFD: the first one that is not U+FFFD in the bytes is the place. */
function invalidOffset(bytes: Uint8Array): number {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  let offset = 0;
  for (let from = 0; ;) {
    const at = text.indexOf('\uFFFD', from);
    if (at === -1) return offset;
    offset += Buffer.byteLength(text.slice(from, at));
    if (!(bytes[offset] === 0xef && bytes[offset + 1] === 0xbf && bytes[offset + 2] === 0xbd)) return offset;
    offset += 3;
    from = at + 1;
  }
}
