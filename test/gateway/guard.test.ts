import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { guard } from '../../src/gateway/http/guard.ts';
import { key, startGateway, textPath, turn, type GatewayUnderTest, sharedGateway } from './gateway-under-test.ts';

const gateway = sharedGateway({ hosts: ['devbox', '192.168.1.20', '[fe80::1]', 'mapped.lan:9000'] });

const body = JSON.stringify(turn('hi'));

/** A whole request; `head` are its lines after the request line. */
function request(head: string, { target = textPath, version = '1.1' } = {}): string {
  const fixed = `Authorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close`;
  return `POST ${target} HTTP/${version}\r\n${head}${fixed}\r\n\r\n${body}`;
}

async function statusOf(bytes: string): Promise<string> {
  return (await gateway.raw(bytes)).slice(9, 12);
}

describe('the Host header', () => {
  const rows: [name: string, hosts: (port: number) => string[], status: string][] = [
    ['the address', (port) => [`127.0.0.1:${port}`], '200'],
    ['localhost', (port) => [`localhost:${port}`], '200'],
    ['upper case', (port) => [`LOCALHOST:${port}`], '200'],
    ['IPv6 loopback', (port) => [`[::1]:${port}`], '200'],
    ['an allowed name', (port) => [`devbox:${port}`], '200'],
    ['an allowed name in upper case', (port) => [`DEVBOX:${port}`], '200'],
    ['an allowed name at the port that leads here', () => ['devbox:9000'], '200'],
    ['an allowed name behind a proxy', () => ['devbox'], '200'],
    ['an allowed address', (port) => [`192.168.1.20:${port}`], '200'],
    ['an allowed IPv6 address', (port) => [`[fe80::1]:${port}`], '200'],
    ['an allowed name at its port', () => ['mapped.lan:9000'], '200'],
    ['an allowed name at another port', (port) => [`mapped.lan:${port}`], '403'],
    ['a foreign name that ends well', (port) => [`evil-devbox:${port}`], '403'],
    ['a foreign name', (port) => [`evil.example:${port}`], '403'],
    ['a foreign name that begins well', (port) => [`127.0.0.1.evil.example:${port}`], '403'],
    ['a dot after it', (port) => [`localhost.:${port}`], '403'],
    ['another port', () => ['127.0.0.1:1'], '403'],
    ['no port', () => ['127.0.0.1'], '403'],
    ['two of them', (port) => [`127.0.0.1:${port}`, 'evil.example'], '403'],
    ['two of them, the foreign one first', (port) => ['evil.example', `127.0.0.1:${port}`], '403'],
    ['an empty one', () => [''], '403'],
    ['none', () => [], '403'],
  ];
  it.each(rows)('%s', async (_, hosts, status) => {
    const head = hosts(gateway.port).map((host) => `Host: ${host}\r\n`);
    expect(await statusOf(request(head.join('')))).toBe(status);
  });

  it.each([
    ['localhost', true],
    ['localhost:80', true],
    ['localhost:81', false],
  ])('at port 80 may leave the port out, as every client does: %s', (host, isTaken) => {
    const seen = { socket: { localPort: 80 }, rawHeaders: ['Host', host], url: '/' } as unknown as IncomingMessage;
    const check = () => guard(seen, {});
    if (isTaken) expect(check).not.toThrow();
    else expect(check).toThrow('the Host header must name this gateway');
  });

  it('the Host header is required of HTTP/1.0 too', async () => {
    expect(await statusOf(request('', { version: '1.0' }))).toBe('403');
  });

  it('does not help an absolute target', async () => {
    const target = `http://evil.example${textPath}`;
    expect(await statusOf(request(`Host: 127.0.0.1:${gateway.port}\r\n`, { target }))).toBe('403');
  });
});

describe('requests that a web page makes a browser send', () => {
  const rows: [name: string, lines: (port: number) => string, status: string][] = [
    ['our own origin', (port) => `Origin: http://127.0.0.1:${port}\r\nSec-Fetch-Site: same-origin\r\n`, '200'],
    ['a typed address', () => 'Sec-Fetch-Site: none\r\n', '200'],
    ['a foreign origin', () => 'Origin: https://evil.example\r\n', '403'],
    ['a loopback page on another port', () => 'Origin: http://localhost:3000\r\n', '403'],
    ['our name under https', (port) => `Origin: https://127.0.0.1:${port}\r\n`, '403'],
    ['an opaque origin', () => 'Origin: null\r\n', '403'],
    ['another site', () => 'Sec-Fetch-Site: cross-site\r\n', '403'],
    ['the same site', () => 'Sec-Fetch-Site: same-site\r\n', '403'],
  ];
  it.each(rows)('%s', async (_, lines, status) => {
    const { port } = gateway;
    expect(await statusOf(request(`Host: 127.0.0.1:${port}\r\n${lines(port)}`))).toBe(status);
  });

  it.each([
    ['http://devbox:9000', '200'],
    ['https://devbox:9000', '200'],
    ['http://devbox:3000', '403'],
    ['http://192.168.1.20:9000', '403'],
  ])('to an allowed name from %s are answered with %s', async (origin, status) => {
    expect(await statusOf(request(`Host: devbox:9000\r\nOrigin: ${origin}\r\n`))).toBe(status);
  });

  it('get no CORS header, and no page', async () => {
    const { headers } = await gateway.post(textPath, turn('hi'));
    expect(headers.get('access-control-allow-origin')).toBeNull();
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
    expect(headers.get('cache-control')).toBe('no-store');
  });

  it('cannot upgrade to a WebSocket', async () => {
    const lines =
      'Connection: Upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n\r\n';
    expect(await statusOf(`GET /v1/messages HTTP/1.1\r\nHost: 127.0.0.1:${gateway.port}\r\n${lines}`)).toBe('405');
  });
});

describe('a page of an allowed origin', () => {
  const origin = 'http://localhost:5173';
  let open: GatewayUnderTest;
  beforeAll(async () => {
    open = await startGateway({ origins: [origin] });
  });
  afterAll(() => open.close(0));
  const own = { origin, 'sec-fetch-site': 'cross-site' };

  it('a page of an allowed origin is answered, refusals too, and its browser may show the replies', async () => {
    const answers = [await open.post(textPath, turn('hi'), own), await open.post(textPath, {}, own)];
    expect(answers.map(({ status }) => status)).toEqual([200, 400]);
    for (const { headers } of answers) {
      expect([headers.get('access-control-allow-origin'), headers.get('vary')]).toEqual([origin, 'origin']);
    }
  });

  it('a page of an allowed origin can send a preflight without the key, and needs the key for the request', async () => {
    const asked = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-goog-api-key' };
    const told = await fetch(open.url + textPath, { method: 'OPTIONS', headers: { ...own, ...asked } });
    expect([told.status, told.headers.get('access-control-allow-headers')]).toEqual([204, 'x-goog-api-key']);
    expect(told.headers.get('access-control-allow-origin')).toBe(origin);
    expect((await open.post(textPath, turn('hi'), { ...own, authorization: '' })).status).toBe(401);
  });

  it('an allowed origin does not let other origins in', async () => {
    const others = [{ origin: 'http://localhost:5174' }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }];
    for (const headers of others) {
      const told = await open.post(textPath, turn('hi'), headers);
      expect([told.status, told.headers.get('access-control-allow-origin')]).toEqual([403, null]);
    }
    const two = `Host: 127.0.0.1:${open.port}\r\nOrigin: ${origin}\r\nOrigin: https://evil.example\r\n`;
    expect((await open.raw(request(two))).slice(9, 12)).toBe('403');
  });
});
