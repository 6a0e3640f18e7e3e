import { describe, expect } from 'vitest';
import { openTerminal, withoutTmux } from '../helpers/tmux.ts';
import { createEvent } from './event.ts';
import { environmentFor, manyJobs, test } from './with-batch.ts';

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
      await terminal.shows(/^\S sending · 3\/8, .+\/(?:s|min), \d+ tokens, .+ left/m);
      first.happen();
      expect(await terminal.shows(/^\S sending · 6\/8, /m)).not.toContain('3/8');
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
      await terminal.shows('2/8');
      await terminal.press('C-c');
      await terminal.shows('waiting for 1 request, 10 s at most; Ctrl-C again stops');
      event.happen();
      expect(await terminal.shows('exit 130')).toMatch(
        /stops\n3 done, 5 not sent yet\n5 not sent yet: gateway-cli batch again out\n\s*exit 130$/,
      );
    } finally {
      await terminal.close();
    }
  });
});
