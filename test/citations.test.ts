import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');

/** Paths below folders of the repository, without what is installed or built there. */
function filesIn(folders: readonly string[], ending: RegExp): string[] {
  const below = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  );
  return below.filter((path) => ending.test(path) && !path.includes('node_modules'));
}

const documents = ['README.md', ...filesIn(['src', 'test', '.github'], /\.md$/)];
const sources = filesIn(['src', 'test', 'bin', '.scripts'], /\.(ts|js|sh|ya?ml)$/);

/** Comments, and the titles of tests. A `//` after a colon is an address. */
const prose = /\/\*[\s\S]*?\*\/|(?<!:)\/\/.*|^#.*|\b(?:test|describe)(?:\.\w+)*\(\s*['"`].*/gm;

/** Markdown files that a text cites and that are not in the repository. */
function absent(text: string): string[] {
  const cited = [...text.matchAll(prose)].flatMap(([part]) => part.match(/[\w./-]+\.md\b/g) ?? []);
  return cited.filter((name) => !documents.some((path) => `/${path}`.endsWith(`/${name.replace(/^[./]+/, '')}`)));
}

test('comments and titles cite only documents of this repository', () => {
  const wrong = sources.flatMap((path) =>
    absent(readFileSync(join(root, path), 'utf8')).map((name) => `${path}: ${name}`),
  );
  expect(wrong).toEqual([]);
});

test('titles of tests cite a section or a deviation of the page of formats, and of no other page', () => {
  const titled = sources.filter((path) => /\(wire \d/.test(readFileSync(join(root, path), 'utf8')));
  expect(titled.filter((path) => !path.endsWith('citations.test.ts'))).toEqual([]);
});

test('every source file that a page for contributors names is there', () => {
  const pages = [
    'src/README.md',
    'src/cli/README.md',
    'src/gateway/README.md',
    'src/library/README.md',
    'src/batch/README.md',
    'src/library/formats/README.md',
    'test/README.md',
    '.github/CONTRIBUTING.md',
  ];
  const files = filesIn(['src', 'test', 'bin', '.scripts'], /\.(ts|js)$/).map(
    (path) => `/${path.replaceAll('\\', '/')}`,
  );
  const named = pages.flatMap((page) => readFileSync(join(root, page), 'utf8').match(/`[\w./-]+\.(?:ts|js)`/g) ?? []);
  expect(named.length).toBeGreaterThan(100);
  expect(named.filter((name) => !files.some((path) => path.endsWith(`/${name.replaceAll('`', '')}`)))).toEqual([]);
});
