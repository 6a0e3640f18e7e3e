import type { ErrorBody } from '../error-body.ts';
import type { AnyApiRequest } from '../format.ts';

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

const name = String.raw`(max_(?:completion_)?tokens)\b`;

/** Words with which services refuse a field itself, and not its value. */
const refusals = [
  // OpenAI, Azure and OpenAI's older models, Groq, Go and Rust (serde), Google.
  String.raw`(?:unsupported|unknown) parameter: '${name}`,
  String.raw`unrecognized request argument supplied: ${name}`,
  String.raw`property '${name}' is unsupported`,
  String.raw`unknown (?:field|name)[: ]+[\\"'\x60]*${name}`,
  // Pydantic, as FastAPI, Mistral and vLLM show it; JSON Schema; LiteLLM.
  String.raw`${name}(?:: |['"]\), 'msg': ')Extra inputs are not permitted`,
  String.raw`\('${name}' was unexpected\)`,
  String.raw`does not support parameters: [[{]['"]${name}`,
].map((words) => new RegExp(words, 'i'));

/** The other name of the field that limits the tokens of an answer, if an error refuses this name. */
export function otherTokenField({ message, code, fields }: ErrorBody): string | undefined {
  const isField = code === 'unsupported_parameter' || code === 'unknown_parameter';
  const named = refusals.map((words) => words.exec(message)?.[1]?.toLowerCase()).find((found) => found !== undefined);
  const refused = named ?? (isField ? fields?.[0] : undefined);
  return refused === undefined || !Object.hasOwn(otherNames, refused) ? undefined : otherNames[refused];
}
