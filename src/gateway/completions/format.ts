import type { IncomingHttpHeaders } from 'node:http';
import type { JsonObject } from '../../json.ts';
import { textAt } from '../fields/read.ts';
import type { Format, Operation } from '../types.ts';
import { drawsByName, type LocalModel } from '../models/local.ts';
import {
  completionsReply,
  created,
  completionsError,
  completionsViolation,
  unknownModel,
  completionsStream,
} from './reply.ts';
import { completionsBody, checkForOpenAi, inWordsOfOpenAi } from './fields.ts';
import { asksForImage, holdsImage, readCompletionsRequest } from './request.ts';

/** The completions format: OpenAI's chat completions and images. */
export const completionsFormat: Format = {
  name: 'completions',
  claims: (path, headers) =>
    /^\/v1\/(?:chat|images|responses|embeddings|audio|moderations|batches)(?:\/|$)/.test(path) ||
    (/^\/v1\/(?:models(?:\/[^:]*)?|files(?:\/.*)?)$/.test(path) && hasBearerAlone(headers)),
  idHeader: 'x-request-id',
  keyForms: ['bearer'],
  wrongKey: 'Incorrect API key provided.',
  error: completionsError,
  violation: completionsViolation,
  unknownModel: (model, served) => unknownModel(model, ` The local gateway has ${served}.`),
  offers: () => true,
  listModels: (models) => ({ object: 'list', data: models.map(describeModel) }),
  describeModel,
};

/** Clients of the messages format name a version beside their token. */
function hasBearerAlone({ authorization, ...headers }: IncomingHttpHeaders): boolean {
  const others = ['anthropic-version', 'vendor-b-version', 'x-api-key', 'x-goog-api-key', 'x-vendor-a-api-key'];
  return authorization !== undefined && others.every((name) => headers[name] === undefined);
}

function describeModel({ id }: LocalModel): JsonObject {
  return { id, object: 'model', created, owned_by: 'gateway-cli' };
}

/** `/v1/chat/completions`. */
export const completionsOperation: Operation = {
  serves: () => true,
  modelOf: (_request, body) => textAt(body, 'model'),
  check(body, mode) {
    if (mode.level !== 'spec') return completionsBody(body, [], mode);
    const checked = inWordsOfOpenAi(body, () => completionsBody(body, [], mode));
    checkForOpenAi(checked);
    return checked;
  },
  fallback(asked, checked) {
    if (!drawsByName(asked) && !asksForImage(checked)) return 'local-chat';
    return holdsImage(checked) ? 'local-edit' : 'local-image';
  },
  /** OpenAI counts the thoughts of its models, and does not show them. */
  read: (checked, model, _request, { mode }) => readCompletionsRequest(checked, model, mode.level !== 'spec'),
  wantsPicture: ({ picture }) => picture.isAsked,
  reply: completionsReply,
  contentType: 'application/json',
  stream: completionsStream,
};
