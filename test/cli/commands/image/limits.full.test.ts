import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { jsonLines } from '../../../helpers/json-lines.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';
import { bareEnv, bin, shell } from '../../../helpers/spawn.ts';
import { eventStream, messageEvents, test, textReply } from '../../../helpers/with-server.ts';

/** A picture of its own: a one-pixel PNG with a number after it. */
function picture(n: number): string {
  const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  return Buffer.concat([Buffer.from(dot, 'base64'), Buffer.from(String(n))]).toString('base64');
}

/** A short text with a number of Markdown pictures. */
function illustrated(count: number): string {
  return Array.from({ length: count }, (_, n) => `![${n}](data:image/png;base64,${picture(n)})`).join(' ');
}

function settings(url: string): Record<string, string> {
  return { GATEWAY_BASE_URL: url, GATEWAY_API_KEY: 'test-key-1234567890', GATEWAY_MODEL: 'm' };
}

/** The numbers of the pictures in a folder. */
function numbersIn(folder: string): number[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.png'));
  return names
    .map((name) => Number(readFileSync(join(folder, name)).subarray(70).toString()))
    .toSorted((a, b) => a - b);
}

const all = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

const recover = '"$BIN" recover .local/state/gateway-cli/recovered/*.json -o rest/ --quiet';

test('256 images of a reply are written, and the rest can be recovered', async ({ server }) => {
  server.reply({ body: textReply(illustrated(600)) });
  const env = settings(server.url);
  const first = await shell('"$BIN" text hi -o written/', { env });
  expect(first.code).toBe(11);
  expect(first.stderr).toContain('the reply has 600 images; 256 are written');
  expect(first.stderr).toContain('gateway-cli recover ');
  expect(first.stderr).toContain('--max-images 600');
  expect(numbersIn(join(first.cwd, 'written'))).toEqual(all(256));
  const second = await shell(recover, { env, cwd: first.cwd });
  expect(second).toMatchObject({ code: 0 });
  expect(numbersIn(join(first.cwd, 'rest'))).toEqual(all(600).slice(256));
});

test('--max-images raises the limit, or lowers it, for streams too', async ({ server }) => {
  const env = settings(server.url);
  server.reply({ body: textReply(illustrated(300)) });
  const raised = await shell('"$BIN" text hi -o written/ --max-images 300', { env });
  expect(raised.code).toBe(0);
  expect(numbersIn(join(raised.cwd, 'written'))).toEqual(all(300));
  server.reply({ body: eventStream(...messageEvents(illustrated(3), illustrated(0))) });
  const lowered = await shell(`"$BIN" chat hi -o written/ --max-images 1 --max-tokens 9; echo "code $?"; ${recover}`, {
    env,
  });
  expect(lowered.stdout).toContain('code 11');
  expect(numbersIn(join(lowered.cwd, 'written'))).toEqual([0]);
  expect(numbersIn(join(lowered.cwd, 'rest'))).toEqual([1, 2]);
});

test('--timeout bounds the writing of images too: images that are not written in time are kept', async ({ server }) => {
  const env = settings(server.url);
  server.reply({ body: textReply(illustrated(20_000)) });
  const run = await shell('"$BIN" text hi -o written/ --max-images 20000 --timeout 2s', { env });
  expect(run.code).toBe(11);
  expect(run.stderr).toContain('did not end within 2 s');
  const kept = join(run.cwd, '.local/state/gateway-cli/recovered');
  const recovery = JSON.parse(readFileSync(join(kept, readdirSync(kept)[0] ?? ''), 'utf8')) as { images: object[] };
  const written = existsSync(join(run.cwd, 'written')) ? numbersIn(join(run.cwd, 'written')) : [];
  expect(written).toEqual(all(written.length));
  expect(written.length + recovery.images.length).toBe(20_000);
});

test('a signal ends the work on a reply of many candidates', async ({ server }) => {
  const candidate = JSON.stringify({ content: { parts: [{ text: 'a' }] } });
  const cwd = scratchFolder();
  const child = spawn(bin, ['text', 'hi'], {
    cwd,
    env: bareEnv(cwd, settings(server.url)),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const chunks = async function* () {
    yield `{"candidates":[${`${candidate},`.repeat(299_999)}${candidate}]}`;
    child.kill('SIGINT');
  };
  server.reply({ chunks: chunks() });
  child.stdout.resume();
  child.stderr.resume();
  expect(await once(child, 'close')).toEqual([null, 'SIGINT']);
});

test('candidates are read as many as were asked for and 64 more', async ({ server, cli }) => {
  const candidates = Array.from({ length: 100 }, (_, index) => ({
    index,
    content: { parts: [{ text: `n${index}` }] },
    finishReason: 'STOP',
  }));
  server.reply({ body: { candidates } });
  const { code, stdout, stderr } = await cli(['text', 'hi', '--candidates', '2']);
  expect(code).toBe(0);
  expect(stdout.split('\n---\n')).toHaveLength(66);
  expect(stderr).toContain('the reply has 100 candidates; the first 66 are read');
});

test('a job with too many images fails without the others, and the rest of its images is kept', async ({ server }) => {
  server.reply({ body: textReply(illustrated(4)) });
  server.reply({ body: textReply('fine') });
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'jobs.jsonl'), ['{"id":"a","prompt":"x"}', '{"id":"b","prompt":"y"}'].join('\n'));
  const script = `"$BIN" batch jobs.jsonl -o out --concurrency 1 --max-images 3; echo "code $?"; ${recover}`;
  const run = await shell(script, { cwd, env: settings(server.url) });
  expect(run.stdout).toContain('code 13');
  expect(run.stderr).toContain('the reply has 4 images; 3 are written');
  expect(numbersIn(join(cwd, 'out/images'))).toEqual([0, 1, 2]);
  expect(numbersIn(join(cwd, 'rest'))).toEqual([3]);
  expect(jsonLines(readFileSync(join(cwd, 'out/results.jsonl'), 'utf8'))).toMatchObject([
    { id: 'a', ok: false, images: [{}, {}, {}] },
    { id: 'b', ok: true, text: 'fine' },
  ]);
});
