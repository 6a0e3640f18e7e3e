import { withoutThinkingFields } from '../formats/completions/earlier-thinking.ts';
import type { GatewayError } from '../errors.ts';
import type { Reason } from '../reasons.ts';
import { type AnyApiRequest, getAskedModel } from '../formats/format.ts';
import { findPastedEnd } from '../formats/base-path.ts';
import { isOpenAiFormat } from '../formats/openai-format.ts';
import { withPlainerSchema } from '../formats/schema-form.ts';
import { renameTokenField } from '../formats/completions/token-field.ts';
import { withoutEncryptedThinking, withoutSummary, withoutThinking } from '../formats/responses/thinking.ts';
import { type OptionalPart, optionalParts } from '../vendors/refusals.ts';
import { type Endpoint, placeRequest } from './endpoint.ts';
import type { Memory } from './memory.ts';

/*
 * A service that refuses a request can say how it wants it. The refused request was not billed, so it is sent once more in that
 * form, and the lesson counts for later requests.
 */

/** A request whose last attempt was refused, and was certainly not billed. */
interface Refused<Request extends AnyApiRequest = AnyApiRequest> {
  /** The request as it was sent. */
  apiRequest: Request;
  error: GatewayError;
}

/** A change that can mend a refused request. */
interface Correction {
  /** The lesson in a refusal; undefined if the refusal is about something else. */
  learn(refused: Refused, endpoint: Endpoint): string | undefined;
  /** The request in the form that the service asks for; the same request if it has that form. */
  apply<Request extends AnyApiRequest>(request: Request, lesson: string): Request;
  /** The message for people. `detail`: shown only on a terminal and with `--verbose`. */
  tell(lesson: string, endpoint: Endpoint): { text: string; isDetail?: true };
  /** The later requests that the lesson counts for, if not those to the same model: one address can have models of several services. */
  counts?: 'for-address' | 'once';
  /** The lesson is proved only by an answer. */
  isGuess?: true;
}

/** Reasons of a 404 that is not about the path. */
const knownPath = new Set<Reason | undefined>(['model', 'pull-model', 'named-format', 'key-project']);

/** The form of a request without each part that it can do without. */
const withoutPart: Readonly<Record<OptionalPart, Omit<Correction, 'learn'>>> = {
  schema: {
    apply: withPlainerSchema,
    tell: () => ({ text: 'the service refuses the schema as it is: sent again with what it lacks in words' }),
  },
  // The conversation was with another model or account, or the service has another upstream today.
  thinking: {
    apply: withoutThinking,
    tell: () => ({ text: 'the service refuses the thinking of earlier turns: sent again without it' }),
    counts: 'once',
  },
  'thinking-field': {
    apply: withoutThinkingFields,
    tell: () => ({ text: 'the model takes no thinking of earlier turns: sent again without it', isDetail: true }),
  },
  'encrypted-thinking': {
    apply: withoutEncryptedThinking,
    tell: () => ({
      text: 'the model has no thinking that can go back: sent again without asking for it',
      isDetail: true,
    }),
  },
  summary: {
    apply: withoutSummary,
    tell: () => ({ text: 'the service sums up no thinking for this account: sent again without asking for it' }),
  },
};

/** The correction for a part: the service refuses it if its words mean that. */
function toCorrection(part: OptionalPart): Correction {
  const learn: Correction['learn'] = ({ error: { details } }) =>
    details.says?.some(({ means }) => means === part) ? 'refused' : undefined;
  return { ...withoutPart[part], learn };
}

/** Every correction, by the name of its lesson. A correction is made once for a request. */
const corrections: Readonly<Record<string, Correction>> = {
  'base-path': {
    learn({ apiRequest, error: { details } }, endpoint) {
      if (details.status !== 404 || knownPath.has(details.reason)) return undefined;
      // A lesson of an earlier run can be wrong within its day: another server can answer at the address.
      if (apiRequest.behindBase !== undefined) return '';
      return placeRequest(endpoint, apiRequest).isGuess ? '/v1' : undefined;
    },
    apply(request, behindBase) {
      const { behindBase: before, ...rest } = request;
      if (!isOpenAiFormat(request.format) || (before ?? '') === behindBase) return request;
      return (behindBase === '' ? rest : { ...request, behindBase }) as typeof request;
    },
    tell(lesson, { baseUrl: { origin, pathname } }) {
      const base = origin + pathname.slice(0, pathname.length - (findPastedEnd(pathname, 'completions')?.length ?? 0));
      const [from, to] = lesson === '' ? [`${base}/v1`, base] : [base, base + lesson];
      return { text: `nothing answers at ${from}: trying ${to}, which is the base URL if this works` };
    },
    counts: 'for-address',
    isGuess: true,
  },
  'token-field': {
    learn: ({ error: { details } }) => (details.reason === 'other-field' ? String(details.value) : undefined),
    apply: renameTokenField,
    tell: (lesson) => ({
      text: `the service takes ${lesson} for the limit of tokens: sent again with it`,
      isDetail: true,
    }),
  },
  ...Object.fromEntries(optionalParts.map((part) => [part, toCorrection(part)])),
};

