import { describe, expect } from 'vitest';
import { earlierAnswers, manyJobs, test } from './with-batch.ts';

const linesOf = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, string | undefined>);

const outline = { id: 'outline', prompt: 'Plan a trip' };
const chapter = { id: 'chapter', prompt: 'Write it: {{@outline.text}}' };
const epilogue = { id: 'epilogue', prompt: 'End it: {{@outline.text}}' };

describe('what people are told of jobs that use results of others', () => {
  test('a job that --redo makes again after one that it uses was not edited', async ({ folder, batch }) => {
    folder.jobs(outline, chapter, epilogue);
    await batch();
    const { code, stderr } = await batch(['--redo', 'outline,chapter']);
    expect([code, stderr]).toEqual([0, expect.stringContaining('1 is sent again, 1 as it changed\n')]);
    expect(stderr).not.toContain('edited');
  });

  test('a job that --redo names and --limit leaves keeps what it made of the earlier result, too', async ({
    folder,
    batch,
  }) => {
    folder.jobs(outline, chapter, epilogue);
    await batch();
    const { code, stderr } = await batch(['--redo', 'outline,chapter', '--limit', '1']);
    expect(code).toBe(0);
    expect(stderr).toContain('1 job keeps what it made of an earlier result: epilogue (row 3); ');
  });

  test('a job whose answer was made of an earlier result is outdated in every report, until one of both is made or chosen', async ({
    folder,
    batch,
  }) => {
    folder.jobs(outline, chapter, ...manyJobs(1));
    await batch();
    const versions = async () => {
      const { stdout } = await batch(['export', 'out', '--format', 'jsonl']);
      return Object.fromEntries(linesOf(stdout).map(({ id, version }) => [id, version]));
    };
    const none = { outline: undefined, chapter: undefined, p1: undefined };
    expect(await versions()).toEqual(none);
    const next = '1 outdated: gateway-cli batch again out --accept-changes\n';
    const redone = await batch(['redo', 'out', 'outline']);
    expect([redone.code, redone.stderr]).toEqual([0, expect.stringContaining(`3 done (1 outdated)\n${next}`)]);
    expect((await batch(['status', 'out'])).stdout).toBe(`3 jobs: 3 done (1 outdated)\n${earlierAnswers(1)}${next}`);
    expect(await versions()).toEqual({ ...none, chapter: 'outdated' });
    const all = await batch(['export', 'out', '--all', '--format', 'csv']);
    expect(all.stdout).toMatch(/^id,version,.*\r\noutline,now,.*\r\nchapter,outdated,.*\r\np1,now,/s);
    await batch(['gallery', 'out']);
    expect(folder.read('out/index.html')).toContain('<bdi>chapter</bdi></strong> outdated, done');
    await batch(['choose', 'out', 'outline=1']);
    expect(await versions()).toEqual(none);
    await batch(['choose', 'out', 'outline=2']);
    expect(await versions()).toEqual({ ...none, chapter: 'outdated' });
    await batch(['again', 'out', '--accept-changes']);
    expect(await versions()).toEqual(none);
  });

  test('and so are the jobs that use it: as many as are made again', async ({ server, folder, batch }) => {
    folder.jobs(outline, chapter, { id: 'title', prompt: 'Name it: {{@chapter.text}}' });
    await batch();
    await batch(['redo', 'out', 'outline']);
    expect((await batch(['status', 'out'])).stdout).toContain('3 done (2 outdated)\n');
    const sent = server.bodies.length;
    await batch(['again', 'out', '--accept-changes']);
    expect(server.bodies).toHaveLength(sent + 2);
    expect((await batch(['status', 'out'])).stdout).toContain('3 jobs: 3 done\n');
  });

  test('an outdated job keeps its answer also under another id', async ({ server, folder, batch }) => {
    folder.jobs(outline, chapter);
    await batch();
    await batch(['redo', 'out', 'outline']);
    folder.jobs(outline, { ...chapter, id: 'renamed' });
    const again = await batch(['again', 'out']);
    expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('2 done (1 outdated)\n')]);
    expect(server.bodies).toHaveLength(3);
  });

  test('a job is not outdated if what it uses was not made again', async ({ server, folder, batch }) => {
    folder.jobs(outline, chapter);
    await batch();
    server.answer = () => ({ status: 400 });
    await batch(['redo', 'out', 'outline']);
    expect((await batch(['status', 'out'])).stdout).toMatch(/^2 jobs: 2 done \(1 to make again\)\n/);
  });

  test('an outdated job is to be made again after what could not be made: it would be paid for twice', async ({
    server,
    folder,
    batch,
  }) => {
    const other = { id: 'other', prompt: 'Choose a title' };
    folder.jobs(outline, other, { id: 'both', prompt: '{{@outline.text}} {{@other.text}}' });
    await batch();
    server.answer = (prompt) => (prompt === other.prompt ? { status: 400 } : undefined);
    await batch(['redo', 'out', 'outline,other']);
    expect((await batch(['status', 'out'])).stdout).toContain(
      '1 outdated: gateway-cli batch again out --accept-changes  # after the rows above, which they may use\n',
    );
  });

  test('a failed job has no answer that could be outdated', async ({ server, folder, batch }) => {
    folder.jobs(outline, chapter, { id: 'bad', prompt: 'Bad: {{@chapter.text}}' });
    server.answer = (prompt) => (prompt.startsWith('Bad') ? { status: 400 } : undefined);
    await batch();
    await batch(['redo', 'out', 'outline']);
    const { stdout } = await batch(['export', 'out', '--format', 'jsonl']);
    expect(linesOf(stdout).map(({ version }) => version)).toEqual([undefined, 'outdated', undefined]);
  });

  test('jobs that wait for one that failed, and is not sent again, are not counted as sent now', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(outline, chapter, { id: 'title', prompt: 'Name it: {{@chapter.text}}' });
    server.answer = () => ({ status: 400 });
    await batch();
    server.answer = () => undefined;
    expect((await batch()).stderr).toContain(
      '0 done, 1 failed, 2 not sent yet (2 wait for results of other jobs); 0 are sent now\n',
    );
    const told = '1 failed, 2 not sent yet (2 wait for results of other jobs)\n';
    expect((await batch(['--dry-run'])).stdout).toBe(`3 jobs checked, 0 to send, ${told}`);
    expect((await batch(['--estimate'])).stdout).toContain(`0 jobs to send, ${told}`);
    folder.jobs(outline, chapter, ...manyJobs(1));
    expect((await batch()).stderr).toContain(
      '0 done, 1 failed, 2 not sent yet (1 waits for results of other jobs); 1 is sent now\n',
    );
    expect((await batch(['--retry', 'failed'])).stderr).toContain('1 is sent again, 1 for the first time\n');
  });
});

