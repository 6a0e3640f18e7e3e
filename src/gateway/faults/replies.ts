import { isObject, type JsonObject, type JsonValue, toSnakeCase } from '../../library/index.ts';
import { listAt, objectAt } from '../fields/read.ts';
import type { ModelAnswer, AnswerPart, Candidate, MadeImage } from '../models/task.ts';
import { Problem } from '../problem.ts';
import type { FaultTable } from './table.ts';

const wordsInstead = 'This offline model describes the picture instead of drawing it.';

/** Faults of whole replies without what was requested, and of images that are missing, damaged or in an unusual place. */
export const replyFaults: FaultTable = {
  'fault-blocked': {
    answer: (answer) => ({ ...answer, blocked: true }),
  },
  'fault-safety': {
    answer: (answer) => mapCandidates(answer, (candidate) => ({ ...candidate, ended: 'refused' })),
  },
  'fault-no-answer': {
    answer: (answer) =>
      mapCandidates(answer, (candidate) => ({ ...candidate, thinking: undefined, calls: undefined, parts: [] })),
  },
  'fault-max-tokens': {
    answer: (answer) =>
      mapCandidates(answer, (candidate) => ({ ...candidate, ended: 'max-tokens', stopSequence: undefined })),
  },
  'fault-no-usage': {
    answer: (answer) => ({ ...answer, bare: true }),
  },
  'fault-error-200': {
    answer: (answer) => ({ ...answer, failure: new Problem(503, 'The model is overloaded.') }),
    reply: (reply, { format }) => (format === 'messages' ? { ...reply, ...overloadedBody } : reply),
  },
  'fault-no-image': {
    isOfImages: true,
    answer: (answer) =>
      answer.drawn
        ? mapCandidates(answer, (candidate) => ({ ...candidate, parts: [{ text: wordsInstead }], ended: 'no-image' }))
        : answer,
  },
  'fault-fewer-images': {
    isOfImages: true,
    answer: (answer) => ({
      ...answer,
      candidates: answer.candidates.slice(0, Math.max(1, answer.candidates.length - 1)),
    }),
  },
  'fault-bad-base64': {
    isOfImages: true,
    answer: (answer) => mapImages(answer, ({ data, ...image }) => [{ image: { ...image, data: spoil(data) } }]),
  },
  'fault-wrong-mime': {
    isOfImages: true,
    answer: (answer) =>
      mapImages(answer, ({ mimeType, ...image }) => [
        { image: { ...image, mimeType: mimeType === 'image/jpeg' ? 'image/png' : 'image/jpeg' } },
      ]),
  },
  'fault-markdown-image': {
    isOfImages: true,
    answer: (answer) =>
      mapImages(answer, (image) => [
        { text: `Here it is:\n\n![image](data:${image.mimeType};base64,${image.data})\n`, image },
      ]),
  },
  'fault-draft-image': {
    isOfImages: true,
    answer: (answer) => mapImages(answer, (image) => [{ image: { ...image, isDraft: true } }, { image }]),
  },
  'fault-snake-case': {
    answer: (answer) => mapImages(answer, ({ data, ...image }) => [{ image: { ...image, data: urlAlphabet(data) } }]),
    body: (reply, format) => (format === 'content' ? spellInSnakeCase(reply) : reply),
  },
};

const overloadedBody = {
  headers: { 'content-type': 'application/json' },
  body: '{"type":"error","error":{"details":null,"type":"overloaded_error","message":"Overloaded"}}',
};

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

/** Spells all names of the content format in snake_case, in arguments of tools too, and adds the empty siblings of an image as nulls. */
function spellInSnakeCase(reply: JsonObject): JsonObject {
  const candidates = listAt(reply, 'candidates')
    .filter(isObject)
    .map((candidate) => {
      const content = objectAt(candidate, 'content') ?? {};
      const parts = listAt(content, 'parts').filter(isObject);
      const withNulls = parts.map((part) => (part['inlineData'] ? { text: null, ...part } : part));
      return { ...candidate, content: { ...content, parts: withNulls } };
    });
  return Object.fromEntries(Object.entries({ ...reply, candidates }).map(renamed));
}

function renamed([name, value]: [string, JsonValue]): [string, JsonValue] {
  return [toSnakeCase(name), renamedInside(value)];
}

function renamedInside(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(renamedInside);
  return isObject(value) ? Object.fromEntries(Object.entries(value).map(renamed)) : value;
}

/** An answer with each of its candidates changed. */
function mapCandidates(answer: ModelAnswer, change: (candidate: Candidate) => Candidate): ModelAnswer {
  return { ...answer, candidates: answer.candidates.map(change) };
}

/** An answer with each image changed into other parts. */
function mapImages(answer: ModelAnswer, change: (image: MadeImage) => AnswerPart[]): ModelAnswer {
  const mapPart = (part: AnswerPart): AnswerPart[] => (part.image ? change(part.image) : [part]);
  return mapCandidates(answer, (candidate) => ({ ...candidate, parts: candidate.parts.flatMap(mapPart) }));
}
