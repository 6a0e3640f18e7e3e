import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type FakeReply, startFakeServer } from '../../fake-servers/start.ts';
import { run } from '../../helpers/run.ts';
import { png as pngText } from '../../replies/deviation.ts';
import { createFolder, environmentFor } from '../with-batch.ts';

const png = Buffer.from(pngText, 'base64');

/** One line of the file of a batch. */
interface Line {
  custom_id: string;
  url: string;
  body: Record<string, unknown>;
}

/** OpenAI's batches: what was uploaded, and an answer to each line in the shape of its operation. */
async function serveBatches() {
  const uploads: Line[][] = [];
  const created: { endpoint: string; input_file_id: string; metadata: object }[] = [];
  const json = (body: object): FakeReply => ({
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const server = await startFakeServer(({ method, path, body }) => {
    if (path === '/v1/files') {
      const text = /\r\n\r\n(\{"custom_id"[\s\S]*?)\r\n--/.exec(body)?.[1] ?? '';
      uploads.push(text.split('\n').flatMap((line) => (line === '' ? [] : (JSON.parse(line) as Line))));
      return json({ id: `file-${uploads.length - 1}`, object: 'file' });
    }
    if (method === 'POST') created.push(JSON.parse(body) as (typeof created)[number]);
    const at = method === 'POST' ? created.length - 1 : Number(/\d+/.exec(path.slice('/v1/'.length))?.[0]);
    if (path.startsWith('/v1/files/')) {
      const lines = (uploads[at] ?? []).map(({ custom_id, url, body: asked }) =>
        JSON.stringify({ custom_id, response: { status_code: 200, body: answer(url, asked) }, error: null }),
      );
      return { status: 200, headers: {}, body: `${lines.join('\n')}\n` };
    }
    const { metadata } = created[at] ?? {};
    return json({ id: `batch_${at}`, object: 'batch', status: 'completed', output_file_id: `file-${at}`, metadata });
  });
  onTestFinished(() => server.close());
  return { server, uploads, created };
}

function answer(url: string, { input }: Record<string, unknown>): object {
  const counts = { input_tokens: 10, output_tokens: 100, total_tokens: 110 };
  if (url !== '/v1/responses')
    return { created: 1, data: [{ b64_json: pngText }], output_format: 'png', usage: counts };
  const [{ content }] = input as [{ content: string }];
  const text = { type: 'output_text', text: `answer to ${content}`, annotations: [] };
  return {
    object: 'response',
    status: 'completed',
    output: [{ type: 'message', role: 'assistant', content: [text] }],
    usage: counts,
  };
}

const prices = '{"m":{"input":"1","output":"10","imageOutput":"10","batch":"0.5"}}';
const flags = ['--lane', 'batch', '--prices', prices];

test('texts of the responses format, pictures and edits go as a batch for each operation, at half price', async () => {
  const { server, uploads, created } = await serveBatches();
  const folder = createFolder();
  folder.write('dot.png', png);
  folder.write('mask.png', png);
  const draw = { id: 'draw', command: 'image gen', prompt: 'a dot', size: '1024x1024' };
  const edit = { id: 'edit', command: 'image edit', prompt: 'bluer', image: ['dot.png'], mask: 'mask.png' };
  folder.jobs(draw, edit);
  const env = { ...environmentFor(server), GATEWAY_SERVICE: 'openai' };
  const argv = ['batch', 'jobs.jsonl', '-o', 'out', ...flags];
  const answers = { cwd: folder.cwd, env };

  const pictures = await run(argv, answers);
  expect([pictures.code, pictures.stdout]).toEqual([0, 'out/results.jsonl\n']);
  expect(created.map(({ endpoint }) => endpoint).toSorted()).toEqual(['/v1/images/edits', '/v1/images/generations']);
  const lines = uploads.flat();
  const url = `data:image/png;base64,${pngText}`;
  expect(lines.find(({ url: at }) => at === '/v1/images/generations')?.body).toEqual({
    model: 'm',
    prompt: 'a dot',
    size: '1024x1024',
  });
  expect(lines.find(({ url: at }) => at === '/v1/images/edits')?.body).toEqual({
    model: 'm',
    prompt: 'bluer',
    images: [{ image_url: url }],
    mask: { image_url: url },
  });
  const cost = { amount: '0.000505', currency: 'USD' };
  const drawn = folder.lines('results.jsonl');
  expect(drawn.map(({ id }) => id).toSorted()).toEqual(['draw', 'edit']);
  for (const { images, ...result } of drawn) {
    expect(result).toMatchObject({ ok: true, cost });
    const [{ path }] = images as [{ path: string }];
    expect(readFileSync(join(folder.cwd, 'out', path))).toEqual(png);
  }
  // Nothing is paid again.
  expect([(await run(argv, answers)).code, created.length]).toEqual([0, 2]);

  folder.jobs({ id: 'a', prompt: 'a' }, { id: 'b', prompt: 'b' });
  const texts = ['batch', 'jobs.jsonl', '-o', 'texts', '--format', 'responses', ...flags];
  expect((await run(texts, answers)).code).toBe(0);
  expect(created.at(-1)?.endpoint).toBe('/v1/responses');
  const bodies = uploads.at(-1)?.map(({ body, url: at }) => [at, body]);
  expect(bodies).toEqual(
    ['a', 'b'].map((word) => ['/v1/responses', { model: 'm', input: [{ role: 'user', content: word }], store: false }]),
  );
  const told = folder.lines('results.jsonl', 'texts').map(({ id, text, cost: paid }) => [id, text, paid]);
  expect(told).toEqual(['a', 'b'].map((word) => [word, `answer to ${word}`, cost]));
});

test("a model that OpenAI's batches do not take is refused before anything is sent, and one that they take is named", async () => {
  const folder = createFolder();
  folder.jobs({ command: 'image gen', prompt: 'a dot' });
  const env = { OPENAI_API_KEY: 'sk-0123456789abcdef' };
  const ran = await run(['batch', 'jobs.jsonl', '-o', 'out', '--lane', 'batch'], { cwd: folder.cwd, env });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain('the batches of OpenAI do not take gpt-image-2.6-flare\n');
  expect(ran.stderr).toContain('-m gpt-image-2; or --lane live, at full price');
  for (const more of [
    ['-m', 'gpt-image-2'],
    ['--lane', 'live'],
  ]) {
    const dry = ['batch', 'jobs.jsonl', '-o', 'out', '--dry-run', '--lane', 'batch', ...more];
    expect(await run(dry, { cwd: folder.cwd, env })).toMatchObject({ code: 0 });
  }
});

test('another server decides for itself which models its batches take', async () => {
  const { server, created } = await serveBatches();
  const folder = createFolder();
  folder.jobs({ command: 'image gen', prompt: 'a dot', model: 'gpt-image-2.6-flare' });
  const env = { ...environmentFor(server), GATEWAY_SERVICE: 'openai' };
  const ran = await run(['batch', 'jobs.jsonl', '-o', 'out', '--lane', 'batch'], {
    cwd: folder.cwd,
    env,
  });
  expect([ran.code, created.length]).toEqual([0, 1]);
});
