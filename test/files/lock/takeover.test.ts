import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createFile, takeOver } from '../../../src/files/lock/takeover.ts';
import { openFilesIn, tellsOpenFiles } from '../../helpers/open-files.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

const isDead = (text: string): boolean => text.startsWith('dead');

test('of a hundred that try at once, one takes a dead lock over, and nothing else is left', async () => {
  for (let round = 0; round < 20; round++) {
    const path = join(scratchFolder(), 'lock');
    writeFileSync(path, 'dead 0');
    const tries = Array.from({ length: 100 }, (_, n) => takeOver({ path, dead: 'dead 0', own: `alive ${n}`, isDead }));
    const taken = (await Promise.all(tries)).flatMap((won, n) => (won ? [`alive ${n}`] : []));
    expect(taken).toHaveLength(1);
    expect(readFileSync(path, 'utf8')).toBe(taken[0]);
    expect(readdirSync(join(path, '..'))).toEqual(['lock']);
  }
});

test('a lock that comes to life while the right to it is taken is left alone', async () => {
  const path = join(scratchFolder(), 'lock');
  writeFileSync(path, 'dead 0');
  const isStillDead = async (): Promise<boolean> => readdirSync(join(path, '..')).length < 2;
  expect(await takeOver({ path, dead: 'dead 0', own: 'alive 2', isDead, isStillDead })).toBe(false);
  expect(readFileSync(path, 'utf8')).toBe('dead 0');
  expect(readdirSync(join(path, '..'))).toEqual(['lock']);
});

test('a lock that is another by now is left alone', async () => {
  const path = join(scratchFolder(), 'lock');
  writeFileSync(path, 'alive 1');
  expect(await takeOver({ path, dead: 'dead 0', own: 'alive 2', isDead })).toBe(false);
  expect(readFileSync(path, 'utf8')).toBe('alive 1');
  expect(readdirSync(join(path, '..'))).toEqual(['lock']);
});

test.each([
  ['dead 1', true, ['lock']],
  ['alive 1', false, ['lock', 'lock.right']],
])('a right that %s holds: the next one takes over: %s', async (holder, won, left) => {
  const folder = scratchFolder();
  const path = join(folder, 'lock');
  writeFileSync(path, 'dead 0');
  const right = `${path}.${createHash('sha256').update('dead 0').digest('hex').slice(0, 16)}`;
  writeFileSync(right, holder);
  expect(await takeOver({ path, dead: 'dead 0', own: 'alive 2', isDead })).toBe(won);
  expect(readFileSync(path, 'utf8')).toBe(won ? 'alive 2' : 'dead 0');
  expect(readdirSync(folder).map((name) => (join(folder, name) === right ? 'lock.right' : name))).toEqual(left);
});

test.skipIf(process.platform === 'win32')(
  'a right that is given back while it is asked for goes to the next',
  async () => {
    const path = join(scratchFolder(), 'lock');
    writeFileSync(path, 'dead 0');
    const right = `${path}.${createHash('sha256').update('dead 0').digest('hex').slice(0, 16)}`;
    // Such a link is there and cannot be read: so is a file that goes between the two looks.
    symlinkSync('nowhere', right);
    setImmediate(() => unlinkSync(right));
    expect(await takeOver({ path, dead: 'dead 0', own: 'alive 2', isDead })).toBe(true);
    expect(readdirSync(join(path, '..'))).toEqual(['lock']);
  },
);

test.skipIf(!tellsOpenFiles)('leaves no file open', async () => {
  const folder = scratchFolder();
  const path = join(folder, 'lock');
  writeFileSync(path, 'dead 0');
  await takeOver({ path, dead: 'dead 0', own: 'alive 2', isDead });
  expect(openFilesIn(folder)).toEqual([]);
});

test('a lock is there whole or not at all: who dies while writing it leaves none', async () => {
  const folder = scratchFolder();
  const seen = new Set<string>();
  for (let round = 0; round < 50; round++) {
    const path = join(folder, `lock-${round}`);
    const state = { isMade: false };
    const making = createFile(path, 'whole').finally(() => (state.isMade = true));
    while (!state.isMade) {
      if (existsSync(path)) seen.add(readFileSync(path, 'utf8'));
      await turn();
    }
    expect(await making).toBe(true);
    expect(await createFile(path, 'another')).toBe(false);
    seen.add(readFileSync(path, 'utf8'));
  }
  expect([...seen]).toEqual(['whole']);
  expect(readdirSync(folder)).toHaveLength(50);
});
