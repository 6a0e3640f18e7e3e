import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run } from '../../helpers/run.ts';
import { scratchFolder } from '../../helpers/scratch.ts';
import { hostile, makeGallery } from './hostile-batch.ts';

test('xmllint reads the JUnit report of hostile jobs', async () => {
  const cwd = scratchFolder();
  await makeGallery(cwd);
  const { stdout, code } = await run(['batch', 'export', 'out', '--format', 'junit'], { cwd });
  expect(code).toBe(0);
  writeFileSync(join(cwd, 'junit.xml'), stdout);
  const ask = (path: string): string =>
    execFileSync('xmllint', ['--xpath', path, join(cwd, 'junit.xml')])
      .toString()
      .trimEnd();
  expect(ask('count(/testsuites/testsuite/testcase)')).toBe(String(hostile.length + 2));
  expect(ask('string(/testsuites/testsuite/@failures)')).toBe('1');
  expect(ask('string(//testcase[failure]/@name)')).toBe('blocked');
  expect(ask('string(//failure/@message)')).toBe(ask('string(//failure)'));
});
