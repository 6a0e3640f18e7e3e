import { expect, test } from 'vitest';
import { shell } from '../../helpers/spawn.ts';

test.skipIf(process.platform !== 'linux')('a folder that cannot contain folders ends a batch with 2', async () => {
  const ran = await shell(
    `echo '{"prompt":"x"}' > jobs.jsonl; node $BIN batch jobs.jsonl -o /proc/gateway-cli --offline`,
  );
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain('cannot make /proc/gateway-cli');
});
