import { describe, expect } from 'vitest';
import { textReply } from '../helpers/with-server.ts';
import { earlierAnswers, test } from './with-batch.ts';

const linesOf = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, string | undefined>);

const one = { id: 'x', prompt: 'one' };
const user = { id: 'z', prompt: 'use {{@x.text}}' };

describe('a job that uses another one, where the rows are edited', () => {
  test('is outdated where its name means another row now', async ({ server, folder, batch }) => {
    folder.jobs(one, { id: 'y', prompt: 'two' }, user);
    await batch();
    folder.jobs({ id: 'y', prompt: 'one' }, { id: 'x', prompt: 'two' }, user);
    const again = await batch(['again', 'out']);
    expect([again.code, again.stderr]).toEqual([
      0,
      expect.stringContaining('1 outdated: gateway-cli batch again out --accept-changes\n'),
    ]);
    const { stdout } = await batch(['export', 'out', '--format', 'jsonl']);
    expect(linesOf(stdout)).toMatchObject([{ id: 'y' }, { id: 'x' }, { id: 'z', version: 'outdated' }]);
    expect(server.bodies).toHaveLength(3);
    expect(await batch(['again', 'out', '--accept-changes'])).toMatchObject({ code: 0 });
    expect((await batch(['status', 'out'])).stdout).toMatch(/^3 jobs: 3 done\n/);
    expect(server.counts.get('use answer to two')).toBe(1);
  });

  test('is outdated where its name is a number that means another row now', async ({ server, folder, batch }) => {
    folder.jobs({ prompt: 'alpha' }, { prompt: 'use {{@1.text}}' });
    await batch();
    folder.jobs({ prompt: 'omega' }, { prompt: 'alpha' }, { prompt: 'use {{@1.text}}' });
    const again = await batch(['again', 'out']);
    expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('3 done (1 outdated)\n')]);
    expect(server.bodies).toHaveLength(3);
  });

  test('has its earlier answer again where it was taken out and put back, also if the other one was made again', async ({
    server,
    folder,
    batch,
  }) => {
    const end = { id: 'end', prompt: 'end {{@z.text}}' };
    folder.jobs(one, user, end);
    await batch();
    await batch(['redo', 'out', 'x']);
    folder.jobs(one);
    await batch(['again', 'out']);
    folder.jobs(one, user, end);
    const again = await batch(['again', 'out']);
    expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('3 done (2 outdated)\n')]);
    expect(server.bodies).toHaveLength(4);
  });

  test('has its earlier answer again where it was edited and edited back', async ({ server, folder, batch }) => {
    folder.jobs(one, user);
    await batch();
    await batch(['redo', 'out', 'x']);
    folder.jobs(one, { ...user, prompt: 'take {{@x.text}}' });
    expect((await batch(['retry', 'out'])).stderr).toContain('1 job was edited and left: z');
    folder.jobs(one, user);
    const again = await batch(['again', 'out']);
    expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('2 done (1 outdated)\n')]);
    expect(server.bodies).toHaveLength(3);
  });

  test('stays the same job where it alone has another name, and the other one was edited', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(one, user);
    await batch();
    folder.jobs({ ...one, prompt: 'ONE' }, user);
    await batch(['redo', 'out', 'x']);
    folder.jobs({ ...one, prompt: 'ONE' }, { ...user, id: 'Z' });
    const again = await batch(['again', 'out']);
    expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('2 done (1 outdated)\n')]);
    expect(server.bodies).toHaveLength(3);
  });

  test('stays the same job where one that was made again has another name in it', async ({ server, folder, batch }) => {
    folder.jobs(one, user);
    await batch();
    await batch(['redo', 'out', 'x']);
    folder.jobs({ ...one, id: 'first' }, { ...user, prompt: 'use {{@first.text}}' });
    const again = await batch(['again', 'out']);
    expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('2 done (1 outdated)\n')]);
    await batch(['redo', 'out', 'first']);
    expect((await batch(['status', 'out'])).stdout).toMatch(/^2 jobs: 2 done \(1 outdated\)\n/);
    expect(server.bodies).toHaveLength(4);
  });
});

