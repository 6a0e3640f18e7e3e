import { expect, test } from 'vitest';
import { version } from '../../src/version.ts';
import { run } from '../helpers/run.ts';

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

test.each([[['help', 'txt']], [['txt', '--help']], [['-h', 'txt', 'hi']]])(
  '%j, no command, is exit 2',
  async (argv) => {
    const ran = await run(argv);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain("unknown command 'txt'");
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
  [['--offline', 'text', 'hi'], 'unknown flag --offline before the command', 'gateway-cli text --offline'],
  [['-m', 'x', 'image', 'gen', 'hi'], 'unknown flag -m before the command', 'gateway-cli image gen -m'],
  [['image', '--model=x', 'gen', 'hi'], 'unknown flag --model before the command', 'gateway-cli image gen --model'],
  [['--nonsense', 'text'], 'unknown flag --nonsense\n', 'see:'],
  [['version'], "unknown command 'version'", 'gateway-cli --version'],
  [['help', 'exit-code'], "unknown command 'exit-code'", 'did you mean: gateway-cli help exit-codes\n'],
  [['templates'], "unknown command 'templates'", 'did you mean: gateway-cli help templates\n'],
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
