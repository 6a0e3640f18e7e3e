import { describe, expect, test } from 'vitest';
import { run } from '../../../helpers/run.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';
import { shell } from '../../../helpers/spawn.ts';
import { startServe, writeConfig } from '../../../library/recordings/served.ts';

describe('serve --service', () => {
  test.each([
    ['gemini', 'text hi', 'chat hi', ''],
    ['anthropic', 'chat hi', 'text hi', 'image gen a'],
  ])('%s runs the commands that it can answer, and refuses others', async (service, first, second, foreign) => {
    const script = [
      'set -e',
      ...[first, second].map((words) => `node $BIN ${words} -q`),
      ...(foreign === '' ? ['exit 2'] : [`node $BIN ${foreign}`]),
    ];
    const ran = await shell(`$BIN serve --service ${service} -q -- bash -c '${script.join('\n')}'`, {
      env: { GATEWAY_CHAT_MODEL: 'local-chat', GATEWAY_SERVICE: 'gateway' },
    });
    expect(ran.code, ran.stderr).toBe(2);
    if (foreign !== '')
      expect(ran.stderr).toContain(`(service ${service}, environment GATEWAY_SERVICE) cannot make images`);
    expect(ran.stderr).not.toContain('404');
  });

  const named: [service: string, names: string[]][] = [
    ['gemini', ['GATEWAY_CHAT_MODEL', 'GATEWAY_EDIT_MODEL', 'GATEWAY_IMAGE_MODEL', 'GATEWAY_MODEL']],
    ['anthropic', ['GATEWAY_CHAT_MODEL', 'GATEWAY_MODEL']],
    ['openai', ['GATEWAY_CHAT_MODEL', 'GATEWAY_EDIT_MODEL', 'GATEWAY_IMAGE_MODEL', 'GATEWAY_MODEL']],
  ];
  test.each(named)('%s tells commands only the models of its own formats', async (service, names) => {
    const cwd = scratchFolder();
    const served = await startServe(['--service', service], { cwd, config: writeConfig(cwd, {}) });
    expect(
      Object.keys(served.env)
        .filter((name) => name.endsWith('MODEL'))
        .toSorted(),
    ).toEqual(names);
    await served.stop();
  });

  test.each([
    [['--service', 'anthropic', '--header-names', 'a,b'], '--service anthropic cannot be combined with --header-names'],
    [['--service', 'gemini', '--upstream', 'work'], '--service is for the offline models'],
    [['--service', 'gemini', '--replay', 'folder'], '--service is for the offline models'],
    [['--service', 'openai', '--header-names', 'a,b'], 'the headers are those of OpenAI'],
    [['--service', 'gemni'], '--service takes gateway, gemini, anthropic, openai'],
  ])('%j is refused', async (flags, words) => {
    const ran = await run(['serve', ...flags]);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain(words);
  });
});

test('serve answers commands whose usual profile is for another service', async () => {
  const cwd = scratchFolder();
  const config = writeConfig(cwd, { claude: { service: 'anthropic', apiKey: 'k-123456789' } }, 'claude');
  const ran = await shell('$BIN serve -q -- node $BIN text hi', { cwd, env: { GATEWAY_CONFIG: config } });
  expect(ran).toMatchObject({ code: 0, stderr: '' });
});

test('serve --service answers a command although the environment has a key of that service', async () => {
  const env = { OPENAI_API_KEY: 'sk-real-0123456789', XDG_CONFIG_HOME: scratchFolder() };
  const ran = await shell('$BIN serve --service openai -q -- "$BIN" text -q hi', { env });
  expect([ran.code, ran.stdout]).toEqual([0, expect.stringContaining('This is the offline model')]);
});

