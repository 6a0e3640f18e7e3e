import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { start } from '../faults/program.ts';
import { openTerminal, withoutTmux } from '../helpers/tmux.ts';
import { environmentFor, manyJobs, test } from './with-batch.ts';

/** Something that happens when the test says so. */
function createEvent(): { happened: Promise<void>; happen: () => void } {
  let happen = (): void => undefined;
  const happened = new Promise<void>((resolve) => (happen = resolve));
  return { happened, happen };
}

const argv = ['batch', 'jobs.jsonl', '-o', 'out', '--concurrency', '2'];

describe.skipIf(process.platform === 'win32')('Ctrl-C', () => {
  test('waits for those under way, takes no other, and ends by the signal', async ({ server, folder }) => {
    const event = createEvent();
    server.answer = () => ({ after: event.happened });
    folder.jobs(...manyJobs(9));
    const { child, printed, ended } = start(argv, server, { cwd: folder.cwd });
    await server.received(2);
    child.kill('SIGINT');
    await printed('waiting for 2 requests, 10 s at most; Ctrl-C again stops');
    event.happen();
    const { signal, stdout, stderr } = await ended;
    expect([signal, stdout]).toEqual(['SIGINT', '']);
    expect(stderr).toContain('2 done, 7 not sent yet\n');
    expect(server.bodies).toHaveLength(2);
    expect(folder.lines('results.jsonl')).toHaveLength(2);
  });

  test('a second one ends it at once: nobody waits, and what was under way is maybe billed', async ({
    server,
    folder,
    batch,
  }) => {
    server.answer = () => ({ after: new Promise(() => undefined) });
    folder.jobs(...manyJobs(9));
    const { child, printed, ended } = start(argv, server, { cwd: folder.cwd });
    await server.received(2);
    child.kill('SIGINT');
    await printed('waiting for 2 requests');
    child.kill('SIGINT');
    expect((await ended).signal).toBe('SIGINT');
    // At the end of the ten seconds it would have written this.
    expect(existsSync(join(folder.cwd, 'out/summary.json'))).toBe(false);
    server.answer = () => undefined;
    expect((await batch()).stderr).toContain('7 done, 2 unknown (maybe billed)');
    expect(Math.max(...server.counts.values())).toBe(1);
  });
});

describe.skipIf(withoutTmux)('in tmux', () => {
  test('a live line counts what has ended, and leaves a clean screen', async ({ server, folder }) => {
    const [first, second] = [createEvent(), createEvent()];
    server.answer = (prompt) => ({ after: { p4: first.happened, p7: second.happened }[prompt] ?? Promise.resolve() });
    folder.jobs(...manyJobs(8));
    const terminal = await openTerminal('$BIN batch jobs.jsonl -o out --concurrency 1', {
      cwd: folder.cwd,
      env: environmentFor(server),
    });
    try {
      await terminal.shows(/^\S 3 of 8, .+\/(?:s|min), \d+ tokens, .+ left$/m);
      first.happen();
      expect(await terminal.shows(/^\S 6 of 8, /m)).not.toContain('3 of 8');
      second.happen();
      expect(await terminal.shows('exit 0')).toBe('8 done\nout/results.jsonl\nexit 0');
    } finally {
      await terminal.close();
    }
  });

  test('Ctrl-C leaves a clean screen too', async ({ server, folder }) => {
    const event = createEvent();
    server.answer = (prompt) => ({ after: prompt === 'p3' ? event.happened : Promise.resolve() });
    folder.jobs(...manyJobs(8));
    const terminal = await openTerminal('trap : INT; $BIN batch jobs.jsonl -o out --concurrency 1', {
      cwd: folder.cwd,
      env: environmentFor(server),
    });
    try {
      await terminal.shows(/2 of 8/);
      await terminal.press('C-c');
      await terminal.shows('waiting for 1 request, 10 s at most; Ctrl-C again stops');
      event.happen();
      expect(await terminal.shows('exit 130')).toMatch(/stops\n3 done, 5 not sent yet\n\s*exit 130$/);
    } finally {
      await terminal.close();
    }
  });
});
