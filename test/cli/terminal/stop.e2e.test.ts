import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { createPause } from '../../helpers/scripted-server.ts';
import { openShell, openTerminal, type Terminal } from '../../helpers/terminal.ts';
import { canaryKey, eventStream, messageEvents, test } from '../../helpers/with-server.ts';

/** Ctrl-Z, and `fg` by the shell as soon as the program is stopped. */
const stopped = (command: string): string => `${command}; echo "STOPPED $?"; fg; echo "CODE $?"`;
const settings = (url: string): Record<string, string> => ({
  GATEWAY_BASE_URL: url,
  GATEWAY_API_KEY: canaryKey,
  GATEWAY_MODEL: 'm',
  CI: '1',
});
const answer = (text: string) => ({ body: eventStream(...messageEvents(text)) });
const screenOf = (terminal: Terminal): string => terminal.lines().join('\n');

test('Ctrl-Z at the prompt of a conversation stops it, and fg goes on with the line that was begun', async ({
  server,
}) => {
  server.reply(answer('first'));
  server.reply(answer('second'));
  const terminal = openShell(stopped('node $BIN chat --no-markdown'), { env: settings(server.url) });
  await terminal.shows('/help');
  terminal.type('one\r');
  await terminal.shows('first\n>');
  terminal.type('tw');
  await terminal.shows('> tw');
  terminal.type('\u001a');
  await terminal.shows(/STOPPED 148[\s\S]*\n> tw/);
  terminal.type('o\r');
  await terminal.shows('second\n>');
  expect(server.requests[1]?.json()).toMatchObject({ messages: [{}, {}, { content: 'two' }] });
  terminal.type('\u0004');
  await terminal.shows('CODE 0');
});

test('a paste after Ctrl-Z and fg is one prompt, as before', async ({ server }) => {
  const terminal = openShell(stopped('node $BIN chat --no-markdown'), { env: settings(server.url) });
  await terminal.shows('/help');
  terminal.type('\u001a');
  await terminal.shows(/STOPPED 148[\s\S]*\n>/);
  await expect.poll(() => terminal.pastes).toEqual([true, false, true]);
  terminal.type('\u0004');
  await terminal.shows('CODE 0');
});

test('Ctrl-Z while an answer streams, then fg, loses nothing of it', async ({ server }) => {
  const pause = createPause();
  const [start, block, first, second, ...rest] = messageEvents('begun ', 'ended').map((event) => eventStream(event));
  server.reply({ chunks: [`${start}${block}${first}`, pause.until, `${second}${rest.join('')}`] });
  const terminal = openShell(stopped('node $BIN chat --no-markdown'), { env: settings(server.url) });
  await terminal.shows('/help');
  terminal.type('one\r');
  await terminal.shows('begun');
  terminal.type('\u001a');
  await terminal.shows('STOPPED 148');
  pause.release();
  await terminal.shows(/ended\n>/);
  terminal.type('\u0004');
  await terminal.shows('CODE 0');
});

test('Ctrl-Z at a question of --confirm, then fg, asks it again', async ({ server }) => {
  const call = { type: 'tool_use', id: 't1', name: 'now', input: {} };
  server.reply({ body: { id: 'msg_1', role: 'assistant', content: [call], stop_reason: 'tool_use' } });
  server.reply(answer('noon'));
  const tools = JSON.stringify([{ name: 'now', input_schema: { type: 'object' } }]);
  const chat = `node $BIN chat --no-markdown 'what time?' --tools tools.json --tool-exec 'now=date' --confirm`;
  const terminal = openShell(`echo '${tools}' > tools.json; ${stopped(chat)}`, { env: settings(server.url) });
  await terminal.shows('[y/N]');
  terminal.type('\u001a');
  await terminal.shows(/STOPPED 148[\s\S]*\[y\/N\]/);
  terminal.type('y\r');
  await terminal.shows('noon');
  await terminal.shows('CODE 0');
});

test('Ctrl-Z at a question of config init, then fg, keeps the answers; a hidden one stays hidden', async () => {
  const terminal = openShell(
    `${stopped('node $BIN config init').replace('CODE', 'STOPPED AGAIN')}; fg; echo "CODE $?"`,
  );
  await terminal.shows('Service [gateway]:');
  terminal.type('openax\u007f');
  await terminal.shows('Service [gateway]: opena');
  terminal.type('\u001a');
  await terminal.shows(/STOPPED 148[\s\S]*Service \[gateway\]: opena/);
  terminal.type('i\r');
  await terminal.shows('none in the file):');
  terminal.type('sk-canary');
  terminal.type('\u001a');
  await terminal.shows(/STOPPED AGAIN 148[\s\S]*none in the file\):/);
  terminal.type('-end\r');
  await terminal.shows('Model');
  expect(screenOf(terminal)).not.toContain('canary');
  terminal.type('\r');
  await terminal.shows('CODE 0');
  const config = readFileSync(join(terminal.cwd, '.config/gateway-cli/config.json'), 'utf8');
  expect(JSON.parse(config)).toMatchObject({ profiles: { openai: { apiKey: 'sk-canary-end' } } });
});

test('Ctrl-Z where no shell can continue the program leaves it at its prompt', async ({ server }) => {
  server.reply(answer('first'));
  const terminal = openTerminal(['chat', '--no-markdown'], { env: settings(server.url) });
  await terminal.shows(/\n>/);
  terminal.type('on\u001a');
  await expect.poll(() => terminal.pastes).toEqual([true, false, true]);
  terminal.type('e\r');
  await terminal.shows('first\n>');
  terminal.type('\u0004');
  expect(await terminal.ended).toBe(0);
  expect(server.requests[0]?.json()).toMatchObject({ messages: [{ content: 'one' }] });
});
