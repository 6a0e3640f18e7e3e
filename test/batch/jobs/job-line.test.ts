import { describe, expect, test } from 'vitest';
import {
  type JobRules,
  readDefaults,
  readJobLine,
  readPromptLine,
} from '../../../src/cli/commands/batch/jobs/job-line.ts';
import type { GatewayError } from '../../../src/library/errors.ts';

const rules: JobRules = { defaults: { command: 'text', values: {} }, file: 'jobs.jsonl' };
const read = (job: unknown, line = 3) => readJobLine(JSON.stringify(job), line, rules);

describe('a line becomes a job', () => {
  test.each([
    ['a text by default', { prompt: 'hi' }, { id: '3', command: 'text', values: { prompt: 'hi' } }],
    ['an id of its own', { id: 'a b', prompt: 'hi' }, { id: 'a b' }],
    ['a number as id', { id: 7, prompt: 'hi' }, { id: '7' }],
    [
      'numbers as numbers',
      { prompt: 'hi', temperature: 0.5, maxTokens: 9 },
      { values: { prompt: 'hi', temperature: 0.5, maxTokens: 9 } },
    ],
    ['numbers as text', { prompt: 'hi', maxTokens: '9' }, { values: { prompt: 'hi', maxTokens: 9 } }],
    ['lists as arrays', { prompt: 'hi', stop: ['a', 'b'] }, { values: { prompt: 'hi', stop: ['a', 'b'] } }],
    ['one value where a list may be', { prompt: 'hi', stop: 'a' }, { values: { prompt: 'hi', stop: ['a'] } }],
    [
      'JSON where a file may be',
      { command: 'chat', messages: [{ role: 'user', content: 'x' }] },
      { values: { messages: [{ role: 'user', content: 'x' }] } },
    ],
    ['a file where JSON may be', { prompt: 'hi', schema: 's.json' }, { values: { prompt: 'hi', schema: 's.json' } }],
    [
      'objects where a flag takes JSON',
      { command: 'chat', prompt: 'x', metadata: { user_id: 'ci' } },
      { values: { prompt: 'x', metadata: [{ user_id: 'ci' }] } },
    ],
    ['a switch', { command: 'chat', prompt: 'x', stream: false }, { values: { prompt: 'x', stream: false } }],
    ['settings', { prompt: 'x', set: ['a.b=1'] }, { values: { prompt: 'x', set: [{ path: ['a', 'b'], value: 1 }] } }],
    ['a model', { prompt: 'x', model: 'other' }, { values: { prompt: 'x', model: 'other' } }],
    ['a name for its pictures', { command: 'image gen', prompt: 'x', name: 'Über Katze-7' }, { name: 'Über Katze-7' }],
    [
      'the edit of the README',
      { id: '7', command: 'image edit', prompt: 'x', image: ['in/7.png'], aspect: '1:1' },
      { values: { prompt: 'x', image: ['in/7.png'], aspect: '1:1' } },
    ],
  ])('%s', (_, job, expected) => {
    expect(read(job)).toMatchObject(expected);
  });

  test('an empty line is not a job', () => {
    expect(readJobLine('  \t', 1, rules)).toBeUndefined();
  });

  test('a byte order mark does not matter', () => {
    expect(readJobLine('\uFEFF{"prompt":"x"}', 1, rules)?.values).toEqual({ prompt: 'x' });
  });

  test('a line of --prompts is its prompt as it is', () => {
    expect(readPromptLine('{"not":"json"} at all', 2, rules)).toMatchObject({
      id: '2',
      values: { prompt: '{"not":"json"} at all' },
    });
  });

  test('removes a byte order mark only at the beginning of the file of prompts', () => {
    const prompts = ['\uFEFF\uFEFFone', '\uFEFFtwo'].map((text, at) => readPromptLine(text, at + 1, rules));
    expect(prompts.map((job) => [job?.id, job?.line, job?.values['prompt']])).toEqual([
      ['1', 1, '\uFEFFone'],
      ['2', 2, '\uFEFFtwo'],
    ]);
    expect(readPromptLine('\uFEFF', 1, rules)).toBeUndefined();
  });
});

