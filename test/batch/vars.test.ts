import { expect } from 'vitest';
import { test } from './with-batch.ts';

test('fills the blanks of jobs, their default values and their prompt files', async ({ server, folder, batch }) => {
  folder.write('p.txt', 'to {{city}} by {{way}}');
  folder.write(
    'p.prompt.yml',
    'model: own\nmessages: [{role: user, content: "see {{city}}"}]\ntestData: [{city: Bern}]\n',
  );
  folder.jobs(
    { promptFile: 'p.txt', vars: { city: 'Rome' } },
    { prompt: 'keep {{city}}', vars: false },
    { promptFile: 'p.prompt.yml', vars: { city: 'Bern' } },
  );
  const ran = await batch(['--defaults', '{"vars":{"way":"rail","city":"Oslo"}}', '--concurrency', '1']);
  expect(ran).toMatchObject({ code: 0 });
  expect(server.bodies.map((body) => JSON.stringify(body)).map((body) => /"text":"([^"]*)"/.exec(body)?.[1])).toEqual([
    'to Rome by rail',
    'keep {{city}}',
    'see Bern',
  ]);
});

test('reports every job whose blank has no value, and what to write', async ({ server, folder, batch }) => {
  folder.jobs({ prompt: 'a' }, { prompt: '{{city}}' }, { promptFile: 'none.prompt.yml' });
  const ran = await batch();
  expect(ran).toMatchObject({ code: 2 });
  expect(ran.stderr).toContain('jobs.jsonl:2: {{city}} has no value: the prompt');
  expect(ran.stderr).toContain("jobs.jsonl:3: --prompt-file 'none.prompt.yml'");
  expect(server.bodies).toEqual([]);
  folder.jobs({ prompt: '{{city}}' });
  expect((await batch()).stderr).toContain('give it a value: "vars": {"city": "…"}');
});
