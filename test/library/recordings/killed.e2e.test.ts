import { once } from 'node:events';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ownMark, partNonce } from '../../../src/library/files/process-mark.ts';
import { namesIn, serve, start } from '../../faults/program.ts';
import { startServe, upstreamKey, writeConfig } from './served.ts';

const part = (nonce: string): string => `.gateway-cli-${nonce}.part`;
const unfinished = /^\.gateway-cli-[\w-]+-[0-9a-f]{24}\.part$/;

test('the next recording removes the files of a killed one, and no others', async () => {
  const server = await serve();
  server.reply({ chunks: ['{"candidates":', new Promise(() => {})] });
  const { child, cwd } = start(['text', '--record', 'kept', 'hi'], server);
  const folder = join(cwd, 'kept');
  const left = (): string[] => namesIn(folder).filter((name) => unfinished.test(name));
  await expect.poll(() => left().length, { timeout: 50_000 }).toBe(1);
  child.kill('SIGKILL');
  await once(child, 'close');
  expect(left()).toHaveLength(1);

  const { host, namespace } = ownMark();
  const elsewhere = [`elsewhere/${child.pid}/${namespace}/boot/1`, `${host}/${child.pid}/another container/boot/1`];
  const theirs = elsewhere.map((mark) => part(`${Buffer.from(mark).toString('base64url')}-${'0'.repeat(24)}`));
  const others = [part(partNonce()), part('0123456789abcdef01234567'), ...theirs];
  for (const name of [...others, 'notes.part']) writeFileSync(join(folder, name), 'not ours to clear');
  mkdirSync(join(folder, left()[0]?.replace(/[0-9a-f]{24}/, 'f'.repeat(24)) ?? ''));
  const config = writeConfig(cwd, { work: { baseUrl: server.url, apiKey: upstreamKey } });
  await startServe(['--upstream', 'work', '--record', 'kept'], { cwd, config });
  const kept = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
  expect(kept.map(({ name }) => name).toSorted()).toEqual([...others, 'notes.part'].toSorted());
});
