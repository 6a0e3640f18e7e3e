import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { createPause, type ScriptedServer } from '../../helpers/scripted-server.ts';
import { openTerminal, type Terminal, withoutTmux } from '../../helpers/tmux.ts';
import { canaryKey, eventStream, messageEvents, test as base } from '../../helpers/with-server.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

/** A conversation in a real terminal with the built program. */
const test = base.extend<{
  open: (script: string, options?: { cwd?: string; env?: Record<string, string> }) => Promise<Terminal>;
}>({
  open: async ({ server }, use) => {
    const opened: Terminal[] = [];
    await use(async (script, { cwd, env = {} } = {}) => {
      const all = { GATEWAY_BASE_URL: server.url, GATEWAY_API_KEY: canaryKey, GATEWAY_MODEL: 'm', CI: '1', ...env };
      const terminal = await openTerminal(script, { env: all, ...(cwd !== undefined && { cwd }) });
      opened.push(terminal);
      return terminal;
    });
    for (const terminal of opened) await terminal.close();
  },
});
vi.setConfig({ testTimeout: 60_000 });
const inTmux = test.skipIf(withoutTmux);

const answer = (...texts: string[]) => ({ body: eventStream(...messageEvents(...texts)) });
const home = scratchFolder;
const promptsOf = (server: ScriptedServer): unknown[] =>
  server.requests.map((request) => (request.json() as { messages: { content: unknown }[] }).messages.at(-1)?.content);

/** The lines of all sessions in a home. */
function kept(folder: string): { role: string; content: unknown }[] {
  const sessions = join(folder, '.local/state/gateway-cli/sessions');
  const files = readdirSync(sessions).filter((name) => name.endsWith('.jsonl'));
  return files.flatMap((name) =>
    readFileSync(join(sessions, name), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as never),
  );
}

inTmux('in tmux: shows each delta at once, escaped, and waits for the next prompt', async ({ server, open }) => {
  const pause = createPause();
  const [start, block, first, second, ...rest] = messageEvents('first ', '\u001b]0;title\u0007second').map((event) =>
    eventStream(event),
  );
  server.reply({ chunks: [`${start}${block}${first}`, pause.until, `${second}${rest.join('')}`] });
  const terminal = await open('node $BIN chat --no-markdown');
  await terminal.shows('m · kept as a session · /help');
  await terminal.type('hello');
  await terminal.press('Enter');
  await terminal.shows('first');
  pause.release();
  await terminal.shows('first ^[]0;title^Gsecond\n>');
  await terminal.press('C-d');
  expect(await terminal.shows('exit 0')).toContain('continue with: gateway-cli chat --session');
});

inTmux('in tmux: takes pasted lines as one prompt, tabs and all, and completes commands', async ({ server, open }) => {
  server.reply(answer('one'));
  server.reply(answer('two'));
  const cwd = home();
  writeFileSync(join(cwd, 'picture.gif'), 'GIF89a\x01\x00\x01\x00');
  const terminal = await open('node $BIN chat --no-markdown', { cwd });
  await terminal.shows('/help');
  await terminal.paste('line one\n\tline two\nline three');
  await terminal.shows('line three');
  expect(server.requests).toHaveLength(0);
  await terminal.type(' end');
  await terminal.press('Enter');
  await terminal.shows('one\n>');
  await terminal.type('/im');
  await terminal.press('Tab');
  await terminal.shows(/> \/image/);
  await terminal.type('picture.gif');
  await terminal.shows('/image picture.gif');
  await terminal.press('Enter');
  await terminal.shows('with the next prompt');
  await terminal.type('what\\');
  await terminal.press('Enter');
  await terminal.shows('…');
  await terminal.type('is it?');
  await terminal.press('Enter');
  await terminal.shows('two\n>');
  expect(promptsOf(server)).toMatchObject([
    'line one\n\tline two\nline three end',
    [{ type: 'image' }, { type: 'text', text: 'what\nis it?' }],
  ]);
});

