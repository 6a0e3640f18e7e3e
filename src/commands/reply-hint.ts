import { type ErrorClass, GatewayError } from '../errors.ts';
import type { Action } from './context.ts';

/** What to type after a reply that broke, where those who read it had no word on it. */
const hints: Partial<Record<ErrorClass, string>> = {
  'bad-reply': 'to see what comes: add --raw, or --verbose for its headers; asking again may be billed again',
  incomplete: 'what came is kept; the same command asks again, which may be billed again',
};

/** The same action; where a request was made, a failure that has no hint gets that of its class. */
export function hintingAtReply(action: Action): Action {
  return async (context, words, flags) => {
    try {
      await action(context, words, flags);
    } catch (error) {
      throw error instanceof GatewayError && context.report.attempts > 0
        ? error.with({ hint: hints[error.class] })
        : error;
    }
  };
}
