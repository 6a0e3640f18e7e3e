import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createCiGuard } from '../../src/cli/terminal/ci-guard.ts';
import { eventStream, messageEvents, textReply } from '../helpers/with-server.ts';
import { bash, becomes, folder, serve, start } from './program.ts';
import { isFull } from '../helpers/full.ts';

const hasScript = spawnSync('script', ['--version']).status === 0;
const everyByte = Array.from({ length: 0xa0 }, (_unused, code) => String.fromCharCode(code)).join('');
const hostile = `${everyByte}\u001b]52;c;ZXZpbA==\u0007\u001b]8;;http://evil\u001b\\x\u001b[2J\u001bPq\u001b\\\u009b2J\u202Ex`;
/** A pseudo-terminal with a size; what the program prints is in `shown`. */
const inTerminal = (command: string) => `script -qefc "stty cols 80 rows 24; ${command}" shown < /dev/null > /dev/null`;

describe.skipIf(!hasScript && !isFull)('on a pseudo-terminal (needs script)', () => {
  test.each([
    ['text', 'text x', { body: textReply(hostile) }],
    ['chat, one delta a byte', 'chat x', { body: eventStream(...messageEvents(...hostile)) }],
    ['thinking', 'chat x --thinking', { body: eventStream(...thinkingEvents()) }],
    ['an error', 'text x', { status: 400, body: { error: { message: hostile } } }],
    ['a request id and headers', 'text x -v', { status: 400, headers: { 'request-id': 'id\u009b2J' }, body: {} }],
    [
      'the finish message',
      'image gen x',
      { body: { candidates: [{ finishReason: 'OTHER', finishMessage: hostile }] } },
    ],
    ['the name of a tool', 'text x', { body: toolReply() }],
  ])('escape injection: %s reaches the terminal as something to look at', async (_name, argv, reply) => {
    const server = await serve();
    server.reply(reply);
    const ran = await bash(inTerminal(`CI=1 $CLI ${argv} --no-color`), server);
    // The first and the last line are script's own.
    const shown = readFileSync(join(ran.cwd, 'shown'), 'utf8').split('\n').slice(1, -2).join('\n');
    expect(shown.length).toBeGreaterThan(0);
    expect([...shown.replaceAll('\r\n', '\n')].filter(isDangerous)).toEqual([]);
  });

  test('Ctrl-C ends a line that was begun, and says nothing', async () => {
    const server = await serve();
    const begun = messageEvents('half a line').slice(0, 3);
    server.reply({ chunks: [eventStream(...begun), new Promise(() => undefined)] });
    const cwd = folder();
    const running = bash(inTerminal(`CI=1 bash -c 'echo \\$\\$ > pid; exec $CLI chat x --no-markdown'`), server, {
      cwd,
    });
    await server.received(1);
    const shown = () => readFileSync(join(cwd, 'shown'), 'utf8');
    await becomes(() => shown().includes('half a line'), running);
    process.kill(Number(readFileSync(join(cwd, 'pid'), 'utf8')), 'SIGINT');
    await running;
    expect(shown()).toContain('half a line\r\n');
    expect(shown()).not.toContain('gateway-cli:');
  });
});

function isDangerous(character: string): boolean {
  return /[\p{Cc}\p{Bidi_Control}]/u.test(character) && character !== '\n' && character !== '\t';
}

function thinkingEvents(thought = hostile): object[] {
  const [head, ...answer] = messageEvents('yes');
  return [
    head as object,
    { type: 'content_block_start', index: 1, content_block: { type: 'thinking', thinking: '' } },
    ...[...thought].map((thinking) => ({
      type: 'content_block_delta',
      index: 1,
      delta: { type: 'thinking_delta', thinking },
    })),
    { type: 'content_block_stop', index: 1 },
    ...answer,
  ];
}

function toolReply(): object {
  const call = { functionCall: { name: hostile, args: {} } };
  return { candidates: [{ content: { parts: [call] }, finishReason: 'STOP' }] };
}

