import type { JsonObject } from '../../json.ts';
import { objectAt } from '../fields/read.ts';
import type { OperationCount, Operation, Format } from '../types.ts';
import { numberIn } from '../http/reply.ts';
import { drawsByName, type LocalModel } from '../models/local.ts';
import { Problem } from '../problem.ts';
import { contentReply, contentError, contentViolation, contentStream } from './reply.ts';
import { contentBody } from './fields.ts';
import { asksForImage, holdsImage, readContentRequest } from './request.ts';

/** The content format; it also answers what no format claims. */
export const contentFormat: Format = {
  name: 'content',
  claims: () => true,
  keyForms: ['vendor-key', 'bearer'],
  wrongKey: 'the API key is not valid',
  error: contentError,
  violation: contentViolation,
  unknownModel(model, served) {
    const why = `is not found, or is not supported for generateContent. This gateway has ${served}.`;
    return new Problem(404, `models/${model} ${why}`);
  },
  offers: () => true,
  /** A page of 50 unless `pageSize` says so; its token is where the next one begins. */
  listModels(models, query) {
    const start = numberIn(query, 'pageToken', 0);
    const end = start + numberIn(query, 'pageSize', 50);
    const page = models.slice(start, end).map(describeModel);
    return { models: page, ...(end < models.length && { nextPageToken: String(end) }) };
  },
  describeModel,
};

const textMethods = ['generateContent', 'streamGenerateContent', 'countTokens'];
const tokenLimit = 1_048_576;

function describeModel({ id, title, draws }: LocalModel): JsonObject {
  return {
    name: `models/${id}`,
    version: '1',
    displayName: title,
    inputTokenLimit: tokenLimit,
    outputTokenLimit: tokenLimit,
    supportedGenerationMethods: draws ? textMethods.slice(0, 2) : textMethods,
  };
}

/** `:generateContent` and `:streamGenerateContent`. */
export const contentOperation: Operation = {
  serves: () => true,
  modelOf: ({ model }) => (model ?? '').replace(/^models\//, ''),
  check: (body, mode) => contentBody(body, [], mode),
  fallback(asked, checked) {
    if (!drawsByName(asked) && !asksForImage(checked)) return 'local-text';
    return holdsImage(checked) ? 'local-edit' : 'local-image';
  },
  read: (checked, model, { route }) => readContentRequest(checked, model, route?.streams === true),
  /** The bearer token of image requests says it too, where there is nothing that only text has. */
  wantsPicture({ picture, task }, { keyForm }) {
    const forText = task.tools.length > 0 || task.json || task.schema !== undefined || task.thinking;
    return picture.isAsked || (keyForm === 'bearer' && !forText);
  },
  reply: contentReply,
  contentType: 'application/json; charset=UTF-8',
  stream: contentStream,
};

/** `:countTokens`: its body is a request, or holds one. */
export const contentCount: OperationCount = {
  bodyOf: (body) => objectAt(body, 'generateContentRequest') ?? objectAt(body, 'generate_content_request') ?? body,
  reply: (tokenCount) => ({ totalTokens: tokenCount, promptTokensDetails: [{ modality: 'TEXT', tokenCount }] }),
};
