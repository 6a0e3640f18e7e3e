import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { expect, onTestFinished } from 'vitest';
import { test, textReply } from '../../helpers/with-server.ts';

/** A terminal that is wide enough for every line. */
const seen = { tty: { stderr: true }, columns: 300 };
const soon = { 'retry-after-ms': '1' };
const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'come back later' } };

test.for([
  [429, undefined, /^rate limited \(429\); retry 1 of 2 in (?:0\.\d|1) s\n$/],
  [
    429,
    { error: { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'slow down' } },
    /^rate limited \(429\): slow down; retry 1 of 2 in /,
  ],
  [429, { error: { code: 429, message: 'Slow down.' } }, /^rate limited \(429\): Slow down; retry 1 of 2 in /],
  [529, overloaded, /^the gateway is overloaded \(529\): come back later; retry 1 of 2 in /],
  [503, undefined, /^the gateway is not available \(503\); retry 1 of 2 in /],
  [500, undefined, /^the gateway failed \(500\); it may have been billed; retry 1 of 2 in /],
] as const)(
  'a retry after %d says once what failed, and how many are left',
  async ([status, body, told], { server, cli }) => {
    server.reply({ status, headers: soon, ...(body && { body }) });
    server.reply({ body: textReply('ok') });
    const ran = await cli(['text', 'x'], seen);
    expect(ran).toMatchObject({ code: 0, stdout: 'ok\n' });
    expect(ran.stderr).toMatch(told);
  },
);

test('a retry of a request that was not sent says how many are left', async ({ cli }) => {
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  closed.close();
  await once(closed, 'close');
  const ran = await cli(['text', 'x', '--retries', '1', '--base-url', `http://127.0.0.1:${port}`], seen);
  const told = `cannot connect to 127.0.0.1:${port}: the connection was refused (ECONNREFUSED); retry 1 of 1 in `;
  expect(ran.stderr).toContain(told);
});

test.for([
  ['no reply', '', 'no reply within 0.3 s', 'it may have been billed: check that before you run it again'],
  [
    'half a reply',
    'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{',
    'did not end within 0.3 s',
    'asking again may be billed',
  ],
])(
  'a timeout with %s says where it was asked, and that it may have been billed',
  async ([, bytes, what, cost], { cli }) => {
    const server = createServer(
      (socket) => void socket.on('error', () => undefined).write(bytes || ' '.repeat(0)),
    ).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const ran = await cli(['text', 'x', '--timeout', '300ms', '--base-url', url]);
    expect(ran.stderr).toContain(`${what} (POST ${url}/v1beta/models/m:generateContent)\n`);
    expect(ran.stderr).toContain(cost);
    expect(ran.stderr).toContain('give it more time: --timeout 2m');
  },
);

const messages = '/v1/messages';
const content = '/v1beta/models/m:generateContent';

test.for([
  ['an empty one', ['text', 'x'], content, ''],
  ['an empty one', ['chat', 'x'], messages, ''],
  ['JSON of something else', ['text', 'x'], content, '{}'],
  ['JSON of something else', ['chat', 'x'], messages, '{}'],
  ['a page', ['image', 'gen', 'x'], content, '<html><title>hello</title>'],
  ['a beginning', ['chat', 'x'], messages, '{"type":"message","content":[{"type":"text","text":"ab'],
  [
    'a stream without its end',
    ['chat', 'x'],
    messages,
    'event: message_start\ndata: {"type":"message_start","message":{"id":"1"}}\n\n',
  ],
] as const)(
  'a short reply (%s to %j) says where it came from, and that asking again may be billed',
  async ([, argv, path, body], { server, cli }) => {
    server.reply({ body });
    const ran = await cli([...argv]);
    expect(ran.code).not.toBe(0);
    expect(ran.stderr).toContain(`(POST ${server.url}${path})\n`);
    expect(ran.stderr).toContain('may be billed again');
  },
);

test('what failed inside a reply that came whole names no address', async ({ server, cli }) => {
  server.reply({ body: textReply('', { candidates: [{ finishReason: 'SAFETY' }] }) });
  const ran = await cli(['text', 'x']);
  expect(ran.code).toBe(10);
  expect(ran.stderr).not.toContain('POST');
});

test.for([
  [['--retries', '0'], 200, 'run it again after 200 s, or allow more: --retries 5 --retry-max-time 5m'],
  [['--retries', '0'], 900, 'run it again after 900 s, or allow more: --retries 5 --retry-max-time 15m'],
  [['--retries', '2'], 200, 'run it again after 200 s, or wait longer: --retry-max-time 201'],
] as const)(
  'the hint of a 429 with %j and Retry-After %i allows what it needs',
  async ([flags, s, hint], { server, cli }) => {
    server.reply({ status: 429, headers: { 'retry-after': String(s) } });
    const ran = await cli(['text', 'x', ...flags]);
    expect(ran.stderr).toContain(`\n  ${hint}\n`);
  },
);
