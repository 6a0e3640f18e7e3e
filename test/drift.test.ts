import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scratchFolder } from './helpers/scratch.ts';

interface Reading {
  listNamedPackages(sources: string): Map<string, string>;
  readChanges(folder: string, since: string): string[];
}
// Scripts have no types.
const path = join(import.meta.dirname, '../.scripts/drift/read.js');
const { listNamedPackages, readChanges } = (await import(path)) as Reading;

test('the packages that sources name are known with the newest version that was read', () => {
  const sources = [
    '  // docs.x.ai; npm @ai-sdk/xai 5.0.12, which has no chat completions any more.',
    '/* groq-sdk 1.6.0, resources/batches; npm @ai-sdk/xai 4.9.20 */',
    '  // openai 6 reads the first key; models.dev @f3fc6922 of 2026-07-02.',
  ].join('\n');
  expect([...listNamedPackages(sources)]).toEqual([
    ['@ai-sdk/xai', '5.0.12'],
    ['groq-sdk', '1.6.0'],
  ]);
});

test('a changelog tells what is gone or goes since the version that was read, once', () => {
  const folder = scratchFolder();
  const changelog = [
    '# Changelog',
    '## [5.1.0](https://example.org/5.1.0) (2026-11-20)',
    '* **api:** deprecate the old search ([#1](https://example.org/1)) ([abc](https://example.org/abc))',
    '* add removable media',
    '## 5.0.10',
    '- feat!: remove Chat Completions API',
    '- feat!: remove Chat Completions API',
    '- the old one is served until 2026-09-27',
    '## 5.0.9',
    '- remove what was gone before',
  ];
  writeFileSync(join(folder, 'CHANGELOG.md'), changelog.join('\n'));
  expect(readChanges(folder, '5.0.9')).toEqual([
    '  5.1.0: **api:** deprecate the old search',
    '  5.0.10: feat!: remove Chat Completions API',
    '  5.0.10: the old one is served until 2026-09-27',
  ]);
  expect(readChanges(scratchFolder(), '5.0.9')).toEqual([]);
});
