import { isObject } from '../../json.ts';
import type { AnyApiRequest } from '../format.ts';

/** Thinking in the form in which it can go back to the service, which keeps nothing itself. */
export const encryptedThinking = 'reasoning.encrypted_content';

/*
 * Parts of a request of this format that only some services refuse: the thinking of earlier turns, and the fields that ask for
 * thinking. Each function returns the same request if there is nothing to leave out.
 */

/** The request without the thinking of earlier turns. */
export function withoutThinking<Request extends AnyApiRequest>(request: Request): Request {
  const { format, body } = request;
  const input = body?.['input'];
  if (format !== 'responses' || !Array.isArray(input)) return request;
  const kept = input.filter((item) => !isObject(item) || item['type'] !== 'reasoning');
  return kept.length === input.length ? request : { ...request, body: { ...body, input: kept } };
}

/** The request that does not ask for thinking which can go back. */
export function withoutEncryptedThinking<Request extends AnyApiRequest>(request: Request): Request {
  const { include, ...rest } = request.body ?? {};
  if (request.format !== 'responses' || !Array.isArray(include) || !include.includes(encryptedThinking)) return request;
  const others = include.filter((name) => name !== encryptedThinking);
  return { ...request, body: others.length === 0 ? rest : { ...rest, include: others } };
}

/** The request that does not ask for a summary of the thinking. */
export function withoutSummary<Request extends AnyApiRequest>(request: Request): Request {
  const reasoning = request.body?.['reasoning'];
  if (request.format !== 'responses' || !isObject(reasoning) || !('summary' in reasoning)) return request;
  const { summary: _, ...others } = reasoning;
  return { ...request, body: { ...request.body, reasoning: others } };
}
