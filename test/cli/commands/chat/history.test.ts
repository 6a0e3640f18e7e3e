import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, expect, vi } from 'vitest';
import { scratchFolder } from '../../../helpers/scratch.ts';
import { test } from '../../../helpers/with-server.ts';
import { person } from './person.ts';

/** The file of the history in a new state folder; env-paths reads the process itself. */
let path: string;
beforeEach(() => {
  const state = scratchFolder();
  vi.stubEnv('XDG_STATE_HOME', state);
  path = join(state, 'gateway-cli/sessions/chat-history');
});

/** Conversations of these entries; `talk` returns the history that one begins with. */
const talks = test.extend<{ talk: (...entries: string[]) => Promise<readonly string[]> }>({
  talk: async ({ cli }, use) => {
    await use(async (...entries) => {
      let history: readonly string[] = [];
      await cli(['chat'], person(entries, (options) => (history = options.history)).options);
      return history;
    });
  },
});

talks('the history is there the next time, readable only by its owner', async ({ talk }) => {
  expect(await talk('/help', '/system two\nlines "here"')).toEqual([]);
  writeFileSync(path, '{torn', { flag: 'a' });
  expect(await talk()).toEqual(['/help', '/system two\nlines "here"']);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

talks('a history that is too long is cut to its newest entries', async ({ talk }) => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, Array.from({ length: 2500 }, (_, i) => `"${i}"\n`).join(''));
  const entries = await talk();
  expect([entries.length, entries.at(-1)]).toEqual([1000, '2499']);
  expect(readFileSync(path, 'utf8').split('\n')).toHaveLength(1001);
});

talks('a history that cannot be written is ignored', async ({ talk }) => {
  mkdirSync(path, { recursive: true });
  expect(await talk('/help')).toEqual([]);
  expect(await talk()).toEqual([]);
});
