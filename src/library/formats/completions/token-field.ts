import type { AnyApiRequest } from '../format.ts';
import { findOwn } from '../../find-own.ts';

/** The two names of the field that limits the tokens of an answer, each with the other. Some services and models take only one. */
const otherNames: Readonly<Record<string, string>> = {
  max_tokens: 'max_completion_tokens',
  max_completion_tokens: 'max_tokens',
};

/** The request with its limit of tokens under another name; the same request if it has no limit, or has this name already. */
export function renameTokenField<Request extends AnyApiRequest>(request: Request, name: string): Request {
  const { format, body } = request;
  const other = otherNames[name];
  if (format !== 'completions' || body === undefined || other === undefined) return request;
  if (!(other in body) || name in body) return request;
  const renamed = Object.fromEntries(Object.entries(body).map(([key, value]) => [key === other ? name : key, value]));
  return { ...request, body: renamed };
}

/** The other name of the field that limits the tokens of an answer. */
export function getOtherTokenField(name: string): string | undefined {
  return findOwn(otherNames, name.toLowerCase());
}
