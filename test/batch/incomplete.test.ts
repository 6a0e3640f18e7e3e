import { expect } from 'vitest';
import { textReply } from '../helpers/with-server.ts';
import { test } from './with-batch.ts';

const reply = (text: string, finishReason: string): object =>
  textReply('', { candidates: [{ content: { role: 'model', parts: [{ text }] }, finishReason, index: 0 }] });
const cutOf = (prompt: string): object | undefined =>
  prompt === 'cut' ? { body: reply('half an ans', 'MAX_TOKENS') } : undefined;
const jobs = [
  { id: 'a', prompt: 'whole' },
  { id: 'b', prompt: 'cut' },
];
const lines = (text: string): string[] => text.trimEnd().split(/\r?\n/);

test('an answer that the token limit cut is shown everywhere, and is sent again on demand', async ({
  server,
  folder,
  batch,
}) => {
  server.answer = cutOf;
  folder.jobs(...jobs);
  const ran = await batch(['--json']);
  expect([ran.code, JSON.parse(ran.stdout)]).toMatchObject([0, { done: 2, incomplete: 1, failed: 0 }]);
  expect(ran.stderr).toContain(
    '1 incomplete: gateway-cli batch retry out incomplete  # billed again; give these jobs more maxTokens before\n',
  );

  const status = await batch(['status', 'out']);
  expect(status.stdout).toContain('2 done (1 incomplete)');
  expect(status.stdout).toContain('batch retry out incomplete');
  const [head = '', ...rows] = lines((await batch(['export', 'out'])).stdout);
  const at = (row: string | undefined, name: string): string | undefined =>
    row?.split(',')[head.split(',').indexOf(name)];
  expect(rows.map((row) => [at(row, 'complete'), at(row, 'stopReason')])).toEqual([
    ['true', 'STOP'],
    ['false', 'MAX_TOKENS'],
  ]);
  expect((await batch(['export', 'out', '--format', 'junit'])).stdout).toContain('incomplete: MAX_TOKENS');

  // Nothing is sent again without the flag; with it only the job that was cut, with the current limits.
  expect((await batch([])).code).toBe(0);
  expect(server.bodies).toHaveLength(2);
  server.answer = () => undefined;
  folder.jobs(...jobs.map((job) => ({ ...job, maxTokens: 900 })));
  const again = await batch(['--retry', 'incomplete', '--json']);
  expect([again.code, JSON.parse(again.stdout)]).toMatchObject([0, { done: 2, incomplete: 0, skipped: 1 }]);
  expect(server.bodies).toHaveLength(3);
  expect(JSON.stringify(server.bodies[2])).toContain('900');
  // A limit is no part of what is asked: nothing was edited.
  expect(await batch([])).toMatchObject({ code: 0 });
  expect(await batch(['--retry', 'incomplete'])).toMatchObject({ code: 0 });
  expect(server.bodies).toHaveLength(3);
});

test('with a schema a cut answer names the limit', async ({ server, folder, batch }) => {
  server.answer = cutOf;
  folder.write('s.json', '{"type":"object"}');
  folder.jobs({ id: 'b', prompt: 'cut', schema: 's.json' });
  const ran = await batch([]);
  expect(ran.code).toBe(13);
  expect(ran.stderr).toContain('cut by the token limit (MAX_TOKENS)');
  expect(ran.stderr).not.toContain('not JSON');
});

test('a table has no column without a value, and no value twice', async ({ server, folder, batch }) => {
  server.answer = () => ({ body: reply('{"born":1815}', 'STOP') });
  folder.write('s.json', '{"type":"object"}');
  folder.jobs({ id: 'b', prompt: 'x', schema: 's.json' });
  await batch([]);
  const [head, row] = lines((await batch(['export', 'out'])).stdout);
  expect(head).toMatch(/^id,command,state,complete,stopReason,prompt,answer\.born,usage\./);
  expect(head).not.toMatch(/name|text|images|error/);
  expect(row).toMatch(/^b,text,done,true,STOP,x,1815,/);
});

test('an answer in a code block is the JSON in it', async ({ server, folder, batch }) => {
  server.answer = () => ({ body: reply('```json\n{"born":1815}\n```\n', 'STOP') });
  folder.write('s.json', '{"type":"object","required":["born"]}');
  folder.jobs({ id: 'b', prompt: 'x', schema: 's.json' });
  expect((await batch([])).code).toBe(0);
  expect(folder.lines('results.jsonl')).toMatchObject([{ answer: { born: 1815 } }]);
});

test('a limit that leaves cut answers leaves them as they are: only the named command pays for them', async ({
  server,
  folder,
  batch,
}) => {
  const isRefused = (prompt: string): boolean => prompt.startsWith('refused');
  server.answer = (prompt) => (isRefused(prompt) ? { status: 400, body: {} } : cutOf(prompt.slice(0, 3)));
  folder.jobs(...['refused a', 'refused b', 'cut c', 'cut d', 'cut e'].map((prompt) => ({ id: prompt, prompt })));
  await batch();
  server.answer = () => undefined;
  const some = await batch(['retry', 'out', 'failed,incomplete', '--limit', '3']);
  expect([some.code, some.stderr]).toEqual([0, expect.stringContaining('5 done (2 incomplete)\n')]);
  expect(await batch(['again', 'out'])).toMatchObject({ code: 0 });
  expect(server.bodies).toHaveLength(8);
  expect((await batch(['status', 'out'])).stdout).not.toContain('to make again');
  expect(await batch(['retry', 'out', 'incomplete'])).toMatchObject({ code: 0 });
  expect([...server.counts.values()]).toEqual([2, 2, 2, 2, 2]);
});

test('a cut answer whose second try failed has one command: typing all that is printed pays for the row once', async ({
  server,
  folder,
  batch,
}) => {
  server.answer = cutOf;
  folder.jobs(...jobs);
  await batch();
  server.answer = () => ({ status: 400 });
  expect(await batch(['retry', 'out', 'incomplete'])).toMatchObject({ code: 13 });
  const { stdout } = await batch(['status', 'out']);
  expect(stdout).toMatch(/^2 jobs: 2 done \(1 incomplete, 1 to make again\)\n/);
  const next = stdout.match(/(?<=: gateway-cli batch )(?:again|redo|retry) .*?(?= {2}#|$)/gm);
  expect(next).toEqual(['retry out incomplete']);
  server.answer = () => undefined;
  expect(await batch(['retry', 'out', 'incomplete'])).toMatchObject({ code: 0 });
  expect((await batch(['status', 'out'])).stdout).toMatch(/^2 jobs: 2 done\n/);
});