describe('a mistake names file and line', () => {
  test.each([
    ['no JSON', '{"prompt":', 'jobs.jsonl:3: '],
    ['no object', '["hi"]', 'jobs.jsonl:3: a job is a JSON object'],
    ['null', 'null', 'a job is a JSON object'],
    ['an unknown key', '{"promt":"x"}', 'jobs.jsonl:3: unknown job key "promt" for text'],
    ['a key of another command', '{"prompt":"x","aspect":"1:1"}', 'unknown job key "aspect" for text'],
    ['a connection key', '{"prompt":"x","baseUrl":"http://evil"}', 'unknown job key "baseUrl"'],
    ['a secret key', '{"prompt":"x","apiKeyFile":"k"}', 'unknown job key "apiKeyFile"'],
    ['an output key', '{"command":"image gen","prompt":"x","output":"../../x"}', 'unknown job key "output"'],
    ['a record key', '{"prompt":"x","record":"dir"}', 'unknown job key "record"'],
    ['a count of a text', '{"prompt":"x","count":4}', 'unknown job key "count"'],
    ['the name of a prototype', '{"prompt":"x","__proto__":{"polluted":1}}', 'unknown job key "__proto__"'],
    ['a constructor', '{"prompt":"x","constructor":1}', 'unknown job key "constructor"'],
    [
      'an unknown command',
      '{"command":"video","prompt":"x"}',
      '"command" must be one of text, image gen, image edit, chat, not "video"',
    ],
    [
      'a value that the flag refuses',
      '{"prompt":"x","maxTokens":1.5}',
      'jobs.jsonl:3: "maxTokens" takes a whole number',
    ],
    ['a shape that is none', '{"command":"image gen","prompt":"x","aspect":"wide"}', '"aspect" takes width:height'],
    ['null as a value', '{"prompt":null}', '"prompt" is null'],
    ['a list where one is wanted', '{"prompt":["a","b"]}', '"prompt" is text or a number'],
    ['a word where a switch is', '{"command":"chat","prompt":"x","stream":"no"}', '"stream" is true or false'],
    ['an empty id', '{"id":"","prompt":"x"}', '"id" is text'],
    ['an id with a control', '{"id":"a\\u001bb","prompt":"x"}', 'without control characters'],
    ['an id that is too long', `{"id":"${'x'.repeat(600)}","prompt":"x"}`, '"id" is text'],
    ['a fraction as id', '{"id":1.5,"prompt":"x"}', '"id" is text'],
    ['a name that leaves the folder', '{"prompt":"x","name":"../x"}', '"name" is a file name without folder'],
    ['a name in a folder', '{"prompt":"x","name":"a/b"}', '"name" is a file name without folder'],
    ['a hidden name', '{"prompt":"x","name":".x"}', '"name" is a file name without folder'],
    ['a template as name', '{"prompt":"x","name":"{n}"}', '"name" is a file name without folder'],
  ])('%s', (_, text, message) => {
    expect(() => readJobLine(text, 3, rules)).toThrow(message);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});

test('a key nearly right is answered with the right one', () => {
  const said = (act: () => unknown): unknown => {
    try {
      return act();
    } catch (error) {
      return (error as GatewayError).details.hint;
    }
  };
  expect(said(() => readJobLine('{"promt":"x"}', 3, rules))).toBe('did you mean: "prompt"');
  expect(said(() => readJobLine('{"prompt":"x","max_tokens":5}', 3, rules))).toBe('did you mean: "maxTokens"');
  expect(said(() => readDefaults({ aspct: '1:1' }))).toBe('did you mean: "aspect"');
  // With $ before it, it would be left out unseen.
  expect(said(() => readJobLine('{"command":"image gen","schema":"s"}', 3, rules))).toContain(
    'a key is a request flag',
  );
  expect(said(() => readDefaults({ $schema: {} }))).toBe('that of an answer is "schema"');
  expect(said(() => readDefaults({ temperature: 'hot' }))).toBe('for example: "temperature": 0.7');
  expect(said(() => readJobLine('{"prompt":"x","set":["a[0]=1"]}', 3, rules))).toBe(
    'write a dot before every step: "set": "a.0=…"',
  );
  expect(said(() => readJobLine('{"prompt":"x","baseUrl":"http://x"}', 3, rules))).toContain(
    'flags of the whole batch',
  );
});

describe('--defaults', () => {
  const withDefaults = (defaults: Record<string, never>) => ({ ...rules, defaults: readDefaults(defaults) });

  test('hold where a job does not say otherwise, and only where its command knows them', () => {
    const some = withDefaults({ command: 'image gen', aspect: '1:1', temperature: 0.1 } as never);
    expect(readJobLine('{"prompt":"x"}', 1, some)).toMatchObject({
      command: 'image gen',
      values: { prompt: 'x', aspect: '1:1', temperature: 0.1 },
    });
    expect(readJobLine('{"prompt":"x","aspect":"2:1"}', 1, some)?.values).toMatchObject({ aspect: '2:1' });
    expect(readJobLine('{"prompt":"x","command":"text"}', 1, some)?.values).toEqual({ prompt: 'x', temperature: 0.1 });
  });

  test('a prompt file of a job replaces the prompt of the defaults', () => {
    const some = withDefaults({ prompt: 'for all' } as never);
    expect(readJobLine('{"promptFile":"p.txt"}', 1, some)?.values).toEqual({ promptFile: 'p.txt' });
  });

  test('refuse keys that no job may have', () => {
    expect(() => readDefaults({ baseUrl: 'x' })).toThrow('--defaults: unknown job key "baseUrl"');
    expect(() => readDefaults(JSON.parse('{"__proto__":{"a":1}}') as never)).toThrow('unknown job key');
    expect(() => readDefaults({ temperature: 'hot' })).toThrow('"temperature" of --defaults takes a number');
  });
});
