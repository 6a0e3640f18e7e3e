import { existsSync, openSync, closeSync } from 'node:fs';
import { expect, test } from 'vitest';
import { serve, start } from '../../faults/program.ts';
import { eventStream, messageEvents } from '../../helpers/with-server.ts';

const never = new Promise<never>(() => undefined);

test.skipIf(!existsSync('/dev/full'))('a signal takes precedence over a full disk', async () => {
  const server = await serve();
  const thinking = [
    { type: 'content_block_start', index: 1, content_block: { type: 'thinking', thinking: '' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'thinking_delta', thinking: 'then a thought' } },
  ];
  const [begin, block, delta, stop] = messageEvents('a word') as [object, object, object, object];
  server.reply({ chunks: [eventStream(begin, block, delta, stop, ...thinking), never] });
  const full = openSync('/dev/full', 'w');
  try {
    const { child, printed, ended } = start(['chat', 'x', '--thinking'], server, { stdio: ['ignore', full, 'pipe'] });
    // After the word that could not be written to stdout.
    await printed('then a thought');
    child.kill('SIGINT');
    const ran = await ended;
    expect(ran.signal).toBe('SIGINT');
    expect(ran.stderr.trim()).toBe('then a thought');
  } finally {
    closeSync(full);
  }
});