describe('batch retry of a job whose used one was made again', () => {
  test('unknown: it is sent with the newer result', async ({ server, folder, batch }) => {
    folder.jobs(one, user);
    server.answer = (prompt) => (prompt.startsWith('use') ? { drop: true } : undefined);
    await batch();
    server.answer = () => undefined;
    const redo = await batch(['redo', 'out', 'x']);
    expect(redo.stderr).not.toContain('earlier result');
    expect((await batch(['status', 'out'])).stdout).toContain('1 unknown: gateway-cli batch retry out unknown');
    const sent = server.bodies.length;
    const retried = await batch(['retry', 'out', 'unknown']);
    expect([retried.code, retried.stderr]).toEqual([
      0,
      expect.stringContaining('sent again: z (row 2) (1 may be billed twice)'),
    ]);
    expect(server.bodies).toHaveLength(sent + 1);
    expect((await batch(['status', 'out'])).stdout).toMatch(/^2 jobs: 2 done\n/);
  });

  test('incomplete: a chain is made again one after the other, and nothing twice', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(one, user, { id: 'end', prompt: 'end {{@z.text}}' });
    const cut = {
      candidates: [{ content: { role: 'model', parts: [{ text: 'cut' }] }, finishReason: 'MAX_TOKENS', index: 0 }],
    };
    server.answer = () => ({ body: cut });
    expect((await batch()).stderr).toContain('3 incomplete: gateway-cli batch retry out incomplete');
    server.answer = () => undefined;
    expect(await batch(['retry', 'out', 'incomplete'])).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(6);
    expect((await batch(['status', 'out'])).stdout).toMatch(/^3 jobs: 3 done\n/);
  });
});

