import { expect, test } from 'vitest';
import { completionsBatch } from '../../../../src/library/formats/completions/batch.ts';
import { joinUrl } from '../../../../src/library/transport/request.ts';

const read = (id: string, file: string) =>
  completionsBatch.readBatch({ id, status: 'completed', output_file_id: file, error_file_id: null });
const base = new URL('https://host/prefix');

test('ids of any printable characters are one segment of a path, as the client of OpenAI writes them', () => {
  const batch = read('batches/a:1=', 'bGl0ZWxsbQ==');
  expect(completionsBatch.retrieve(batch?.id ?? '').path).toBe('/v1/batches/batches%2Fa%3A1%3D');
  const [file] = batch?.results ?? [];
  expect(joinUrl(base, file?.path ?? '').href).toBe('https://host/prefix/v1/files/bGl0ZWxsbQ%3D%3D/content');
});

test.for(['..', '.', '', 'a b', 'a\u0000', 'ä'])('an id that a path cannot hold is not accepted: %j', (id) => {
  expect(read(id, 'f')).toBeUndefined();
});

test.for(['../../v1/keys', 'a?b=c', 'a#b', '%2e%2e'])('an id stays in its segment: %j', (id) => {
  const path = completionsBatch.retrieve(read(id, 'f')?.id ?? '').path;
  expect(joinUrl(base, path).pathname).toMatch(/^\/prefix\/v1\/batches\/[^/]+$/);
});
