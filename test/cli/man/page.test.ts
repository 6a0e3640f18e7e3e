import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tree } from '../../../src/cli/command-tree.ts';
import { topics } from '../../../src/cli/help/help.ts';

const root = join(import.meta.dirname, '../../..');
const { man } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { man: string };
const page = readFileSync(join(root, man), 'utf8');

test('the man page has only requests that were meant', () => {
  const stray = page.split('\n').filter((line) => /^[.']/.test(line) && !/^\.(TH|SH|TP|PP|E[XE]|ad|nr)\b/.test(line));
  expect(stray).toEqual([]);
});

test('the man page names each command that help shows, and each topic', () => {
  const names = Object.keys(tree).filter((name) => !tree[name]?.hidden);
  for (const name of [...names, ...topics]) expect(page).toContain(`\n\\fB${name.replaceAll('-', '\\-')}\\fR\n`);
});

test('the man page has the exit codes and the variables', () => {
  expect(page).toMatch(/^\.SH EXIT STATUS\n[^]*not\\-sent/m);
  expect(page).toMatch(/^\.SH ENVIRONMENT AND FILES\n[^]*GATEWAY_BASE_URL/m);
});

test('the topics of the man page have bold headings and code, and no marks of Markdown', () => {
  expect(page).toContain('\n\\fBRetries\\fR\n');
  expect(page).toContain('\\fBerror.billed\\fR');
  expect(page).toContain('\\fIBilled\\fR');
  expect(page).not.toMatch(/^##|u001B|\\\(ga\S[^\n]*\\\(ga/m);
});
