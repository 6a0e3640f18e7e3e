import type { Advice, ErrorClass } from '../errors.ts';
import type { ErrorBody } from './error-body.ts';
import { quote } from './quote.ts';

/** How a key is sent (formats 1). */
export type AuthForm = 'api-key' | 'bearer';

/** What the advice is made from. */
export interface AdviceFacts {
  errorClass: ErrorClass;
  status: number | undefined;
  error: ErrorBody;
  authForm: AuthForm | undefined;
  /** It came inside a reply that had begun well: such a one is not retried. */
  isInside: boolean;
}

const morePatience: Advice = { hint: 'wait, or allow more retries', reason: 'retries' };
const laterAgain: Advice = { hint: 'run the same command again later: a reply that has begun is not retried' };

/** What can be done after a failure that the gateway reported. */
export function adviceFor({ errorClass, status, error, authForm, isInside }: AdviceFacts): Advice {
  const patience = isInside ? laterAgain : morePatience;
  if (errorClass === 'auth') return authAdvice(authForm);
  if (errorClass === 'quota') {
    const isSpent = error.quotaSpent || status === 402;
    return isSpent ? { hint: "the quota or credit is spent: look at the account's plan" } : patience;
  }
  if (saysNoModel(status, error)) return { hint: 'the gateway does not offer the model', reason: 'model' };
  if (errorClass === 'gateway') return patience;
  if (status === 404) return { hint: 'check the model and the base URL', reason: 'no-such-path' };
  if (status === 413) return { hint: 'send smaller or fewer images and files' };
  return fieldAdvice(error) ?? (errorClass === 'rejected' ? { reason: 'refused' } : {});
}

function authAdvice(form: AuthForm | undefined): Advice {
  const other = form && (form === 'api-key' ? 'bearer' : 'api-key');
  const hint = `check the key, or send it in the other form: ${other ?? 'bearer or api-key'}`;
  return { hint, reason: 'auth', value: other };
}

/** Relays answer 503 for a model that they have no channel for (deviation 21). */
function saysNoModel(status: number | undefined, { code, type, message }: ErrorBody): boolean {
  if (status !== 503) return false;
  return code === 'model_not_found' || type === 'model_not_found' || message.includes('无可用渠道');
}

function fieldAdvice(error: ErrorBody): Advice | undefined {
  const field = unknownField(error);
  if (field === undefined) return undefined;
  const value = quote(field, 60);
  return { hint: `the gateway refuses the field '${value}': leave it out`, reason: 'field', value };
}

/** `Unknown name "x" at 'y': Cannot find field.`, `x: Extra inputs are not permitted`, or a field violation (formats 1). */
function unknownField({ message, fields }: ErrorBody): string | undefined {
  const lead = 'Unknown name "';
  const start = message.indexOf(lead);
  const end = start < 0 ? -1 : message.indexOf('"', start + lead.length);
  if (end >= 0) return message.slice(start + lead.length, end);
  const extra = message.indexOf(': Extra inputs are not permitted');
  return extra < 0 ? fields?.[0] : message.slice(0, extra).split(/\s/).at(-1);
}
