import type { Context } from '../../../src/cli/context.ts';
import { writeReport } from '../../../src/cli/commands/batch/report-file.ts';
import { partNonce } from '../../../src/library/files/process-mark.ts';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { removePartFiles } from '../../../src/batch/folder/folder.ts';
import { planOutput } from '../../../src/library/images/naming.ts';
import { checkOutput } from '../../../src/library/images/publish.ts';
import { manyJobs, test } from '../with-batch.ts';

describe("a folder that is not the batch's own", () => {
  test.for([
    ['results.jsonl', '{"mine":1}\n{"torn'],
    ['summary.json', 'my summary'],
    ['index.html', 'my page'],
    ['notes.txt', 'x'],
    ['images', undefined],
  ] as const)('is refused and left as it is: it holds %s', async ([name, content], { server, folder, batch }) => {
    const out = join(folder.cwd, 'out');
    mkdirSync(content === undefined ? join(out, name) : out, { recursive: true });
    const path = content === undefined ? join(out, name, 'cat.png') : join(out, name);
    writeFileSync(path, content ?? 'a cat');
    folder.jobs(...manyJobs(1));
    for (const flags of [[], ['--dry-run']]) {
      const { code, stderr } = await batch(['jobs.jsonl', '-o', 'out', ...flags]);
      expect({ code, stderr }).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(`not part of a batch: ${name}\n`),
      });
    }
    expect(folder.ls()).toEqual([name]);
    expect(readFileSync(path, 'utf8')).toBe(content ?? 'a cat');
    expect(server.bodies).toEqual([]);
  });

  test('is not changed if another program wrote its journal', async ({ server, folder, batch }) => {
    mkdirSync(join(folder.cwd, 'out'));
    folder.write('out/journal.jsonl', 'my diary\n');
    folder.jobs(...manyJobs(1));
    expect((await batch()).code).toBe(14);
    expect(folder.ls()).toEqual(['journal.jsonl']);
    expect(server.bodies).toEqual([]);
  });
});

describe('a folder that is taken', () => {
  test('is empty, but for what systems and git leave there', async ({ folder, batch }) => {
    mkdirSync(join(folder.cwd, 'out/lost+found'), { recursive: true });
    folder.write('out/.gitignore', '*');
    folder.jobs(...manyJobs(1));
    expect((await batch()).code).toBe(0);
  });

  test('a folder with the journal of the batch is its own, whatever else was put there later', async ({
    folder,
    batch,
  }) => {
    folder.jobs(...manyJobs(1));
    await batch();
    folder.write('out/notes.txt', 'mine');
    expect((await batch()).code).toBe(0);
    expect(readFileSync(join(folder.cwd, 'out/notes.txt'), 'utf8')).toBe('mine');
  });

  test('holds only the files of a run that was killed before its first record', async ({ folder, batch }) => {
    mkdirSync(join(folder.cwd, 'out/images'), { recursive: true });
    for (const name of ['journal.jsonl', 'results.jsonl']) folder.write(`out/${name}`, '');
    folder.write('out/lock.json', '{"mark":{"host":"');
    folder.jobs(...manyJobs(1));
    // A lock without a name can be in use: it is not taken for a foreign file either.
    expect((await batch()).code).toBe(14);
  });

  test.for(['{', '{"t":"ru', '{"t":"run","schema":'])(
    'holds a journal whose first record was cut by a kill: %s',
    async (head, { server, folder, batch }) => {
      mkdirSync(join(folder.cwd, 'out'));
      folder.write('out/journal.jsonl', head);
      folder.jobs(...manyJobs(1));
      expect((await batch()).code).toBe(0);
      expect(server.bodies).toHaveLength(1);
    },
  );
});

test.for(['results.jsonl', 'journal.jsonl'])(
  'a symbolic link in the place of %s is not followed',
  async (name, { server, folder, batch }) => {
    folder.jobs(...manyJobs(1));
    await batch();
    folder.write('victim', readFileSync(join(folder.cwd, 'out', name)));
    const before = readFileSync(join(folder.cwd, 'victim'), 'utf8');
    rmSync(join(folder.cwd, 'out', name));
    symlinkSync('../victim', join(folder.cwd, 'out', name));
    folder.jobs(...manyJobs(2));
    expect((await batch()).code).toBe(2);
    expect(readFileSync(join(folder.cwd, 'victim'), 'utf8')).toBe(before);
    expect(server.bodies).toHaveLength(1);
  },
);

