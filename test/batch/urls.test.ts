import { expect } from 'vitest';
import { type ScriptedServer, startScriptedServer } from '../helpers/scripted-server.ts';
import { png } from '../replies/deviation.ts';
import { authority, serverPair } from '../library/transport/certificates.ts';
import { test as base } from './with-batch.ts';

const inline = [
  { inlineData: { mimeType: 'image/png', data: png } },
  { inlineData: { mimeType: 'text/plain', data: Buffer.from('note').toString('base64') } },
];

/** A batch whose flags trust a host of pictures. */
const test = base.extend<{ host: ScriptedServer; trust: readonly string[] }>({
  host: async ({}, use) => {
    const host = await startScriptedServer({ tls: serverPair });
    await use(host);
    await host.close();
  },
  trust: async ({ folder }, use) => {
    folder.write('ca.pem', authority);
    await use(['--cacert', 'ca.pem']);
  },
});

const dot = { headers: { 'content-type': 'image/png' }, body: Buffer.from(png, 'base64') };

test('a plan fetches nothing, a run each URL once, and the same command neither again', async ({
  host,
  trust,
  server,
  folder,
  batch,
}) => {
  folder.jobs(
    { id: 'a', prompt: 'p', attach: [`${host.url}/a.png?t=1`, `${host.url}/a.txt`] },
    { id: 'b', prompt: 'q' },
  );
  expect(await batch(['--dry-run', ...trust])).toMatchObject({ code: 0 });
  expect(host.requests).toEqual([]);
  host.reply(dot);
  host.reply({ headers: { 'content-type': 'text/plain' }, body: 'note' });
  expect(await batch(['--concurrency', '1', ...trust])).toMatchObject({ code: 0 });
  expect(host.requests.map(({ path }) => path)).toEqual(['/a.png?t=1', '/a.txt']);
  expect(server.bodies[0]?.body).toEqual({ contents: [{ role: 'user', parts: [{ text: 'p' }, ...inline] }] });
  expect(await batch(trust)).toMatchObject({ code: 0 });
  expect(host.requests).toHaveLength(2);
  folder.jobs({ id: 'a', prompt: 'p', attach: [`${host.url}/a.png?t=2`] });
  const changed = await batch(trust);
  expect(changed).toMatchObject({ code: 14 });
  expect(changed.stderr).toContain('1 job was edited since an earlier run sent it: a');
});

test('a job whose URL is being fetched has not been sent', async ({ host, trust, server, folder, batch }) => {
  folder.jobs({ id: 'a', prompt: 'p', attach: [`${host.url}/a.png`] });
  let types: unknown[] = [];
  host.reply(() => {
    types = folder.lines('journal.jsonl').map(({ t }) => t);
    return dot;
  });
  expect(await batch(trust)).toMatchObject({ code: 0 });
  expect(types).not.toContain('sent');
  expect(server.bodies).toHaveLength(1);
});

test('a URL that cannot be fetched fails only its job, which was not billed', async ({
  host,
  trust,
  server,
  folder,
  batch,
}) => {
  folder.jobs({ id: 'a', prompt: 'p', attach: [`${host.url}/a.png?t=secret`] }, { id: 'b', prompt: 'q' });
  host.reply({ status: 404, body: 'no' });
  const ran = await batch(trust);
  expect(ran.code).toBe(13);
  expect(ran.stderr).not.toContain('secret');
  const failed = folder.lines('results.jsonl').find(({ id }) => id === 'a');
  const message = `--attach '${host.url}/a.png': the host answered 404`;
  expect(failed).toMatchObject({ error: { class: 'usage', message, billed: 'no', sent: 'no' } });
  expect([...server.counts]).toEqual([['q', 1]]);
  host.reply(dot);
  expect(await batch(['--retry', 'failed', ...trust])).toMatchObject({ code: 0 });
  expect([...server.counts]).toEqual([
    ['q', 1],
    ['p', 1],
  ]);
});

test('a URL that is not https is reported with its line, before anything is sent', async ({
  server,
  folder,
  batch,
}) => {
  folder.jobs({ id: 'b', prompt: 'q' }, { id: 'a', prompt: 'p', attach: ['http://h/a.png?t=secret'] });
  const ran = await batch();
  expect(ran.code).toBe(2);
  expect(ran.stderr).toContain("jobs.jsonl:2: --attach 'http://h/a.png': only https:// is fetched");
  expect(server.bodies).toEqual([]);
});
