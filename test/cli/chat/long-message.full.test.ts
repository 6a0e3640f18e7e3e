import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readSession } from '../../../src/cli/chat/session-file.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

test('a session with a message of 257 MiB is read whole: what is not read would be lost when its last turn is replaced', async () => {
  const path = join(scratchFolder(), 'long.jsonl');
  writeFileSync(path, '{"role":"user","content":"hi"}\n{"role":"assistant","content":"');
  for (let part = 0; part < 257; part++) appendFileSync(path, Buffer.alloc(1 << 20, 'a'));
  appendFileSync(path, '"}\n');
  const { messages } = await readSession(path);
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
});
