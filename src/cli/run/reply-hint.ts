import { type ErrorClass, GatewayError } from '../../errors.ts';
import type { Action, Context } from '../context.ts';
import { withFlags } from '../output/flag-hints.ts';

/** What to type after a reply that broke, where those who read it had no word on it. */
const hints: Partial<Record<ErrorClass, string>> = {
  'bad-reply': 'to see what comes: add --raw, or --verbose for its headers; asking again may be billed again',
  incomplete: 'the same command asks again, which may be billed again',
};

/** The same action; where a request was made, a failure that has no hint gets that of its class. */
export function hintingAtReply(action: Action): Action {
  return async (context, words, flags) => {
    try {
      await action(context, words, flags);
    } catch (error) {
      if (!(error instanceof GatewayError) || context.report.attempts === 0) throw error;
      throw withCost(withFlags(error).with({ hint: hintFor(error.class, { context, isRaw: flags['raw'] === true }) }));
    }
  };
}

const cost = 'asking again may be billed again';

/** A reply that came, and is none, was paid for: whoever follows its hint and asks again should know. */
function withCost(error: GatewayError): GatewayError {
  const { hint = '', status = 0 } = error.details;
  if (error.class !== 'bad-reply' || status < 200 || status > 299 || hint.includes('billed')) return error;
  return error.but({ hint: `${hint}\n${cost}` });
}

function hintFor(errorClass: ErrorClass, at: { context: Context; isRaw: boolean }): string | undefined {
  const hint = hints[errorClass];
  return errorClass === 'incomplete' && isAnythingKept(at) ? `what came is kept; ${hint}` : hint;
}

/** Whether something of the reply was written or printed; the text beside a picture stands in the JSON document alone. */
function isAnythingKept({ context, isRaw }: { context: Context; isRaw: boolean }): boolean {
  const { report, root } = context;
  if (isRaw || report.kept !== undefined || report.images.length > 0 || report.turns !== undefined) return true;
  const { candidates = [], text = '', toolCalls = [] } = report.result ?? {};
  if (root.json && toolCalls.length > 0) return true;
  const isText = text !== '' || candidates.some((candidate) => candidate.text !== '');
  return isText && (root.json === true || (!report.selected && !report.command.startsWith('image')));
}
