import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'vitest';
import { createEvent } from './event.ts';
import { createWatch } from '../helpers/loopback.ts';
import { test } from './with-batch.ts';

/** A stdin that is written to while the program runs; it counts how many pieces were read. */
function openStdin() {
  const pieces: Buffer[] = [];
  const state = { read: 0, isOver: false, wake: (): void => undefined };
  return {
    get read() {
      return state.read;
    },
    write(text: string) {
      pieces.push(Buffer.from(text));
      state.wake();
    },
    end() {
      state.isOver = true;
      state.wake();
    },
    async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
      for (;;) {
        const piece = pieces.shift();
        if (piece) {
          state.read++;
          yield piece;
        } else if (state.isOver) return;
        else await new Promise<void>((resolve) => (state.wake = resolve));
      }
    },
  };
}

/** The lines of stdout while they come. */
function openStdout() {
  const lines: Record<string, unknown>[] = [];
  const watch = createWatch();
  return {
    lines,
    onStdout(text: string) {
      lines.push(JSON.parse(text) as Record<string, unknown>);
      watch.look();
    },
    printed: (count: number) => watch.until(() => lines.length >= count),
  };
}

const line = (id: string, more: object = {}) => `${JSON.stringify({ id, prompt: id, ...more })}\n`;
const ids = (stdout: string) => linesOf(stdout).map(({ id }) => id);
const linesOf = (stdout: string) =>
  stdout
    .split('\n')
    .filter((text) => text !== '')
    .map((text) => JSON.parse(text) as Record<string, unknown> & { error?: { class: string; message: string } });
const args = ['-', '--stream'];

test('answers each job as soon as it can, while stdin stays open', async ({ batch }) => {
  const [stdin, out] = [openStdin(), openStdout()];
  const ran = batch(args, { stdin, onStdout: out.onStdout });
  for (const [at, id] of ['a', 'b', 'c'].entries()) {
    stdin.write(line(id));
    await out.printed(at + 1);
    expect(out.lines.at(-1)).toMatchObject({ id, ok: true, text: `answer to ${id}` });
  }
  stdin.end();
  expect(await ran).toMatchObject({ code: 0, stderr: '3 done\n' });
});

test('takes lines in any pieces; ignores empty ones and CRLF, and needs no last line feed', async ({
  batch,
  server,
}) => {
  const text = `\r\n${line('a')}\n  \r\n${line('b').replace('\n', '\r\n')}{"prompt":"ü"}`;
  const { code, stdout } = await batch(args, {
    stdin: (async function* () {
      for (const byte of Buffer.from(text)) yield Buffer.from([byte]);
    })(),
  });
  expect(code).toBe(0);
  expect(ids(stdout).toSorted()).toEqual(['6', 'a', 'b']);
  expect(server.counts).toEqual(
    new Map([
      ['a', 1],
      ['b', 1],
      ['ü', 1],
    ]),
  );
});

test('a line that is not a job has a result with its error, and the others go on', async ({ batch }) => {
  const stdin = `${line('a', { colour: 'red' })}{"id":7,"prompt":\n${line('c')}${line('d', { command: 'image gen' })}`;
  const { code, stdout, stderr } = await batch(args, { stdin });
  expect(code).toBe(13);
  const found = Object.fromEntries(linesOf(stdout).map(({ id, ok, error }) => [id, ok || error?.message]));
  expect(found).toEqual({
    a: 'stdin:1: unknown job key "colour" for text',
    2: 'stdin:2: not JSON: a value is expected at column 18',
    c: true,
    d: 'stdin:4: an image needs a folder',
  });
  expect(stderr).toContain('1 done, 3 not valid');
});

