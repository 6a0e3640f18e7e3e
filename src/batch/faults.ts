import { GatewayError, usageError } from '../errors.ts';

/** What is wrong with the lines of a job file: all of it is told at once, not one line a run. */
export interface Faults {
  /** Takes the mistake of one line; anything else is thrown. */
  add: (error: unknown) => void;
  /** So many are known that a further one is only counted. */
  readonly isFull: boolean;
  /** Stands for one that is only counted. */
  readonly another: GatewayError;
  /** Throws GatewayError usage where there was any. */
  settle(): void;
}

const mostNamed = 10;

/** Collects mistakes whose messages begin with the file's name and a line number. */
export function collectFaults(file: string): Faults {
  const named: GatewayError[] = [];
  let count = 0;
  return {
    add(error) {
      if (!(error instanceof GatewayError) || error.class !== 'usage' || !error.message.startsWith(`${file}:`))
        throw error;
      count++;
      if (named.length < mostNamed) named.push(error);
    },
    get isFull() {
      return named.length >= mostNamed;
    },
    another: usageError(`${file}: one more`),
    settle() {
      const [first] = named;
      if (first === undefined) return;
      if (count === 1) throw first;
      const lines = named.map(({ message }) => message);
      if (count > named.length) lines.push(`and ${count - named.length} more`);
      throw usageError(`${count} lines of ${file} are no jobs that could be sent; nothing was sent`, lines.join('\n'));
    },
  };
}
