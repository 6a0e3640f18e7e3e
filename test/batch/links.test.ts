import { existsSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { imageReply, textReply } from '../helpers/with-server.ts';
import type { CountingServer } from './counting-server.ts';
import { test } from './with-batch.ts';

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const outline = { id: 'outline', prompt: 'Plan a trip' };
const chapter = { id: 'chapter', prompt: 'Write it: {{@outline.text}} — in {{words}} words', vars: { words: 9 } };
const title = { id: 'title', prompt: 'Name it: {{@chapter.text}}' };

const prompts = ({ bodies }: CountingServer): string[] =>
  bodies.map(({ body }) => /"text":"(.*?)"\}/.exec(JSON.stringify(body))?.[1] ?? '');

describe('a job that uses the result of another one', () => {
  test('is sent after it, with its text, whatever the order in the file', async ({ server, folder, batch }) => {
    folder.jobs(title, chapter, { id: 'other', prompt: 'Other' }, outline);
    const plan = await batch(['--dry-run']);
    expect(plan.stdout).toContain('4 jobs checked, 4 to send\n');
    expect(await batch(['--concurrency', '4'])).toMatchObject({ code: 0 });
    expect(prompts(server).slice(0, 2).toSorted()).toEqual(['Other', 'Plan a trip']);
    expect(prompts(server).slice(2)).toEqual([
      'Write it: answer to Plan a trip — in 9 words',
      'Name it: answer to Write it: answer to Plan a trip — in 9 words',
    ]);
    // Its result tells what was asked as the file has it.
    expect(folder.lines('results.jsonl').find(({ id }) => id === 'title')).toMatchObject({
      prompt: 'Name it: {{@chapter.text}}',
    });
    expect(await batch()).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(4);
  });

  test.runIf(existsSync('/proc/self/fd'))(
    'leaves no file open when several use the same',
    async ({ folder, batch }) => {
      const songs = ['a', 'b', 'c', 'd'].map((id) => ({ id, prompt: `${id}: {{@outline.text}}` }));
      folder.jobs(outline, ...songs);
      expect(await batch(['--concurrency', '4'])).toMatchObject({ code: 0 });
      const open = readdirSync('/proc/self/fd').flatMap((fd) => {
        const link = join('/proc/self/fd', fd);
        return existsSync(link) ? [readlinkSync(link)] : [];
      });
      expect(open.filter((path) => path.startsWith(folder.cwd))).toEqual([]);
    },
  );

  test('gets its picture', async ({ server, folder, batch }) => {
    server.answer = () => ({ body: imageReply({ mimeType: 'image/png', data: png }) });
    const hero = { id: 'hero', command: 'image gen', prompt: 'A fox' };
    const scenes = ['sea', 'wood'].map((prompt) => ({ id: prompt, command: 'image edit', prompt, image: ['@hero'] }));
    folder.jobs(...scenes, hero);
    expect(await batch()).toMatchObject({ code: 0 });
    expect(prompts(server)[0]).toBe('A fox');
    for (const { body } of server.bodies.slice(1)) expect(JSON.stringify(body)).toContain(png);

    // Pictures that were made with one that is made again stay until the user says to pay for them.
    const redone = await batch(['--redo', 'hero']);
    expect(redone).toMatchObject({ code: 0 });
    expect(redone.stderr).toContain('2 jobs keep what they made of an earlier result: sea (row 1), wood (row 2); ');
    const again = await batch();
    expect(again).toMatchObject({ code: 0 });
    expect(again.stderr).toContain('2 outdated: gateway-cli batch again out --accept-changes\n');
    expect(server.bodies).toHaveLength(4);
    expect(await batch(['--accept-changes'])).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(6);
    expect(await batch()).toMatchObject({ code: 0 });

    rmSync(join(folder.cwd, 'out/images/hero-2.png'));
    folder.jobs(...scenes, hero, { id: 'new', command: 'image edit', prompt: 'new', image: ['@hero'] });
    const gone = await batch();
    expect(gone.code).toBe(13);
    expect(gone.stderr).toContain('new: usage: the picture of hero is not in images any more; ');
    expect(server.bodies).toHaveLength(6);
  });

  test('stays the same job where the other one, or it too, has another id now', async ({ server, folder, batch }) => {
    server.answer = (prompt) =>
      prompt === 'A fox' || prompt === 'sea' ? { body: imageReply({ mimeType: 'image/png', data: png }) } : undefined;
    const hero = { id: 'hero', command: 'image gen', prompt: 'A fox' };
    const sea = { id: 'sea', command: 'image edit', prompt: 'sea', image: ['@hero'] };
    folder.jobs(title, chapter, outline, sea, hero);
    await batch();
    const plan = { ...outline, id: 'plan' };
    const name = (id: string, of: string) => ({ ...title, id, prompt: `Name it: {{@${of}.text}}` });
    const write = (id: string, of: string) => ({ ...chapter, id, prompt: chapter.prompt.replace('outline', of) });
    const fox = { ...hero, id: 'fox' };
    const edited = [
      [title, write('chapter', 'plan'), plan, { ...sea, image: ['@fox'] }, fox],
      [
        name('name', 'tale'),
        write('tale', 'outline'),
        outline,
        { ...sea, id: 'see', image: ['@f'] },
        { ...hero, id: 'f' },
      ],
    ];
    for (const jobs of edited) {
      folder.jobs(...jobs);
      expect(await batch()).toMatchObject({
        code: 0,
        stderr: expect.stringContaining('5 done; 0 are sent now\n') as string,
      });
      expect(await batch()).toMatchObject({
        code: 0,
        stderr: expect.stringMatching(/5 done; 0 are sent now\n(?!.*another id)/) as string,
      });
    }
    expect(server.bodies).toHaveLength(5);

    // Another job that has the first name of one is another one.
    const own = { id: 'own', prompt: 'Both: {{@f.text}} {{@chapter.text}}' };
    folder.jobs(
      ...(edited[1] ?? []),
      { id: 'chapter', prompt: 'New' },
      { ...own, prompt: 'Both: {{@tale.text}} {{@chapter.text}}' },
    );
    expect(await batch()).toMatchObject({ code: 0 });
    expect(prompts(server).at(-1)).toBe('Both: answer to Write it: answer to Plan a trip — in 9 words answer to New');
    expect(folder.lines('results.jsonl').at(-1)).toMatchObject({ prompt: 'Both: {{@tale.text}} {{@chapter.text}}' });
    expect(server.bodies).toHaveLength(7);
    folder.jobs(...(edited[1] ?? []).with(2, { ...outline, prompt: 'Plan a walk' }), { id: 'chapter', prompt: 'New' });
    expect((await batch()).stderr).toContain(
      '1 job was edited since an earlier run sent it: outline; 2 jobs use what changed: name, tale\n',
    );
  });

  test('waits in status for one that may have been billed, also where its run was killed', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs({ id: 'a', prompt: 'A' }, { id: 'b', prompt: 'B {{@a.text}}' }, { id: 'c', prompt: 'C {{@b.text}}' });
    server.answer = () => ({ drop: true });
    await batch();
    rmSync(join(folder.cwd, 'out/summary.json'));
    expect((await batch(['status', 'out'])).stdout).toMatch(
      /^3 jobs: 0 done, 1 unknown \(may have been billed\), 2 not sent yet \(2 wait for results of other jobs\)\n[^]*\n1 unknown: gateway-cli batch retry out unknown {2}# may be billed twice\n$/,
    );
  });

  test('says where its picture is gone, what makes both again, and keeps its own until then', async ({
    server,
    folder,
    batch,
  }) => {
    server.answer = () => ({ body: imageReply({ mimeType: 'image/png', data: png }) });
    const hero = { id: 'hero', command: 'image gen', prompt: 'A fox' };
    folder.jobs(hero, { id: 'sea', command: 'image edit', prompt: 'sea', image: ['@hero'] });
    await batch();
    rmSync(join(folder.cwd, 'out/images/hero.png'));
    const both = 'to make it again: gateway-cli batch redo out hero\n';
    expect((await batch(['status', 'out'])).stdout).toContain(both);
    expect((await batch()).stderr).toContain(both);
    const gone = await batch(['--redo', 'sea']);
    expect(gone).toMatchObject({ code: 13 });
    expect(gone.stderr).toContain(
      'sea: usage: the picture of hero is not in images any more; to make both again: gateway-cli batch redo out hero,sea\n',
    );
    expect(gone.stderr).toContain('the earlier answer of sea stays the result');
    expect(await batch(['--redo', 'hero,sea'])).toMatchObject({ code: 0 });
    expect(prompts(server)).toEqual(['A fox', 'sea', 'A fox', 'sea']);
    expect(await batch()).toMatchObject({ code: 0 });
  });

  test.for([
    [{ prompt: 'Tell: {{@hero.text}}' }, 'jobs.jsonl:2: {{@hero.text}}: hero makes pictures, and no text\n'],
    [{ prompt: 'Tell', attach: ['@plan'] }, 'jobs.jsonl:2: @plan: plan answers in words, and makes no picture\n'],
    [
      { command: 'image edit', prompt: 'x', image: ['@plan'] },
      'jobs.jsonl:2: @plan: plan answers in words, and makes no picture\n',
    ],
  ] as const)(
    'is refused before anything is sent where the other one makes something else: %j',
    async ([job, message], { server, folder, batch }) => {
      folder.jobs(
        { id: 'hero', command: 'image gen', prompt: 'A fox' },
        { id: 'tale', ...job },
        { id: 'plan', prompt: 'Plan' },
      );
      const ran = await batch();
      expect(ran.code).toBe(2);
      expect(ran.stderr).toContain(message);
      expect(server.bodies).toEqual([]);
    },
  );

  test('gets the picture of one that asks for it in words of its own', async ({ server, folder, batch }) => {
    server.answer = () => ({ body: imageReply({ mimeType: 'image/png', data: png }) });
    const set = ['generationConfig.responseModalities=["IMAGE"]'];
    folder.jobs(
      { id: 'hero', prompt: 'A fox', set },
      { id: 'sea', command: 'image edit', prompt: 'x', image: ['@hero'] },
    );
    await batch();
    expect(prompts(server)[0]).toBe('A fox');
  });

  test.for(['{{@a.txt}}', '{{@a}}', '{{@a.image}}', '{{ @a.Text }}'])(
    'is refused before anything is sent where it names the other one in a form that is not known: %s',
    async (blank, { server, folder, batch }) => {
      folder.jobs({ id: 'a', prompt: 'A fox' }, { id: 'b', prompt: `Tell: ${blank}` });
      const ran = await batch();
      expect(ran.code).toBe(2);
      expect(ran.stderr).toContain(`jobs.jsonl:2: ${blank} is not the text of another job\n`);
      expect(ran.stderr).toContain('for its text: {{@a.text}}; ');
      expect(server.bodies).toEqual([]);
    },
  );

  test('sends what looks like the name of another one as it stands where nothing is filled', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs({ id: 'b', prompt: 'Tell: {{@index}}', vars: false });
    expect(await batch()).toMatchObject({ code: 0 });
    expect(prompts(server)).toEqual(['Tell: {{@index}}']);
  });

  test('is edited when the other one is, and so are those after it', async ({ server, folder, batch }) => {
    folder.jobs(outline, chapter, title);
    await batch();
    folder.jobs({ ...outline, prompt: 'Plan another' }, chapter, title);
    const edited = await batch();
    expect(edited.code).toBe(14);
    expect(edited.stderr).toContain(
      '1 job was edited since an earlier run sent it: outline (in prompt); 2 jobs use what changed: chapter, title\n',
    );
    expect(server.bodies).toHaveLength(3);
    expect(await batch(['--accept-changes'])).toMatchObject({ code: 0 });
    expect(prompts(server).at(-1)).toBe('Name it: answer to Write it: answer to Plan another — in 9 words');
    expect(await batch()).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(6);
  });

  test('is edited when one far before it is made again in this run', async ({ server, folder, batch }) => {
    folder.jobs(outline, chapter, title);
    await batch();
    const told = '2 jobs keep what they made of an earlier result: chapter (row 2), title (row 3); ';
    expect((await batch(['--redo', 'outline', '--dry-run'])).stdout).toContain(told);
    const again = await batch(['--redo', 'outline', '--accept-changes']);
    expect(again.code).toBe(0);
    expect(again.stderr).toContain(
      '2 jobs use a newer result and are paid for again: chapter (row 2), title (row 3)\n',
    );
    expect(prompts(server).slice(3)).toEqual(prompts(server).slice(0, 3));
    expect(await batch()).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(6);
  });

  test('is made again with it, and others that use it stay as they are, and are told', async ({
    server,
    folder,
    batch,
  }) => {
    const epilogue = { id: 'epilogue', prompt: 'End {{@outline.text}}' };
    const last = { id: 'last', prompt: 'Name {{@epilogue.text}}' };
    folder.jobs(last, epilogue, chapter, outline, title);
    await batch();
    const keep = '2 jobs keep what they made of an earlier result: last (row 1), epilogue (row 2); ';
    const dry = await batch(['redo', 'out', 'chapter,outline,title', '--dry-run']);
    expect(dry.stdout).toContain(
      `${keep}to make those again too: gateway-cli batch redo out chapter,outline,title --dry-run --accept-changes\n`,
    );
    const told = `${keep}once the new one is there, to make those again too: gateway-cli batch again out --accept-changes\n`;
    for (let times = 1; times <= 2; times++) {
      server.bodies.length = 0;
      const again = await batch(['--redo', 'chapter,outline,title']);
      expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining(told) as string });
      expect(prompts(server).map((prompt) => prompt.slice(0, 4))).toEqual(['Plan', 'Writ', 'Name']);
    }
    // Also where none of those that use the chapter is named, or all that are use one more that is made again.
    const both = await batch(['--redo', 'outline,chapter', '--dry-run']);
    expect(both.stdout).toContain(
      '3 jobs keep what they made of an earlier result: last (row 1), epilogue (row 2), title (row 5); ',
    );
    const left = await batch();
    expect([left.code, left.stderr]).toEqual([0, expect.stringContaining('5 done (2 outdated)\n2 outdated: ')]);
    expect(server.bodies).toHaveLength(3);
    await batch(['--accept-changes']);
    expect(prompts(server).slice(3)).toEqual(['End answer to Plan a trip', 'Name answer to End answer to Plan a trip']);
    expect(await batch()).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(5);
  });

  test('can use the results of the two jobs before it, in a long file that is run again', async ({
    server,
    folder,
    batch,
  }) => {
    const scene = (n: number) => ({ id: `s${n}`, prompt: `${n} {{@s${n - 1}.text}} {{@s${n - 2}.text}}` });
    const first = ['s0', 's1'].map((id) => ({ id, prompt: id }));
    server.answer = () => ({ body: { candidates: [{ content: { parts: [{ text: 'x' }] }, finishReason: 'STOP' }] } });
    folder.jobs(...first, ...Array.from({ length: 48 }, (_, n) => scene(n + 2)));
    expect(await batch()).toMatchObject({ code: 0 });
    expect(await batch()).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(50);
  });

  test('waits while the other one has failed: told, counted, and sent when that is done', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(outline, chapter, title);
    server.answer = () => ({ status: 400 });
    const failed = await batch();
    expect(failed.code).toBe(13);
    expect(failed.stderr).toContain('0 done, 1 failed, 2 not sent yet (2 wait for results of other jobs)\n');
    expect(failed.stderr).toContain('2 jobs wait for the result of outline (failed), chapter (not sent yet)\n');
    expect(failed.stderr).toContain('1 failed: gateway-cli batch retry out');
    expect(folder.lines('summary.json')).toMatchObject([{ failed: 1, pending: 2, waiting: 2 }]);
    expect((await batch(['status', 'out'])).stdout).toContain('1 failed: gateway-cli batch retry out\n');
    server.answer = () => undefined;
    expect(await batch()).toMatchObject({ code: 13 });
    expect(server.bodies).toHaveLength(1);
    expect(await batch(['--retry', 'failed'])).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(4);
  });

  test('waits for one that --limit leaves', async ({ server, folder, batch }) => {
    folder.jobs(chapter, outline);
    expect(await batch(['--limit', '1'])).toMatchObject({ code: 0 });
    expect(await batch()).toMatchObject({ code: 0 });
    expect(prompts(server)).toEqual(['Plan a trip', 'Write it: answer to Plan a trip — in 9 words']);
  });

  test('waits for one that has failed also where --limit has room for it: the same command would not send it', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(outline, chapter, title);
    server.answer = () => ({ status: 400 });
    expect(await batch()).toMatchObject({ code: 13 });
    const { code, stderr } = await batch(['--limit', '1']);
    expect(code).toBe(13);
    expect(stderr).toContain('2 jobs wait for the result of outline (failed), chapter (not sent yet)\n');
    expect(stderr).not.toContain('not sent yet: gateway-cli batch again out');
    expect(stderr).toContain('1 failed: gateway-cli batch retry out');
    server.answer = () => undefined;
    const sent = await batch(['--limit', '1', '--retry', 'failed']);
    expect([sent.code, sent.stderr]).toEqual([
      0,
      expect.stringContaining('2 not sent yet: gateway-cli batch again out\n'),
    ]);
    expect(await batch(['--limit', '9'])).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(4);
  });

  test('takes no place of --limit while it waits, and is not sent with a result that another run replaces', async ({
    server,
    folder,
    batch,
  }) => {
    const epilogue = { id: 'epilogue', prompt: 'End {{@outline.text}}' };
    folder.jobs({ id: 'a', prompt: 'a' }, chapter, epilogue, outline);
    await batch();
    server.bodies.length = 0;
    folder.jobs({ id: 'a', prompt: 'b' }, chapter, epilogue, { ...outline, prompt: 'Plan two' });
    const limited = ['--accept-changes', '--limit'];
    const told = (await batch([...limited, '2'])).stderr;
    expect(told).toContain('2 jobs were edited and are paid for again: a (row 1), outline (row 4)\n');
    expect(prompts(server)).toEqual(['b', 'Plan two']);
    await batch([...limited, '1']);
    await batch([...limited, '5', '--redo', 'epilogue']);
    expect(prompts(server).slice(2)).toEqual(['Write it: answer to Plan two — in 9 words', 'End answer to Plan two']);
    // One that this run does not make again, and the next one does.
    folder.jobs({ id: 'a', prompt: 'c' }, chapter, epilogue, { ...outline, prompt: 'Plan two' });
    await batch([...limited, '1', '--redo', 'outline,epilogue']);
    expect(prompts(server).slice(4)).toEqual(['c']);
  });

  test('is estimated with the others, but for the result', async ({ server, folder, batch }) => {
    folder.jobs(outline, chapter, title);
    const estimate = await batch(['run', 'jobs.jsonl', '--estimate', '--json']);
    expect(JSON.parse(estimate.stdout)).toMatchObject({ due: 3, models: [{ jobs: 3 }] });
    expect(estimate.stderr).toContain('2 jobs with results of others, which are not counted yet\n');
    expect(server.bodies.filter(({ path }) => /generate/i.test(path))).toEqual([]);
  });

  test('goes to the shard of the other one', async ({ server, folder, batch }) => {
    const trips = Array.from({ length: 6 }, (_, n) => [
      { id: `o${n}`, prompt: `Plan ${n}` },
      { id: `c${n}`, prompt: `Write {{@o${n}.text}}` },
    ]).flat();
    folder.jobs(...trips);
    const folders = ['1', '2', '3'].map((n) => `out-${n}`);
    for (const [at, outdir] of folders.entries())
      expect(await batch(['run', 'jobs.jsonl', '-o', outdir, '--shard', `${at + 1}/3`])).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(12);
    expect([...server.counts.values()]).toEqual(Array.from({ length: 12 }, () => 1));
    expect((await batch(['export', ...folders])).stdout.trimEnd().split('\r\n')).toHaveLength(13);
    expect((await batch(['status', ...folders])).stdout).toContain('12 jobs: 12 done\n');
  });

  test('takes rows to another shard only by the word of the user, as they may be paid there', async ({
    server,
    folder,
    batch,
  }) => {
    server.answer = (prompt, count) => ({
      body: textReply(`${count === 2 ? 'second' : 'first'} ${prompt.slice(0, 9)}`),
    });
    const rows = Array.from({ length: 40 }, (_, n) => ({ id: `p${n}`, prompt: `Plan ${n}` }));
    folder.jobs(...rows);
    const folders = ['out-1', 'out-2'];
    for (const [at, outdir] of folders.entries())
      await batch(['run', 'jobs.jsonl', '-o', outdir, '--shard', `${at + 1}/2`]);
    const all = rows.map(({ id }) => `{{@${id}.text}}`).join(' ');
    folder.jobs(...rows, { id: 'all', prompt: all });
    const ends = [];
    for (const outdir of folders) ends.push(await batch(['again', outdir]));
    const asked = ends.findIndex(({ code }) => code === 14);
    const left = folder.lines('results.jsonl', folders[1 - asked]).length;
    expect(ends.map(({ code }) => code).toSorted()).toEqual([0, 14]);
    expect(ends[asked]?.stderr).toMatch(
      new RegExp(`^gateway-cli: batch-edited: ${left} jobs were in another shard until now, and may be paid there: p`),
    );
    expect(server.bodies).toHaveLength(40);
    const paid = await batch(['again', folders[asked] as string, '--accept-changes']);
    expect([paid.code, paid.stderr]).toEqual([
      0,
      expect.stringContaining(`${left} jobs come from another shard and are paid for again: p`),
    ]);
    expect(server.bodies).toHaveLength(41 + left);
    const report = await batch(['export', ...folders, '--all', '--format', 'jsonl']);
    expect(report.stdout.trimEnd().split('\n')).toHaveLength(41 + left);
    expect((await batch(['status', ...folders])).stdout).toContain(`${left} answers that no job asks for now`);
    // The answers are those of the shard that the rows are of now.
    for (const names of [folders, folders.toReversed()]) {
      const { stdout } = await batch(['export', ...names, '--format', 'jsonl']);
      expect(stdout.match(/"text":"second /g)).toHaveLength(left);
    }
  });

  test('varies with it', async ({ server, folder, batch }) => {
    folder.jobs(outline, chapter);
    expect(await batch(['--vary', 'maxTokens=5,6'])).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(4);
    const ids = folder.lines('results.jsonl').map(({ id }) => id);
    expect(ids).toContain('chapter+maxTokens=6');
  });

  test.for([
    [
      [{ id: 'a', prompt: '{{@outlin.text}}' }, outline],
      'jobs.jsonl:1: @outlin names no job of jobs.jsonl',
      '@outline',
    ],
    [[{ id: 'a', prompt: '{{@a.text}}' }], 'jobs.jsonl:1: jobs wait for each other in a circle: a → a', 'take one'],
    [
      [
        { id: 'a', prompt: '{{@c.text}}' },
        { id: 'b', prompt: '{{@a.text}}' },
        { id: 'c', prompt: '{{@b.text}}' },
      ],
      'jobs wait for each other in a circle: a → c → b → a',
      'take one of these names out',
    ],
  ] as const)('is refused if that is not possible: %j', async ([jobs, message, hint], { server, folder, batch }) => {
    folder.jobs(...jobs);
    const ran = await batch();
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain(message);
    expect(ran.stderr).toContain(hint);
    expect(server.bodies).toEqual([]);
  });

  test('a worker of --stream knows no other job', async ({ server, folder, batch }) => {
    const ran = await batch(['run', '-', '--stream'], { stdin: `${JSON.stringify(chapter)}\n` });
    expect(ran.stdout).toContain('@outline names another job, and --stream knows none');
    expect(server.bodies).toEqual([]);
    expect(folder.ls('.')).toEqual([]);
  });
});

