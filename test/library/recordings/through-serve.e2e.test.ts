import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { message, turn } from '../../gateway/gateway-under-test.ts';
import { openPost, readSocket } from '../../gateway/upstream-under-test.ts';
import { recordedFiles } from '../../helpers/recorded-files.ts';
import { run } from '../../helpers/run.ts';
import { type Served, startServe, startWork, upstreamKey, writeConfig } from './served.ts';

interface Asked {
  name: string;
  target: string;
  body: string;
}

const content = (model: string, action = 'generateContent'): string => `/v1beta/models/${model}:${action}`;
const asked = (name: string, target: string, body: object): Asked => ({ name, target, body: JSON.stringify(body) });
const stream = (model: string, text = 'hi'): object => message(text, { model, stream: true });

const requests: Asked[] = [
  asked('a text', content('local-text'), turn('hello')),
  asked('a text again', content('local-text'), turn('hello')),
  asked('a picture', content('local-image'), turn('dusk')),
  asked('a content stream', content('local-text', 'streamGenerateContent?alt=sse'), turn('hello')),
  asked('a stream', '/v1/messages', stream('local-chat', 'Grüße, 世界 🗼')),
  asked('a stream in odd pieces', '/v1/messages', stream('fault-odd-framing', 'Grüße, 世界 🗼')),
  asked('a stream that is cut', '/v1/messages', stream('fault-cut')),
  asked('a stream that is reset', '/v1/messages', stream('fault-reset-body')),
  asked('an error event', '/v1/messages', stream('fault-error-event')),
  asked('a limit', content('fault-429'), turn('hello')),
  asked('HTML', content('fault-html-502'), turn('hello')),
  asked('an unknown model', content('no-such-model'), turn('hello')),
  asked('a wrong request', content('local-text'), { contents: [] }),
];

/** The bytes of the socket: the head without values that change each time, and the body in its frames. */
async function ask(port: number, key: string, { target, body }: Asked) {
  const { bytes, error } = await readSocket(await openPost({ port, key }, { target, body }));
  const end = bytes.indexOf('\r\n\r\n');
  const head = bytes.toString('latin1', 0, end).split('\r\n');
  const rest = bytes.subarray(end + 4);
  const chunked = head.some((line) => /^transfer-encoding: chunked$/i.test(line));
  return { head: head.toSorted(), body: rest.toString('latin1'), frames: chunked ? framesIn(rest) : 0, error };
}

/** How many frames a chunked body has, its end included. */
function framesIn(body: Buffer): number {
  let count = 0;
  for (let at = 0; at < body.length; count++) {
    const end = body.indexOf('\r\n', at);
    at = end + 2 + Number.parseInt(body.toString('latin1', at, end), 16) + 2;
  }
  return count;
}

test('replays a recording of serve --upstream byte by byte and frame by frame', { timeout: 180_000 }, async () => {
  const work = await startWork({ pace: 1 });
  const recording = await startServe(['--upstream', 'work', '--record', 'kept'], work);
  const live: Awaited<ReturnType<typeof ask>>[] = [];
  for (const request of requests) live.push(await ask(recording.port, recording.key, request));
  await ask(recording.port, recording.key, asked('a slip', content('local-text'), turn(`I show ${recording.key}`)));
  await recording.stop();
  const folder = join(work.cwd, 'kept');
  expect(recordedFiles(folder)).toHaveLength(requests.length + 1);

  const replaying = await startServe(['--replay', 'kept'], work);
  for (const [index, request] of requests.entries()) {
    expect(await ask(replaying.port, replaying.key, request), request.name).toEqual(live[index]);
  }
  const text = recordedFiles(folder)
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('');
  for (const secret of [upstreamKey, recording.key]) expect(text).not.toContain(secret);
});

