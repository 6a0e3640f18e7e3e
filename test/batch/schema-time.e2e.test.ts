import { expect } from 'vitest';
import { textReply } from '../helpers/with-server.ts';
import { test } from './with-batch.ts';

test('an answer whose check does not end fails its job alone, and is kept', async ({ server, folder, batch }) => {
  server.answer = (prompt) => ({ body: textReply(prompt === 'endless' ? `"${'a'.repeat(60)}b"` : '"aa"') });
  folder.write('s.json', JSON.stringify({ pattern: '^(a+)+$' }));
  folder.jobs({ id: 'a', prompt: 'endless', schema: 's.json' }, { id: 'b', prompt: 'short', schema: 's.json' });
  const ran = await batch(['--timeout', '3', '--json']);
  expect([ran.code, JSON.parse(ran.stdout)]).toMatchObject([13, { done: 1, failed: 1 }]);
  const rows = folder.lines('results.jsonl');
  expect(rows.find(({ id }) => id === 'a')).toMatchObject({
    text: `"${'a'.repeat(60)}b"`,
    error: { class: 'incomplete' },
  });
});
