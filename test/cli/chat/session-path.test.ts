import { join } from 'node:path';
import { beforeEach, expect, test, vi } from 'vitest';
import { sessionPath } from '../../../src/cli/chat/session-path.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

const [state, cwd] = [scratchFolder(), scratchFolder()];
const sessions = join(state, 'gateway-cli/sessions');
beforeEach(() => vi.stubEnv('XDG_STATE_HOME', state));

test.each([
  ['trip', `${sessions}/trip.jsonl`],
  ['2026-11-20-1503', `${sessions}/2026-11-20-1503.jsonl`],
  ['Prüfung_1.b', `${sessions}/Prüfung_1.b.jsonl`],
  ['talk.jsonl', `${cwd}/talk.jsonl`],
  ['./talk', `${cwd}/talk`],
  ['/tmp/a b.jsonl', '/tmp/a b.jsonl'],
])('the path of the session %s is %s', async (typed, path) => {
  expect(await sessionPath(typed, cwd)).toBe(path);
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
  await expect(sessionPath(typed, cwd)).rejects.toMatchObject({
    class: 'usage',
    details: { reason: 'session-name', value: better },
  });
});
