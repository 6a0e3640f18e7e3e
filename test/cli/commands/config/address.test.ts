import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run } from '../../../helpers/run.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';

test.each([
  ['plain http to another machine', 'http://example.com', 'the key would go to http://example.com unencrypted'],
  ['a fragment', 'https://example.com/#a', 'the base URL has a fragment'],
])('a base URL with %s is kept, with a warning at once', async (_, url, reason) => {
  const env = { GATEWAY_CONFIG: join(scratchFolder(), 'config.json') };
  const ran = await run(['config', 'set', 'baseUrl', url], { env });
  expect(ran).toMatchObject({ code: 0, stdout: '' });
  expect(ran.stderr).toContain(`gateway-cli: warning: no request will go there: ${reason}`);
  expect(JSON.parse(readFileSync(env.GATEWAY_CONFIG, 'utf8'))).toMatchObject({
    profiles: { default: { baseUrl: url } },
  });
  const asked = await run(['config', 'init', '--profile', 'new'], { env, answers: ['', url, '', ''] });
  expect(asked.stderr).toContain(reason);
});

test.each([
  ['to this machine', 'http://127.0.0.1:8787', 'models.text', 'm'],
  ['where the profile allows it', 'http://example.com', 'allowHttp', 'true'],
])('plain http %s causes no warning', async (_, url, key, value) => {
  const env = { GATEWAY_CONFIG: join(scratchFolder(), 'config.json') };
  await run(['config', 'set', key, value], { env });
  const ran = await run(['config', 'set', 'baseUrl', url], { env });
  expect(ran).toMatchObject({ code: 0, stdout: '' });
  expect(ran.stderr).not.toContain('warning');
});
