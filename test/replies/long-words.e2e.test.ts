import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { scratchFolder } from '../helpers/scratch.ts';
import { shell } from '../helpers/spawn.ts';
import { canaryKey, test, textReply } from '../helpers/with-server.ts';

/** A pattern that can go back to each of so many characters overflows its stack. */
const word = 'x'.repeat(5_000_000);

/** Node compiles patterns in this way once a process has much code: a suite of tests, a server. */
const cli = 'node --no-regexp-optimization "$BIN"';

test.for([
  ['text', `${cli} text --prompt-file long.txt --record recorded`],
  ['batch', `${cli} batch jobs.jsonl -o out`],
] as const)('%s sends and prints a word of megabytes', async ([, line], { server }) => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'long.txt'), word);
  writeFileSync(join(cwd, 'jobs.jsonl'), JSON.stringify({ id: 'a', prompt: word }));
  server.reply({ body: textReply(word) });
  const env = { GATEWAY_BASE_URL: server.url, GATEWAY_API_KEY: canaryKey, GATEWAY_MODEL: 'm' };
  const ran = await shell(line, { cwd, env });
  expect(ran.stderr.slice(0, 500)).not.toContain('internal');
  expect(ran.code).toBe(0);
});
