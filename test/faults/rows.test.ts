import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tableRows } from '../helpers/readme.ts';

/** Every row of faults.md 2a to 2d, by a few words of its name; a test's title carries them behind `faults 2x: `. */
const rows: Record<string, readonly string[]> = {
  '2a': [
    'DNS fails',
    'refused',
    'TLS bad cert',
    'TLS wrong host',
    'NODE_TLS_REJECT_UNAUTHORIZED',
    'http:// with a key',
    'any 3xx',
    'proxy 407',
    'proxy refused',
    'CONNECT fails',
    'proxy env for loopback',
    'happy eyeballs',
    'connect hangs',
    'headers never come',
    'slow-loris body',
    'RST or FIN mid-body',
    'clean early close',
    'keep-alive race',
    'early 413',
    'malformed',
    'HTTP/2',
    'clock skew',
  ],
  '2b': [
    'huge body',
    'decompression bomb',
    'giant SSE line',
    'endless stream',
    'last event lacks the blank line',
    'UTF-8 split, BOM',
    'event: error after 200',
    'JSON broken',
    'deep JSON',
    'Base64',
    'mime and bytes disagree',
    'blocked',
    'MAX_TOKENS',
    'count differs',
    'error body holds our key',
  ],
  '2c': [
    'escape injection',
    'CI log commands',
    'stdout closed',
    'stdout full',
    'slow reader',
    'ENOSPC',
    'paid result cannot be saved',
    'overwrite',
    'cleanup deletes the wrong file',
    'server-chosen names',
    'output dir missing',
    'SIGINT, SIGTERM, SIGHUP',
    'SIGKILL',
    'stdin huge, binary, closed',
    'stdin is a terminal',
    'unhandled rejection',
  ],
  '2d': [
    'key on argv',
    'key with newline',
    'key in --verbose',
    'config mode',
    'project config or .env in cwd',
    'key bound to an origin',
    'prototype pollution',
    'ReDoS',
    'model or path injection',
  ],
};

const root = join(import.meta.dirname, '..');
const titles = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts') && !name.includes('node_modules') && !name.endsWith('rows.test.ts'))
  .map((name) => readFileSync(join(root, name), 'utf8'))
  .flatMap((source) => source.split('\n').filter((line) => line.includes('faults 2')))
  .join('\n')
  .toLowerCase();

/** The row's words stand in a title right behind its table, or behind another row of the same title. */
function hasTest(table: string, name: string): boolean {
  return titles.split('\n').some((line) => {
    const at = line.indexOf(`faults ${table}: `);
    return at >= 0 && line.indexOf(name.toLowerCase(), at) >= 0;
  });
}

test.each(Object.entries(rows).flatMap(([table, names]) => names.map((name) => [table, name] as const)))(
  'a test is named for row %s: %s',
  (table, name) => {
    // Titles made from a table (`faults 2b: %s`) carry their rows' names in that table.
    const inTable = titles.includes(`faults ${table}: %s`) && namedInTable(name);
    expect(hasTest(table, name) || inTable).toBe(true);
  },
);

const sources = ['replies', 'transport']
  .map((name) => readFileSync(join(root, `faults/${name}.test.ts`), 'utf8'))
  .join('\n');

function namedInTable(name: string): boolean {
  return sources.includes(`'${name}`);
}

test('every promise of the README names a test that is there', () => {
  const promises = tableRows('What it promises');
  expect(promises.length).toBeGreaterThan(5);
  for (const [promise, tests = ''] of promises) {
    const files = [...tests.matchAll(/\]\(([^)]+)\)/g)].map((match) => match[1] ?? '');
    expect([promise, files.length > 0, files.filter((file) => !existsSync(join(root, '..', file)))]).toEqual([
      promise,
      true,
      [],
    ]);
  }
});