test.for([
  ['--limit 1', { done: 1, pending: 3, waiting: 2 }],
  ['--max-failures 1 --concurrency 1', { failed: 1, pending: 3, waiting: 2 }],
] as const)(
  'status counts the jobs that wait as the summary of a run does that ended early: %s',
  async ([flags, counts], { server, folder, batch }) => {
    folder.jobs(...manyJobs(1), outline, chapter, { id: 'title', prompt: 'Name it: {{@chapter.text}}' });
    server.answer = () => (flags.startsWith('--max-failures') ? { status: 400 } : undefined);
    const { stderr } = await batch(['jobs.jsonl', '-o', 'out', ...flags.split(' ')]);
    expect(stderr).toContain('3 not sent yet (2 wait for results of other jobs)\n');
    const [summary] = folder.lines('summary.json');
    const status = JSON.parse((await batch(['status', 'out', '--json'])).stdout) as Record<string, unknown>;
    expect(summary).toMatchObject(counts);
    expect(status).toMatchObject({ ...counts, states: summary?.['states'] });
  },
);

describe('a job that uses one without an answer to what that asks now', () => {
  const edited = { ...outline, prompt: 'Plan another trip' };

  test('stays outdated until the other one is done, also where changes are accepted', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(outline, chapter);
    await batch();
    folder.jobs(edited, chapter);
    server.answer = () => ({ status: 400 });
    await batch(['redo', 'out', 'outline']);
    server.answer = () => undefined;
    const next = [
      '1 failed: gateway-cli batch retry out\n',
      '1 outdated: gateway-cli batch again out --accept-changes  # after the rows above, which they may use\n',
    ];
    expect((await batch(['status', 'out'])).stdout).toContain(next.join(''));
    const sent = server.bodies.length;
    const accepted = await batch(['again', 'out', '--accept-changes']);
    expect([accepted.code, server.bodies.length]).toEqual([13, sent]);
    expect(linesOf((await batch(['export', 'out', '--format', 'jsonl'])).stdout)).toMatchObject([
      { id: 'outline', state: 'failed' },
      { id: 'chapter', version: 'outdated', text: 'answer to Write it: answer to Plan a trip' },
    ]);
    expect((await batch(['retry', 'out'])).code).toBe(0);
    expect(await batch(['again', 'out', '--accept-changes'])).toMatchObject({ code: 0 });
    expect((await batch(['status', 'out'])).stdout).toMatch(/^2 jobs: 2 done\n/);
    expect(server.bodies).toHaveLength(sent + 2);
  });

  test.for(['edited', 'failed'])('is not made again without it: %s', async (state, { server, folder, batch }) => {
    folder.jobs(outline, chapter);
    await batch();
    folder.jobs(edited, chapter);
    server.answer = () => ({ status: 400 });
    if (state === 'failed') await batch(['redo', 'out', 'outline']);
    server.answer = () => undefined;
    const sent = server.bodies.length;
    const { code, stderr } = await batch(['redo', 'out', 'chapter']);
    const next = 'gateway-cli batch redo out outline,chapter';
    const error = 'gateway-cli: usage: chapter uses outline, whose answer does not come in this run';
    expect([code, stderr]).toEqual([2, `${error}\n  name these as well: ${next}\n`]);
    expect(server.bodies).toHaveLength(sent);
    expect((await batch(next.split(' ').slice(2))).code).toBe(0);
    expect((await batch(['status', 'out'])).stdout).toMatch(/^2 jobs: 2 done\n/);
    expect(server.bodies).toHaveLength(sent + 2);
  });
});

