import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { scratchFolder } from '../../helpers/scratch.ts';
import { canaryKey, test, textReply } from '../../helpers/with-server.ts';

test.for(['true', 'text', 'ok', '0', 'null', 'command'])(
  'a header value or a key %s leaves the JSON document as it is',
  async (value, { server, cli }) => {
    const cwd = scratchFolder();
    writeFileSync(join(cwd, 'headers'), `X-Internal: ${value}\nX-Auth: ${value}\n`);
    server.reply({ body: textReply(`the ${value} of it`) });
    const argv = ['text', 'hi', '--json', '--header', '@headers'];
    const ran = await cli(argv, { cwd, env: { GATEWAY_API_KEY: value } });
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(ran.stdout)).toMatchObject({
      ok: true,
      command: 'text',
      text: `the ${value} of it`,
      exitCode: 0,
    });
  },
);

test('an id in a message stays whole where it holds a short key', async ({ server, cli }) => {
  server.reply({ status: 400, body: { error: { message: 'job unit-test, key test: no test of "test.js"' } } });
  const ran = await cli(['text', 'hi'], { env: { GATEWAY_API_KEY: 'test' } });
  expect(ran.stderr).toContain('job unit-test, key (redacted): no (redacted) of "test.js"');
});

test('--json hides the key in every string that the gateway gave back', async ({ server, cli }) => {
  server.reply({ body: textReply(`it is ${canaryKey}`, { responseId: canaryKey, modelVersion: canaryKey }) });
  const ran = await cli(['text', 'hi', '--json']);
  expect(JSON.parse(ran.stdout)).toMatchObject({ text: 'it is (redacted)', responseId: '(redacted)' });
  expect(ran.stdout).not.toContain(canaryKey);
});

test('a header from a file is never shown, and is not searched for in texts', async ({ server, cli }) => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'headers'), 'X-Team: docs\nX-Corp: 4f9a83be01c27d5566aa90\n');
  server.reply({ status: 400, body: { error: { message: 'see the docs, not 4f9a83be01c27d5566aa90' } } });
  const ran = await cli(['text', 'hi', '-v', '--header', '@headers'], { cwd });
  expect(ran.stderr).toContain('> x-team: (redacted)\n> x-corp: (redacted)\n');
  expect(ran.stderr).toContain('see the docs, not (redacted)');
});

test('a key that is typed under a name that says nothing of it is hidden, as in a profile', async ({ server, cli }) => {
  server.reply({ status: 400, body: { error: { message: 'see the docs, not 4f9a83be01c27d5566aa90' } } });
  const ran = await cli(['text', 'hi', '-v', '--header', 'X-Team: docs', '--header', 'X-Corp: 4f9a83be01c27d5566aa90']);
  expect(ran.stderr).toContain('> x-team: docs\n> x-corp: (redacted)\n');
  expect(ran.stderr).toContain('see the docs, not (redacted)');
});