const allCorrections = Object.entries(corrections);

/** The request in the form that the lessons ask for. */
export function applyLessons<Request extends AnyApiRequest>(request: Request, memory: Memory): Request {
  let applied = request;
  const model = modelOf(request);
  for (const [name, correction] of allCorrections) {
    const lesson = memory.get(lessonName(name, correction, model));
    if (lesson !== undefined) applied = correction.apply(applied, lesson);
  }
  return applied;
}

/** The result of a lesson from a refusal. */
export interface Learnt<Request extends AnyApiRequest = AnyApiRequest> {
  /** The request in the form that the service asks for. */
  apiRequest: Request;
  notice: ReturnType<Correction['tell']>;
  /** The lesson counts for later requests, even if this request is not answered. */
  isCertain: boolean;
  keep(memory: Memory): void;
}

/** The corrections, each by the name of its lesson. */
export const correctionNames: readonly string[] = Object.keys(corrections);

/** Learns from a refusal; undefined if the refusal asks for nothing that can be changed. */
export function learnFrom<Request extends AnyApiRequest>(
  { apiRequest, error }: Refused<Request>,
  endpoint: Endpoint,
  names = correctionNames,
): Learnt<Request> | undefined {
  if (error.class !== 'rejected' || error.lastBilled !== 'no') return undefined;
  for (const name of names) {
    const correction = corrections[name] as Correction;
    const { learn, apply, tell, counts, isGuess = false } = correction;
    const lesson = learn({ apiRequest, error }, endpoint);
    const corrected = lesson === undefined ? apiRequest : apply(apiRequest, lesson);
    if (lesson === undefined || corrected === apiRequest) continue;
    const keep = (memory: Memory): void => {
      if (counts !== 'once') memory.set(lessonName(name, correction, modelOf(apiRequest)), lesson);
    };
    const isCertain = counts !== 'once' && !isGuess;
    return { apiRequest: corrected, notice: tell(lesson, endpoint), isCertain, keep };
  }
  return undefined;
}

/*
 * The format is a correction apart: the request is encoded anew, which takes time, and its reply is read in another way. The lesson is
 * of a model, since behind one address can be models of several services.
 */

/** A request in the format that its service taught within a day. */
export async function toTaughtFormat<Request extends AnyApiRequest>(
  request: Request,
  memory: Memory,
): Promise<Request> {
  const name = memory.get(`lesson format ${modelOf(request)}`);
  const other = name === undefined ? undefined : await encodeAgain(request, name);
  return other ?? request;
}

/** A request in another format; undefined if it has to stay in its own. */
async function encodeAgain<Request extends AnyApiRequest>(
  { inFormat, format }: Request,
  name: string,
): Promise<Request | undefined> {
  if (!inFormat || name === format || !isOpenAiFormat(name)) return undefined;
  // If the other format lacks a field of the request, the refusal stands.
  return inFormat(name).catch(() => undefined) as Promise<Request | undefined>;
}

/** Learns the format from a refusal. `original`: the request before corrections. */
export async function learnFormat(
  { original, apiRequest, error }: Refused & { original: AnyApiRequest },
  memory: Memory,
): Promise<Learnt | undefined> {
  const { status, reason } = error.details;
  if (error.class !== 'rejected' || error.lastBilled !== 'no') return undefined;
  // A lesson of an earlier run can be wrong within its day: another server can answer at the address.
  const isGone = apiRequest.format !== original.format && status === 404 && !knownPath.has(reason);
  const lesson = isGone ? original.format : findNamedFormat(error);
  if (lesson === undefined || lesson === apiRequest.format) return undefined;
  const other = lesson === original.format ? original : await encodeAgain(original, lesson);
  if (other === undefined) return undefined;
  return {
    apiRequest: applyLessons(other, memory),
    notice: { text: `the service answers ${modelOf(original)} in the ${lesson} format: sent again in that` },
    isCertain: false,
    keep: () => void memory.set(`lesson format ${modelOf(original)}`, lesson),
  };
}

function findNamedFormat({ details }: GatewayError): string | undefined {
  return details.says?.find(({ means }) => means === 'named-format')?.value;
}

/** The name of a lesson in the memory. */
function lessonName(name: string, { counts }: Correction, model: string): string {
  return counts === 'for-address' ? `lesson ${name}` : `lesson ${name} ${model}`;
}

function modelOf(request: AnyApiRequest): string {
  return getAskedModel(request) ?? '';
}
