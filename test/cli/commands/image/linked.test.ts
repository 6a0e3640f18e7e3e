import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { test } from '../../input/with-host.ts';
import { makePng } from '../../../helpers/make-png.ts';
import { proxyTo } from '../../../helpers/proxy-to.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';
import { textReply } from '../../../helpers/with-server.ts';

const png = makePng(4, 3);
const openai = { GATEWAY_SERVICE: 'openai' };
const linked = (...urls: string[]): object => ({ body: { created: 1, data: urls.map((url) => ({ url })) } });
const url = 'https://gateway.test/cat?sig=1';

describe('a picture that a reply only links to', () => {
  test('is fetched and saved, without key and header', async ({ server, host, trust, cli }) => {
    const { env } = await proxyTo(host);
    server.reply(linked(url, 'https://gateway.test/dog'));
    for (let i = 0; i < 2; i++) host.reply({ headers: { 'content-type': 'image/png' }, body: png });
    const ran = await cli(['image', 'gen', 'x', ...trust], { env: { ...openai, ...env } });
    expect(ran).toMatchObject({ code: 0, stdout: 'image-1.png\nimage-2.png\n', stderr: '' });
    expect(readFileSync(join(ran.cwd, 'image-1.png'))).toEqual(png);
    expect(host.requests.map(({ path }) => path)).toEqual(['/cat?sig=1', '/dog']);
    expect(Object.keys(host.requests[0]?.headers ?? {}).toSorted()).toEqual([
      'accept',
      'accept-encoding',
      'connection',
      'host',
      'user-agent',
    ]);
  });

  test('is fetched where its link is in a text, and the text stays without it', async ({
    server,
    host,
    trust,
    cli,
  }) => {
    const { env } = await proxyTo(host);
    server.reply({ body: textReply(`Here: ![a cat](${url}) Enjoy.`) });
    host.reply({ body: png });
    const ran = await cli(['image', 'gen', 'x', '--json', ...trust], { env });
    expect(JSON.parse(ran.stdout)).toMatchObject({
      images: [{ path: 'image-1.png', width: 4 }],
      text: 'Here:  Enjoy.',
    });
  });

  test('is told with its link beside a picture that came', async ({ server, cli }) => {
    server.reply({ body: { created: 1, data: [{ b64_json: png.toString('base64') }, { url }] } });
    const ran = await cli(['image', 'gen', 'x'], { env: openai });
    expect(ran).toMatchObject({ code: 0, stdout: 'image-1.png\n' });
    expect(ran.stderr).toContain(
      `warning: one more picture was not saved; the answer links to a picture, which is not fetched`,
    );
    expect(ran.stderr).toContain(url);
  });

  test('is fetched for a job of a batch', async ({ server, host, trust, cli }) => {
    const { env } = await proxyTo(host);
    const cwd = scratchFolder();
    writeFileSync(join(cwd, 'jobs.jsonl'), '{"id":"a","command":"image gen","prompt":"x"}');
    server.reply(linked(url));
    host.reply({ body: png });
    const ran = await cli(['batch', 'jobs.jsonl', '-o', 'out', ...trust], { cwd, env: { ...openai, ...env } });
    expect(ran).toMatchObject({ code: 0 });
    expect(readFileSync(join(cwd, 'out/images/a.png'))).toEqual(png);
  });

  test.for([
    ['image', ['image', 'gen', 'x', '--no-fetch']],
    ['batch', ['batch', 'jobs.jsonl', '-o', 'out', '--no-fetch']],
  ] as const)('stays a link with --no-fetch: %s', async ([, line], { server, host, trust, cli }) => {
    const { env } = await proxyTo(host);
    const cwd = scratchFolder();
    writeFileSync(join(cwd, 'jobs.jsonl'), '{"id":"a","command":"image gen","prompt":"x"}');
    server.reply(linked(url));
    const ran = await cli([...line, ...trust], { cwd, env: { ...openai, ...env } });
    expect([ran.code, host.requests.length]).toEqual([0, 0]);
    if (line[0] === 'batch') expect(readFileSync(join(cwd, 'out/results.jsonl'), 'utf8')).toContain(url);
    else expect(ran).toMatchObject({ stdout: `${url}\n`, stderr: '' });
  });

  test.for([
    ['at a private address', 'https://127.0.0.1:1/a.png', 'the link leads to a private address: 127.0.0.1'],
    ['that is not https', 'http://gateway.test/a.png', ''],
    ['with a password', 'https://me:x@gateway.test/a.png', 'the URL holds a user name or password'],
  ] as const)('%s is not fetched, and its link is printed', async ([, link, why], { server, host, trust, cli }) => {
    const { env } = await proxyTo(host);
    server.reply(linked(link));
    const ran = await cli(['image', 'gen', 'x', ...trust], { env: { ...openai, ...env } });
    expect([ran.code, ran.stdout, readdirSync(ran.cwd)]).toEqual([10, '', []]);
    expect(ran.stderr).toContain(`the answer links to a picture, which is not fetched: ${link}`);
    expect(ran.stderr).toContain(why === '' ? '' : `warning: a linked picture was not fetched: `);
    expect(ran.stderr).toContain(why);
    expect(host.requests).toEqual([]);
  });

  test.for([
    ['is gone', { status: 404, body: 'no' }, 'the host answered 404'],
    ['is a page', { headers: { 'content-type': 'text/html' }, body: '<p>' }, 'a web page (text/html), not an image'],
    ['redirects elsewhere', { status: 302, headers: { location: 'https://h.test/' } }, 'it redirects to another host'],
  ] as const)('that %s is told, and its link is printed', async ([, reply, why], { server, host, trust, cli }) => {
    const { env } = await proxyTo(host);
    server.reply(linked(url));
    host.reply(reply);
    const ran = await cli(['image', 'gen', 'x', ...trust], { env: { ...openai, ...env } });
    expect([ran.code, ran.stdout, readdirSync(ran.cwd)]).toEqual([10, '', []]);
    expect(ran.stderr).toContain('warning: a linked picture was not fetched: the picture at https://gateway.test/cat');
    expect(ran.stderr).toContain(why);
    expect(ran.stderr).toContain(`which is not fetched: ${url}`);
  });
});