test('text in a pipe is exact, and on stderr it is escaped', async () => {
  const server = await serve();
  server.reply({ body: textReply(hostile) });
  expect((await bash('$CLI text x', server)).stdout).toBe(`${hostile}\n`);
  server.reply({ status: 400, body: { error: { message: hostile } } });
  expect([...(await bash('$CLI text x', server)).stderr].filter(isDangerous)).toEqual([]);
});

const commands = [
  '::error::x\n',
  '  ::stop-commands::token\ntext\r::add-mask::a\n',
  'in line ##[add-mask]x\n',
  'fine :: here\n',
].join('');
const harmless = [
  '\u200b::error::x\n',
  '  \u200b::stop-commands::token\ntext\r\u200b::add-mask::a\n',
  'in line ##\u200b[add-mask]x\n',
  'fine :: here\n',
].join('');

test('CI log commands in model text are not obeyed, however they are cut; a file is exact', async () => {
  const env = { GITHUB_ACTIONS: 'true' };
  const server = await serve();
  server.reply({ body: textReply(commands) });
  expect((await bash('$CLI text x', server, { env })).stdout).toBe(harmless);
  server.reply({ body: eventStream(...messageEvents(...commands)) });
  expect((await bash('$CLI chat x', server, { env })).stdout).toBe(harmless);
  server.reply({ body: textReply(commands) });
  expect((await bash('$CLI text x > out; cat out', server, { env })).stdout).toBe(commands);
  server.reply({ body: textReply(commands) });
  expect((await bash('$CLI text x', server)).stdout).toBe(commands);
  server.reply({ body: eventStream(...thinkingEvents(commands)) });
  const { stderr } = await bash('$CLI chat x --thinking', server, { env });
  expect(stderr.split(/[\r\n]/).filter((line) => line.trim().startsWith('::'))).toEqual([]);
});

test('the guard gives the same for every cut of the text', () => {
  for (let at = 0; at <= commands.length; at++) {
    const guard = createCiGuard();
    expect(guard(commands.slice(0, at)) + guard(commands.slice(at))).toBe(harmless);
  }
});

test('a failure in GitHub Actions is an annotation too, escaped', async () => {
  const server = await serve();
  server.reply({ status: 400, body: { error: { message: 'a\n::error::b %0A' } } });
  const { stderr } = await bash('$CLI text x', server, { env: { GITHUB_ACTIONS: 'true' } });
  expect(stderr).toMatch(/^::error title=gateway-cli rejected::/m);
  expect(stderr.split('\n').filter((line) => line.trim().startsWith('::'))).toHaveLength(1);
});

describe('stdout closed by its reader', () => {
  test('ends with 141 and without a word, and the upstream request is aborted', async () => {
    const server = await serve();
    const answer = messageEvents(`first line\n${'x'.repeat(32_000)}`).map((event) => eventStream(event));
    let sent = 0;
    function* lines() {
      yield answer.slice(0, 2).join('');
      for (; sent < 2000; sent++) yield answer[2] as string;
      yield answer.slice(3).join('');
    }
    server.reply({ chunks: lines() });
    const ran = await bash('set -o pipefail; $CLI chat x | head -1', server);
    expect(ran).toMatchObject({ code: 141, stdout: 'first line\n', stderr: '' });
    await server.requests[0]?.closed;
    // After the reader has left, the rest of the answer is not paid for.
    expect(sent).toBeLessThan(2000);
  });

  test.each(['text x', 'text x --json', 'text x --raw', '--help', 'text x --dry-run'])(
    '%s is quiet when its reader closed stdout',
    async (argv) => {
      const server = await serve();
      const isSent = !/dry|help/.test(argv);
      if (isSent) server.reply({ body: textReply('x'.repeat(300_000)) });
      const { child, ended } = start(argv.split(' '), server);
      child.stdout?.destroy();
      const ran = await ended;
      expect([ran.stderr, ran.code === 141 || !isSent]).toEqual(['', true]);
    },
  );
});

