import { describe, expect } from 'vitest';
import { resultLine } from '../../../src/batch/folder/recorder.ts';
import { run } from '../../helpers/run.ts';
import { textReply } from '../../helpers/with-server.ts';
import { environmentFor, manyJobs, test } from '../with-batch.ts';

const mebibyte = 1024 * 1024;

describe('the line of a result', () => {
  const of = { slot: 'a'.repeat(32), t: 'done', id: 'a' } as const;
  const document = {
    ok: true,
    images: [{ path: 'images/a.png' }],
    warnings: ['w'],
  };
  const long = { ...document, text: 'x'.repeat(mebibyte) };

  test('is its JSON where a reader takes it', async () => {
    expect(await resultLine(of, { ...document, text: 'short' }, undefined)).toBe(
      JSON.stringify({ ...of, ...document, text: 'short' }),
    );
  });

  test('leaves long values out where the reply is kept, and says where', async () => {
    const line = await resultLine(of, long, async (failure) => ({ failure, path: '/kept here.json' }), mebibyte);
    const told = "the result is too long for a line: write it out with gateway-cli recover '/kept here.json'";
    expect(JSON.parse(line)).toEqual({ ...of, ...document, warnings: ['w', told] });
  });

  test('is not written where the reply could not be kept', async () => {
    const told = new Error('the disk is full');
    await expect(resultLine(of, long, async () => ({ failure: told }), mebibyte)).rejects.toBe(told);
    await expect(resultLine(of, long, undefined, mebibyte)).rejects.toThrow('too long for a line');
  });
});

test('a text that makes a line too long is kept, and every command of batch reads its line', async ({
  server,
  folder,
  batch,
}) => {
  const text = 'a line of text\n'.repeat(2.4 * mebibyte);
  server.answer = (prompt) => (prompt === 'p1' ? { body: textReply(text) } : undefined);
  folder.jobs(...manyJobs(1));
  const env = { XDG_STATE_HOME: folder.cwd };
  const shard = ['--shard', '1/1'];
  expect((await batch(['jobs.jsonl', '-o', 'out', ...shard], { env })).code).toBe(0);
  const [result] = folder.lines('results.jsonl');
  expect(result).toMatchObject({ id: 'p1', ok: true, exitCode: 0 });
  const file = /gateway-cli recover (\S+)$/.exec(String(result?.['warnings']))?.[1] as string;
  const recovered = await run(['recover', file], { env: { ...environmentFor(server), ...env }, cwd: folder.cwd });
  expect([recovered.code, recovered.stdout.trimEnd() === text.trimEnd()]).toEqual([0, true]);
  for (const argv of [
    ['status', 'out'],
    ['gallery', 'out'],
    ['export', 'out'],
    ['jobs.jsonl', '-o', 'out', ...shard],
  ]) {
    const { code, stderr } = await batch(argv);
    expect({ argv, code, warned: stderr.includes('warning') }).toEqual({ argv, code: 0, warned: false });
  }
  expect(server.bodies).toHaveLength(1);
});
