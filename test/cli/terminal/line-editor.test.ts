import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { ReadStream, WriteStream } from 'node:tty';
import { expect, test } from 'vitest';
import { openLineEditor } from '../../../src/cli/terminal/line-editor.ts';

/** An editor whose keys are pressed by `type`; `rawMode` is what the terminal does when it is asked for that. */
async function place({ history = [] as string[], rawMode = () => undefined as void } = {}) {
  const stdin = Object.assign(new PassThrough(), {
    setRawMode() {
      rawMode();
      return stdin;
    },
  });
  const stdout = Object.assign(new PassThrough(), { columns: 80 });
  const screen: string[] = [];
  stdout.setEncoding('utf8').on('data', (text: string) => void screen.push(text));
  let hangups = 0;
  const editor = await openLineEditor(
    {
      stdin: stdin as unknown as ReadStream,
      stdout: stdout as unknown as WriteStream,
      jobs: { stop: () => undefined, onContinue: () => () => undefined },
      hangUp: () => void hangups++,
    },
    { history, complete: async (line) => ({ hits: line === '/he' ? ['/help '] : [], part: line }) },
  );
  return { editor, stdin, screen: () => screen.join(''), hangups: () => hangups };
}

const entry = (text: string) => ({ kind: 'entry', text });

test('text that was typed without a reader is read at once, and shown', async () => {
  const { editor, stdin, screen } = await place();
  const first = editor.read('> ');
  for (const typed of ['one\r', 'two\r', '\u001b[200~a\rb\u001b[201~\r']) stdin.write(typed);
  expect(await first).toEqual(entry('one'));
  expect(await editor.read('> ')).toEqual(entry('two'));
  expect(await editor.read('> ')).toEqual(entry('a\nb'));
  expect(screen()).toContain('> two\n> a\n… b\n');
  editor.close();
});

test('a question takes nothing that was typed before it', async () => {
  const { editor, stdin } = await place();
  const first = editor.read('> ');
  for (const typed of ['one\r', 'y\r', 'half']) stdin.write(typed);
  expect(await first).toEqual(entry('one'));
  const asked = editor.read('sure? ', { isQuestion: true });
  stdin.write('no\r');
  expect(await asked).toEqual(entry('no'));
  expect(await editor.read('> ')).toEqual(entry('y'));
  editor.close();
});

test('answers to questions are not in the history', async () => {
  const { editor, stdin } = await place({ history: ['older'] });
  const asked = editor.read('sure? ', { isQuestion: true });
  stdin.write('yes\r');
  expect(await asked).toEqual(entry('yes'));
  const next = editor.read('> ');
  stdin.write('\u001b[A\r');
  expect(await next).toEqual(entry('older'));
  editor.close();
});

test('a recalled entry has its line breaks and indents, shown on one line', async () => {
  const { editor, stdin, screen } = await place({ history: ['def f():\n  return 1', 'older'] });
  const first = editor.read('> ');
  stdin.write('\u001b[A\u001b[A\r');
  expect(await first).toEqual(entry('def f():\n  return 1'));
  expect(screen()).toContain('def f():\u23ce\ufe0e  return 1');
  const pasted = editor.read('> ');
  stdin.write('\u001b[200~a\r\r  b\u001b[201~\r');
  expect(await pasted).toEqual(entry('a\n\n  b'));
  const again = editor.read('> ');
  stdin.write('\u001b[A and c\r');
  expect(await again).toEqual(entry('a\n\n  b and c'));
  editor.close();
});

test('no entry is in the history twice in a row', async () => {
  const { editor, stdin } = await place({ history: ['older'] });
  for (const typed of ['a\\\r  b', 'a\\\r  b', '  ']) {
    const read = editor.read('> ');
    stdin.write(`${typed}\r`);
    await read;
  }
  const next = editor.read('> ');
  stdin.write('\u001b[A\u001b[A\r');
  expect(await next).toEqual(entry('older'));
  editor.close();
});

test('Ctrl-C drops what was typed; pressed twice without another key it says so', async () => {
  const { editor, stdin } = await place();
  const first = editor.read('> ');
  stdin.write('half\\\rmore\u0003');
  expect(await first).toEqual({ kind: 'interrupt', again: false });
  const second = editor.read('> ');
  stdin.write('\u0003');
  expect(await second).toEqual({ kind: 'interrupt', again: true });
  const third = editor.read('> ');
  stdin.write('whole\r');
  expect(await third).toEqual(entry('whole'));
  editor.close();
});

test('two Ctrl-C that are read at once count as two', async () => {
  const { editor, stdin } = await place();
  const first = editor.read('> ');
  stdin.write('half\u0003\u0003');
  expect(await first).toEqual({ kind: 'interrupt', again: false });
  expect(await editor.read('> ')).toEqual({ kind: 'interrupt', again: true });
  editor.close();
});

test.each([
  ['with a line break at its end', 'one\r\ttwo \\\rthree\r'],
  ['with CRLF', 'one\r\n\ttwo \\\r\nthree\r\n'],
  ['without one, when Enter is pressed', 'one\r\ttwo \\\rthree'],
])('a paste that the terminal does not mark is one entry: %s', async (_case, paste) => {
  const { editor, stdin } = await place();
  const read = editor.read('> ');
  stdin.write(paste);
  if (paste.endsWith('e')) stdin.write('\r');
  expect(await read).toEqual(entry('one\n\ttwo \\\nthree'));
  const next = editor.read('> ');
  stdin.write('next\r');
  expect(await next).toEqual(entry('next'));
  editor.close();
});

test('Enter and Ctrl-D that are read at once are an entry and the end', async () => {
  const { editor, stdin } = await place();
  const first = editor.read('> ');
  stdin.write('last\r\u0004');
  expect(await first).toEqual(entry('last'));
  expect(await editor.read('> ')).toEqual({ kind: 'end' });
});

test('Ctrl-C without a reader goes to the listener, and takes away what was typed', async () => {
  const { editor, stdin, screen } = await place();
  const heard: boolean[] = [];
  editor.onInterrupt((again) => void heard.push(again));
  stdin.write('typed meanwhile\r\u0003\u0003');
  await setImmediate();
  expect(heard).toEqual([false, true]);
  expect(screen()).not.toContain('^C');
  const read = editor.read('> ');
  stdin.write('next\r');
  expect(await read).toEqual(entry('next'));
  editor.close();
});

test('a pasted tab is a tab, a typed one completes', async () => {
  const { editor, stdin } = await place();
  const pasted = editor.read('> ');
  stdin.write('\u001b[200~/he\t\u001b[201~\r');
  expect(await pasted).toEqual(entry('/he\t'));
  editor.close();
});

test('the end of input ends every read', async () => {
  const { editor, stdin } = await place();
  const read = editor.read('> ');
  stdin.write('\u0004');
  expect(await read).toEqual({ kind: 'end' });
  expect(await editor.read('> ')).toEqual({ kind: 'end' });
});

test('a terminal that was closed is reported once, and nothing is thrown', async () => {
  let hasGone = false;
  const { editor, hangups } = await place({
    rawMode: () => {
      if (hasGone) throw Object.assign(new Error('setRawMode EIO'), { code: 'EIO' });
    },
  });
  void editor.read('> ');
  hasGone = true;
  editor.close();
  editor.close();
  expect(hangups()).toBe(1);
});