test('a slow reader holds the server back, in flat memory and without loss', async () => {
  const server = await serve();
  const delta = eventStream(messageEvents('x'.repeat(32_000))[2] as object);
  const [head, tail] = [messageEvents().slice(0, 2), messageEvents().slice(2)].map((events) => eventStream(...events));
  const cwd = folder();
  let sent = 0;
  function* stream() {
    yield head as string;
    for (let count = 0; count < 1500; count++) {
      sent = count;
      yield delta;
    }
    yield tail as string;
  }
  server.reply({ chunks: stream() });
  const peak = `import fs from 'node:fs'; process.on('exit', () => fs.writeFileSync('peak', String(process.resourceUsage().maxRSS / 1024)));`;
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(peak)}` };
  const script = 'mkfifo gate; $CLI chat x | { read -r -N 1 first; read -r < gate; wc -c; }';
  const running = bash(script, server, { cwd, env });
  // The reader waits at the gate. When the buffers before it are full, nothing more is sent.
  let before = 0;
  const isStuck = (): boolean => {
    const isSame = sent > 0 && sent === before;
    before = sent;
    return isSame;
  };
  await expect.poll(isStuck, { timeout: 60_000, interval: 500 }).toBe(true);
  const sentUnread = sent;
  await writeFile(join(cwd, 'gate'), '\n');
  const ran = await running;
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(Number(ran.stdout)).toBe(1500 * 32_000);
  // What the kernel's buffers hold on loopback, and a little of our own.
  expect(sentUnread * 32_000).toBeLessThan(24_000_000);
  expect(Number(readFileSync(join(ran.cwd, 'peak'), 'utf8'))).toBeLessThan(48 + 250);
}, 180_000);

describe('stdin', () => {
  test.each([
    ['huge', '$CLI text < /dev/zero', 2, 'more than 64 MiB'],
    ['huge, beside no prompt, through a pipe', 'head -c 70000000 /dev/zero | $CLI text', 2, 'more than 64 MiB'],
    ['binary', `printf '\\377\\376\\0' | $CLI text`, 2, 'not UTF-8'],
    ['closed', '$CLI text <&-', 2, 'no prompt'],
    ['empty', '$CLI text < /dev/null', 2, 'no prompt'],
  ])('stdin huge, binary, closed: %s', async (_name, script, code, message) => {
    const ran = await bash(script, { url: 'http://127.0.0.1:1' });
    expect([ran.code, ran.stdout]).toEqual([code, '']);
    expect(ran.stderr).toMatch(new RegExp(message));
  });

  test.skipIf(!hasScript && !isFull)('stdin is a terminal: no prompt is exit 2, and it does not hang', async () => {
    const cwd = folder();
    // A terminal with a user: nothing is typed, and its input does not end.
    const ran = await bash(
      `mkfifo keys; exec 3<> keys; script -qec '$CLI text --stdin-timeout 5s; echo code $?' shown <&3 > /dev/null`,
      { url: 'http://127.0.0.1:1' },
      { cwd },
    );
    expect(ran.code).toBe(0);
    const shown = readFileSync(join(cwd, 'shown'), 'utf8');
    expect(shown).toContain('there is no prompt');
    expect(shown).toContain('code 2');
  });
});

describe('unhandled rejection', () => {
  const hook = (code: string) => `--import=data:text/javascript,${encodeURIComponent(code)}`;

  test.each([
    ['a promise', "Promise.reject(new Error('lost ' + process.env.GATEWAY_API_KEY))"],
    ['a timer', "throw new Error('lost ' + process.env.GATEWAY_API_KEY)"],
  ])('of %s is exit 1, one line, the key redacted, the request aborted', async (_name, code) => {
    const server = await serve();
    const later = `import fs from 'node:fs'; const timer = setInterval(() => { if (fs.existsSync('go')) { clearInterval(timer); ${code} } }, 5); timer.unref();`;
    server.reply(() => {
      writeFileSync(join(cwd, 'go'), '');
      return { raw: [new Promise(() => undefined)] };
    });
    const cwd = folder();
    const ran = await bash('$CLI text x --json', server, { cwd, env: { NODE_OPTIONS: hook(later) } });
    expect(ran.code).toBe(1);
    expect(ran.stderr).toMatch(/^gateway-cli: internal: lost \(redacted\)\n {2}this is a bug[^\n]*\n$/);
    expect(JSON.parse(ran.stdout)).toMatchObject({ exitCode: 1, error: { class: 'internal', billed: 'unknown' } });
    await server.requests[0]?.closed;
  });
});
