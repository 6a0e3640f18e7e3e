import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { isFull } from '../helpers/full.ts';
import type { ScriptedReply } from '../helpers/scripted-server.ts';
import { eventStream, imageReply, messageEvents } from '../helpers/with-server.ts';
import { bash, becomes, folder, namesIn, serve, start } from './program.ts';

const posix = process.platform !== 'win32';
const never = new Promise<never>(() => undefined);
const stream = messageEvents('first words', ' and more').map((event) => eventStream(event));
const picture = { mimeType: 'image/png', data: randomBytes(400_000).toString('base64') };
const pictureText = JSON.stringify(imageReply(picture));

const signals = [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
  ['SIGQUIT', 131],
] as const;

interface Moment {
  argv: string[];
  reply: ScriptedReply;
  /** What stdout has received by then. */
  shown?: string;
  stdout?: string;
}

const moments: Record<string, Moment> = {
  waiting: { argv: ['text', 'x'], reply: { raw: [never] } },
  'mid-stream': {
    argv: ['chat', 'x'],
    reply: { chunks: [stream.slice(0, 3).join(''), never] },
    shown: 'first words',
    stdout: 'first words\n',
  },
  'mid-write': { argv: ['image', 'gen', 'x'], reply: { chunks: [pictureText.slice(0, 300_000), never] } },
  'in a retry sleep': { argv: ['text', 'x'], reply: { status: 500, headers: { 'retry-after': '50' }, body: {} } },
};
const cases = Object.entries(moments).flatMap(([name, moment]) =>
  signals.map(([signal, code]) => [signal, name, code, moment] as const),
);

describe.skipIf(!posix)('signals', () => {
  test.each(cases)('%s %s', async (signal, name, code, moment) => {
    const server = await serve();
    server.reply(moment.reply);
    const { child, cwd, printed, ended } = start([...moment.argv], server);
    await server.received(1);
    if (moment.shown !== undefined) await printed(moment.shown);
    if (name === 'mid-write') await becomes(() => namesIn(cwd).length > 0, ended);
    if (name === 'in a retry sleep') await printed('retry 1');
    child.kill(signal);
    const ran = await ended;
    expect([ran.code, ran.signal, code]).toEqual([null, signal, code]);
    expect(ran.stdout).toBe(moment.stdout ?? '');
    expect(ran.stderr.replace(/^.*; retry 1 of 2 in .*\n/, '')).toBe('');
    // SIGQUIT leaves a core where the system's limit lets it.
    expect(namesIn(cwd).filter((name) => !name.startsWith('core'))).toEqual([]);
    await server.requests[0]?.closed;
    expect(server.requests).toHaveLength(1);
  });

  test('a terminal that closes says so several times: the program ends in order all the same, and frees its session', async () => {
    for (let round = 0; round < (isFull ? 4 : 1); round++) {
      const server = await serve();
      server.reply(moments['mid-stream']?.reply as ScriptedReply);
      const { child, cwd, printed, ended } = start(['chat', '--session', './talk.jsonl', 'x'], server);
      await printed('first words');
      expect(namesIn(cwd)).toContain('talk.jsonl.lock');
      const state = { isOver: false };
      const over = ended.finally(() => (state.isOver = true));
      while (!state.isOver) {
        child.kill('SIGHUP');
        await turn();
      }
      expect(await over).toMatchObject({ signal: 'SIGHUP', stdout: 'first words\n' });
      expect(namesIn(cwd)).not.toContain('talk.jsonl.lock');
    }
  });

  test('SIGINT before the connection sends nothing, and the document says so', async () => {
    const server = await serve();
    const { child, printed, ended } = start(['text', '--json', '-v'], server, { stdio: ['pipe', 'pipe', 'pipe'] });
    await printed('waiting for stdin');
    child.kill('SIGINT');
    const ran = await ended;
    expect(ran.signal).toBe('SIGINT');
    const known = { exitCode: 130, attempts: 0, error: { class: 'interrupted', sent: 'no', billed: 'no' } };
    expect(JSON.parse(ran.stdout)).toMatchObject(known);
    expect(server.connections).toBe(0);
  });

  test.each(signals)('%s is %i in bash, and --json has its document', async (signal, code) => {
    const server = await serve();
    const cwd = folder();
    server.reply({ raw: [never] });
    const running = bash(`bash -c 'echo $$ > pid; exec $CLI text x --json'; echo "code $?" >&2`, server, { cwd });
    await server.received(1);
    process.kill(Number(readFileSync(join(cwd, 'pid'), 'utf8')), signal);
    const ran = await running;
    expect(ran.stderr).toContain(`code ${code}`);
    expect(JSON.parse(ran.stdout)).toMatchObject({
      ok: false,
      exitCode: code,
      error: { sent: 'unknown', billed: 'unknown' },
    });
  });

  test.each([
    ['the first bounds the clean-up', 1, ''],
    // In a process whose own timers never fire, only the second signal can end it.
    ['a second ends it at once', 2, 'globalThis.setTimeout = () => ({ unref() {}, ref() {} });'],
  ])('SIGINT where the reader of stdout is stuck: %s', async (_name, count, before) => {
    const server = await serve();
    const cwd = folder();
    server.reply({ raw: [never] });
    const full = 'mkfifo f; exec 3<> f; head -c 65536 /dev/zero > f';
    const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(before)}` };
    const script = `${full}; bash -c 'echo $$ > pid; exec $CLI text x --json > f'; echo "code $?"`;
    const running = bash(script, server, { cwd, env });
    await server.received(1);
    const pid = Number(readFileSync(join(cwd, 'pid'), 'utf8'));
    onTestFinished(() => endAnyway(pid));
    process.kill(pid, 'SIGINT');
    await server.requests[0]?.closed;
    if (count === 2) process.kill(pid, 'SIGINT');
    expect((await running).stdout).toBe('code 130\n');
  });
});

/** A process that no signal but this one ends is not left behind by a test that fails. */
function endAnyway(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended, as it should.
  }
}