test('lines that are no jobs are to be corrected, for nothing else sends them again', async ({ batch, server }) => {
  server.answer = (prompt) => (prompt === 'b' ? { status: 400, body: {} } : undefined);
  const bad = '{"prompt":\n';
  const alone = await batch([...args, '-o', 'out'], { stdin: line('a') + bad });
  expect([alone.code, alone.stderr]).toEqual([
    13,
    expect.stringContaining('1 done, 1 not valid\n  1 not valid: correct these lines, and send them again\n'),
  ]);
  expect(alone.stderr).not.toContain('--retry');
  const both = await batch([...args, '-o', 'out'], { stdin: line('b') + bad });
  expect(both.stderr).toContain(
    '1 failed, 1 not valid\n  1 failed: gateway-cli batch retry out < <file>\n  1 not valid: correct these lines',
  );
});

test('a row of a stream that is still to be made again is told with the command that does it', async ({
  batch,
  folder,
  server,
}) => {
  await batch([...args, '-o', 'out'], { stdin: line('a') });
  folder.write('lines.jsonl', line('a'));
  server.answer = () => ({ status: 400 });
  await batch(['redo', 'out', 'a', 'lines.jsonl']);
  const { code, stderr } = await batch([...args, '-o', 'out'], { stdin: line('a') });
  expect([code, stderr]).toEqual([
    13,
    expect.stringContaining('1 done (1 to make again)\n  1 to make again: gateway-cli batch redo out a <file>\n'),
  ]);
  expect(stderr).toContain('the earlier answer of a stays the result');
});

test('a failed request is the result only of its own job', async ({ batch, server }) => {
  server.answer = (prompt) => (prompt === 'a' ? { status: 400, body: { error: { message: 'no' } } } : undefined);
  const { code, stdout } = await batch(args, { stdin: line('a') + line('b') });
  expect(code).toBe(13);
  expect(
    linesOf(stdout)
      .map(({ id, ok }) => [id, ok])
      .toSorted(),
  ).toEqual([
    ['a', false],
    ['b', true],
  ]);
});

test('prints results as they end', async ({ batch, server }) => {
  const [b, c] = [createEvent(), createEvent()];
  const waits: Record<string, Promise<unknown>> = { c: b.happened, a: c.happened };
  server.answer = (prompt) => ({ after: waits[prompt] ?? server.received(3) });
  let printed = '';
  const onStdout = (text: string): void => {
    printed += text;
    if (printed.includes('"id":"b"')) b.happen();
    if (printed.includes('"id":"c"')) c.happen();
  };
  const { code, stdout } = await batch(args, { stdin: line('a') + line('b') + line('c'), onStdout });
  expect([code, ids(stdout)]).toEqual([0, ['b', 'c', 'a']]);
});

test('reads no further than it can send', async ({ batch, server }) => {
  const { happened, happen } = createEvent();
  server.answer = () => ({ after: happened });
  const stdin = openStdin();
  for (let at = 0; at < 50; at++) stdin.write(line(`j${at}`));
  stdin.end();
  const ran = batch([...args, '--concurrency', '3'], { stdin });
  await server.received(3);
  for (let turns = 0; turns < 20; turns++) await turn();
  expect([stdin.read, server.bodies.length]).toEqual([3, 3]);
  happen();
  expect(ids((await ran).stdout)).toHaveLength(50);
});

test('sends nothing more while the reader of stdout takes nothing', async ({ batch, server }) => {
  const { happened, happen } = createEvent();
  const stdin = Array.from({ length: 20 }, (_, at) => line(`j${at}`)).join('');
  const ran = batch([...args, '--concurrency', '2'], { stdin, onStdout: () => happened });
  await server.received(2);
  for (let turns = 0; turns < 50; turns++) await turn();
  expect(server.bodies).toHaveLength(2);
  happen();
  expect(ids((await ran).stdout)).toHaveLength(20);
});

test('a job that an earlier run answered is printed with the variables that it has now', async ({ batch, server }) => {
  const job = (vars: object) => line('a', { prompt: 'to {{city}}', vars: { city: 'Rome', ...vars } });
  await batch([...args, '-o', 'out'], { stdin: job({ sku: 1 }) });
  const again = await batch([...args, '-o', 'out'], { stdin: job({ sku: 2 }) });
  expect(linesOf(again.stdout)).toMatchObject([{ id: 'a', ok: true, vars: { city: 'Rome', sku: 2 } }]);
  expect(Object.fromEntries(server.counts)).toEqual({ 'to Rome': 1 });
});

