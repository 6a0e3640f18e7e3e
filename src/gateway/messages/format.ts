import type { JsonObject } from '../../json.ts';
import { textAt } from '../fields/read.ts';
import type { OperationCount, Operation, Format } from '../types.ts';
import { pageOf } from '../http/reply.ts';
import { findLocalModel, type LocalModel } from '../models/local.ts';
import { Problem } from '../problem.ts';
import { messagesReply, messagesError, messagesViolation, messagesStream } from './reply.ts';
import { messagesBody } from './fields.ts';
import { readMessagesRequest } from './request.ts';

const writes = ({ draws }: LocalModel): boolean => !draws;

/** The messages format. */
export const messagesFormat: Format = {
  name: 'messages',
  claims: (path) => /^\/v1\/(?:messages(?:\/|$)|models(?:\/[^:]*)?$)/.test(path),
  hasVersion: true,
  idHeader: 'request-id',
  keyForms: ['x-api-key'],
  wrongKey: 'invalid x-api-key',
  error: messagesError,
  violation: messagesViolation,
  unknownModel(model, served) {
    const hint = findLocalModel(model) ? 'it is not served in the messages format' : `this gateway has ${served}`;
    return new Problem(404, `model: ${model} (${hint})`);
  },
  offers: writes,
  listModels,
  describeModel,
};

/** A page of 20 unless `limit` says so, after the model that `after_id` names, or before that of `before_id`. */
function listModels(models: readonly LocalModel[], query: URLSearchParams): JsonObject {
  const fields = { after: 'after_id', before: 'before_id', limit: ['limit', 20] } as const;
  const { page, first, last, hasMore } = pageOf(models, query, fields);
  return { data: page.map(describeModel), has_more: hasMore, first_id: first, last_id: last };
}

/** The offline models do not age: a fixed date keeps replies equal. */
const created = '2025-01-01T00:00:00Z';

function describeModel({ id, title }: LocalModel): JsonObject {
  return { type: 'model', id, display_name: title, created_at: created };
}

/** `POST /v1/messages`. */
export const messagesOperation: Operation = {
  serves: writes,
  modelOf: (_request, body) => textAt(body, 'model'),
  complete: (body, { mode, threads }) => (mode.level === 'spec' ? body : threads.complete(body)),
  check: (body, mode) => messagesBody(body, [], mode),
  fallback: () => 'local-chat',
  read: (checked, model, { version }, { inBatch }) => ({
    ...readMessagesRequest(checked, model, version),
    tier: inBatch ? 'batch' : undefined,
  }),
  reply: messagesReply,
  keep: (body, reply, { threads }) => threads.keep(body, reply),
  contentType: 'application/json',
  stream: messagesStream,
};

/** `/v1/messages/count_tokens`: a request without its limit. */
export const messagesCount: OperationCount = {
  bodyOf: (body) => ({ ...body, max_tokens: Number.MAX_SAFE_INTEGER }),
  reply: (tokens) => ({ input_tokens: tokens }),
};