inTmux('in tmux: Ctrl-C stops the answer, whose half is kept, and twice leaves', async ({ server, open }) => {
  server.reply(answer('whole'));
  const [start, block, first] = messageEvents('half an ans').map((event) => eventStream(event));
  const never = createPause();
  server.reply({ chunks: [`${start}${block}${first}`, never.until] });
  server.reply(answer('third'));
  const terminal = await open('node $BIN chat --no-markdown');
  await terminal.shows('/help');
  await terminal.type('one');
  await terminal.press('Enter');
  await terminal.shows('whole\n>');
  await terminal.type('two');
  await terminal.press('Enter');
  await terminal.shows('half an ans');
  await terminal.press('C-c');
  await terminal.shows(/half an ans\n.*stopped.*\n>/);
  await server.requests[1]?.closed;
  await terminal.type('three');
  await terminal.press('Enter');
  await terminal.shows('third\n>');
  await terminal.press('C-c');
  await terminal.shows('again leaves');
  await terminal.press('C-c');
  await terminal.shows('exit 0');
  expect(kept(terminal.cwd).map(({ content }) => content)).toMatchObject([
    'one',
    [{ text: 'whole' }],
    'two',
    [{ text: 'half an ans' }],
    'three',
    [{}],
  ]);
  expect(server.requests[2]?.json()).toMatchObject({ messages: [{}, {}, {}, {}, { content: 'three' }] });
});

inTmux(
  'in tmux: a kill -9 in the middle of an answer loses no finished turn, and the history stays',
  async ({ server, open }) => {
    server.reply(answer('whole'));
    const [start, block, first] = messageEvents('half').map((event) => eventStream(event));
    server.reply({ chunks: [`${start}${block}${first}`, createPause().until] });
    server.reply(answer('after'));
    const cwd = home();
    const terminal = await open('echo $$ > pid; exec node $BIN chat --no-markdown --session s', { cwd });
    await terminal.shows('/help');
    await terminal.type('one');
    await terminal.press('Enter');
    await terminal.shows('whole\n>');
    await terminal.type('two');
    await terminal.press('Enter');
    await terminal.shows('half');
    process.kill(Number(readFileSync(join(cwd, 'pid'), 'utf8')), 'SIGKILL');
    expect(kept(cwd).map(({ content }) => content)).toMatchObject(['one', [{ text: 'whole' }]]);
    await terminal.close();
    const next = await open('node $BIN chat --no-markdown --continue', { cwd });
    await next.shows('1 answer before');
    await next.press('Up');
    await next.press('Up');
    await next.shows('> one');
    await next.press('Enter');
    await next.shows('after');
    expect(server.requests[2]?.json()).toMatchObject({ messages: [{}, {}, { content: 'one' }] });
  },
);

inTmux('in tmux: --confirm asks where the person is', async ({ server, open }) => {
  const call = { type: 'tool_use', id: 't1', name: 'now', input: {} };
  const message = { id: 'msg_1', role: 'assistant', content: [call], stop_reason: 'tool_use' };
  server.reply({ body: message });
  server.reply(answer('noon'));
  const cwd = home();
  writeFileSync(join(cwd, 'tools.json'), JSON.stringify([{ name: 'now', input_schema: { type: 'object' } }]));
  const flags = "--tools tools.json --tool-exec 'now=date' --confirm";
  const terminal = await open(`node $BIN chat --no-markdown 'what time?' ${flags}`, { cwd });
  await terminal.shows('run date for now {}? [y/N]');
  await terminal.type('y');
  await terminal.press('Enter');
  await terminal.shows(/noon\nexit 0/);
  expect(promptsOf(server)[1]).toMatchObject([
    { type: 'tool_result', tool_use_id: 't1', content: expect.stringMatching(/\d/) },
  ]);
});

