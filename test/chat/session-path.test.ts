import { expect, test } from 'vitest';
import { sessionPath } from '../../src/chat/session-path.ts';

const place = { cwd: '/work', folder: async () => '/state/sessions' };

test.each([
  ['trip', '/state/sessions/trip.jsonl'],
  ['2026-11-20-1503', '/state/sessions/2026-11-20-1503.jsonl'],
  ['Prüfung_1.b', '/state/sessions/Prüfung_1.b.jsonl'],
  ['talk.jsonl', '/work/talk.jsonl'],
  ['./talk', '/work/talk'],
  ['/tmp/a b.jsonl', '/tmp/a b.jsonl'],
])('the path of %s is %s', async (typed, path) => {
  expect(await sessionPath(typed, place)).toBe(path);
});

test.each([
  ['my trip', 'my-trip'],
  ['..', 'notes'],
  ['.hidden', 'hidden'],
  ['-x', 'x'],
  ['', 'notes'],
  ['a\nb', 'a-b'],
  ['con', 'notes'],
  ['x'.repeat(101), 'x'.repeat(100)],
])('refuses %j and suggests another name', async (typed, better) => {
  await expect(sessionPath(typed, place)).rejects.toMatchObject({
    class: 'usage',
    details: { reason: 'session-name', value: better },
  });
});
