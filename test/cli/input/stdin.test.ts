import { expect, test } from 'vitest';
import { createStdin } from '../../../src/cli/input/stdin.ts';
import { run } from '../../helpers/run.ts';

const dry = ['--offline', '--dry-run'];

test.each([
  ['the lone word -', ['text', '-'], 'a cat', '"a cat"'],
  ['the lone word - of an image', ['image', 'gen', '-'], 'a cat', '"a cat"'],
  ['- among other words', ['image', 'gen', 'a', '-', 'b'], '', '"a - b"'],
  ['white space beside a prompt', ['text', 'hi'], '\n \n', '"hi"'],
])('%s: the prompt is what it should be', async (_, argv, stdin, prompt) => {
  const ran = await run([...argv, ...dry], { stdin });
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(ran.stdout).toContain(`"text": ${prompt}`);
});

test.each([
  ['white space for a prompt', ['text', ' \n'], '', 'the prompt is empty', '"a lighthouse'],
  ['white space on stdin', ['text'], ' \n', 'the prompt is empty', '"a lighthouse'],
  [
    'white space after --prompt-file -',
    ['image', 'gen', '--prompt-file', '-'],
    '\n',
    'the prompt is empty',
    'image gen',
  ],
  [
    'a pipe that no flag names',
    ['image', 'gen'],
    'a cat',
    'there is no prompt',
    'gateway-cli image gen --prompt-file -',
  ],
])('%s is exit 2', async (_, argv, stdin, message, hint) => {
  const ran = await run([...argv, '--offline'], { stdin });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain(message);
  expect(ran.stderr).toContain(hint);
});

test.each([
  ['the prompt', ['text', '-']],
  ['--prompt-file', ['text', '--prompt-file', '-']],
  ['--system-file', ['text', 'hi', '--system-file', '-']],
  ['--schema', ['text', 'hi', '--schema', '-']],
  ['--messages', ['chat', '--messages', '-']],
  ['no flag', ['text']],
])('UTF-16 on stdin for %s is reported with the command that converts it', async (_, argv) => {
  const ran = await run([...argv, ...dry], { stdin: Buffer.from('\uFEFF{"a": 1}', 'utf16le') });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain('stdin is not UTF-8 text: invalid byte at offset 0\n');
  expect(ran.stderr).toContain('it looks like UTF-16; convert it: iconv -f UTF-16 -t UTF-8\n');
});

const env = { GATEWAY_BASE_URL: 'https://127.0.0.1:1', GATEWAY_MODEL: 'm' };

test('a key from stdin keeps stdin from every other use, also if it is not read', async () => {
  const argv = ['text', '--api-key-file', '-', '--dry-run'];
  const taken = await run([...argv, '--prompt-file', '-'], { env, stdin: 'sk-canary' });
  expect(taken).toMatchObject({ code: 2, stdout: '' });
  expect(taken.stderr).toContain('stdin is read by --api-key-file already');
  const shown = await run([...argv, 'hi'], { env, stdin: 'sk-canary' });
  expect(shown.code).toBe(0);
  expect(shown.stdout).not.toContain('canary');
});

test('a key file - is readable beside words', async () => {
  const ran = await run(['text', 'hi', '--api-key-file', '-', '--retries', '0'], { env, stdin: 'sk-canary' });
  expect(ran.stderr).toMatch(/^gateway-cli: not-sent: /);
});

test('a terminal as stdin for - gets a note on how to end it', async () => {
  const ran = await run(['text', '--prompt-file', '-', ...dry], {
    stdin: 'hi',
    kind: 'terminal',
    tty: { stderr: true },
  });
  expect(ran).toMatchObject({ code: 0, stderr: 'reading stdin; end with Ctrl-D\n' });
});

test('a silent pipe as stdin for - is reported after 2 s', async () => {
  const notes: string[] = [];
  let ring = (): void => {};
  let feed: (result: IteratorResult<Uint8Array>) => void = () => {};
  const read = () => ({
    [Symbol.asyncIterator]: () => ({ next: () => new Promise<IteratorResult<Uint8Array>>((done) => (feed = done)) }),
  });
  const stdin = createStdin(
    { stdin: { kind: 'pipe', read } },
    {
      note: (text) => notes.push(text),
      after: (ms, act) => {
        expect(ms).toBe(2000);
        ring = act;
        return () => notes.push('called off');
      },
    },
  );
  const first = stdin.claim('-i')[Symbol.asyncIterator]().next();
  expect(notes).toEqual([]);
  ring();
  feed({ done: true, value: undefined });
  await first;
  expect(notes).toEqual(['waiting for stdin', 'called off']);
});

test('a reader that stops before the first byte calls the note off', async () => {
  const notes: string[] = [];
  const read = () => ({
    [Symbol.asyncIterator]: () => ({ next: () => new Promise<IteratorResult<Uint8Array>>(() => {}) }),
  });
  const stdin = createStdin(
    { stdin: { kind: 'pipe', read } },
    { note: (text) => notes.push(text), after: () => () => notes.push('called off') },
  );
  const source = stdin.claim('-i')[Symbol.asyncIterator]();
  void source.next();
  expect(await source.return?.()).toEqual({ done: true, value: undefined });
  expect(notes).toEqual(['called off']);
});