inTmux('in tmux: Ctrl-C in a single answer ends its line and dies by the signal', async ({ server, open }) => {
  const [start, block, first] = messageEvents('half').map((event) => eventStream(event));
  server.reply({ chunks: [`${start}${block}${first}`, createPause().until] });
  const terminal = await open('trap : INT; node $BIN chat --no-markdown hi');
  await terminal.shows('half');
  await terminal.press('C-c');
  expect(await terminal.shows('exit 130')).toMatch(/half(\^C)?\n(.*\n)*exit 130/);
});

inTmux('in tmux: SIGTERM ends a conversation that waits, with the terminal as it was', async ({ open }) => {
  const cwd = home();
  const script =
    "(echo $BASHPID > pid; exec node $BIN chat --no-markdown); echo code $?; stty -a | grep -oE ' -?(icanon|echo) '";
  const terminal = await open(script, { cwd });
  await terminal.shows('/help');
  process.kill(Number(readFileSync(join(cwd, 'pid'), 'utf8')), 'SIGTERM');
  expect(await terminal.shows('exit 0')).toMatch(/code 143\n icanon\n echo\n/);
});

inTmux('in tmux: a terminal that is closed ends the conversation in order', async ({ server, open }) => {
  server.reply(answer('whole'));
  const cwd = home();
  // The shell does not forward the signal, as some do not: the conversation ends nevertheless.
  const script =
    "trap '' HUP; (trap - HUP; exec node $BIN chat --no-markdown --session ./s.jsonl 2> err.txt); echo $? > code.txt";
  const terminal = await open(script, { cwd });
  await terminal.shows('>');
  await terminal.type('one');
  await terminal.press('Enter');
  await terminal.shows('whole\n>');
  await terminal.close();
  await vi.waitFor(() => expect(readFileSync(join(cwd, 'code.txt'), 'utf8')).toBe('129\n'), { timeout: 50_000 });
  expect(readFileSync(join(cwd, 'err.txt'), 'utf8')).not.toMatch(/internal|Assertion/);
  expect(readdirSync(cwd)).not.toContain('s.jsonl.lock');
});

inTmux('in tmux: --preview draws half-blocks inside tmux', async ({ open }) => {
  const terminal = await open("node $BIN image gen --offline --preview -o a.png 'a lighthouse at dusk'", {
    env: { GATEWAY_BASE_URL: '', GATEWAY_API_KEY: '', COLORTERM: 'truecolor', TMUX: 'x' },
  });
  await terminal.shows('exit 0');
  const screen = await terminal.screen({ colors: true });
  expect(screen.match(/▀/g)?.length).toBeGreaterThan(500);
  expect(screen).toMatch(/\[38;2;\d+;\d+;\d+m/);
  expect(screen).toContain('a.png\n');
  expect(screen).not.toContain('1337');
});

inTmux.for([
  ['and says nothing more', false],
  ['and goes on', true],
] as const)(
  'in tmux: when the terminal closes while an answer streams %s, the session is free for the next chat',
  async ([, goesOn], { server, open }) => {
    const cwd = home();
    const pause = createPause();
    const [start, block, ...deltas] = messageEvents(...Array.from({ length: 200 }, (_, i) => `word ${i} `)).map(
      (event) => eventStream(event),
    );
    const more = goesOn
      ? deltas.slice(1, -3).flatMap((delta) => [delta, new Promise((resolve) => setImmediate(resolve))])
      : [];
    server.reply({ chunks: [`${start}${block}${deltas[0]}`, pause.until, ...more, new Promise(() => undefined)] });
    // A shell with job control sends the hangup to its jobs once more.
    const terminal = await open('exec bash --norc -i', { cwd });
    await terminal.type('node $BIN chat --no-markdown --session talk');
    await terminal.press('Enter');
    await terminal.shows('/help');
    await terminal.type('hello');
    await terminal.press('Enter');
    await terminal.shows('word 0');
    const sessions = join(cwd, '.local/state/gateway-cli/sessions');
    const locks = () => readdirSync(sessions).filter((name) => name.endsWith('.lock'));
    expect(locks()).toHaveLength(1);
    await terminal.close();
    pause.release();
    await expect.poll(locks, { timeout: 20_000 }).toEqual([]);
  },
);