describe('serve --vendor-env', () => {
  const rivals = {
    GOOGLE_API_KEY: 'real',
    GOOGLE_GENAI_USE_VERTEXAI: 'true',
    CLAUDE_CODE_USE_BEDROCK: '1',
    ANTHROPIC_AUTH_TOKEN: 'real',
    OPENAI_API_BASE: 'https://example.invalid',
  };

  test('leads what the SDKs read to this gateway, and takes away what they would prefer', async () => {
    const script = 'env | grep -E "^(ANTHROPIC|CLAUDE|GEMINI|GOOGLE|OPENAI|GATEWAY_(BASE|API))"';
    const ran = await shell(`$BIN serve --vendor-env -q -- bash -c '${script}'`, { env: rivals });
    const told = Object.fromEntries(ran.stdout.split('\n').map((line) => line.split('=')));
    const { GATEWAY_BASE_URL: url, GATEWAY_API_KEY: key } = told;
    expect(told).toEqual({
      '': undefined,
      GATEWAY_BASE_URL: expect.stringContaining('http://127.0.0.1:'),
      GATEWAY_API_KEY: expect.stringContaining('local-'),
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: key,
      GOOGLE_GEMINI_BASE_URL: url,
      GEMINI_API_KEY: key,
      GOOGLE_API_KEY: key,
      GOOGLE_GENERATIVE_AI_API_KEY: key,
      OPENAI_BASE_URL: `${url}/v1`,
      OPENAI_API_KEY: key,
    });
  });

  test('leaves what belongs to another service than the one that is played', async () => {
    const keys = { ...rivals, ANTHROPIC_API_KEY: 'real', GEMINI_API_KEY: 'real' };
    const script = 'env | grep -E "^(ANTHROPIC|GEMINI|GOOGLE)" | sed s/=local-.*/=local/ | sed s/=http:.*/=url/ | sort';
    const ran = await shell(`$BIN serve --vendor-env --service gemini -q -- bash -c '${script}'`, { env: keys });
    expect(ran.stdout.trimEnd().split('\n')).toEqual([
      'ANTHROPIC_API_KEY=real',
      'ANTHROPIC_AUTH_TOKEN=real',
      'GEMINI_API_KEY=local',
      'GOOGLE_API_KEY=local',
      'GOOGLE_GEMINI_BASE_URL=url',
      'GOOGLE_GENERATIVE_AI_API_KEY=local',
    ]);
  });

  test('says before codex starts that it goes elsewhere, and nothing of another program', async () => {
    const script = `printf '#!/bin/sh\necho started >&2\n' > codex; chmod +x codex; cp codex other`;
    const ran = await shell(
      `${script}; $BIN serve --vendor-env -- ./codex exec hi; $BIN serve --vendor-env -- ./other`,
    );
    const lines = ran.stderr.trimEnd().split('\n');
    expect(lines).toEqual([expect.stringContaining('codex does not read OPENAI_BASE_URL'), 'started', 'started']);
  });

  test('prints lines to paste that do the same', async () => {
    const stop = new AbortController();
    const ran = await run(['serve', '--port', '0', '--vendor-env'], {
      signal: stop.signal,
      onStdout: (text) => text.startsWith('unset') && stop.abort(new Error('enough')),
    });
    const pasted = await shell(`${ran.stdout}echo "$GEMINI_API_KEY" "$ANTHROPIC_BASE_URL" "$ANTHROPIC_AUTH_TOKEN"`, {
      env: rivals,
    });
    expect(pasted.stdout).toMatch(/^local-\S+ http:\/\/127\.0\.0\.1:\d+ \n$/);
  });

  test('has both in the document, for scripts', async () => {
    const cwd = scratchFolder();
    const served = await startServe(['--vendor-env'], { cwd, config: writeConfig(cwd, {}) });
    expect(served.env).toMatchObject({ ANTHROPIC_BASE_URL: served.url, GEMINI_API_KEY: served.key });
    expect(JSON.parse((await served.stop()).stdout)).toMatchObject({
      unset: expect.arrayContaining(['ANTHROPIC_AUTH_TOKEN']),
    });
  });
});
