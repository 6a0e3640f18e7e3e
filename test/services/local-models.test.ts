import { onTestFinished, expect, test, vi } from 'vitest';
import { type FakeReply, type FakeServer, startFakeServer } from '../fake-servers/start.ts';
import { run } from '../helpers/run.ts';
import { scratchFolder } from '../helpers/scratch.ts';

// A server of one's own has no default model: without -m, the model is taken from its list.

interface Listed {
  id: string;
  created?: number;
}

const json = (status: number, body: object): FakeReply => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

/** A server that lists these models, and answers with each of them. */
async function serve(models: readonly Listed[], loaded?: FakeReply): Promise<FakeServer & { asked: () => string[] }> {
  const server = await startFakeServer(({ method, path, body }) => {
    if (path === '/api/ps') return loaded ?? { status: 404, headers: {}, body: '404 page not found' };
    if (method === 'GET') return json(200, { object: 'list', data: models });
    const { model } = JSON.parse(body) as { model: string };
    if (!models.some(({ id }) => id === model))
      return json(404, { error: { message: `model "${model}" not found, try pulling it first` } });
    return json(200, {
      model,
      choices: [{ message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
    });
  });
  onTestFinished(() => server.close());
  for (const folder of ['CONFIG', 'STATE', 'CACHE']) vi.stubEnv(`XDG_${folder}_HOME`, scratchFolder());
  const asked = (): string[] =>
    server.requests
      .filter(({ path }) => path !== '/api/ps')
      .map(({ method, body }) => (method === 'GET' ? 'list' : (JSON.parse(body) as { model: string }).model));
  return { ...server, asked };
}

const pulled = [
  { id: 'nomic-embed-text:latest', created: 1_790_000_000 },
  { id: 'gemma3:4b', created: 1_757_000_000 },
  { id: 'qwen3:8b-2026-01-01', created: 1_780_000_000 },
];

const atServer = (line: string, { url }: FakeServer, service = 'ollama'): string[] => [
  ...line.split(' '),
  '--service',
  service,
  '--base-url',
  url,
];

test('Ollama answers with the model that came last, which is told once and kept for a day, and a request that is shown has it', async () => {
  const server = await serve(pulled);
  const early = await run(atServer('text hi --dry-run', server));
  expect(early).toMatchObject({ code: 2, stdout: '' });
  expect(early.stderr).toContain('no model is set');
  const first = await run(atServer('text hi --json', server));
  expect(first).toMatchObject({ code: 0 });
  expect(first.stderr).toBe(
    'Ollama answers with qwen3:8b-2026-01-01, the newest of its list; to set it for good: gateway-cli config set models.text qwen3:8b-2026-01-01\n',
  );
  expect(JSON.parse(first.stdout)).toMatchObject({ text: 'Hello.', requestedModel: 'qwen3:8b-2026-01-01' });
  expect(await run(atServer('chat hi', server))).toMatchObject({ code: 0, stdout: 'Hello.\n', stderr: '' });
  const shown = await run(atServer('text hi --curl', server));
  expect(shown.stdout).toContain('"model":"qwen3:8b-2026-01-01"');
  expect(server.asked()).toEqual(['list', 'qwen3:8b-2026-01-01', 'qwen3:8b-2026-01-01']);
});

test('Ollama keeps a model for texts and one for pictures', async () => {
  const server = await serve([...pulled, { id: 'x/flux2-klein:latest', created: 1_785_000_000 }]);
  await run(atServer('image gen cat', server));
  await run(atServer('text hi', server));
  await run(atServer('image gen dog', server));
  expect(server.asked()).toEqual([
    'list',
    'x/flux2-klein:latest',
    'list',
    'qwen3:8b-2026-01-01',
    'x/flux2-klein:latest',
  ]);
});

test('an Ollama without a model for pictures is told', async () => {
  const server = await serve(pulled);
  const ran = await run(atServer('image gen cat', server));
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain('no model is set, and Ollama lists none that makes images\n');
  expect(server.asked()).toEqual(['list']);
});

test.for([
  ['llama3:8b', 'which is in memory', json(200, { models: [{ name: 'llama3:8b', model: 'llama3:8b', size: 1 }] })],
  ['qwen3:8b', 'the newest of its list', json(200, { models: [] })],
  ['qwen3:8b', 'the newest of its list', json(200, { version: 'of another server' })],
  ['qwen3:8b', 'the newest of its list', json(500, {})],
] as const)('Ollama answers with %s, %s, by what it has in memory', async ([model, which, loaded]) => {
  const listed = [
    { id: 'llama3:8b', created: 1_700_000_000 },
    { id: 'qwen3:8b', created: 1_780_000_000 },
  ];
  const server = await serve(listed, loaded);
  const ran = await run(atServer('text hi', server));
  expect(ran).toMatchObject({ code: 0, stdout: 'Hello.\n' });
  expect(ran.stderr).toContain(`Ollama answers with ${model}, ${which}; `);
  expect(server.requests.filter(({ path }) => path === '/api/ps')).toHaveLength(1);
});

test('the memory of an Ollama whose address ends in /v1 is asked for beside that', async () => {
  const server = await serve(
    [{ id: 'llama3:8b', created: 1_700_000_000 }, ...pulled],
    json(200, { models: [{ name: 'llama3:8b' }] }),
  );
  const ran = await run(['text', 'hi', '--service', 'ollama', '--base-url', `${server.url}/v1`]);
  expect(ran.stderr).toContain('Ollama answers with llama3:8b, which is in memory; ');
});

test.for([[[]], [[{ id: 'nomic-embed-text:latest', created: 1_790_000_000 }]]])(
  'an Ollama without a model that answers is told, with how to get one: %j',
  async ([models]) => {
    const server = await serve(models as Listed[]);
    const ran = await run(atServer('text hi', server));
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain('no model is set, and Ollama lists none that answers\n');
    expect(ran.stderr).toContain('ollama pull <model>');
    expect(server.asked()).toEqual(['list']);
  },
);

test('a kept model that is not there any more is replaced from the list, once', async () => {
  const models = [...pulled];
  const server = await serve(models);
  await run(atServer('text hi', server));
  models.pop();
  const next = await run(atServer('text hi', server));
  expect(next).toMatchObject({ code: 0, stdout: 'Hello.\n' });
  expect(next.stderr).toContain('does not have qwen3:8b-2026-01-01 any more, so gemma3:4b is asked');
});

test.each(['lmstudio', 'vllm', 'llamacpp'])('%s without a model is told, with what to do', async (service) => {
  const ran = await run(atServer('text hi', await serve([]), service));
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain('lists none that answers\n  load one there, or name it: -m <model>\n');
});

test.each(['lmstudio', 'vllm', 'llamacpp'])('%s answers with the only model that it lists', async (service) => {
  const server = await serve([{ id: '/models/own-7b.gguf' }]);
  const ran = await run(atServer('text hi', server, service));
  expect(ran).toMatchObject({ code: 0, stdout: 'Hello.\n' });
  expect(server.asked()).toEqual(['list', '/models/own-7b.gguf']);
});

test.each([
  ['several that say nothing of their age', [{ id: 'a' }, { id: 'b' }]],
  ['none', []],
  ['none that answers texts', [{ id: 'bge-embed' }]],
])('the command asks for -m where the list has %s', async (_, models) => {
  const server = await serve(models);
  const ran = await run(atServer('text hi', server, 'lmstudio'));
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain('no model is set');
  expect(server.asked()).toEqual(['list']);
});

test('a server that is down is the error', async () => {
  const server = await serve(pulled);
  await server.close();
  const ran = await run(atServer('text hi --retries 0', server));
  expect(ran).toMatchObject({ code: 7, stdout: '' });
});
