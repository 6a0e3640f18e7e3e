import type { Facts } from './reasons.ts';
import { fieldEntries, getFieldFlag } from './formats/request-fields.ts';
import { shellWord } from './shell-word.ts';
import { type ServiceName, services, vendorHeaderNames } from './vendors/services.ts';

export const maybeBilled = 'it may have been billed: check that before you run it again';
export const billedAgain = 'asking again may be billed again';

/** Joins the lines of a hint, without lines that are false. */
export function joinLines(...parts: (string | false)[]): string {
  return parts.filter(Boolean).join('\n');
}

/** A 404 of a stream: the path may be wrong too. */
export function pathFirst({ value }: Facts): string | false {
  return value !== undefined && 'check the model and the base URL; where they are right,';
}

/** The hint that shows what is spent of a budget: `value` is the budget as the user types it, with `<amount>` in place of its amount. */
export function seeSpentHint({ value }: Pick<Facts, 'value'>): string {
  const [place = ''] = String(value).split(':<amount>');
  return `to see what is spent: gateway-cli costs --budget ${shellWord(place)}`;
}

/** The token limit ended the reply before any text or image. */
export function nothingCame(facts: Facts): string | false {
  return facts.class === 'no-result' && 'the token limit ended it before anything came';
}

/** Says that a request that ran out of time may be billed. */
export function describeTimeoutCost(facts: Facts): string | false {
  if (facts.billed === 'no') return false;
  if (facts.class === 'no-reply') return maybeBilled;
  return facts.class === 'incomplete' && billedAgain;
}

/** The headers that a value of `--header-names` means. */
export function headersIn(names: Facts['value']): string {
  const { apiKey, version } = vendorHeaderNames;
  return names === 'vendors' ? `the headers ${apiKey} and ${version}` : `the header ${String(names).replace(',', '')}`;
}

/** Says which key to check. */
export function keyCheckHint({ source = 'GATEWAY_API_KEY' }: Facts): string {
  return `check the key (${source})`;
}

/** The page where a service gives out keys. */
export function keyPage({ value }: Facts): string | false {
  const { title, keyPage: page } = services[(value ?? 'gateway') as ServiceName];
  return page !== undefined && `${title} gives keys at ${page}`;
}

/** The advice if the model cannot do the task, or cannot be loaded. */
export function lackingModel({ value, flags = '' }: Facts): string {
  const another = `name another with -m; to see the models: gateway-cli models${flags}`;
  if (value !== 'modalities') return `this model cannot do it: ${another}`;
  return `if the model answers only with pictures: --set 'modalities=["image"]'\nelse ${another}`;
}

/** How to reach the host directly. */
export function withoutProxy({ value: target }: Facts): string {
  return `to ask without it: NO_PROXY=${target}`;
}

/** The setting that takes the password of a proxy; `value` is `HTTPS_PROXY=<url>`. */
export function passwordPlace({ source, value }: Facts): string {
  return `put them into ${source}: ${String(value).replace(/^\w+=/, '')}`;
}

/** Advises more retries than before, and time for all of them and for the wait that the gateway demands. */
export function moreRetries({ value: retries = 0, retryAfterMs = 0 }: Facts): string {
  const seconds = Math.ceil(retryAfterMs / 1000);
  const more = Math.max(5, 2 * Number(retries));
  const minutes = Math.ceil(Math.max(5, seconds / 60, more / 2));
  const wait = seconds === 0 ? 'wait' : `run it again after ${seconds} s`;
  return `${wait}, or allow more: --retries ${more} --retry-max-time ${minutes}m`;
}

/** The advice for a field that the gateway refuses. */
export function withoutField({ value }: Facts): string {
  const flag = findFlagByField(String(value));
  return flag === undefined ? 'leave that field out' : `change ${flag}, or leave it out`;
}

/** The flags of fields, each with the names that mean it: its names in requests, and its own name. */
const namedFlags = fieldEntries.flatMap(([, field]) => {
  const flag = getFieldFlag(field);
  const { wireNames } = field;
  return wireNames === undefined ? [] : [{ flag, names: [...wireNames.split(' '), flag].map(toPlainWord) }];
});

/** The flag for a field (`generation_config.stop_sequences[0]`), in the spelling of any format or of the flag. */
export function findFlagByField(field: string): string | undefined {
  const words = field.split(/[.[\]]/).map(toPlainWord);
  return words.map((word) => namedFlags.find(({ names }) => names.includes(word))?.flag).findLast(Boolean);
}

/** A name without the signs that part its words. */
function toPlainWord(name: string): string {
  return name.replaceAll(/[-_]/g, '').toLowerCase();
}
