import { expect, onTestFinished, test } from 'vitest';
import { firstServiceNames, services } from '../src/library/vendors/services.ts';
import { readme } from './helpers/readme.ts';
import { startScriptedServer } from './helpers/scripted-server.ts';
import { shell } from './helpers/spawn.ts';
import { eventStream, messageEvents, textReply } from './helpers/with-server.ts';
import { anthropicKey, startAnthropic } from './fake-servers/anthropic.ts';
import { geminiKey, startGemini } from './fake-servers/gemini.ts';
import { openAiKey, startOpenAi } from './fake-servers/openai.ts';

const section = readme.slice(readme.indexOf('## Connect'), readme.indexOf('## Why this one'));

/** The commands under a name in the README's section Connect, one a line. */
function commandsOf(name: string): string[] {
  const block = section.slice(section.indexOf(`**${name}**`)).match(/```sh\n([\s\S]*?)```/)?.[1] ?? '';
  return block.trimEnd().split('\n');
}

/** The rows of its table of services. */
const rows = [...section.matchAll(/^\| (.*) \| `(.*)` \| `(.*)` \| (.*) \| <(.*)> \|$/gm)].map(
  ([, title = '', name = '', variable = '', has = '', keyPage = '']) => ({ title, name, variable, has, keyPage }),
);

/** Types commands as they are written, with a key in the place of `…`. */
function type(commands: readonly string[], { url, key, env }: { url: string; key: string; env?: object }) {
  const typed = commands
    .map((line) => line.replaceAll('…', key).replace('https://gateway.example.com', url))
    .map((line) => line.replace('<model>', 'some-model').replace('http://127.0.0.1:8000', url))
    .map((line) => line.replace(/^gateway-cli/, 'node $BIN'));
  return shell(typed.join(' &&\n'), { env: { GATEWAY_BASE_URL: url, ...env } });
}

/** The commands of one key, as far as they go with a service: its host is not to be had here, so a fake server is called. */
function typeOneKey(name: string, { url, key }: { url: string; key: string }): ReturnType<typeof shell> {
  const { variable = '', has = '' } = rows.find((row) => row.name === name) ?? {};
  const commands = commandsOf('One key.')
    .map((line) => line.replace('OPENAI_API_KEY', variable))
    .filter((line) => has.includes('images') || !line.includes('image gen'));
  return type(commands, { url, key, env: { GATEWAY_SERVICE: name } });
}

test('the table of services has every service of short lists that gives keys, with what it can be asked for', () => {
  const known = firstServiceNames.map((name) => services[name]).filter(({ keyPage }) => keyPage !== undefined);
  expect(rows.toSorted((a, b) => a.name.localeCompare(b.name))).toEqual(
    known
      .map(({ title, name, keyVariables: [variable], formats, keyPage }) => {
        const has = `text, chat${formats.image ? ', images' : ''}`;
        return { title, name, variable, has, keyPage };
      })
      .toSorted((a, b) => a.name.localeCompare(b.name)),
  );
});

test('the key of Gemini works at the first try', async () => {
  const gemini = await startGemini();
  onTestFinished(() => gemini.close());
  const ran = await typeOneKey('gemini', { url: gemini.url, key: geminiKey });
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(ran.stdout).toMatch(/^Hello from Gemini\.\nHello from Gemini\.\n.*\.png\n$/);
});

test('the key of OpenAI works at the first try', async () => {
  const openAi = await startOpenAi();
  onTestFinished(() => openAi.close());
  const ran = await typeOneKey('openai', { url: openAi.url, key: openAiKey });
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(ran.stdout).toMatch(/^(Hello from GPT\.\n){2}.*\.png\n$/);
});

test('the key of Anthropic works at the first try', async () => {
  const anthropic = await startAnthropic();
  onTestFinished(() => anthropic.close());
  const ran = await typeOneKey('anthropic', { url: anthropic.url, key: anthropicKey });
  expect(ran).toMatchObject({ code: 0, stdout: 'Hello from Claude.\nHello from Claude.\n', stderr: '' });
});

test('of several keys, that of the named service is used', async () => {
  const gemini = await startGemini();
  const anthropic = await startAnthropic();
  onTestFinished(() => Promise.all([gemini.close(), anthropic.close()]).then(() => undefined));
  const keys = { ANTHROPIC_API_KEY: anthropicKey, GEMINI_API_KEY: geminiKey };
  const [first = '', ...rest] = commandsOf('Several keys.');
  const byFlag = await type([first], { url: anthropic.url, key: '', env: keys });
  expect(byFlag).toMatchObject({ code: 0, stdout: 'Hello from Claude.\n', stderr: '' });
  const byVariable = await type(rest, { url: gemini.url, key: '', env: keys });
  expect(byVariable).toMatchObject({ code: 0, stdout: 'Hello from Gemini.\n', stderr: '' });
});

test('a server on this machine works without a key, and without a model where it has but one', async () => {
  const server = await startScriptedServer();
  onTestFinished(() => server.close());
  server.always(({ path, headers }) => {
    if (headers['authorization'] !== undefined) return { status: 401 };
    if (path === '/v1/models') return { body: { object: 'list', data: [{ id: 'some-model', object: 'model' }] } };
    if (path !== '/v1/chat/completions') return { status: 404 };
    const message = { role: 'assistant', content: 'an answer' };
    return { body: { model: 'some-model', choices: [{ index: 0, message, finish_reason: 'stop' }] } };
  });
  const ran = await type(commandsOf('This machine.'), { url: server.url, key: '' });
  expect(ran).toMatchObject({ code: 0, stdout: 'an answer\nan answer\n' });
  expect(ran.stderr).toMatch(/^Ollama answers with some-model, the newest of its list; to set it for good: .*\n$/);
});

test('a gateway of your own works at the first try', async () => {
  const server = await startScriptedServer();
  onTestFinished(() => server.close());
  server.always(({ path, headers }) => {
    const isChat = path === '/v1/messages';
    if (headers[isChat ? 'x-api-key' : 'x-vendor-a-api-key'] !== 'own-key') return { status: 401 };
    if (!isChat) return { body: textReply('a text', { modelVersion: 'some-model' }) };
    const events = eventStream(...messageEvents('a chat')).replaceAll('m-001', 'some-model');
    return { headers: { 'content-type': 'text/event-stream' }, body: events };
  });
  const ran = await type(commandsOf('A gateway of your own'), { url: server.url, key: 'own-key' });
  expect(ran).toMatchObject({ code: 0, stdout: 'a text\na chat\n', stderr: '' });
});