describe('a job that the user has said to make again after another one', () => {
  test.for([['--accept-changes', 'x'], ['x,z']])(
    'is made by the next run where --limit left it: redo %j',
    async (words, { server, folder, batch }) => {
      folder.jobs(one, user);
      await batch();
      const [flag, ids = ''] = words.length > 1 ? words : ['', words[0]];
      await batch(['redo', 'out', ids, '--limit', '1', ...(flag ? [flag] : [])]);
      const again = await batch(['again', 'out']);
      expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('2 done\n')]);
      expect(server.bodies).toHaveLength(4);
    },
  );

  test('shows its earlier answer until the new one is asked for', async ({ server, folder, batch }) => {
    folder.jobs(one, user, { id: 'y', prompt: 'last {{@z.text}}' });
    await batch();
    await batch(['redo', 'out', 'x', '--accept-changes', '--limit', '1']);
    const rows = async () => linesOf((await batch(['export', 'out', '--format', 'jsonl'])).stdout);
    expect(await rows()).toMatchObject([
      { id: 'x', text: 'answer to one' },
      { id: 'z', state: 'pending', version: 'outdated', text: 'answer to use answer to one' },
      { id: 'y', state: 'pending', version: 'outdated', text: 'answer to last answer to use answer to one' },
    ]);
    const all = linesOf((await batch(['export', 'out', '--format', 'jsonl', '--all'])).stdout);
    expect(all.map(({ id, version }) => [id, version])).toEqual([
      ['x', 'now'],
      ['x', 'earlier'],
      ['z', 'outdated'],
      ['y', 'outdated'],
    ]);
    expect((await batch(['status', 'out'])).stdout).toBe(
      `3 jobs: 1 done, 2 not sent yet (1 waits for results of other jobs)\n${earlierAnswers(1)}2 not sent yet: gateway-cli batch again out\n`,
    );
    expect((await batch(['choose', 'out', 'y=1'])).stderr).toContain('row y has no answer to what it asks now\n');
    expect(await batch(['again', 'out'])).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(6);
    expect((await rows()).map(({ version }) => version)).toEqual([undefined, undefined, undefined]);
  });

  test.for([{ drop: true as const }, { status: 500 }])(
    'has its earlier answer again once that of the other one counts, and nothing is left: %j',
    async (answer, { server, folder, batch }) => {
      folder.jobs(one, user, { id: 'y', prompt: 'last {{@z.text}}' });
      await batch();
      server.answer = (prompt) => (prompt.startsWith('use') ? answer : undefined);
      await batch(['redo', 'out', 'x', '--accept-changes', '--retries', '0']);
      server.answer = () => undefined;
      const sent = server.bodies.length;
      const chosen = await batch(['choose', 'out', 'x=1']);
      expect(chosen.stderr).toBe('the reports have it: gateway-cli batch export out\n');
      expect(linesOf((await batch(['export', 'out', '--format', 'jsonl'])).stdout)).toMatchObject([
        { id: 'x', text: 'answer to one' },
        { id: 'z', state: 'done', text: 'answer to use answer to one' },
        { id: 'y', state: 'done', text: 'answer to last answer to use answer to one' },
      ]);
      expect((await batch(['status', 'out'])).stdout).toMatch(/^3 jobs: 3 done\n/);
      expect((await batch(['choose', 'out', 'y=1'])).stdout).toBe('y: answer 1 of 1 counts already\n');
      expect(await batch(['again', 'out'])).toMatchObject({ code: 0 });
      expect(server.bodies).toHaveLength(sent);
    },
  );

  test('shows its earlier answer beside its own earlier ones, also if the other one was edited', async ({
    folder,
    batch,
  }) => {
    folder.jobs(one, user);
    await batch();
    await batch(['redo', 'out', 'z']);
    folder.jobs({ ...one, prompt: 'ONE' }, user);
    await batch(['again', 'out', '--accept-changes', '--limit', '1']);
    const { stdout } = await batch(['export', 'out', '--format', 'jsonl', '--all']);
    const text = 'answer to use answer to one';
    expect(linesOf(stdout)).toMatchObject([
      { id: 'x', version: 'now', text: 'answer to ONE' },
      { id: 'z', version: 'outdated', state: 'pending', text },
      { id: 'z', version: 'earlier', text },
      { id: 'x', version: 'earlier', text: 'answer to one' },
    ]);
    expect(stdout).not.toContain('"choose"');
    const sums = await batch(['export', 'out', '--format', 'promptfoo']);
    expect(sums.stdout).toContain(`"providerOutput":"${text}"`);
  });

  test('is asked for where it was edited before the new one was sent', async ({ server, folder, batch }) => {
    folder.jobs(one, user);
    await batch();
    await batch(['redo', 'out', 'x', '--accept-changes', '--limit', '1']);
    folder.jobs(one, { ...user, prompt: 'take {{@x.text}}' });
    const again = await batch(['again', 'out']);
    expect([again.code, again.stderr]).toEqual([14, expect.stringContaining('1 job was edited')]);
    expect(server.bodies).toHaveLength(3);
    folder.jobs(one, user);
    expect(await batch(['again', 'out'])).toMatchObject({ code: 0 });
    expect((await batch(['status', 'out'])).stdout).toMatch(/^2 jobs: 2 done\n/);
  });

  test('is made by retry and redo, too, where changes are accepted and an earlier run did not come to it', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(one, user, { id: 'y', prompt: 'last {{@z.text}}' });
    await batch();
    await batch(['redo', 'out', 'x', '--accept-changes', '--limit', '1']);
    server.answer = (prompt) => (prompt.startsWith('use') ? { status: 400 } : undefined);
    const redo = await batch(['redo', 'out', 'x', '--accept-changes']);
    expect([redo.code, redo.stderr]).toEqual([13, expect.stringContaining('; 1 is sent again, 2 as they changed\n')]);
    expect(redo.stderr).not.toContain('first time');
    server.answer = () => undefined;
    expect(await batch(['retry', 'out', '--accept-changes'])).toMatchObject({ code: 0 });
    expect((await batch(['status', 'out'])).stdout).toMatch(/^3 jobs: 3 done\n/);
    expect(server.bodies).toHaveLength(8);
  });

  test('is what reports show after a choice, for the next run too', async ({ server, folder, batch }) => {
    let count = 0;
    server.answer = () => ({ body: textReply(`A${++count}`) });
    folder.jobs(one, user);
    await batch();
    await batch(['redo', 'out', 'x', '--accept-changes']);
    await batch(['choose', 'out', 'x=1']);
    await batch(['redo', 'out', 'x']);
    const rows = async () => linesOf((await batch(['export', 'out', '--format', 'jsonl'])).stdout);
    expect(await rows()).toMatchObject([{ text: 'A5' }, { version: 'outdated', text: 'A2' }]);
    await batch(['redo', 'out', 'x', '--accept-changes', '--limit', '1']);
    expect(await rows()).toMatchObject([{ text: 'A6' }, { version: 'outdated', text: 'A2' }]);
    await batch(['choose', 'out', 'x=3']);
    expect(await rows()).toMatchObject([{ text: 'A5' }, { version: 'outdated', state: 'done', text: 'A2' }]);
    expect((await batch(['status', 'out'])).stdout).toContain(
      '1 outdated: gateway-cli batch again out --accept-changes\n',
    );
    folder.jobs(one, { ...user, prompt: 'edited {{@x.text}}' });
    expect(await batch(['retry', 'out'])).toMatchObject({ code: 0 });
    expect(await batch(['again', 'out'])).toMatchObject({ code: 14 });
    expect(server.bodies).toHaveLength(6);
  });

  test('is sent by retry where it failed', async ({ server, folder, batch }) => {
    folder.jobs(one, user);
    await batch();
    server.answer = (prompt) => (prompt.startsWith('use') ? { status: 400 } : undefined);
    expect(await batch(['redo', 'out', 'x', '--accept-changes'])).toMatchObject({ code: 13 });
    server.answer = () => undefined;
    expect(await batch(['retry', 'out'])).toMatchObject({ code: 0 });
    expect((await batch(['status', 'out'])).stdout).toMatch(/^2 jobs: 2 done\n/);
    expect(server.bodies).toHaveLength(5);
  });

  test('keeps its answer where that one hangs, and is made of the newer one where both are meant again', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(one, user);
    await batch();
    server.answer = () => ({ drop: true });
    await batch(['redo', 'out', 'x', '--accept-changes', '--retries', '0']);
    expect((await batch(['status', 'out'])).stdout).toMatch(/^2 jobs: 1 done, 1 unknown /);
    const { stdout } = await batch(['export', 'out', '--format', 'jsonl']);
    expect(linesOf(stdout)[1]).toMatchObject({ id: 'z', text: 'answer to use answer to one' });
    await batch(['choose', 'out', 'x=1']);
    expect((await batch(['status', 'out'])).stdout).toMatch(/^2 jobs: 2 done\n/);

    await batch(['redo', 'out', 'x', '--retries', '0']);
    server.answer = () => undefined;
    expect(await batch(['retry', 'out', 'unknown', '--accept-changes'])).toMatchObject({ code: 0 });
    expect((await batch(['status', 'out'])).stdout).toMatch(/^2 jobs: 2 done\n/);
    expect(server.bodies).toHaveLength(6);
  });

  test.for([{ drop: true as const }, { status: 400 }])(
    'and was made of an older answer: keeps that where the one before the other one gets none: %j',
    async (answer, { server, folder, batch }) => {
      folder.jobs(one, user, { id: 'y', prompt: 'last {{@z.text}}' });
      await batch();
      await batch(['redo', 'out', 'z']);
      server.answer = () => answer;
      await batch(['redo', 'out', 'x', '--accept-changes', '--retries', '0']);
      server.answer = () => undefined;
      expect((await batch(['status', 'out'])).stdout).toContain(
        '1 outdated: gateway-cli batch again out --accept-changes',
      );
      const { stdout } = await batch(['export', 'out', '--format', 'jsonl']);
      expect(linesOf(stdout)[2]).toMatchObject({
        id: 'y',
        version: 'outdated',
        text: expect.stringMatching(/^answer to last /) as string,
      });
      expect((await batch(['again', 'out'])).stderr).toContain('; 0 are sent now\n');
      expect(server.bodies).toHaveLength(5);
    },
  );

  test('and was made of an older answer: keeps that where the run was killed before the one before the other one had its answer', async ({
    folder,
    batch,
  }) => {
    folder.jobs(one, user, { id: 'y', prompt: 'last {{@z.text}}' });
    await batch();
    await batch(['redo', 'out', 'z']);
    await batch(['redo', 'out', 'x', '--accept-changes']);
    const journal = folder.lines('journal.jsonl');
    const began = journal.findLastIndex(({ t }) => t === 'run');
    const sent = journal.findIndex(({ t }, at) => at > began && t === 'sent');
    folder.writeLines('out/journal.jsonl', journal.slice(0, sent + 1));
    folder.writeLines('out/results.jsonl', folder.lines('results.jsonl').slice(0, 4));
    expect((await batch(['again', 'out'])).stderr).toContain('; 0 are sent now\n');
    expect((await batch(['status', 'out'])).stdout).toContain('2 done (1 outdated), 1 unknown');
  });

  test('and failed: what is printed for the other one comes first, as it waits for that', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(one, user);
    await batch();
    server.answer = (prompt) => (prompt === 'one' ? { drop: true } : { status: 400 });
    await batch(['redo', 'out', 'z']);
    const { stderr } = await batch(['redo', 'out', 'x', '--retries', '0']);
    const commands = [...stderr.matchAll(/: gateway-cli (batch \w+ out .*?)(?: {2}#.*)?$/gm)].map(
      ([, words]) => words as string,
    );
    expect(commands.slice(-3)).toEqual(['batch retry out unknown', 'batch choose out x=1', 'batch redo out z']);
    server.answer = () => undefined;
    for (const words of commands.slice(-3)) await batch(words.split(' ').slice(1));
    expect((await batch(['status', 'out'])).stdout).toMatch(/^2 jobs: 2 done\n/);
  });

  test('is refused while the other one may have been billed, and keeps its answer', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(one, user);
    await batch();
    server.answer = () => ({ drop: true });
    await batch(['redo', 'out', 'x']);
    server.answer = () => undefined;
    const redo = await batch(['redo', 'out', 'z']);
    expect([redo.code, redo.stderr]).toEqual([2, expect.stringContaining('gateway-cli batch redo out x,z\n')]);
    const { stdout } = await batch(['export', 'out', '--format', 'jsonl']);
    expect(linesOf(stdout)[1]).toMatchObject({ id: 'z', text: 'answer to use answer to one' });
  });
});
