import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openFilesIn, tellsOpenFiles } from '../helpers/open-files.ts';
import { scratchFolder } from '../helpers/scratch.ts';
import { createFile, takeOver } from '../../src/files/lock.ts';

const isDead = (text: string): boolean => text.startsWith('dead');

test('one of a hundred concurrent attempts takes over a dead lock, and leaves only the lock', async () => {
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

test('a lock that is renewed during the claim is not replaced', async () => {
  const path = join(scratchFolder(), 'lock');
  writeFileSync(path, 'dead 0');
  const isStillDead = async (): Promise<boolean> => readdirSync(join(path, '..')).length < 2;
  expect(await takeOver({ path, dead: 'dead 0', own: 'alive 2', isDead, isStillDead })).toBe(false);
  expect(readFileSync(path, 'utf8')).toBe('dead 0');
  expect(readdirSync(join(path, '..'))).toEqual(['lock']);
});

test('a lock that changed meanwhile is not replaced', async () => {
  const path = join(scratchFolder(), 'lock');
  writeFileSync(path, 'alive 1');
  expect(await takeOver({ path, dead: 'dead 0', own: 'alive 2', isDead })).toBe(false);
  expect(readFileSync(path, 'utf8')).toBe('alive 1');
  expect(readdirSync(join(path, '..'))).toEqual(['lock']);
});

test.each([
  ['dead 1', true, ['lock']],
  ['alive 1', false, ['lock', 'lock.claim']],
])('a claim of %s is taken over: %s', async (holder, won, left) => {
  const folder = scratchFolder();
  const path = join(folder, 'lock');
  writeFileSync(path, 'dead 0');
  const claim = `${path}.${createHash('sha256').update('dead 0').digest('hex').slice(0, 16)}`;
  writeFileSync(claim, holder);
  expect(await takeOver({ path, dead: 'dead 0', own: 'alive 2', isDead })).toBe(won);
  expect(readFileSync(path, 'utf8')).toBe(won ? 'alive 2' : 'dead 0');
  expect(readdirSync(folder).map((name) => (join(folder, name) === claim ? 'lock.claim' : name))).toEqual(left);
});

test.skipIf(process.platform === 'win32')(
  'a claim that is released while it is read goes to the next process',
  async () => {
    const path = join(scratchFolder(), 'lock');
    writeFileSync(path, 'dead 0');
    const claim = `${path}.${createHash('sha256').update('dead 0').digest('hex').slice(0, 16)}`;
    // Such a link exists and cannot be read, like a file that is removed between the two steps.
    symlinkSync('nowhere', claim);
    setImmediate(() => unlinkSync(claim));
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

test('a lock appears with its whole text', async () => {
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
