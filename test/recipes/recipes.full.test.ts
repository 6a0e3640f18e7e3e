import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { lacks } from '../helpers/screen.ts';
import { type ScriptedReply, type ScriptedServer, startScriptedServer } from '../helpers/scripted-server.ts';
import { shell } from '../helpers/spawn.ts';
import { textReply } from '../helpers/with-server.ts';
import { recipes, workspace } from './recipe.ts';

/** A folder with gateway-cli on the path, and a server that always answers so. */
async function place(answer: ScriptedReply): Promise<ReturnType<typeof workspace> & { server: ScriptedServer }> {
  const server = await startScriptedServer();
  onTestFinished(() => server.close());
  server.always(answer);
  const env = { GATEWAY_OFFLINE: '', GATEWAY_BASE_URL: server.url, GATEWAY_API_KEY: 'k-123456', GATEWAY_MODEL: 'm' };
  return { ...workspace(env), server };
}

const answer = (text: string): ScriptedReply => ({ body: textReply(text) });
const failure: ScriptedReply = { status: 503, body: {} };

const repository = `set -e
git init -q .
git config user.name x && git config user.email x@x
cp ${join(recipes, 'recipes-commit-message.sh')} .git/hooks/prepare-commit-msg
chmod +x .git/hooks/prepare-commit-msg
echo lamp > lamp && git add lamp`;

test.skipIf(lacks('git')).each([
  [
    'is drafted by the hook',
    answer('Add a lamp\n\nIt was dark.'),
    'GIT_EDITOR=true git commit -q',
    'Add a lamp\n\nIt was dark.\n',
  ],
  ['of -m stays', answer('Add a lamp'), 'git commit -q -m mine', 'mine\n'],
  ['is written by hand if no model answers', failure, `GIT_EDITOR='echo mine >' git commit -q`, 'mine\n'],
  ['is written by hand if the answer is empty', answer(''), `GIT_EDITOR='echo mine >' git commit -q`, 'mine\n'],
] as const)('the message of a commit %s', async (_, reply, commit, message) => {
  const { cwd, env } = await place(reply);
  const ran = await shell(`${repository}\n${commit}\ngit log -1 --format=%B`, { cwd, env });
  expect(ran).toMatchObject({ code: 0, stdout: `${message}\n`, stderr: '' });
});

const lines = 'one\ntwo\nthree\n';

test.skipIf(lacks('vim'))('vim replaces lines by an answer, and keeps them after a failure', async () => {
  const { cwd, env, server } = await place(failure);
  server.reply(answer('uno\ndos'));
  writeFileSync(join(cwd, 'a.txt'), lines);
  const vim = `vim -N -u ${join(recipes, 'recipes-vim.vim')} -es -c "1,2Ask it's Spanish" -c wq a.txt`;
  expect((await shell(vim, { cwd, env: { ...env, TERM: 'xterm' } })).code).toBe(0);
  expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('uno\ndos\nthree\n');
  expect(JSON.parse(server.requests[0]?.body.toString() ?? '')).toMatchObject({
    contents: [{ parts: [{ text: expect.stringMatching(/it's Spanish[^]*one\ntwo/) as string }] }],
  });
  await shell(vim, { cwd, env: { ...env, TERM: 'xterm', GATEWAY_TIMEOUT: '1s' } });
  expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('uno\ndos\nthree\n');
});

test.skipIf(lacks('vim'))('a filter of vim with nothing but a key gets the answer alone', async () => {
  const { cwd, env, server } = await place(failure);
  server.reply({ status: 429, headers: { 'retry-after-ms': '1' } });
  server.reply({ body: { choices: [{ index: 0, message: { content: 'uno\ndos' }, finish_reason: 'stop' }] } });
  writeFileSync(join(cwd, 'a.txt'), lines);
  const oneKey = { PATH: env['PATH'] ?? '', OPENAI_API_KEY: 'k', OPENAI_BASE_URL: `${server.url}/v1`, TERM: 'xterm' };
  const vim = `vim -N -u NONE -es -c "set shellredir=>%s\\ 2>&1" -c "%!gateway-cli text 'in Spanish'" -c wq a.txt`;
  expect((await shell(vim, { cwd, env: oneKey })).code).toBe(0);
  expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('uno\ndos\n');
  expect(server.requests).toHaveLength(2);
});

test.skipIf(lacks('emacs'))('Emacs replaces a region by an answer, and keeps it after a failure', async () => {
  const { cwd, env, server } = await place(failure);
  server.reply(answer('uno\ndos'));
  writeFileSync(join(cwd, 'a.txt'), lines);
  const edit = `(progn (find-file "a.txt") (gateway-cli-region 1 9 "it's Spanish") (save-buffer))`;
  const emacs = `emacs -Q --batch -l ${join(recipes, 'recipes-emacs.el')} --eval ${JSON.stringify(edit)}`;
  expect((await shell(emacs, { cwd, env })).code).toBe(0);
  expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('uno\ndos\nthree\n');
  const failed = await shell(emacs, { cwd, env: { ...env, GATEWAY_TIMEOUT: '1s' } });
  expect(failed.stderr).toContain('gateway-cli: ');
  expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('uno\ndos\nthree\n');
});

test.skipIf(lacks('make'))('make asks once for each text, also after make clean, and then needs no key', async () => {
  const { cwd, env, server } = await place(answer('a text'));
  copyFileSync(join(recipes, 'recipes-make.mk'), join(cwd, 'Makefile'));
  for (const name of ['a', 'b']) writeFileSync(join(cwd, `${name}.prompt.md`), `write ${name}`);
  expect((await shell('make --silent && make --silent', { cwd, env })).code).toBe(0);
  expect(server.requests).toHaveLength(2);
  const again = await shell('make --silent clean all && cat a.txt b.txt', {
    cwd,
    env: { ...env, GATEWAY_API_KEY: '' },
  });
  expect(again).toMatchObject({ code: 0, stdout: 'a text\na text\n' });
  expect(server.requests).toHaveLength(2);
});

interface PreCommit {
  repos: { hooks: { entry: string; files: string }[] }[];
}

test.each([
  ['finds mistakes, and asks once for the same text', answer('{"mistakes":["teh"]}'), 1, 'a.md: ["teh"]\n', 1],
  ['lets a text without mistakes pass', answer('{"mistakes":[]}'), 0, '', 1],
  ['lets the commit go on if no model answers', failure, 0, '', 2],
] as const)('the check of pre-commit %s', async (_, reply, code, stdout, requests) => {
  const { cwd, env, server } = await place(reply);
  const config = parse(readFileSync(join(recipes, 'recipes-pre-commit.yaml'), 'utf8')) as PreCommit;
  const [hook] = config.repos[0]?.hooks ?? [];
  writeFileSync(join(cwd, 'a.md'), 'teh lamp\n');
  expect('a.md').toMatch(new RegExp(hook?.files ?? ''));
  for (let time = 0; time < 2; time++)
    expect(await shell(`${hook?.entry} a.md`, { cwd, env })).toMatchObject({ code, stdout });
  expect(server.requests).toHaveLength(requests);
});
