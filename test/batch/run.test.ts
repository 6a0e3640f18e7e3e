import { readFileSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { canaryKey, eventStream, imageReply, messageEvents } from '../helpers/with-server.ts';
import { firstRequest, manyJobs, test } from './with-batch.ts';

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

describe('a batch', () => {
  test('leaves results, images, journal and summary, and prints where the results are', async ({
    server,
    folder,
    batch,
  }) => {
    server.answer = (prompt) => {
      if (prompt === 'a cat') return { body: imageReply({ mimeType: 'image/png', data: png }) };
      return prompt === 'hello'
        ? { headers: { 'content-type': 'text/event-stream' }, body: eventStream(...messageEvents('hi', '!')) }
        : undefined;
    };
    folder.jobs(
      { id: 'a', prompt: 'one' },
      { id: 'b', command: 'image gen', prompt: 'a cat' },
      { id: 'c', command: 'chat', prompt: 'hello' },
    );
    const ran = await batch();
    expect(ran).toMatchObject({ code: 0, stdout: `${join('out', 'results.jsonl')}\n`, stderr: '3 done\n' });
    expect(folder.ls()).toEqual(['images', 'jobs.jsonl', 'journal.jsonl', 'results.jsonl', 'summary.json']);
    expect(folder.ls('out/images')).toEqual(['b.png']);
    const results = new Map(folder.lines('results.jsonl').map((line) => [line['id'], line]));
    expect(results.get('a')).toMatchObject({
      schema: 'gateway-cli/result@1',
      command: 'text',
      ok: true,
      exitCode: 0,
      text: 'answer to one',
      prompt: 'one',
      model: 'm',
      usage: { totalTokens: 5 },
    });
    expect(results.get('b')).toMatchObject({
      command: 'image gen',
      images: [{ path: 'images/b.png', mimeType: 'image/png', width: 1, height: 1 }],
    });
    expect(results.get('c')).toMatchObject({ command: 'chat', text: 'hi!', stopReason: 'end_turn' });
    expect(JSON.parse(readFileSync(join(folder.cwd, 'out/summary.json'), 'utf8'))).toMatchObject({
      schema: 'gateway-cli/batch@1',
      ok: true,
      exitCode: 0,
      jobs: 3,
      done: 3,
      failed: 0,
      unknown: 0,
      skipped: 0,
      outdir: 'out',
      failures: [],
    });
  });

  test('--json prints the summary and nothing else', async ({ folder, batch }) => {
    folder.jobs({ prompt: 'one' });
    const { code, stdout } = await batch(['--json']);
    expect(code).toBe(0);
    expect(stdout.trimEnd().split('\n')).toHaveLength(1);
    expect(JSON.parse(stdout)).toMatchObject({
      schema: 'gateway-cli/batch@1',
      jobs: 1,
      done: 1,
      usage: { totalTokens: 5 },
    });
  });

  test('accepts `run` before the jobs', async ({ folder, batch }) => {
    folder.jobs({ prompt: 'one' });
    expect((await batch(['run', 'jobs.jsonl', '-o', 'out'])).code).toBe(0);
  });

  test('accepts flags before the jobs, with any values', async ({ folder, batch }) => {
    folder.jobs({ prompt: 'one' });
    expect((await batch(['-o', 'status', 'jobs.jsonl'])).code).toBe(0);
    expect(folder.lines('results.jsonl', 'status')).toHaveLength(1);
  });

  test('each command authenticates in its own form, over one pool of connections', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(...manyJobs(40));
    expect((await batch(['--concurrency', '4'])).code).toBe(0);
    expect(server.most).toBeLessThanOrEqual(4);
    // As many again may be kept open after a reply.
    expect(server.connections).toBeLessThanOrEqual(8);
    expect(server.counts.size).toBe(40);
  });

  test('jobs come through stdin', async ({ server, batch }) => {
    const { code } = await batch(['-', '-o', 'out'], { stdin: '{"prompt":"from a pipe"}\n' });
    expect(code).toBe(0);
    expect([...server.counts.keys()]).toEqual(['from a pipe']);
  });

  test('--prompts takes one prompt a line', async ({ server, folder, batch }) => {
    folder.write('prompts.txt', 'first\n\nthird {"a":1}\n');
    expect(
      (await batch(['run', '--prompts', 'prompts.txt', '--defaults', '{"system":"be brief"}', '-o', 'out'])).code,
    ).toBe(0);
    expect([...server.counts.keys()].toSorted()).toEqual(['first', 'third {"a":1}']);
    expect(
      folder
        .lines('results.jsonl')
        .map(({ id }) => id)
        .toSorted(),
    ).toEqual(['1', '3']);
    expect(server.bodies[0]?.body).toMatchObject({ systemInstruction: { parts: [{ text: 'be brief' }] } });
  });

  test('files are relative to the job file', async ({ server, folder, batch }) => {
    mkdirSync(join(folder.cwd, 'sub'));
    folder.write('sub/in.png', Buffer.from(png, 'base64'));
    folder.write('sub/p.txt', 'make it gray');
    folder.write('sub/jobs.jsonl', '{"command":"image edit","promptFile":"p.txt","image":["in.png"],"aspect":"1:1"}');
    server.answer = () => ({ body: imageReply({ mimeType: 'image/png', data: png }) });
    expect((await batch(['sub/jobs.jsonl', '-o', 'out'])).code).toBe(0);
    expect(server.bodies[0]?.body).toMatchObject({
      contents: [{ parts: [{ text: 'make it gray' }, { inlineData: { mimeType: 'image/png', data: png } }] }],
      generationConfig: { imageConfig: { aspectRatio: '1:1' } },
    });
  });

  test('two pictures of a job, and ids that are not file names', async ({ server, folder, batch }) => {
    const picture = { mimeType: 'image/png', data: png };
    server.answer = () => ({ body: imageReply(picture, picture) });
    folder.jobs(
      { id: 'a/b', command: 'image gen', prompt: 'x' },
      { id: 'c', command: 'image gen', prompt: 'y', name: 'Katze' },
    );
    expect((await batch()).code).toBe(0);
    expect(folder.ls('out/images')).toEqual([
      'Katze-2.png',
      'Katze.png',
      expect.stringMatching(/^a-b-[0-9a-f]{8}-2\.png$/),
      expect.stringMatching(/^a-b-[0-9a-f]{8}\.png$/),
    ]);
  });

  test('--dry-run checks everything, sends nothing and writes nothing', async ({ server, folder, batch }) => {
    folder.jobs(...manyJobs(3));
    expect(await batch(['--dry-run'])).toMatchObject({
      code: 0,
      stdout: `3 jobs checked, 3 to send\ntext with m at ${server.url}: 3 jobs\n${firstRequest}`,
    });
    expect(server.bodies).toEqual([]);
    expect(existsSync(join(folder.cwd, 'out'))).toBe(false);
  });
});

