import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Body } from '../../../src/library/body.ts';
import { applyFieldChanges, placeChanges } from '../../../src/cli/flags/set.ts';
import { mergePromptYaml } from '../../../src/cli/request/prompt-yaml.ts';
import { GatewayError } from '../../../src/library/errors.ts';
import type { JsonObject, JsonValue } from '../../../src/library/json.ts';
import { decodeCompletionsRequest } from '../../../src/library/formats/completions/decode.ts';
import { decodeContentRequest } from '../../../src/library/formats/content/decode.ts';
import type { DecodedRequest } from '../../../src/library/formats/decoded-request.ts';
import { encodeRequest, formatNames, loadFormat } from '../../../src/library/formats/format.ts';
import { decodeMessagesRequest } from '../../../src/library/formats/messages/decode.ts';
import { decodeResponsesRequest } from '../../../src/library/formats/responses/decode.ts';
import { type PlainFields, requestFields } from '../../../src/library/formats/request-fields.ts';
import type { FormatName, Quirks } from '../../../src/library/formats/types.ts';
import { tableRows, topicTexts } from '../../helpers/readme.ts';

/** A value of each plain field; the compiler demands that of a new one. `store` allows something: a format may have no word for it. */
const values: { [Name in Exclude<keyof PlainFields, 'store'>]-?: NonNullable<PlainFields[Name]> } = {
  prompt: 'hi there',
  system: 'terse',
  maxTokens: 7,
  temperature: 0.5,
  topP: 0.5,
  topK: 7,
  effort: 'high',
  search: true,
  keepThink: true,
  stop: ['END'],
  seed: 7,
  candidates: 2,
  responseMime: 'application/json',
  aspect: '16:9',
  size: '2K',
  quality: 'high',
  background: 'transparent',
  outputFormat: 'webp',
  safety: [{ category: 'HARASSMENT', threshold: 'BLOCK_NONE' }],
  cachedContent: 'cachedContents/7',
};

const names = Object.keys(values) as (keyof typeof values)[];

const given = (name: keyof typeof values): PlainFields => ({ [name]: values[name] });

/** What a format makes of fields; the text of its error where it refuses them. */
async function encode(name: FormatName, use: 'text' | 'image', fields: PlainFields, quirks: Partial<Quirks> = {}) {
  const plain = { prompt: 'hi', model: 'm', use, stream: undefined, ...fields };
  try {
    const { body, keepThink } = encodeRequest(plain, await loadFormat(name), { service: 's', ...quirks });
    return { body, keepThink };
  } catch (error) {
    if (error instanceof GatewayError) return error.message;
    throw error;
  }
}

const encodeBoth = (name: FormatName, fields: PlainFields) =>
  Promise.all([encode(name, 'text', fields), encode(name, 'image', fields)]);

test.for(formatNames.flatMap((format) => names.map((field) => [format, field] as const)))(
  'the %s format encodes the plain field %s or refuses it, and never drops it',
  async ([format, field]) => {
    expect(await encodeBoth(format, given(field))).not.toEqual(await encodeBoth(format, {}));
  },
);

/** Fields whose values are the same in every format. The completions format has a name of one letter for candidates, which other flags have, too. */
const settable = names.filter(
  (name) => ['number', 'whole', 'texts'].includes(requestFields[name].kind) && name !== 'candidates',
);

test.for(formatNames.flatMap((format) => settable.map((field) => [format, field] as const)))(
  '--set of the %s format takes the plain field %s by its name alone, if the format has it',
  async ([format, field]) => {
    const [bare, full] = await Promise.all([encode(format, 'text', {}), encode(format, 'text', given(field))]);
    if (typeof bare === 'string' || typeof full === 'string') return;
    const changes = placeChanges([{ path: [field], value: values[field] as JsonValue }], format);
    expect(applyFieldChanges(bare.body, changes, [])).toEqual(full.body);
  },
);

const decoders: Readonly<Record<FormatName, (body: JsonObject) => DecodedRequest>> = {
  content: decodeContentRequest,
  messages: decodeMessagesRequest,
  completions: decodeCompletionsRequest,
  responses: decodeResponsesRequest,
};

/** Fields that a translated request does not have: they are of pictures, or of the way a reply is read; the prompt is a turn. */
const unread = 'prompt keepThink aspect size'.split(' ');

