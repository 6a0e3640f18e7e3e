import { expect, test } from 'vitest';
import { run } from '../helpers/run.ts';
import { canaryKey } from '../helpers/with-server.ts';

test.each([
  [['text', 'hi', '—stream'], "'—stream' begins with another dash than '-'", 'did you mean: --stream'],
  [['image', 'gen', 'x', '–aspect=1:1'], "'–aspect' begins with another dash than '-'", 'did you mean: --aspect'],
  [['chat', 'x', '–o', 'a.txt'], "'–o' begins with another dash than '-'", 'did you mean: -o'],
  [['chat', '—help'], "'—help' begins with another dash than '-'", 'did you mean: --help'],
  [['doctor', '—live'], "'—live' begins with another dash than '-'", 'did you mean: --live'],
  [['batch', 'jobs.jsonl', '—quiet'], "'—quiet' begins with another dash than '-'", 'did you mean: --quiet'],
  [['—version'], "'—version' begins with another dash than '-'", 'did you mean: --version'],
  [['text', 'x', `—api-key=${canaryKey}`], '--api-key would show the key', 'GATEWAY_API_KEY'],
])('%j is exit 2 and says which flag is meant', async (argv, message, hint) => {
  const ran = await run(argv, { env: { GATEWAY_OFFLINE: '1' }, kind: 'terminal' });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain(`gateway-cli: usage: ${message}`);
  expect(ran.stderr).toContain(hint);
  expect(ran.stderr).not.toContain(canaryKey);
});

test.each([
  [['text', '— he said', '--offline']],
  [['text', 'he', '—', 'she', '--offline']],
  [['text', 'he', '—said', '--offline']],
  [['text', '--offline', '--', 'hi', '—stream']],
  [['chat', '--offline', '-p', '—stream']],
])('%j is a prompt', async (argv) => {
  expect(await run(argv, { kind: 'terminal' })).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('You wrote'),
  });
});
