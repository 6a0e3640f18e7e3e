import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { expect, test } from 'vitest';
import { jobKeys, readDefaults, readJobObject } from '../../../src/cli/commands/batch/jobs/job-line.ts';
import type { JsonObject } from '../../../src/library/json.ts';

const file = join(import.meta.dirname, '../../../dist/job.schema.json');
const fits = new Ajv({ allowUnionTypes: true }).compile(JSON.parse(readFileSync(file, 'utf8')) as object);

function isTaken(job: JsonObject): boolean {
  try {
    readJobObject(job, 1, { file: 'jobs.jsonl', defaults: { command: 'text', values: {} } });
    return true;
  } catch {
    return false;
  }
}

test.each<[JsonObject, boolean]>([
  [{ prompt: 'hi' }, true],
  [{ $schema: './job.schema.json', id: '7', prompt: 'hi', vars: { city: 'Rome' } }, true],
  [{ id: 7, prompt: 'hi', maxTokens: 64, temperature: '0.5', vars: false, schema: { type: 'object' } }, true],
  [{ command: 'image edit', name: 'gray', prompt: 'gray', image: ['a.png', '@hero'], aspect: '1:1', count: 2 }, true],
  [{ command: 'image edit', prompt: 'gray', image: 'a.png' }, true],
  [{ command: 'chat', messages: [{ role: 'user', content: 'hi' }], stream: true, metadata: { user_id: 'ci' } }, true],
  [{ id: 1.5 }, false],
  [{ prompt: 'hi', $schema: { type: 'object' } }, false],
  [{ promt: 'hi' }, false],
  [{ command: 'audio' }, false],
  [{ command: 'text', aspect: '1:1' }, false],
  [{ maxTokens: 0 }, false],
  [{ maxTokens: true }, false],
  [{ prompt: null }, false],
  [{ command: 'chat', stream: 'yes' }, false],
  [{ effort: 'much' }, false],
])('the JSON Schema of jobs says of %j what the program says: %s', (job, isRight) => {
  expect([fits(job), isTaken(job)]).toEqual([isRight, isRight]);
});

test('the JSON Schema of jobs has each key of each command', () => {
  for (const [command, table] of Object.entries(jobKeys))
    for (const [key, flag] of Object.entries(table)) {
      const value = flag.values?.[0] ?? (flag.flags.includes('<') ? '1' : true);
      expect([command, key, fits({ command, [key]: value })]).toEqual([command, key, true]);
    }
});

test('a file of --defaults can link to the schema', () => {
  expect(readDefaults({ $schema: './job.schema.json', command: 'chat', maxTokens: 5 })).toEqual({
    command: 'chat',
    values: { maxTokens: 5 },
  });
});
