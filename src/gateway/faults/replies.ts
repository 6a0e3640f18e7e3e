import { isObject } from '../../json.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { listAt, objectAt } from '../fields/read.ts';
import type { FaultTable } from './fault.ts';

const danger: JsonObject = { category: 'HARM_CATEGORY_DANGEROUS_CONTENT', probability: 'HIGH', blocked: true };
const refusal: JsonObject = {
  type: 'refusal',
  category: 'general_harms',
  explanation: 'This offline model refuses everything.',
};
const wordsInstead = 'This offline model describes the picture instead of drawing it.';

/** Whole replies that are not what was asked for, and pictures that are missing, spoilt or oddly wrapped. */
export const replyFaults: FaultTable = {
  'fault-blocked': {
    description: 'the prompt is blocked: promptFeedback.blockReason, or stop_reason refusal without content',
    exitCode: 10,
    content: ({ usageMetadata, modelVersion, responseId }) =>
      present({
        promptFeedback: { blockReason: 'SAFETY', safetyRatings: [danger] },
        usageMetadata,
        modelVersion,
        responseId,
      }),
    message: (message) => ({ ...message, content: [], stop_reason: 'refusal', stop_details: refusal }),
  },
  'fault-safety': {
    description: 'the answer is stopped by its safety ratings: finishReason SAFETY, or a refusal after some text',
    exitCode: 10,
    content: (reply) =>
      mapCandidates(reply, ({ index }) => present({ index, finishReason: 'SAFETY', safetyRatings: [danger] })),
    message: (message) => ({ ...message, stop_reason: 'refusal', stop_details: refusal }),
  },
  'fault-no-answer': {
    description: 'a reply without content, though it ends well',
    exitCode: 10,
    content: (reply) => mapCandidates(reply, (candidate) => ({ ...candidate, content: { role: 'model' } })),
    message: (message) => ({ ...message, content: [] }),
  },
  'fault-max-tokens': {
    description: 'the token limit cuts the answer: MAX_TOKENS or max_tokens; exit 0 unless a whole answer is required',
    commands: ['text', 'chat'],
    exitCode: 11,
    content: (reply) => mapCandidates(reply, (candidate) => ({ ...candidate, finishReason: 'MAX_TOKENS' })),
    message: (message) => ({ ...message, stop_reason: 'max_tokens', stop_sequence: null }),
  },
  'fault-no-usage': {
    description: 'a good answer without its usage, model version and id',
    exitCode: 0,
    content: ({ candidates }) => present({ candidates }),
    message: ({ usage: _usage, ...message }) => message,
  },
  'fault-error-200': {
    description: 'status 200, but the body is an error',
    exitCode: 6,
    content: () => ({ error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } }),
    reply: (reply, { format }) => (format === 'messages' ? { ...reply, ...overloadedBody } : reply),
  },
  'fault-no-image': {
    description: 'words instead of the picture, finishReason NO_IMAGE',
    commands: ['image gen', 'image edit'],
    exitCode: 10,
    content: (reply) =>
      mapCandidates(reply, ({ index, safetyRatings }) =>
        present({
          content: { role: 'model', parts: [{ text: wordsInstead }] },
          finishReason: 'NO_IMAGE',
          index,
          safetyRatings,
        }),
      ),
  },
  'fault-fewer-images': {
    description: 'one picture less than asked for',
    commands: ['image gen'],
    exitCode: 11,
    content: (reply) => ({
      ...reply,
      candidates: listAt(reply, 'candidates').slice(0, Math.max(1, listAt(reply, 'candidates').length - 1)),
    }),
  },
  'fault-bad-base64': {
    description: 'the picture holds characters that are not Base64',
    commands: ['image gen', 'image edit'],
    exitCode: 9,
    content: (reply) => mapInline(reply, ({ mimeType, data }) => [inline(mimeType, spoil(String(data)))]),
  },
  'fault-wrong-mime': {
    description: 'a good picture under another type (a warning; the bytes win)',
    commands: ['image gen', 'image edit'],
    exitCode: 0,
    content: (reply) =>
      mapInline(reply, ({ mimeType, data }) => [inline(mimeType === 'image/jpeg' ? 'image/png' : 'image/jpeg', data)]),
  },
  'fault-markdown-image': {
    description: 'the picture as a Markdown data URL in the text',
    commands: ['image gen', 'image edit'],
    exitCode: 0,
    content: (reply) =>
      mapInline(reply, ({ mimeType, data }) => [
        { text: `Here it is:\n\n![image](data:${String(mimeType)};base64,${String(data)})\n` },
      ]),
  },
  'fault-draft-image': {
    description: 'a thought picture, a draft, before the real one',
    commands: ['image gen', 'image edit'],
    exitCode: 0,
    content: (reply) =>
      mapInline(reply, ({ mimeType, data }) => [{ ...inline(mimeType, data), thought: true }, inline(mimeType, data)]),
  },
  'fault-snake-case': {
    description: 'a good answer in snake_case, base64url and with nulls, as some gateways write it',
    commands: ['text', 'image gen', 'image edit'],
    exitCode: 0,
    content: (reply) =>
      snakeCase(mapInline(reply, ({ mimeType, data }) => [inline(mimeType, urlAlphabet(String(data)))])),
  },
};

const overloadedBody = {
  headers: { 'content-type': 'application/json' },
  body: '{"type":"error","error":{"details":null,"type":"overloaded_error","message":"Overloaded"}}',
};

function inline(mimeType: JsonValue | undefined, data: JsonValue | undefined): JsonObject {
  return { inlineData: present({ mimeType, data }) };
}

function spoil(data: string): string {
  const middle = Math.floor(data.length / 2);
  return `${data.slice(0, middle)}!*!*${data.slice(middle + 4)}`;
}

function urlAlphabet(data: string): string {
  return data
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/={1,2}$/, '');
}

/** All names in snake_case, in arguments of tools too, and the empty siblings of a picture as nulls. */
function snakeCase(reply: JsonObject): JsonObject {
  const withNulls = mapParts(reply, (part) =>
    isObject(part) && part['inlineData'] ? [{ text: null, ...part }] : [part],
  );
  return Object.fromEntries(Object.entries(withNulls).map(renamed));
}

function renamed([name, value]: [string, JsonValue]): [string, JsonValue] {
  return [name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), renamedInside(value)];
}

function renamedInside(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(renamedInside);
  return isObject(value) ? Object.fromEntries(Object.entries(value).map(renamed)) : value;
}

/** A content-format reply with each candidate changed. */
function mapCandidates(reply: JsonObject, change: (candidate: JsonObject) => JsonObject): JsonObject {
  return { ...reply, candidates: listAt(reply, 'candidates').filter(isObject).map(change) };
}

/** A content-format reply with each part changed into others. */
function mapParts(reply: JsonObject, change: (part: JsonValue) => JsonValue[]): JsonObject {
  return mapCandidates(reply, (candidate) => ({
    ...candidate,
    content: { role: 'model', parts: listAt(objectAt(candidate, 'content'), 'parts').flatMap(change) },
  }));
}

/** A content-format reply with each picture changed into other parts. */
function mapInline(reply: JsonObject, change: (blob: JsonObject) => JsonObject[]): JsonObject {
  return mapParts(reply, (part) => {
    const blob = objectAt(part, 'inlineData');
    return blob ? change(blob) : [part];
  });
}

/** An object of the fields that have a value. */
function present(fields: Record<string, JsonValue | undefined>): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
