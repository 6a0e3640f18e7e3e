import { expect, onTestFinished, test } from 'vitest';
import { readme } from './helpers/readme.ts';
import { startScriptedServer } from './helpers/scripted-server.ts';
import { shell } from './helpers/spawn.ts';
import { eventStream, messageEvents, textReply } from './helpers/with-server.ts';
import { anthropicKey, startAnthropic } from './stand-ins/anthropic.ts';
import { geminiKey, startGemini } from './stand-ins/gemini.ts';

/** The commands under a name in the README's section Connect, one a line. */
function commandsOf(name: string): string[] {
  const section = readme.slice(readme.indexOf('## Connect'), readme.indexOf('## Commands'));
  const block = section.slice(section.indexOf(`**${name}**`)).match(/```sh\n([\s\S]*?)```/)?.[1] ?? '';
  return block.trimEnd().split('\n');
}

/** Types the commands as they stand, with a key in the place of `…`. */
async function follow(name: string, { url, key }: { url: string; key: string }): ReturnType<typeof shell> {
  const commands = commandsOf(name);
  expect(commands.length).toBeLessThanOrEqual(3);
  const typed = commands
    .map((line) => line.replaceAll('…', key).replace('https://gateway.example.com', url))
    .map((line) => line.replace(/^gateway-cli/, 'node $BIN'));
  // The host of a service is not to be had here: its stand-in is called in its place.
  return shell(typed.join(' &&\n'), { env: { GATEWAY_BASE_URL: url } });
}

test('Gemini works at the first try', async () => {
  const gemini = await startGemini();
  onTestFinished(() => gemini.close());
  const ran = await follow('Gemini', { url: gemini.url, key: geminiKey });
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(ran.stdout).toMatch(/^Hello from Gemini\.\n.*\.png\n$/);
});

test('Anthropic works at the first try', async () => {
  const anthropic = await startAnthropic();
  onTestFinished(() => anthropic.close());
  const ran = await follow('Anthropic', { url: anthropic.url, key: anthropicKey });
  expect(ran).toMatchObject({ code: 0, stdout: 'Hello from Claude.\n', stderr: '' });
});

test('another gateway works at the first try', async () => {
  const server = await startScriptedServer();
  onTestFinished(() => server.close());
  server.always(({ path, headers }) => {
    const isChat = path === '/v1/messages';
    if (headers[isChat ? 'x-api-key' : 'x-vendor-a-api-key'] !== 'own-key') return { status: 401 };
    if (!isChat) return { body: textReply('a text', { modelVersion: 'some-model' }) };
    const events = eventStream(...messageEvents('a chat')).replaceAll('m-001', 'some-model');
    return { headers: { 'content-type': 'text/event-stream' }, body: events };
  });
  const ran = await follow('Another gateway', { url: server.url, key: 'own-key' });
  expect(ran).toMatchObject({ code: 0, stdout: 'a text\na chat\n', stderr: '' });
});
