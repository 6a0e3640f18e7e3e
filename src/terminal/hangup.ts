import type { ReadStream } from 'node:tty';

/**
 * A terminal that has gone cannot be set back; readline would throw that out of an event, and Node would abort at its end.
 * The signal that goes with it may have been kept from us, so it is raised by hand.
 */
export function noticeHangup(
  { stdin, hangUp }: { stdin: ReadStream; hangUp(): void },
  state: { isGone: boolean },
): void {
  const setRawMode = stdin.setRawMode.bind(stdin);
  stdin.setRawMode = (mode) => {
    try {
      return setRawMode(mode);
    } catch {
      if (!state.isGone) hangUp();
      state.isGone = true;
      return stdin;
    }
  };
  stdin.on('error', () => undefined);
}
