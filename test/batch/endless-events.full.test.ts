import { expect } from 'vitest';
import { manyJobs, createFolder } from './with-batch.ts';
import { shell } from '../helpers/spawn.ts';
import { canaryKey, test, textReply } from '../helpers/with-server.ts';

const lines = 'data: x\n'.repeat(8192);

function* endless(): Generator<string> {
  for (;;) yield lines;
}

test(
  'events that never end fail their jobs alone, in a process of 256 MiB',
  { timeout: 180_000 },
  async ({ server }) => {
    server.always(({ path }) =>
      path.startsWith('/v1/messages')
        ? { headers: { 'content-type': 'text/event-stream' }, chunks: endless() }
        : { body: textReply('fine') },
    );
    const folder = createFolder();
    const bad = ['a', 'b'].map((id) => ({ id, command: 'chat', prompt: 'x' }));
    folder.jobs(...bad, ...manyJobs(20));
    const env = { GATEWAY_BASE_URL: server.url, GATEWAY_API_KEY: canaryKey, GATEWAY_MODEL: 'm' };
    const script = 'exec node --max-old-space-size=256 "$BIN" batch jobs.jsonl -o out --concurrency 4';
    const { code, stderr } = await shell(script, { cwd: folder.cwd, env });
    expect(code, stderr).toBe(13);
    const results = folder.lines('results.jsonl');
    const failed = results.filter(({ ok }) => ok === false);
    expect(failed.map(({ id }) => id).toSorted()).toEqual(['a', 'b']);
    for (const { error } of failed) expect(error).toMatchObject({ class: 'bad-reply', billed: 'yes' });
    expect(results.filter(({ text }) => text === 'fine')).toHaveLength(20);
  },
);