test.for(formatNames.flatMap((format) => names.map((field) => [format, field] as const)))(
  'a request of the %s format that the gateway translates keeps the plain field %s',
  async ([format, field]) => {
    const encoded = await encode(format, 'text', given(field), { search: true });
    if (typeof encoded === 'string' || unread.includes(field)) return;
    const decoded = decoders[format](JSON.parse(JSON.stringify(encoded.body)) as JsonObject);
    expect(decoded[field]).toEqual(values[field]);
  },
);

/** How a picture is asked for: by chat, or by an operation in the words of a service. */
const operations = [undefined, 'openai', 'openrouter'] as const;

/** Every name in a body, at any depth. */
function namesInBody(value: Body[string]): string[] {
  if (Array.isArray(value)) return value.flatMap(namesInBody);
  return Object.entries(value instanceof Object ? value : {}).flatMap(([name, inner]) => [name, ...namesInBody(inner)]);
}

const page = readFileSync(join(import.meta.dirname, '../../../src/library/formats/README.md'), 'utf8');

test.for([
  ['content', 2],
  ['messages', 3],
  ['completions', 7],
  ['responses', 8],
] as const)(
  'the page of the wire names what the %s format makes of plain fields, in section %i',
  async ([name, number]) => {
    const section = page.split(/^## /m).find((text) => text.startsWith(`${number}. `)) ?? '';
    const asked = names.flatMap((field) => [
      encode(name, 'text', given(field)),
      ...operations.map((imagesOperation) => encode(name, 'image', given(field), { imagesOperation })),
    ]);
    const made = (await Promise.all(asked)).flatMap((one) => (typeof one === 'string' ? [] : namesInBody(one.body)));
    expect([...new Set(made)].filter((word) => !new RegExp(`\\b${word}\\b`).test(section))).toEqual([]);
  },
);

test('the table of the topic images says of each flag for pictures which services take it', async () => {
  const rows = tableRows('Flag', [topicTexts.get('images') ?? '']);
  for (const field of names) {
    const flag = `--${field.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    const [, ...cells] = rows.find(([flags = '']) => flags.includes(`\`${flag}\``)) ?? [];
    const takes = await Promise.all(operations.map((operation) => isInBody(field, operation)));
    // Others are of all requests, and of pictures in the chat of a model: no operation takes them.
    const isOfPictures = takes.slice(1).includes(true) && field !== 'prompt' && field !== 'candidates';
    expect({ field, takes: cells.map((cell) => cell !== 'no') }).toEqual({ field, takes: isOfPictures ? takes : [] });
  }
});

/** Whether a request for a picture has something of a field in its body: of Gemini, or of a service with an operation for images. */
async function isInBody(field: keyof typeof values, imagesOperation: Quirks['imagesOperation']): Promise<boolean> {
  const name = imagesOperation ? 'completions' : 'content';
  const [bare, full] = await Promise.all(
    [{}, given(field)].map((fields) => encode(name, 'image', fields, { imagesOperation })),
  );
  return typeof full === 'object' && JSON.stringify(full.body) !== JSON.stringify((bare as typeof full).body);
}

/** Plain fields that a prompt file says elsewhere, or not at all: the format of GitHub Models has no word for them. */
const notInPromptFiles =
  'prompt system responseMime effort search keepThink safety cachedContent aspect size quality background outputFormat'.split(
    ' ',
  );

test('a prompt file takes each plain field that has a word there, and its topic names it', () => {
  const file = { format: 'text', turns: [], rows: [], hasEvaluators: false } as const;
  const taken = names.filter((name) => {
    try {
      const parameters = given(name) as JsonObject;
      const flags = mergePromptYaml({}, { ...file, parameters }, { place: 'x.prompt.yml', command: 'text' });
      expect(flags).toMatchObject(given(name));
      return true;
    } catch (error) {
      if (error instanceof GatewayError) return false;
      throw error;
    }
  });
  expect(taken).toEqual(names.filter((name) => !notInPromptFiles.includes(name)));
  const [line = ''] = /^- `modelParameters` can hold .*/m.exec(topicTexts.get('templates') ?? '') ?? [];
  expect(taken.filter((name) => !line.includes(`\`${name}\``))).toEqual([]);
});
