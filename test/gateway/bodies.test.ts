import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { dig, key, message, startGateway, textPath, turn, sharedGateway } from './gateway-under-test.ts';

const gateway = sharedGateway({ maxBody: 4096 });

describe('the content type', () => {
  const rows: [type: string, status: number][] = [
    ['application/json', 200],
    ['application/json; charset=utf-8', 200],
    ['Application/JSON;charset="UTF-8"', 200],
    ['application/json; charset=latin1', 415],
    ['text/plain', 415],
    ['application/x-www-form-urlencoded', 415],
    ['multipart/form-data; boundary=x', 415],
    ['', 415],
  ];
  it.each(rows)('%j', async (type, status) => {
    expect((await gateway.post(textPath, turn('hi'), { 'content-type': type })).status).toBe(status);
  });

  it('may not be compressed', async () => {
    expect((await gateway.post(textPath, turn('hi'), { 'content-encoding': 'gzip' })).status).toBe(415);
  });
});

describe('what is not JSON object', () => {
  const rows: [name: string, body: string, text: string][] = [
    ['nothing', '', 'the body is empty'],
    ['half of one', '{"contents": [', 'not valid JSON: a value is expected at line 1, column 15'],
    ['words', 'hello', 'not valid JSON'],
    ['a list', '[]', 'must be a JSON object'],
    ['a string', '"x"', 'must be a JSON object'],
    ['null', 'null', 'must be a JSON object'],
  ];
  it.each(rows)('%s', async (_, body, text) => {
    const content = await gateway.post(textPath, body);
    expect([content.status, dig(content.json, 'error', 'status')]).toEqual([400, 'INVALID_ARGUMENT']);
    expect(dig(content.json, 'error', 'message')).toContain(text);
    const messages = await gateway.post('/v1/messages', body);
    expect([messages.status, dig(messages.json, 'error', 'type')]).toEqual([400, 'invalid_request_error']);
  });

  it('bytes that are not UTF-8', async () => {
    const reply = await new Promise<string>((resolve) => {
      const socket = connect(gateway.port, '127.0.0.1');
      socket.write(
        `${headTo(gateway)}Content-Type: application/json\r\nContent-Length: 4\r\nConnection: close\r\n\r\n`,
      );
      socket.write(Buffer.from([0x22, 0xff, 0xfe, 0x22]));
      let text = '';
      socket.on('data', (chunk) => (text += String(chunk)));
      socket.on('close', () => resolve(text));
    });
    expect(reply).toContain('not valid UTF-8');
  });

  const nested = (levels: number, [open, close]: readonly [string, string] = ['[', ']']): string =>
    open.repeat(levels) + close.repeat(levels);
  const deep: [name: string, path: string, body: string][] = [
    ['contents', textPath, `{"contents":${nested(200_000)}}`],
    [
      'a schema',
      textPath,
      contentWith(`"tools":[{"functionDeclarations":[{"name":"f","parametersJsonSchema":${nested(200_000)}}]}]`),
    ],
    ['a free object', textPath, contentWith(`"labels":${nested(200_000, ['{"a":', '}']).replace('{"a":}', '{}')}`)],
    ['an unknown field', textPath, contentWith(`"x":${nested(201)}`)],
    ['messages', '/v1/messages', `{"model":"local-chat","max_tokens":9,"messages":${nested(200_000)}}`],
    ['no end', textPath, '{"contents":'.repeat(200_000)],
    ['a body that would take all memory', textPath, nested(16_000_000)],
  ];
  it.each(deep)('nesting without end in %s', async (_, path, body) => {
    const roomy = await startGateway();
    const { status, json } = await roomy.post(path, body);
    expect([status, dig(json, 'error', 'message')]).toEqual([400, 'the body is nested deeper than 200 levels']);
    await roomy.close(0);
  });

  it('but brackets inside strings are not levels, after any number of backslashes', async () => {
    for (const tail of ['', '\\', '"', '\\"', '\\\\', '"\\"']) {
      const { status } = await gateway.post(
        textPath,
        turn(`${'[{'.repeat(400)}${tail}`, { labels: { a: '[', b: '{' } }),
      );
      expect(status, tail).toBe(200);
    }
  });
});

/** The first lines of a request that is written by hand. */
function headTo({ port }: { port: number }): string {
  return `POST ${textPath} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${key}\r\n`;
}

/** A request with more members, as text. */
function contentWith(members: string): string {
  return `${JSON.stringify(turn('hi')).slice(0, -1)},${members}}`;
}

describe('the size limit', () => {
  it('refuses a declared length before the body is sent', async () => {
    const socket = connect(gateway.port, '127.0.0.1');
    socket.write(`${headTo(gateway)}Content-Type: application/json\r\nContent-Length: 1000000000\r\n\r\n`);
    const first = await new Promise<string>((resolve) => socket.once('data', (chunk) => resolve(String(chunk))));
    socket.destroy();
    expect(first).toMatch(/^HTTP\/1\.1 413 /);
  });

  it('refuses a body without a declared length once it is too long', async () => {
    const chunk = 'x'.repeat(5000);
    const framed = `${chunk.length.toString(16)}\r\n${chunk}\r\n0\r\n\r\n`;
    const reply = await gateway.raw(
      `${headTo(gateway)}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${framed}`,
    );
    expect(reply).toMatch(/^HTTP\/1\.1 413 /);
    expect(reply).toContain('Request Entity Too Large');
  });

  it('lets a caller that sends everything first see the reply', async () => {
    const { status, json } = await gateway.post('/v1/messages', message('x'.repeat(3_000_000)));
    expect([status, dig(json, 'error', 'type')]).toEqual([413, 'request_too_large']);
  });

  it('refuses headers over 16 KiB', async () => {
    const reply = await gateway.raw(
      `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${gateway.port}\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`,
    );
    expect(reply).toMatch(/^HTTP\/1\.1 431 /);
  });
});
