import { expect, test } from 'vitest';
import { GatewayError } from '../../src/errors.ts';
import { encodeRequest, formatNames, loadFormat } from '../../src/formats/format.ts';
import type { FormatName, PlainFields } from '../../src/formats/types.ts';

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

/** What a format makes of a field, for a text and for an image; an error where it refuses it. */
async function encodeWith(name: FormatName, fields: PlainFields): Promise<unknown[]> {
  const format = await loadFormat(name);
  return (['text', 'image'] as const).map((use) => {
    try {
      const plain = { prompt: 'hi', model: 'm', use, stream: undefined, ...fields };
      const { body, keepThink } = encodeRequest(plain, format, { service: 's' });
      return { body, keepThink };
    } catch (error) {
      if (error instanceof GatewayError) return error.message;
      throw error;
    }
  });
}

test.for(formatNames.flatMap((format) => Object.keys(values).map((field) => [format, field] as const)))(
  'the %s format encodes the plain field %s or refuses it, and never drops it',
  async ([format, field]) => {
    const given = { [field]: values[field as keyof typeof values] };
    expect(await encodeWith(format, given)).not.toEqual(await encodeWith(format, {}));
  },
);