test('a replay sends each chunk of a recording in a frame of its own', async () => {
  const work = await startWork();
  const recording = await startServe(['--upstream', 'work', '--record', 'kept'], work);
  const request = asked('a stream', '/v1/messages', stream('local-chat', 'Grüße, 世界 🗼'));
  await ask(recording.port, recording.key, request);
  await recording.stop();
  const folder = join(work.cwd, 'kept');
  const path = join(folder, recordedFiles(folder)[0] ?? '');
  const [asking = '', head = '', ...lines] = readFileSync(path, 'utf8').trimEnd().split('\n');
  // As the system cut the stream, it can have come in any number of chunks: here each event is one.
  const text = lines.map((line) => (JSON.parse(line) as { text?: string }).text ?? '').join('');
  const events = text.split(/(?<=\n\n)/).map((event) => JSON.stringify({ text: event }));
  writeFileSync(path, `${[asking, head, ...events, lines.at(-1)].join('\n')}\n`);
  const replaying = await startServe(['--replay', 'kept'], work);
  expect(events.length).toBeGreaterThan(3);
  expect(await ask(replaying.port, replaying.key, request)).toMatchObject({ frames: events.length + 1 });
});

test('a connection that upstream lost before the head gives its caller the same code in a replay', async () => {
  const work = await startWork();
  const callers = [
    ['chat', 'hi', '-m', 'fault-reset'],
    ['text', 'hi', '-m', 'fault-reset'],
  ];
  const askAll = async ({ env }: Served): Promise<number[]> => {
    const ran = await Promise.all(callers.map((argv) => run([...argv, '--retries', '0'], { env })));
    return ran.map(({ code }) => code);
  };
  const recording = await startServe(['--upstream', 'work', '--record', 'kept'], work);
  const live = await askAll(recording);
  await recording.stop();
  const replaying = await startServe(['--replay', 'kept'], work);
  expect(await askAll(replaying)).toEqual(live);
  expect(live).toEqual([6, 6]);
});

test('a request with no recording is 404 in the shape of its format and names the nearest', async () => {
  const work = await startWork();
  const recording = await startServe(['--upstream', 'work', '--record', 'kept'], work);
  await ask(recording.port, recording.key, asked('', '/v1/messages', message('one')));
  await recording.stop();
  const { port, key } = await startServe(['--replay', 'kept'], work);
  const reply = await ask(port, key, asked('', '/v1/messages', message('two')));
  expect(reply.head).toContain('HTTP/1.1 404 Not Found');
  expect(JSON.parse(reply.body)).toMatchObject({
    type: 'error',
    error: {
      type: 'not_found_error',
      message: expect.stringMatching(
        /the nearest is messages-local-chat-\S+: body\.messages\.0\.content: recorded "one", asked "two"$/,
      ),
    },
  });
});

test('--upstream uses the profile, whatever the environment says', async () => {
  const work = await startWork();
  const env = { GATEWAY_BASE_URL: 'http://127.0.0.1:1', GATEWAY_API_KEY: 'another-key', GATEWAY_OFFLINE: '1' };
  const served = await startServe(['--upstream', 'work'], { ...work, env });
  const reply = await ask(served.port, served.key, requests[0] as Asked);
  expect(reply.head).toContain('HTTP/1.1 200 OK');
  expect(served.env).toMatchObject({ GATEWAY_MODEL: 'local-text', GATEWAY_IMAGE_MODEL: 'local-image' });
  expect(JSON.stringify(served.env)).not.toContain(upstreamKey);
});

