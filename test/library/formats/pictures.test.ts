import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createClient } from '../../../src/index.ts';
import { startFakeServer } from '../../fake-servers/start.ts';
import { run } from '../../helpers/run.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

/** A server that answers everything in words. */
async function serveWords() {
  const server = await startFakeServer(() => ({
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: '{"output":[]}',
  }));
  onTestFinished(() => server.close());
  const env = { GATEWAY_SERVICE: 'openai', GATEWAY_BASE_URL: server.url, GATEWAY_API_KEY: 'key-0123456789' };
  return { server, env };
}

const words = 'the content format and the completions format can';

test.each(['responses', 'messages'])(
  'pictures in the %s format are refused before anything is sent: words would be paid for',
  async (format) => {
    const { server, env } = await serveWords();
    const cwd = scratchFolder();
    writeFileSync(join(cwd, 'jobs.jsonl'), `${JSON.stringify({ id: 'a', command: 'image gen', prompt: 'a cat' })}\n`);
    const flags = ['--format', format, '-m', 'gpt-image-1'];
    for (const argv of [
      ['image', 'gen', 'a cat', ...flags],
      ['batch', 'jobs.jsonl', '-o', 'live', ...flags],
      ['batch', 'jobs.jsonl', '-o', 'lane', '--lane', 'batch', ...flags],
    ]) {
      const { code, stderr } = await run(argv, { env, cwd });
      expect({ argv, code, stderr }).toMatchObject({ code: 2 });
      expect(stderr).toContain(`the ${format} format cannot make images`);
      expect(stderr).toContain(words);
    }
    expect(server.requests).toEqual([]);
  },
);

test('pictures of the library in a format that has none are refused before anything is sent', async () => {
  const { server } = await serveWords();
  const client = createClient({
    service: 'openai',
    format: 'responses',
    baseUrl: server.url,
    apiKey: 'key-0123456789',
  });
  onTestFinished(() => client.close());
  await expect(client.generateImages({ model: 'gpt-image-1', prompt: 'a cat' })).rejects.toMatchObject({
    message: expect.stringContaining('the responses format cannot make images') as string,
    class: 'usage',
  });
  expect(server.requests).toEqual([]);
});

test('pictures in a format that has none are asked for where the body has the tool that makes them', async () => {
  const { env } = await serveWords();
  const flags = ['--format', 'responses', '-m', 'gpt-6', '--set', 'tools=[{"type":"image_generation"}]', '--dry-run'];
  const { code, stdout } = await run(['image', 'gen', 'a cat', ...flags], { env });
  expect(code).toBe(0);
  expect(stdout).toContain('image_generation');
});
