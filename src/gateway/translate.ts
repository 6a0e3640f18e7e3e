import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { GatewayError, getErrorMessage, type JsonValue } from '../library/index.ts';
import { type DecodedRequest, joinTurns } from '../library/formats/decoded-request.ts';
import { readFailedReply } from '../library/formats/failure.ts';
import { encodeRequest, type Format, formatFacts } from '../library/formats/format.ts';
import type { PlainRequest } from '../library/formats/plain-request.ts';
import type { FormatName, Quirks } from '../library/formats/types.ts';
import { badValue } from './fields/rule.ts';
import { checkContentType, parseBody } from './http/body.ts';
import { jsonReply } from './http/reply.ts';
import { findLost, isHarmless, nameFields, watchReads } from './lost-fields.ts';
import { readAnswer } from './models/read-answer.ts';
import { streamReply } from './operation.ts';
import { createShelf } from './shelf.ts';
import { Problem } from './problem.ts';

import { findGatewayFormat, type Wire } from './routes.ts';
import type { GatewayReply, GatewayRequest, Handler, Path } from './types.ts';

/** The service that requests are passed on to. */
export interface ServiceFormats {
  /** The formats that it speaks. */
  formats: readonly FormatName[];
  /** The format in which texts of all other formats are requested. */
  format: Format;
  quirks: Quirks;
}

/**
 * Passes texts on to a service that does not speak the format of their request. The request is read and sent in the format of the
 * service; its answer is written in the format of the request, once it is whole. All other requests are passed on as they are.
 * Throws Problem.
 */
export function createTranslator(pass: Handler, service: ServiceFormats): Handler {
  return async (request) => {
    const wire = request.route?.wire;
    if (wire === undefined || service.formats.includes(wire.format)) return pass(request);
    return translate(request, wire, { ...service, pass });
  };
}

async function translate(
  request: GatewayRequest,
  { operation, decode }: Wire,
  { pass, format, quirks }: ServiceFormats & { pass: Handler },
): Promise<GatewayReply> {
  checkContentType(request, 'application/json');
  const body = parseBody(await request.readBody());
  const refuseLost = (path: Path | undefined): void => {
    if (path !== undefined) throw badValue(path, `${formatFacts[format.name].title} has no place for it; leave it out`);
  };
  const leftOut = (path: Path, value: JsonValue): void =>
    refuseLost(isHarmless(value, nameFields(path)) ? undefined : path);
  const checked = operation.check(body, { isStrict: false, leftOut });
  const model = operation.modelOf(request, body) ?? '';
  const watched = watchReads(checked);
  const plain = { ...toPlain(decode(watched.value)), model };
  const { path, query, body: asked } = inProblems(() => encodeRequest(plain, format, quirks));
  const bytes = Buffer.from(JSON.stringify(asked));
  refuseLost(findLost(checked, watched.isRead));
  const context = { inBatch: false, responses: createShelf<never>() };
  const wanted = operation.read(checked, model, request, context);
  const reply = await pass({
    ...request,
    route: undefined,
    format: findGatewayFormat(format.name),
    keyForm: undefined,
    pathId: model,
    path,
    query: new URLSearchParams(query),
    headers: { 'content-type': 'application/json' },
    readBody: async () => bytes,
  });
  const text = String(await buffer(Readable.from(reply.body)));
  const { status, headers } = reply;
  if (status !== 200 || reply.ending !== undefined) throw toProblem({ status, headers, body: text }, format.name);
  const events = inProblems(() => format.createDecoder({ status, headers, asked }).whole(parseJsonReply(text)), 502);
  const answer = readAnswer(events, format.name);
  const read = { ...wanted, tier: answer.tier };
  const { stream } = operation;
  const written = operation.reply({ ...answer, model: answer.model || model }, read);
  const translated =
    read.stream && stream
      ? streamReply(stream.events(written, read), stream, { request, pace: 0, pauses: [] })
      : jsonReply(written);
  return { ...translated, model, note: `asked in the ${format.name} format` };
}

/** A request for a text. What is so without being asked for is left out: the format may have no word for it. */
function toPlain({ turns, candidates, responseMime, ...rest }: DecodedRequest): Omit<PlainRequest, 'model'> {
  const usualMime = rest.schema === undefined ? 'text/plain' : 'application/json';
  return {
    ...rest,
    turns: joinTurns(turns),
    candidates: candidates === 1 ? undefined : candidates,
    responseMime: responseMime === usualMime ? undefined : responseMime,
    use: 'text',
    stream: false,
  };
}

/** Calls `make` and turns its GatewayError into a Problem: by default a fault of the request. */
function inProblems<T>(make: () => T, status = 400): T {
  try {
    return make();
  } catch (error) {
    throw error instanceof GatewayError ? new Problem(status, getErrorMessage(error)) : error;
  }
}

function parseJsonReply(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Problem(502, 'the upstream gateway answered with no JSON');
  }
}

/**
 * An error reply of the upstream, in the format of the request; a reply with status 200 that ended early is a failure of the
 * gateway.
 */
function toProblem(
  { status, headers, body }: { status: number; headers: Record<string, string>; body: string },
  format: FormatName,
): Problem {
  if (status === 200) return new Problem(502, 'the reply of the upstream gateway ended early');
  const wait = headers['retry-after'];
  const message = getErrorMessage(readFailedReply({ status, headers, body, format }));
  return new Problem(status, message, wait === undefined ? {} : { headers: { 'retry-after': wait } });
}
