import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ask, folder, namesIn, serve, start } from '../../faults/program.ts';
import { recordedFiles } from '../../helpers/recorded-files.ts';
import { textReply } from '../../helpers/with-server.ts';

const cache = ['--record', 'kept', '--replay', 'kept'];

function jobFile(cwd: string, name: string, from: number, to: number): void {
  const lines = Array.from({ length: to - from }, (_, i) =>
    JSON.stringify({ id: `job-${from + i}`, prompt: `${from + i}` }),
  );
  writeFileSync(join(cwd, name), lines.join('\n'));
}

test('a process that is killed while it records leaves no recording that answers', async () => {
  const server = await serve();
  const whole = JSON.stringify(textReply('whole'));
  server.reply({ chunks: [whole.slice(0, 60), new Promise(() => {})] });
  const { child, cwd } = start(['text', 'hi', ...cache], server);
  await server.received(1);
  const parts = (): string[] => namesIn(join(cwd, 'kept')).filter((name) => name.endsWith('.part'));
  await expect.poll(() => parts().length, { timeout: 50_000 }).toBe(1);
  child.kill('SIGKILL');
  await once(child, 'close');
  server.reply({ body: whole });
  for (let i = 0; i < 2; i++) {
    expect(await ask(['text', 'hi', ...cache], server, { cwd })).toMatchObject({ code: 0, stdout: 'whole\n' });
  }
  expect(server.requests).toHaveLength(2);
});

test('two processes at once lose no recording of each other', { timeout: 120_000 }, async () => {
  const server = await serve();
  server.always({ body: textReply('ok') });
  const cwd = folder();
  jobFile(cwd, 'low.jsonl', 0, 30);
  jobFile(cwd, 'high.jsonl', 15, 45);
  jobFile(cwd, 'all.jsonl', 0, 45);
  const batch = (name: string) => ['batch', `${name}.jsonl`, '-o', name, ...cache];
  const both = ['low', 'high'].map((name) => start(batch(name), server, { cwd }).ended);
  for (const { code } of await Promise.all(both)) expect(code).toBe(0);
  const asked = server.requests.length;
  expect(recordedFiles(join(cwd, 'kept'))).toHaveLength(asked);
  expect((await ask(batch('all'), server, { cwd })).code).toBe(0);
  expect(server.requests).toHaveLength(asked);
  expect(readFileSync(join(cwd, 'all/results.jsonl'), 'utf8').match(/"attempts":0/g)).toHaveLength(45);
});