test('with a folder, a job that an earlier run answered is printed and not sent again', async ({
  batch,
  server,
  folder,
}) => {
  const jobs = line('a') + line('b');
  server.answer = (prompt) => (prompt === 'b' ? { status: 400, body: { error: { message: 'no' } } } : undefined);
  const first = await batch([...args, '-o', 'out'], { stdin: jobs });
  expect([first.code, ids(first.stdout).toSorted()]).toEqual([13, ['a', 'b']]);
  server.answer = () => undefined;
  const again = await batch([...args, '-o', 'out'], { stdin: jobs + line('a') + line('c') });
  const of = (wanted: string) => linesOf(again.stdout).filter(({ id }) => id === wanted);
  expect(
    of('a')
      .map(({ text, error }) => text ?? error?.message)
      .toSorted(),
  ).toEqual(['answer to a', 'stdin:3: the id "a" asks the same before']);
  expect(of('b')).toMatchObject([{ ok: false, error: { message: expect.stringContaining('no') as string } }]);
  expect(of('c')).toMatchObject([{ ok: true }]);
  expect(Object.fromEntries(server.counts)).toEqual({ a: 1, b: 1, c: 1 });
  const last = await batch([...args, '-o', 'out', '--retry', 'failed'], { stdin: jobs + line('c', { prompt: 'x' }) });
  expect(
    linesOf(last.stdout)
      .map(({ id, ok, exitCode }) => [id, ok, exitCode])
      .toSorted(),
  ).toEqual([
    ['a', true, 0],
    ['b', true, 0],
    ['c', true, 0],
  ]);
  expect(Object.fromEntries(server.counts)).toEqual({ a: 1, b: 2, c: 1, x: 1 });
  expect(
    folder
      .lines('results.jsonl')
      .map(({ id, ok }) => [id, ok])
      .toSorted(),
  ).toEqual([
    ['a', true],
    ['b', true],
    ['c', true],
    ['c', true],
  ]);
});

test('--max-cost ends a batch from a stream before a request that could go over it', async ({ batch, folder }) => {
  folder.write('config.json', JSON.stringify({ prices: { m: { input: '1000000', output: '0.000001' } } }));
  const env = { GATEWAY_CONFIG: `${folder.cwd}/config.json` };
  const stdin = line('a') + line('b') + line('c');
  const { code, stdout, stderr } = await batch([...args, '--max-cost', '1', '--concurrency', '1'], { stdin, env });
  expect([code, ids(stdout)]).toEqual([13, ['a']]);
  expect(stderr).toContain('stopped before a request that could pass --max-cost 1');
});

test.for([
  [['jobs.jsonl', '--stream'], '--stream takes its jobs from stdin'],
  [['-', '--stream', '--json'], '--stream prints JSON Lines already'],
  [['-', '--stream', '--shard', '1/2'], '--stream cannot be combined with --shard'],
  [['-', '--stream', '--dry-run'], '--stream cannot be combined with --dry-run'],
  [['-', '--stream', '--retry', 'unknown'], 'without a folder, --stream knows of no earlier run'],
] as const)('%s is refused', async ([argv, message], { batch, server }) => {
  const { code, stderr } = await batch([...argv], { stdin: line('a') });
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  expect(server.connections).toBe(0);
});

test('a table in the folder of a stream has its own rows: nothing was edited', async ({ server, batch }) => {
  await batch([...args, '-o', 'out'], { stdin: line('a') });
  expect(await batch(['again', 'out', '-'], { stdin: line('b') })).toMatchObject({ code: 0 });
  expect([...server.counts.values()]).toEqual([1, 1]);
});
