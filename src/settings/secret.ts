import { inspect } from 'node:util';

/** What stands in the place of a secret. */
export const mask = '(redacted)';

/** A value that no log, message or dump can show; only `reveal` gives it. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself, for the header it goes into. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return mask;
  }

  toJSON(): string {
    return mask;
  }

  [inspect.custom](): string {
    return mask;
  }
}
