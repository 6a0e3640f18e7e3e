import { contentCount, contentFormat, contentOperation } from './content/format.ts';
import { completionsFormat, completionsOperation } from './completions/format.ts';
import { editsOperation, imagesOperation } from './completions/images.ts';
import type { Format } from './format.ts';
import type { Route } from './http/route.ts';
import { messagesCount, messagesFormat, messagesOperation } from './messages/format.ts';
import { answer, count } from './operation.ts';

/** Every format of the gateway. A path belongs to the first that claims it. */
export const formats: readonly Format[] = [completionsFormat, messagesFormat, contentFormat];

const post = { methods: ['POST'] };
const get = { methods: ['GET'] };

/**
 * Every path of the gateway: the operations of the specification, and what real clients ask beside them. A group in a path is
 * its model. To add a format, add a folder like content and messages, name its format above, and add its paths here.
 */
export const routes: readonly Route[] = [
  {
    ...post,
    path: /^\/v1beta\/models\/([^/]+):generateContent$/,
    shown: '/v1beta/models/{model}:generateContent',
    handle: answer(contentOperation),
    specified: true,
  },
  { ...post, path: /^\/v1\/models\/([^/]+):generateContent$/, handle: answer(contentOperation) },
  {
    ...post,
    path: /^\/v1(?:beta)?\/models\/([^/]+):streamGenerateContent$/,
    shown: '/v1beta/models/{model}:streamGenerateContent',
    handle: answer(contentOperation),
    streams: true,
  },
  {
    ...post,
    path: /^\/v1(?:beta)?\/models\/([^/]+):countTokens$/,
    shown: '/v1beta/models/{model}:countTokens',
    handle: count(contentOperation, contentCount),
  },
  { ...post, path: /^\/v1\/messages$/, shown: '/v1/messages', handle: answer(messagesOperation), specified: true },
  {
    ...post,
    path: /^\/v1\/messages\/count_tokens$/,
    shown: '/v1/messages/count_tokens',
    handle: count(messagesOperation, messagesCount),
  },
  {
    ...post,
    path: /^\/v1\/chat\/completions$/,
    shown: '/v1/chat/completions',
    handle: answer(completionsOperation),
  },
  { ...post, path: /^\/v1\/images\/generations$/, shown: '/v1/images/generations', handle: answer(imagesOperation) },
  { ...post, path: /^\/v1\/images\/edits$/, shown: '/v1/images/edits', handle: answer(editsOperation), form: true },
  { ...get, path: /^\/v1beta\/models(?:\/([^/:]+))?$/, shown: '/v1beta/models' },
  { ...get, path: /^\/v1\/models(?:\/([^/:]+))?$/, shown: '/v1/models' },
];