test('no picture takes the name of one that was removed, which an answer of another question has', async ({
  server,
  folder,
  batch,
}) => {
  server.answer = () => ({ body: imageReply({ mimeType: 'image/png', data: png }) });
  const house = { id: 'a', command: 'image gen', prompt: 'A red house' };
  folder.jobs(house);
  await batch();
  rmSync(join(folder.cwd, 'out/images/a.png'));
  folder.jobs({ ...house, prompt: 'A green tree' });
  expect(await batch(['--accept-changes'])).toMatchObject({ code: 0 });
  folder.jobs({ ...house, prompt: 'A green tree' }, { ...house, id: 'z' });
  const told = await batch();
  expect(told.stderr).toContain(
    'a picture of 1 job is not in images any more; to make it again: gateway-cli batch redo out z\n',
  );
  expect(await batch(['redo', 'out', 'z'])).toMatchObject({ code: 0 });
  const { stdout } = await batch(['export', 'out', '--all', '--format', 'jsonl']);
  const images = stdout
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { images: string[] }).images);
  expect(images).toEqual([['images/a-2.png'], ['images/z.png'], ['images/a.png']]);
  expect(readdirSync(join(folder.cwd, 'out/images'))).toEqual(['a-2.png', 'z.png']);
  // Nor does one that comes by the stream.
  rmSync(join(folder.cwd, 'out/images/z.png'));
  await batch(['-', '--stream', '-o', 'out'], {
    stdin: `${JSON.stringify({ ...house, id: 'z', prompt: 'A lake' })}\n`,
  });
  expect(readdirSync(join(folder.cwd, 'out/images'))).toEqual(['a-2.png', 'z-2.png']);
});
