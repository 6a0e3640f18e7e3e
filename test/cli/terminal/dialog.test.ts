import { PassThrough } from 'node:stream';
import type { ReadStream, WriteStream } from 'node:tty';
import { expect, test } from 'vitest';
import { openDialog } from '../../../src/cli/terminal/dialog.ts';

/** A dialog whose keys are pressed by `type`, and everything that was on its screen. */
async function place() {
  const stdin = Object.assign(new PassThrough(), { setRawMode: () => stdin });
  const stderr = Object.assign(new PassThrough(), { columns: 80 });
  const screen: string[] = [];
  stderr.setEncoding('utf8').on('data', (text: string) => void screen.push(text));
  let interrupts = 0;
  const dialog = await openDialog({
    stdin: stdin as unknown as ReadStream,
    stderr: stderr as unknown as WriteStream,
    jobs: { stop: () => undefined, onContinue: () => () => undefined },
    interrupt: () => void interrupts++,
  });
  return { dialog, stdin, screen: () => screen.join(''), interrupts: () => interrupts };
}

test('a dialog asks on stderr and returns the line; a hidden line is not echoed', async () => {
  const { dialog, stdin, screen } = await place();
  const name = dialog.ask('name: ');
  stdin.write('work\r');
  expect(await name).toBe('work');
  expect(screen()).toContain('work');
  const key = dialog.ask('key: ', { hidden: true });
  stdin.write('sk-canary\r');
  expect(await key).toBe('sk-canary');
  expect(screen()).toMatch(/key: \n$/);
  expect(screen()).not.toContain('canary');
  dialog.close();
});

test('lines that were pasted at once answer one question each', async () => {
  const { dialog, stdin, screen } = await place();
  const first = dialog.ask('one: ');
  stdin.write('a\rb\rc\r');
  expect(await first).toBe('a');
  expect(await dialog.ask('two: ')).toBe('b');
  expect(await dialog.ask('three: ')).toBe('c');
  expect(screen()).toMatch(/two: \nthree: \n$/);
  dialog.close();
});

test('the end of input refuses the question, and each one after it', async () => {
  const { dialog, stdin } = await place();
  const asked = dialog.ask('name: ');
  stdin.write('\u0004');
  await expect(asked).rejects.toMatchObject({ class: 'usage', message: expect.stringContaining('the input ended') });
  await expect(dialog.ask('again: ')).rejects.toMatchObject({ class: 'usage' });
});

test('Ctrl-C ends the question as a signal does, and raises it', async () => {
  const { dialog, stdin, screen, interrupts } = await place();
  const asked = dialog.ask('key: ', { hidden: true });
  stdin.write('\u0003');
  await expect(asked).rejects.toMatchObject({ class: 'interrupted' });
  expect(interrupts()).toBe(1);
  expect(screen()).toBe('key: \n');
});