test('keeps the prefix of the base URL, the forms of the profile and the version that the caller speaks', async () => {
  const seen: { url: string; headers: Record<string, unknown> }[] = [];
  const { cwd, url } = await startWork();
  const { createServer } = await import('node:http');
  const upstream = createServer((request, response) => {
    seen.push({ url: request.url ?? '', headers: request.headers });
    response.end('{}');
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => upstream.once('listening', resolve));
  const { port } = upstream.address() as { port: number };
  const config = writeConfig(cwd, {
    work: {
      baseUrl: `http://127.0.0.1:${port}/prefix/`,
      apiKey: upstreamKey,
      auth: { messages: 'bearer' },
      headerNames: { apiKey: 'x-goog-api-key', version: 'anthropic-version' },
      headers: { 'x-team': 'docs' },
    },
  });
  expect(url).not.toContain(String(port));
  const served = await startServe(['--upstream', 'work', '--header-names', 'Own-Key,'], { cwd, config });
  const send = (path: string, headers: Record<string, string>) =>
    fetch(served.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: '{}',
    });
  await send(content('m'), { 'own-key': served.key });
  await send(content('m'), { authorization: `Bearer ${served.key}` });
  await send('/v1/messages', { 'x-api-key': served.key, 'anthropic-version': '2026-10-21' });
  upstream.close();
  upstream.closeAllConnections();
  const [text, image, messages] = seen;
  expect(text).toMatchObject({
    url: `/prefix${content('m')}`,
    headers: { 'x-goog-api-key': upstreamKey, 'x-team': 'docs' },
  });
  expect(text?.headers).not.toHaveProperty('own-key');
  expect(image?.headers).toMatchObject({ authorization: `Bearer ${upstreamKey}` });
  expect(image?.headers).not.toHaveProperty('x-goog-api-key');
  expect(messages).toMatchObject({
    url: '/prefix/v1/messages',
    headers: { authorization: `Bearer ${upstreamKey}`, 'anthropic-version': '2026-10-21' },
  });
});

test.each(['GATEWAY_API_KEY', 'GATEWAY_API_KEY_FILE'])('--upstream warns that %s is ignored', async (name) => {
  const { cwd } = await startWork();
  const config = writeConfig(cwd, { work: { baseUrl: 'https://g.example' } });
  const env = { GATEWAY_CONFIG: config, [name]: upstreamKey };
  const ran = await run(['serve', '--port', '0', '--upstream', 'work'], { cwd, env });
  expect(ran).toMatchObject({ code: 3, stdout: '' });
  expect(ran.stderr).toContain(`profile work has no key, and serve --upstream takes no other; ${name} does not count`);
  expect(ran.stderr).not.toContain(upstreamKey);
});

test.each<[string, string[], object, number, string]>([
  ['an unknown profile', ['--upstream', 'home'], {}, 2, 'no profile "home" (flag --upstream)'],
  ['one nearly right', ['--upstream', 'wrk'], { work: {} }, 2, 'did you mean --upstream work?'],
  ['a URL', ['--upstream', 'http://u:pw@h:1/v1?k=s'], {}, 2, 'set baseUrl http://h:1/v1 --profile work\n'],
  ['a profile without a base URL', ['--upstream', 'work'], { work: {} }, 2, 'profile work has no baseUrl'],
  [
    'a profile without a key',
    ['--upstream', 'work'],
    { work: { baseUrl: 'https://g.example' } },
    3,
    'set it: gateway-cli config set apiKey - --profile work',
  ],
  [
    'plain http',
    ['--upstream', 'work'],
    { work: { baseUrl: 'http://g.example', apiKey: 'k-123456' } },
    2,
    'unencrypted',
  ],
  ['both at once', ['--upstream', 'work', '--replay', 'x'], {}, 2, '--upstream and --replay exclude each other'],
  ['a record of nothing', ['--record', 'x'], {}, 2, 'serve --record keeps what an upstream gateway answers'],
  ['no recordings', ['--replay', 'no-such-folder'], {}, 2, "--replay '"],
  ['a pace upstream', ['--upstream', 'work', '--pace', '5'], {}, 2, '--pace is for the offline models'],
])('serve refuses %s before it listens', async (_name, flags, profiles, code, message) => {
  const { cwd } = await startWork();
  const config = writeConfig(cwd, { other: { baseUrl: 'https://o.example' }, ...profiles });
  const ran = await run(['serve', '--port', '0', ...flags], { cwd, env: { GATEWAY_CONFIG: config } });
  expect(ran).toMatchObject({ code, stdout: '' });
  expect(ran.stderr).toContain(message);
});
