import { closeSync, openSync } from 'node:fs';
import { codeOf, GatewayError } from '../errors.ts';

/** Most that a reply needs at a time: its connection, two images, a recovery file, a session, and code that is loaded late. */
const descriptorsOfReply = 8;

/** Checks, before anything is paid for, that a reply can be written. Throws GatewayError not-sent. */
export function requireDescriptors(): void {
  const opened: number[] = [];
  try {
    while (opened.length < descriptorsOfReply) opened.push(openSync('/dev/null', 'r'));
  } catch (error) {
    if (codeOf(error) !== 'EMFILE') return;
    throw new GatewayError('not-sent', 'too many files are open: the reply could not be written', {
      reason: 'open-files',
      sent: 'no',
      retryable: false,
      cause: error,
    });
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}