test.for(['results.aside.jsonl', 'journal.aside.jsonl'])(
  'a link or a folder in the place of %s is found before anything is sent',
  async (name, { server, folder, batch }) => {
    folder.jobs(...manyJobs(1));
    await batch();
    folder.write('victim', 'mine');
    symlinkSync('../victim', join(folder.cwd, 'out', name));
    folder.write('out/results.jsonl', `${readFileSync(join(folder.cwd, 'out/results.jsonl'), 'utf8')}torn`);
    folder.jobs(...manyJobs(2));
    expect(await batch()).toMatchObject({ code: 2, stderr: expect.stringContaining(name) });
    rmSync(join(folder.cwd, 'out', name));
    mkdirSync(join(folder.cwd, 'out', name));
    expect(await batch()).toMatchObject({ code: 2, stderr: expect.stringContaining(name) });
    expect(server.bodies).toHaveLength(1);
    expect(readFileSync(join(folder.cwd, 'victim'), 'utf8')).toBe('mine');
  },
);

test.skipIf(process.platform === 'win32')(
  'a pipe in the place of results.jsonl is not read',
  async ({ folder, batch }) => {
    mkdirSync(join(folder.cwd, 'out'));
    execFileSync('mkfifo', [join(folder.cwd, 'out/results.jsonl')]);
    folder.jobs(...manyJobs(1));
    expect((await batch()).code).toBe(2);
  },
);

test('a link that waits in the place of a temporary file is not followed', async ({ folder, batch }) => {
  folder.jobs(...manyJobs(1));
  await batch();
  folder.write('victim', 'mine');
  symlinkSync('../victim', join(folder.cwd, 'out/summary.json.part'));
  expect((await batch()).code).toBe(0);
  expect(readFileSync(join(folder.cwd, 'victim'), 'utf8')).toBe('mine');
});

describe('what killed runs did not finish', () => {
  const part = `.gateway-cli-${'0a'.repeat(12)}.part`;

  test('is cleared by the next run that owns the folder, and nothing else is', async ({ folder, batch }) => {
    folder.jobs(...manyJobs(1));
    await batch();
    const kept = ['.gateway-cli-mine.part', 'notes.part'];
    for (const name of [part, ...kept])
      for (const place of ['out', 'out/images']) folder.write(`${place}/${name}`, 'x');
    mkdirSync(join(folder.cwd, 'out', part.replace('0a', '0b'), 'images'), { recursive: true });
    await batch();
    expect(folder.ls('out/images')).toEqual(kept);
    expect(folder.ls().filter((name) => name.endsWith('.part'))).toEqual(kept);
  });

  test('what killed runs did not finish is cleared also where the folder was only being looked at', async ({
    folder,
  }) => {
    const images = join(folder.cwd, 'out/images');
    mkdirSync(images, { recursive: true });
    const watcher = watch(images);
    const seen = once(watcher, 'change');
    const facts = { isDirectory: true, count: 1, prompt: '', model: 'm', date: '' };
    await checkOutput(planOutput(images, facts), { cwd: folder.cwd, force: false });
    const [, name] = (await seen) as [string, string];
    watcher.close();
    folder.write(`out/images/${name}`, '');
    await removePartFiles(join(folder.cwd, 'out'));
    expect(folder.ls('out/images')).toEqual([]);
  });

  test('is told from a report that is being written into the folder', async ({ folder }) => {
    mkdirSync(join(folder.cwd, 'out'));
    async function* texts() {
      yield 'a,';
      await removePartFiles(join(folder.cwd, 'out'));
      yield 'b';
    }
    const io = { cwd: folder.cwd };
    const context = { io, signal: new AbortController().signal } as unknown as Context;
    await writeReport('out/table.csv', texts(), { force: false, context });
    expect(readFileSync(join(folder.cwd, 'out/table.csv'), 'utf8')).toBe('a,b');
    const nonce = partNonce();
    folder.write(`out/.gateway-cli-${nonce}.part`, 'of a process that runs');
    await removePartFiles(join(folder.cwd, 'out'));
    expect(folder.ls()).toEqual([`.gateway-cli-${nonce}.part`, 'table.csv']);
  });

  test('stays while another run has the folder', async ({ server, folder, batch }) => {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    server.answer = () => ({ after: released });
    folder.jobs(...manyJobs(1));
    const running = batch();
    await server.received(1);
    folder.write(`out/images/${part}`, 'x');
    expect((await batch()).code).toBe(14);
    expect(existsSync(join(folder.cwd, 'out/images', part))).toBe(true);
    release();
    await running;
  });
});
