import { isObject } from '../../json.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { listAt } from '../fields/read.ts';
import { imageCommands, type Fault } from './fault.ts';
import { mapCandidates, mapInline, mapParts, present } from './reshape.ts';

const wordsInstead = 'This offline model describes the picture instead of drawing it.';

/** Pictures that are missing, spoilt or oddly wrapped. */
export const pictureFaults: readonly Fault[] = [
  {
    name: 'fault-no-image',
    description: 'words instead of the picture, finishReason NO_IMAGE',
    commands: imageCommands,
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
  {
    name: 'fault-fewer-images',
    description: 'one picture less than asked for',
    commands: ['image gen'],
    exitCode: 11,
    flags: '--candidates 2',
    content: (reply) => ({
      ...reply,
      candidates: listAt(reply, 'candidates').slice(0, Math.max(1, listAt(reply, 'candidates').length - 1)),
    }),
  },
  {
    name: 'fault-bad-base64',
    description: 'the picture holds characters that are no Base64',
    commands: imageCommands,
    exitCode: 9,
    content: (reply) => mapInline(reply, ({ mimeType, data }) => [inline(mimeType, spoil(String(data)))]),
  },
  {
    name: 'fault-wrong-mime',
    description: 'a good picture under another type (a warning; the bytes win)',
    commands: imageCommands,
    exitCode: 0,
    content: (reply) =>
      mapInline(reply, ({ mimeType, data }) => [inline(mimeType === 'image/jpeg' ? 'image/png' : 'image/jpeg', data)]),
  },
  {
    name: 'fault-markdown-image',
    description: 'the picture as a Markdown data URL in the text',
    commands: imageCommands,
    exitCode: 0,
    content: (reply) =>
      mapInline(reply, ({ mimeType, data }) => [
        { text: `Here it is:\n\n![image](data:${String(mimeType)};base64,${String(data)})\n` },
      ]),
  },
  {
    name: 'fault-draft-image',
    description: 'a thought picture, a draft, before the real one',
    commands: imageCommands,
    exitCode: 0,
    content: (reply) =>
      mapInline(reply, ({ mimeType, data }) => [{ ...inline(mimeType, data), thought: true }, inline(mimeType, data)]),
  },
  {
    name: 'fault-snake-case',
    description: 'a good answer in snake_case, base64url and with nulls, as some gateways write it',
    commands: ['text', 'image gen', 'image edit'],
    exitCode: 0,
    content: (reply) =>
      snakeCase(mapInline(reply, ({ mimeType, data }) => [inline(mimeType, urlAlphabet(String(data)))])),
  },
];

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

/** All names in snake_case, in arguments of tools too, and the empty siblings of a picture as nulls (wire.md 6). */
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