describe('before anything is sent', () => {
  test.for([
    ['no JSON in line 2', ['{"prompt":"x"}', '{"prompt"'], 'jobs.jsonl:2: '],
    ['an unknown key', ['{"prompt":"x"}', '{"promt":"x"}'], 'jobs.jsonl:2: unknown job key "promt"'],
    [
      'a duplicate id',
      ['{"id":"a","prompt":"x"}', '{"prompt":"y"}', '{"id":"a","prompt":"z"}'],
      'jobs.jsonl:3: the id "a" is already used in line 1',
    ],
    [
      'a line number that is an id too',
      ['{"id":"2","prompt":"x"}', '{"prompt":"y"}'],
      'jobs.jsonl:2: the id "2" is already used in line 1',
    ],
    ['a missing picture', ['{"command":"image edit","prompt":"x","image":["no.png"]}'], 'jobs.jsonl:1: '],
    ['an edit without picture', ['{"command":"image edit","prompt":"x"}'], 'jobs.jsonl:1: there is no image to edit'],
    ['no prompt', ['{"prompt":"x"}', '{"temperature":1}'], 'jobs.jsonl:2: there is no prompt'],
    ['stdin in a job', ['{"promptFile":"-"}'], 'jobs.jsonl:1: --prompt-file - cannot be used in a job'],
    ['a schema that is none', ['{"prompt":"x","schema":{"type":7}}'], 'jobs.jsonl:1: --schema'],
    ['no jobs at all', ['', ''], 'jobs.jsonl contains no jobs'],
  ] as const)('%s is code 2, and leaves no folder', async ([, lines, message], { server, folder, batch }) => {
    folder.jobs(...lines);
    const { code, stdout, stderr } = await batch();
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
    expect(server.bodies).toEqual([]);
    expect(folder.ls('.')).toEqual(['jobs.jsonl']);
  });

  test.for([
    ['no jobs', ['run', '-o', 'out'], 'there are no jobs'],
    ['no folder', ['jobs.jsonl'], 'a batch needs a folder'],
    ['two job files', ['jobs.jsonl', 'more.jsonl', '-o', 'out'], 'a batch takes one job file, not 2'],
    ['jobs and prompts', ['jobs.jsonl', '--prompts', 'p.txt', '-o', 'out'], 'both given'],
    ['a job file that is not there', ['no.jsonl', '-o', 'out'], 'there is no such file'],
    ['a folder without parent', ['jobs.jsonl', '-o', 'a/b/c'], 'parent folder is not there'],
    ['a file as folder', ['jobs.jsonl', '-o', 'jobs.jsonl'], 'it is not a folder'],
    ['a shard that is none', ['jobs.jsonl', '-o', 'out', '--shard', '3/2'], 'not within 1 to 2'],
    ['an unknown shard', ['jobs.jsonl', '-o', 'out', '--shard', 'auto'], 'no variable says'],
    ['no workers', ['jobs.jsonl', '-o', 'out', '--concurrency', '0'], '--concurrency takes a whole number'],
    ['plain http with a key', ['jobs.jsonl', '-o', 'out', '--base-url', 'http://example.com'], 'http'],
  ] as const)('%s is code 2', async ([, argv, message], { server, folder, batch }) => {
    folder.jobs({ prompt: 'x' });
    const { code, stderr } = await batch(argv);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
    expect(server.bodies).toEqual([]);
  });
});

describe('books and secrets', () => {
  test('the key is in no file, even where the gateway says it', async ({ server, folder, batch }) => {
    server.answer = (prompt) => ({
      status: prompt === 'p1' ? 400 : 200,
      body: { error: { message: `no ${canaryKey}` } },
    });
    folder.jobs(...manyJobs(2));
    const { stdout, stderr } = await batch();
    const files = ['journal.jsonl', 'results.jsonl', 'summary.json'].map((name) =>
      readFileSync(join(folder.cwd, 'out', name), 'utf8'),
    );
    for (const text of [stdout, stderr, ...files]) expect(text).not.toContain(canaryKey);
  });
});