test('a job that failed with an answer that was chosen again is sent once changes are accepted', async ({
  server,
  folder,
  batch,
}) => {
  folder.jobs(outline, chapter);
  server.answer = (prompt) => (prompt.startsWith('Write') ? { status: 400 } : undefined);
  await batch();
  server.answer = () => undefined;
  await batch(['redo', 'out', 'outline']);
  expect((await batch(['retry', 'out'])).code).toBe(0);
  await batch(['again', 'out']);
  await batch(['choose', 'out', 'outline=1']);
  expect((await batch(['status', 'out'])).stdout).toMatch(/^2 jobs: 2 done \(1 outdated\)\n/);
  const sent = server.bodies.length;
  const { code, stderr } = await batch(['again', 'out', '--accept-changes']);
  expect([code, stderr]).toEqual([
    0,
    expect.stringContaining('1 job uses a newer result and is paid for again: chapter'),
  ]);
  expect(server.bodies).toHaveLength(sent + 1);
  expect((await batch(['status', 'out'])).stdout).toMatch(/^2 jobs: 2 done\n/);
});

test('a dry run says which of the jobs to be sent again --limit leaves, and counts them once', async ({
  folder,
  batch,
}) => {
  folder.jobs(...manyJobs(4));
  await batch();
  folder.jobs(...manyJobs(3).map((job) => ({ ...job, system: 'edited' })), ...manyJobs(4).slice(3));
  const limited = ['--accept-changes', '--limit', '1'];
  const told = '1 to send, 1 done, 2 not sent yet\n';
  expect((await batch([...limited, '--dry-run'])).stdout).toContain(`4 jobs checked, ${told}`);
  expect((await batch([...limited, '--estimate'])).stdout).toContain(`1 job ${told.slice(2)}`);
});
