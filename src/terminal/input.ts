import type { Stats } from 'node:fs';
import type { Readable } from 'node:stream';
import { type GatewayError, settingError } from '../errors.ts';
import { readReason } from '../files/file-reason.ts';
import type { Input, InputKind } from './io.ts';

/**
 * What stdin is, by fstat. Devices that are no terminal count as `null`; a stdin that was closed is one too, for Node opens
 * /dev/null in its place.
 */
export function inputKind(stats: Stats | undefined, isTTY: boolean): InputKind {
  if (isTTY) return 'terminal';
  if (stats === undefined) return 'closed';
  if (stats.isFIFO()) return 'pipe';
  if (stats.isSocket()) return 'socket';
  return stats.isCharacterDevice() ? 'null' : 'file';
}

/** stdin of the process. Reading rejects with GatewayError usage; a reader that stops early closes it at once. */
export function createInput(kind: InputKind, stream: () => Readable): Input {
  let taken = false;
  return {
    kind,
    read() {
      if (taken) throw new Error('stdin is read twice');
      taken = true;
      return { [Symbol.asyncIterator]: () => iterate(kind === 'closed' ? undefined : stream()) };
    },
  };
}

/**
 * Not the stream's own iterator: its `return` waits for a read that is under way, on a silent pipe for ever.
 */
function iterate(stream: Readable | undefined): AsyncIterator<Uint8Array> {
  const chunks = stream?.[Symbol.asyncIterator]() as AsyncIterator<Uint8Array> | undefined;
  const over = { done: true, value: undefined } as const;
  return {
    async next() {
      try {
        return (await chunks?.next()) ?? over;
      } catch (error) {
        throw unreadable(error);
      }
    },
    async return() {
      stream?.destroy();
      return over;
    },
  };
}

function unreadable(error: unknown): GatewayError {
  return settingError(`stdin cannot be read: ${readReason(error)}`, { reason: 'stdin-unreadable', cause: error });
}
