import { PassThrough } from 'node:stream';
import {
  type Body,
  createEmptyStore,
  findFormatByPath,
  findRequestModel,
  type FormatName,
  GatewayError,
  getErrorMessage,
  type HttpReply,
  type PaidEnd,
  parseObject,
  payFrom,
  type Payment,
  readFailedReply,
  readReply,
} from '../../../library/index.ts';
import { type GatewayRequest, isForm, Problem, readForm, type UpstreamOptions } from '../../../gateway/index.ts';
import type { Context } from '../../context.ts';
import { openFund, openSharedBudget, type OpenBudget, type Tag } from '../../run/budget.ts';
import type { PartialSettings } from '../../settings/types.ts';

/** A request whose cost counts in a budget. */
interface PassedRequest {
  format: FormatName;
  model: string;
  body: Body;
}

/** Pays for the requests that are passed on. */
export interface Pays {
  pay: UpstreamOptions['pay'];
  /** Waits until the records are written. */
  written(): Promise<void>;
}

/** Opens the budget of a gateway; undefined if it has none. */
export async function payForPassed(
  settings: PartialSettings,
  tags: readonly Tag[] | undefined,
  context: Context,
): Promise<Pays | undefined> {
  // The lane is not set here: the reply names it.
  const budget = await openSharedBudget({ ...settings, lane: 'live' }, tags, context);
  if (budget === undefined) return undefined;
  const pending = new Set<Promise<void>>();
  const end = async (payment: Payment, ended: Promise<PaidEnd>): Promise<void> => {
    const written = ended.then((known) => payment.end(known)).finally(() => pending.delete(written));
    pending.add(written);
    return written;
  };
  return { pay: payFor(budget, end), written: async () => void (await Promise.all(pending)) };
}

type End = (payment: Payment, ended: Promise<PaidEnd>) => Promise<void>;

function payFor(budget: OpenBudget, end: End): UpstreamOptions['pay'] {
  return async (request, bytes) => {
    const paid = await paidRequest(request, bytes, budget);
    if (paid === undefined) return undefined;
    const { format, model, body } = paid;
    const payment = payFrom(openFund({ ...budget, format }), { post: { format, body }, model });
    return {
      reserve: (signal) => reservePayment(payment, signal),
      fail: (error) => payment.end({ error }),
      watch: (reply) => watchReply(reply, request, paid, (ended) => end(payment, ended)),
    };
  };
}

/** Throws Problem 402 if the budget says no: clients do not retry that. */
async function reservePayment(payment: Payment, signal: AbortSignal): Promise<void> {
  await payment.reserve(signal).catch((error: unknown) => {
    if (!(error instanceof GatewayError) || signal.aborted) throw error;
    throw notPaid(getErrorMessage(error), error.class === 'not-written' ? 500 : 402);
  });
}

function notPaid(message: string, code = 402): Problem {
  return new Problem(code, message, { status: 'RESOURCE_EXHAUSTED', headers: { 'x-should-retry': 'false' } });
}

const freeMethods = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE']);
const freePaths =
  /^\/(?:v1\/messages\/count_tokens|v1(?:beta)?\/models\/[^/]+:countTokens|(?:upload\/)?v1(?:beta)?\/files|v1\/responses\/input_tokens|v1\/(?:batches|responses)\/[^/]+\/cancel|v1\/messages\/batches\/[^/]+\/cancel|v1beta\/batches\/[^/]+:cancel)$/;

/** The request that a call pays for; undefined if it costs nothing. Throws Problem for a request whose cost cannot be counted. */
async function paidRequest(
  request: GatewayRequest,
  bytes: Buffer,
  { setting }: OpenBudget,
): Promise<PassedRequest | undefined> {
  const { method, path } = request;
  const { pathname } = new URL(path, 'http://localhost');
  if (freeMethods.has(method) || freePaths.test(pathname)) return undefined;
  const uncounted = (why: string): Problem => notPaid(`${why} cannot be counted in the budget ${setting.place}`);
  const format = findFormatByPath(pathname);
  if (format === undefined || method !== 'POST') throw uncounted(`the cost of ${method} ${pathname.slice(0, 200)}`);
  const body = await bodyIn(request, bytes);
  const model = findRequestModel(pathname, body);
  if (model === '') throw uncounted('a request that names no model');
  return { format, model, body };
}

/** The fields of a request; of a form, only fields that decide its cost. */
async function bodyIn({ headers }: GatewayRequest, bytes: Buffer): Promise<Body> {
  const type = headers['content-type'] ?? '';
  if (!isForm(headers)) return parseObject(bytes.toString()) as Body;
  const form = await readForm(bytes, type);
  const fields = [...form].flatMap(([name, value]) => (typeof value === 'string' ? [[name, value] as const] : []));
  return { ...Object.fromEntries(fields), n: Number(form.get('n') ?? 1) };
}

/** Passes a reply on, and reads its cost meanwhile. The end of the reply waits until the cost is written down. */
function watchReply(
  reply: HttpReply,
  request: GatewayRequest,
  paid: PassedRequest,
  end: (ended: Promise<PaidEnd>) => Promise<void>,
): HttpReply {
  const { status, headers } = reply;
  const { format } = paid;
  if (status < 200 || status > 299) {
    void end(Promise.resolve({ error: readFailedReply({ status, headers, body: '', format }) }));
    return reply;
  }
  const copy = new PassThrough();
  const stopReading = (): void => void copy.end();
  request.left.addEventListener('abort', stopReading, { once: true });
  if (request.left.aborted) stopReading();
  const written = end(readEnd({ ...reply, body: copy }, paid));
  async function* chunks(): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of reply.body) {
        // The bytes of a chunk can be used again for the next.
        if (copy.writable) copy.write(Buffer.from(chunk));
        yield chunk;
      }
    } catch (error) {
      copy.destroy(error as Error);
      throw error;
    } finally {
      stopReading();
      await written;
    }
  }
  return { ...reply, body: chunks() };
}

async function readEnd(reply: HttpReply, { format, model, body: asked }: PassedRequest): Promise<PaidEnd> {
  try {
    const answer = await readReply(reply, { format, model, asked, store: createEmptyStore() });
    return { answer: { ...answer, attempts: 1, isRecorded: reply.recordedAt !== undefined } };
  } catch (error) {
    return { error };
  }
}
