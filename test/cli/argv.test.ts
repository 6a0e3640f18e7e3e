import { expect, test } from 'vitest';
import { version } from '../../src/library/version.ts';
import { run } from '../helpers/run.ts';
import { canaryKey } from '../helpers/with-server.ts';

test.each([
  [['help'], 'Usage: gateway-cli <command>'],
  [['help', 'text'], 'Usage: gateway-cli text'],
  [['help', 'image', 'gen'], 'Usage: gateway-cli image gen'],
  [['image', 'help', 'gen'], '--aspect'],
  [['image', 'help'], 'Usage: gateway-cli image'],
  [['text', '--help'], '--schema'],
])('%j prints help and nothing else', async (argv, part) => {
  const ran = await run(argv);
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(ran.stdout).toContain(part);
});

test.each([[['txt', '--help']], [['-h', 'txt', 'hi']], [['image', 'draw', '--help']]])(
  '%j, no command, is exit 2',
  async (argv) => {
    const ran = await run(argv);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain('unknown command');
    expect(ran.stderr).toContain('did you mean: gateway-cli');
  },
);

test.each([[['--version']], [['-V']]])('%j --json is one document', async (argv) => {
  const ran = await run([...argv, '--json']);
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(ran.stdout)).toEqual({
    schema: 'gateway-cli/version@1',
    ok: true,
    exitCode: 0,
    version,
    warnings: [],
  });
});

test.each([
  [['--offline', 'text', 'hi'], 'unknown flag --offline before the command', 'gateway-cli <command> --offline'],
  [['-m', 'x', 'image', 'gen', 'hi'], 'unknown flag -m before the command', 'gateway-cli <command> -m'],
  [
    ['image', '--model=x', 'gen', 'hi'],
    'unknown flag --model before the command',
    'gateway-cli image <command> --model',
  ],
  [['--nonsense', 'text'], 'unknown flag --nonsense', 'gateway-cli <command> --nonsense'],
  [['version'], "unknown command 'version'", 'gateway-cli --version'],
  [['help', 'txt'], "there is no command or topic 'txt'", 'did you mean: gateway-cli help text\n'],
  [['help', 'exit-code'], "no command or topic 'exit-code'", 'did you mean: gateway-cli help exit-codes\n'],
  [['templates'], "unknown command 'templates'", 'did you mean: gateway-cli help templates\n'],
  [['help', 'gallery'], "there is no command or topic 'gallery'", 'did you mean: gateway-cli help batch gallery\n'],
])('%j is exit 2, with what was meant', async (argv, message, hint) => {
  const ran = await run(argv);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain(message);
  expect(ran.stderr).toContain(hint);
});

test.each([
  [['text', '--nonsense'], 'text'],
  [['image', 'gen', 'x', '--size', 'big'], 'image gen'],
  [['image'], 'image'],
  [['batch', 'x', '--nonsense'], 'batch run'],
  [['txt'], ''],
])('the document of the mistake in %j carries the command %j', async (argv, command) => {
  const ran = await run([...argv, '--json']);
  expect(ran.code).toBe(2);
  expect(JSON.parse(ran.stdout)).toMatchObject({ command, ok: false });
});

test.each([
  ['doctor --session trip', 'see: gateway-cli doctor --help\n'],
  ['chat x --aspect 1:1', 'see: gateway-cli chat --help\n'],
  ['text x -n 2', 'did you mean: --candidates\n'],
  ['text x --web-search', 'did you mean: --search\n'],
  ['image gen x --moderation low', '--set moderation=…\n'],
  ['image gen x --response-format url', '--set response_format=…\n'],
  // Commander finds --stop near.
  ['image gen x --steps 20', 'see: gateway-cli image gen --help\n'],
  ['text x --no-stream', 'see: gateway-cli text --help\n'],
])('%s is exit 2 with the command or the flag that was meant', async (line, hint) => {
  const ran = await run(line.split(' '));
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain(hint);
});

test.each([
  [['text', 'hi', '—stream'], "'—stream' begins with a dash other than '-'", 'did you mean: --stream'],
  [['image', 'gen', 'x', '–aspect=1:1'], "'–aspect' begins with a dash other than '-'", 'did you mean: --aspect'],
  [['chat', 'x', '–o', 'a.txt'], "'–o' begins with a dash other than '-'", 'did you mean: -o'],
  [['chat', '—help'], "'—help' begins with a dash other than '-'", 'did you mean: --help'],
  [['doctor', '—live'], "'—live' begins with a dash other than '-'", 'did you mean: --live'],
  [['batch', 'jobs.jsonl', '—quiet'], "'—quiet' begins with a dash other than '-'", 'did you mean: --quiet'],
  [['—version'], "'—version' begins with a dash other than '-'", 'did you mean: --version'],
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
])('argv %j is a prompt', async (argv) => {
  expect(await run(argv, { kind: 'terminal' })).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('You wrote'),
  });
});
