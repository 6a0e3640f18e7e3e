import { isObject } from '../json.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import { field, listField, textField } from './fields.ts';
import { durationMs } from './retry-delay.ts';
import { saysSpent } from './spent-quota.ts';

/** What the `details` of an error add to it (formats 2). */
export interface ErrorDetailFacts {
  /** ErrorInfo.reason: `API_KEY_INVALID`. */
  reason?: string | undefined;
  /** RetryInfo.retryDelay in ms. */
  retryDelayMs?: number | undefined;
  quotaSpent?: boolean | undefined;
  /** Names of request fields that were refused. */
  fields?: string[] | undefined;
}

/** Reads the details of an error: a list of google.rpc objects, or one object of a gateway's own. */
export function readDetails(details: JsonValue | undefined): ErrorDetailFacts {
  const list = (Array.isArray(details) ? details.slice(0, 64) : [details]).filter(isObject);
  const facts: ErrorDetailFacts = {};
  for (const detail of list) {
    facts.reason ??= textField(detail, 'reason') ?? textField(detail, 'errorCode');
    facts.retryDelayMs ??= durationMs(field(detail, 'retryDelay'));
    if (saysSpent([textField(detail, 'errorCode')], quotaIds(detail))) facts.quotaSpent = true;
    const fields = violations(detail, 'fieldViolations').map((violation) => textField(violation, 'field'));
    const named = fields.filter((name) => name !== undefined && name !== '');
    if (named.length > 0) facts.fields = [...(facts.fields ?? []), ...(named as string[])];
  }
  return facts;
}

/** A quota for a day is not back in a minute: `GenerateRequestsPerDayPerProjectPerModel-FreeTier`. */
function quotaIds(detail: JsonObject): string {
  return violations(detail, 'violations')
    .map((violation) => textField(violation, 'quotaId') ?? '')
    .join(' ');
}

function violations(detail: JsonObject, key: string): JsonObject[] {
  return (listField(detail, key) ?? []).slice(0, 64).filter(isObject);
}
