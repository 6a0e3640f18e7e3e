import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createMemoryStore } from '../../../src/library/images/store.ts';
import { divertBase64 } from '../../../src/library/scan/json-scan.ts';
import { anyText } from '../../helpers/any-text.ts';

type Value = { bytes: Uint8Array; form: 'base64' | 'base64url' | 'bare' | 'prefix' } | Value[] | string | number | null;

const blob = fc.record({
  bytes: fc.uint8Array({ minLength: 1, maxLength: 200 }),
  form: fc.constantFrom('base64' as const, 'base64url' as const, 'bare' as const, 'prefix' as const),
});

const { tree } = fc.letrec<{ tree: Value }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    anyText,
    fc.integer(),
    fc.constant(null),
    blob,
    blob,
    fc.array(tie('tree'), { maxLength: 5 }),
  ),
}));

/** The tree as a reply: each blob in one of the places that gateways use. */
function encode(value: Value): unknown {
  if (Array.isArray(value)) return { [`k${value.length}`]: value.map(encode), other: 'a "quoted" \\ text' };
  if (value === null || typeof value !== 'object') return value;
  const buffer = Buffer.from(value.bytes);
  const text = buffer.toString(value.form === 'base64url' ? 'base64url' : 'base64');
  if (value.form === 'bare') return { text: `see ![x](data:image/png;base64,${text}) "there"` };
  return {
    [buffer.length % 2 ? 'inlineData' : 'source']: {
      data: value.form === 'prefix' ? `data:image/png;base64,${text}` : text,
    },
  };
}

/** Rewrites characters of the JSON text as equivalent escapes. */
function escapeSome(json: string, seed: readonly number[]): string {
  let i = 0;
  return json.replace(/[+/=A-Cx](?=[^"]*"[,}\]])/g, (char) => {
    const choice = (seed[i++ % seed.length] ?? 0) % 8;
    if (choice === 0) return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
    return choice === 1 && char === '/' ? '\\/' : char;
  });
}

function blobsOf(value: Value): Uint8Array[] {
  if (Array.isArray(value)) return value.flatMap(blobsOf);
  return value !== null && typeof value === 'object' ? [value.bytes] : [];
}

/** Reads the rest like a reader: resolves every string that was a picture. */
async function resolveAll(value: unknown, resolve: (data: string) => Promise<Uint8Array>): Promise<Uint8Array[]> {
  if (value === null || typeof value !== 'object') return [];
  const found: Uint8Array[] = [];
  for (const [key, inner] of Object.entries(value)) {
    if (key === 'data') found.push(await resolve(inner as string));
    else if (key === 'text') found.push(await resolve(/base64,([\w+/=-]*)\)/.exec(inner as string)?.[1] ?? ''));
    else found.push(...(await resolveAll(inner, resolve)));
  }
  return found;
}

test('gives the same pictures as JSON.parse and Buffer for any reply, escapes and chunks', async () => {
  const seeds = fc.array(fc.nat(1000), { minLength: 1 });
  await fc.assert(
    fc.asyncProperty(tree, seeds, seeds, async (value, escapes, cuts) => {
      const reply = { reply: encode(value) };
      const plain = JSON.stringify(reply);
      const json = escapeSome(plain, escapes);
      expect(JSON.parse(json)).toEqual(JSON.parse(plain));
      const store = createMemoryStore();
      const parts: Uint8Array[] = [];
      for await (const part of divertBase64(chunksOf(Buffer.from(json), cuts), store, { threshold: 40 }))
        parts.push(part);
      const left: unknown = JSON.parse(Buffer.concat(parts).toString());
      const resolved = await resolveAll(left, async (data) => {
        const { content } = await store.resolve(data);
        return 'data' in content ? content.data : new Uint8Array();
      });
      expect(resolved.map((bytes) => Buffer.from(bytes))).toEqual(blobsOf(value).map((bytes) => Buffer.from(bytes)));
    }),
    { numRuns: 300 },
  );
});

async function* chunksOf(bytes: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (let i = 0; at < bytes.length; i++) {
    const size = ((cuts[i % cuts.length] ?? 0) % 90) + 1;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}
