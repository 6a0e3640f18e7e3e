import { expect, test } from 'vitest';
import type { Output } from '../../src/terminal/io.ts';
import { writePaged } from '../../src/terminal/pager.ts';

const long = 'line\n'.repeat(24);

/** Where the text went: to the pager of this command, or to stdout. */
async function shown(text: string, env: Record<string, string>, more: Partial<Output> = {}): Promise<string> {
  let place = '';
  const write = async (): Promise<void> => void (place = 'stdout');
  const stdout: Output = { isTTY: true, columns: 80, rows: 24, write, ...more };
  const runPager = async (pager: string): Promise<boolean> => {
    place = pager;
    return true;
  };
  await writePaged(text, { stdout, env, runPager });
  return place;
}

test.each([
  ['a long text', long, { PAGER: 'less -R' }, {}, 'less -R'],
  ['one that fits', 'line\n'.repeat(23), { PAGER: 'less' }, {}, 'stdout'],
  ['one that does not fit a low terminal', 'a\nb\nc\n', { PAGER: 'less' }, { rows: 3 }, 'less'],
  ['without a pager', long, {}, {}, 'stdout'],
  ['with an empty one', long, { PAGER: ' ' }, {}, 'stdout'],
  ['in CI', long, { PAGER: 'less', CI: 'true' }, {}, 'stdout'],
  ['in GitHub Actions', long, { PAGER: 'less', GITHUB_ACTIONS: 'true' }, {}, 'stdout'],
  ['on a dumb terminal', long, { PAGER: 'less', TERM: 'dumb' }, {}, 'stdout'],
])('%s goes where it is read', async (_, text, env, more, place) => {
  expect(await shown(text, env, more)).toBe(place);
});
