import type { ErrorClass } from '../errors.ts';
import type { ErrorBody } from './error-body.ts';
import { quote } from './quote.ts';

/** How a key is sent (spec.md 5). */
export type AuthForm = 'api-key' | 'bearer';

/** What a hint is made from. */
export interface HintFacts {
  errorClass: ErrorClass;
  status: number | undefined;
  error: ErrorBody;
  authForm: AuthForm | undefined;
  /** It came inside a reply that had begun well: such a one is not retried. */
  isInside: boolean;
}

const morePatience = 'wait, or allow more: --retries 5 --retry-max-time 5m';
const laterAgain = 'run the same command again later: a reply that has begun is not retried';

/** What to type next after a failure that the gateway reported. */
export function hintFor({ errorClass, status, error, authForm, isInside }: HintFacts): string | undefined {
  const patience = isInside ? laterAgain : morePatience;
  if (errorClass === 'auth') return authHint(authForm);
  if (errorClass === 'quota') {
    return error.quotaSpent || status === 402 ? "the quota or credit is spent: look at the account's plan" : patience;
  }
  if (saysNoModel(status, error)) return 'check --model: the gateway does not offer it';
  if (errorClass === 'gateway') return patience;
  if (status === 404) return 'check --model and --base-url';
  if (status === 413) return 'send smaller or fewer images and files';
  return (
    fieldHint(error) ?? (errorClass === 'rejected' ? 'add --dry-run to see the request that it refuses' : undefined)
  );
}

function authHint(form: AuthForm | undefined): string {
  const other = form === 'api-key' ? '--auth bearer' : '--auth api-key';
  const forms = form === undefined ? '--auth bearer or --auth api-key' : other;
  return `check the key (GATEWAY_API_KEY), or send it in the other form: ${forms}`;
}

/** Relays answer 503 for a model that they have no channel for (wire.md 6 #21). */
function saysNoModel(status: number | undefined, { code, type, message }: ErrorBody): boolean {
  if (status !== 503) return false;
  return code === 'model_not_found' || type === 'model_not_found' || message.includes('无可用渠道');
}

function fieldHint(error: ErrorBody): string | undefined {
  const name = unknownField(error);
  if (name === undefined) return undefined;
  const flag = flagOfField(name);
  const next = flag === undefined ? 'leave out what sends it' : `change ${flag}, or leave it out`;
  return `the gateway refuses the field '${quote(name, 60)}': ${next}`;
}

/** The flag behind a field (`generation_config.stop_sequences[0]`), in the spelling of either format. */
export function flagOfField(field: string): string | undefined {
  const names = field.split(/[.[\]]/).map((name) => name.replaceAll('_', '').toLowerCase());
  return names.map((name) => flags.get(name)).findLast((flag) => flag !== undefined);
}

const flags = new Map([
  ['aspectratio', '--aspect'],
  ['cachedcontent', '--cached-content'],
  ['candidatecount', '--candidates'],
  ['imagesize', '--size'],
  ['maxoutputtokens', '--max-tokens'],
  ['maxtokens', '--max-tokens'],
  ['metadata', '--metadata'],
  ['responsejsonschema', '--schema'],
  ['responsemimetype', '--response-mime'],
  ['safetysettings', '--safety'],
  ['seed', '--seed'],
  ['stopsequences', '--stop'],
  ['system', '--system'],
  ['systeminstruction', '--system'],
  ['temperature', '--temperature'],
  ['toolchoice', '--tool-choice'],
  ['toolconfig', '--tool-config'],
  ['tools', '--tools'],
  ['topk', '--top-k'],
  ['topp', '--top-p'],
]);

/** `Unknown name "x" at 'y': Cannot find field.`, `x: Extra inputs are not permitted`, or a field violation (wire.md 1). */
function unknownField({ message, fields }: ErrorBody): string | undefined {
  const lead = 'Unknown name "';
  const start = message.indexOf(lead);
  const end = start < 0 ? -1 : message.indexOf('"', start + lead.length);
  if (end >= 0) return message.slice(start + lead.length, end);
  const extra = message.indexOf(': Extra inputs are not permitted');
  return extra < 0 ? fields?.[0] : message.slice(0, extra).split(/\s/).at(-1);
}
