import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { run } from '../../helpers/run.ts';
import { scratchFolder } from '../../helpers/scratch.ts';
import { eventStream, messageEvents, test, textReply } from '../../helpers/with-server.ts';

const obeyed = /(?!\n)[\p{Cc}\p{Bidi_Control}]/u;
const hostile = '\u009b2J\u202eabc\u001b]52;c;x\u0007';
const command = '::error::x\n##[set-output name=a]b';
const ci = { GITHUB_ACTIONS: 'true' };
const commandLine = /##\[|^\s*::(?!error title=gateway-cli)/m;

describe('on a terminal', () => {
  test.for([
    ['text', 'x', '--json'],
    ['chat', 'x', '--json'],
    ['chat', 'x', '--jsonl'],
  ])('%s %s %s prints only escapes of JSON, with the same meaning', async (argv, { server, cli }) => {
    const body = argv[0] === 'chat' ? eventStream(...messageEvents(hostile)) : textReply(hostile);
    server.reply({ body });
    const ran = await cli(argv, { tty: { stdout: true, stderr: true } });
    expect(ran.code).toBe(0);
    expect(ran.stdout).not.toMatch(obeyed);
    expect(
      ran.stdout.split('\n').some((line) => line !== '' && JSON.stringify(JSON.parse(line)).includes('\u009b2J')),
    ).toBe(true);
  });

  test('sessions show and batch status print only escapes of JSON', async () => {
    const cwd = scratchFolder();
    writeFileSync(
      join(cwd, 's.jsonl'),
      ['user', 'assistant'].map((role) => `${JSON.stringify({ role, content: hostile })}\n`).join(''),
    );
    for (const verb of ['show', 'export']) {
      const ran = await run(['sessions', verb, './s.jsonl', '--json'], { cwd, tty: { stdout: true } });
      expect([ran.code, obeyed.test(ran.stdout)]).toEqual([0, false]);
      expect(JSON.stringify(JSON.parse(ran.stdout))).toContain('\u009b2J');
    }
  });

  test('an error, and its annotation, hold nothing that the terminal obeys', async ({ server, cli }) => {
    server.reply({ status: 400, body: { error: { message: `no ${hostile}` } } });
    const env = { ...ci, NO_COLOR: '1' };
    const { stderr } = await cli(['text', 'x'], { env, tty: { stdout: true, stderr: true } });
    expect(stderr).toContain('\n::error title=gateway-cli rejected::');
    expect(stderr).not.toMatch(obeyed);
  });
});

describe('where a runner reads along', () => {
  test.for([['--json'], ['--raw'], []])('text %j gives it no command', async (more, { server, cli }) => {
    server.reply({ body: textReply(command) });
    const ran = await cli(['text', 'x', ...more], { env: ci });
    expect(ran.code).toBe(0);
    expect(ran.stdout).toContain('set-output');
    expect(ran.stdout).not.toMatch(commandLine);
    if (more[0] === '--json') expect(JSON.parse(ran.stdout)).toMatchObject({ text: command });
  });

  test('chat --jsonl gives it no command, and the deltas stay exact', async ({ server, cli }) => {
    server.reply({ body: eventStream(...messageEvents(command)) });
    const ran = await cli(['chat', 'x', '--jsonl'], { env: ci });
    expect(ran.stdout).not.toMatch(commandLine);
    const lines = ran.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
    expect(lines).toContainEqual(expect.objectContaining({ type: 'text', text: command }));
  });

  test.for([[], ['--json'], ['--raw'], ['-v'], ['--debug']])(
    'an error with %j gives it no command',
    async (more, { server, cli }) => {
      server.reply({
        status: 400,
        headers: { 'x-echo': '##[debug]a' },
        body: `${command}\n\u2003::stop-commands::y ##[error]z`,
      });
      const ran = await cli(['text', 'x', ...more], { env: ci });
      expect(ran.code).toBe(4);
      expect(ran.stderr).toContain('::error title=gateway-cli rejected::');
      expect(ran.stdout + ran.stderr).not.toMatch(commandLine);
    },
  );
});
