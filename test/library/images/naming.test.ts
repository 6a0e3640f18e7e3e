import { expect, test } from 'vitest';
import {
  candidateNames,
  givenNames,
  type OutputPlan,
  planOutput,
  fileWord,
  toSlug,
} from '../../../src/library/images/naming.ts';

const facts = {
  isDirectory: false,
  count: 1,
  prompt: 'A red Cat, sitting!',
  model: 'models/img-2.5/x',
  date: '2026-11-20',
};

function plan(output: string | undefined, more: Partial<typeof facts> = {}): OutputPlan {
  return planOutput(output, { ...facts, ...more });
}

/** The first names to try; those that the user gave have an exclamation mark. */
function names(output: OutputPlan, index: number, extension: string, id?: string): string[] {
  const nameAt = candidateNames(output, { index, extension, ...(id !== undefined && { id }) });
  const found = [0, 1, 2].map(nameAt).filter((name) => name !== undefined);
  return found.map(({ path, given }) => (given ? `${path}!` : path).replaceAll('\\', '/'));
}

test.each<[string, string | undefined, { isDirectory?: boolean; count?: number }, number, string, string[]]>([
  ['by default', undefined, {}, 0, 'png', ['image-1.png', 'image-2.png', 'image-3.png']],
  ['by default, the third', undefined, { count: 3 }, 2, 'jpg', ['image-3.jpg', 'image-4.jpg', 'image-5.jpg']],
  ['in a folder', 'out', { isDirectory: true }, 0, 'png', ['out/image-1.png', 'out/image-2.png', 'out/image-3.png']],
  ['in a folder with a slash', 'out/', {}, 0, 'png', ['out/image-1.png', 'out/image-2.png', 'out/image-3.png']],
  ['in the current folder', '.', { isDirectory: true }, 0, 'png', ['./image-1.png', './image-2.png', './image-3.png']],
  ['in an absolute folder', '/tmp/', {}, 1, 'png', ['/tmp/image-2.png', '/tmp/image-3.png', '/tmp/image-4.png']],
  [
    'in a folder with braces',
    'a{b}',
    { isDirectory: true },
    0,
    'png',
    ['a{b}/image-1.png', 'a{b}/image-2.png', 'a{b}/image-3.png'],
  ],
  ['name.ext', 'cat.png', {}, 0, 'png', ['cat.png!']],
  ['name.ext in capitals', 'CAT.PNG', {}, 0, 'png', ['CAT.PNG!']],
  ['another spelling of the extension', 'cat.jpeg', {}, 0, 'jpg', ['cat.jpeg!']],
  ['another type', 'cat.png', {}, 0, 'jpg', ['cat.jpg', 'cat-2.jpg', 'cat-3.jpg']],
  ['name', 'cat', {}, 0, 'webp', ['cat.webp!']],
  ['a path', 'a/b/cat.png', {}, 0, 'png', ['a/b/cat.png!']],
  ['a path with a dot', './cat.png', {}, 0, 'png', ['./cat.png!']],
  ['a path above', '../cat.png', {}, 0, 'png', ['../cat.png!']],
  ['a version number', 'cat-v1.2', {}, 0, 'png', ['cat-v1.2.png!']],
  ['two extensions', 'cat.tar.gz', {}, 0, 'png', ['cat.tar.png', 'cat.tar-2.png', 'cat.tar-3.png']],
  ['a hidden name', '.cat', {}, 0, 'png', ['./.cat.png!']],
  ['a trailing dot', 'cat.', {}, 0, 'png', ['cat.png!']],
  ['the second of three', 'cat.png', { count: 3 }, 1, 'png', ['cat-2.png!']],
  ['the second of three, of another type', 'cat.png', { count: 3 }, 1, 'jpg', ['cat-2.jpg', 'cat-4.jpg', 'cat-5.jpg']],
  ['more than requested', 'cat.png', {}, 1, 'png', ['cat-2.png', 'cat-3.png', 'cat-4.png']],
  ['a numbered template', 'x-{n}.{ext}', {}, 0, 'png', ['x-1.png', 'x-2.png', 'x-3.png']],
  [
    'a template',
    'out/{slug}_{date}.{ext}',
    {},
    0,
    'png',
    [
      'out/a-red-cat-sitting_2026-11-20.png',
      'out/a-red-cat-sitting_2026-11-20-2.png',
      'out/a-red-cat-sitting_2026-11-20-3.png',
    ],
  ],
  [
    'a template, the second',
    '{slug}.{ext}',
    { count: 2 },
    1,
    'png',
    ['a-red-cat-sitting-2.png', 'a-red-cat-sitting-3.png', 'a-red-cat-sitting-4.png'],
  ],
  [
    'a template without extension',
    '{model}',
    {},
    0,
    'png',
    ['models-img-2.5-x.png', 'models-img-2.5-x-2.png', 'models-img-2.5-x-3.png'],
  ],
  ['a template with another extension', '{n}.gif', {}, 0, 'png', ['1.png', '2.png', '3.png']],
  ['a template with the same extension', '{n}.JPEG', {}, 0, 'jpg', ['1.JPEG', '2.JPEG', '3.JPEG']],
  [
    'a template in a folder',
    '{model}/{date}/{n}.{ext}',
    {},
    0,
    'png',
    ['models-img-2.5-x/2026-11-20/1.png', 'models-img-2.5-x/2026-11-20/2.png', 'models-img-2.5-x/2026-11-20/3.png'],
  ],
  ['an extension inside', '{ext}-{n}', {}, 0, 'png', ['png-1.png', 'png-2.png', 'png-3.png']],
])('names pictures: %s', (_name, output, more, index, extension, expected) => {
  expect(names(plan(output, more), index, extension)).toEqual(expected);
});

test('makes ids of replies safe', () => {
  const output = plan('{id}.{ext}');
  expect(names(output, 0, 'png', '../../etc/passwd')[0]).toBe('etc-passwd.png');
  expect(names(output, 0, 'png', 'CON')[0]).toBe('_CON.png');
  expect(names(output, 0, 'png', '\0\n')[0]).toBe('unknown.png');
  expect(names(output, 0, 'png')[0]).toBe('unknown.png');
  expect(names(output, 0, 'png', '{n}{slug}')[0]).toBe('n-slug.png');
  expect(names(output, 0, 'png', 'x'.repeat(500))[0]).toHaveLength(64);
});

test.each([
  ['{name}.png', 'unknown placeholder {name}', '{slug}'],
  ['{n}/x.png', '{n} can be used only', '{slug}'],
  ['{id}/', '{id} can be used only', '{slug}'],
])('refuses -o %j', (output, message, hint) => {
  expect(() => plan(output)).toThrow(
    expect.objectContaining({
      class: 'usage',
      message: expect.stringContaining(message),
      details: expect.objectContaining({ hint: expect.stringContaining(hint) }),
    }),
  );
});

test('lists the names that the user gave', () => {
  expect(givenNames(plan('cat.png', { count: 3 }))).toEqual(['cat.png', 'cat-2.png', 'cat-3.png']);
  expect(givenNames(plan('cat'), 'webp')).toEqual(['cat.webp']);
  expect([undefined, 'out/', '{n}.png', 'cat'].flatMap((output) => givenNames(plan(output)))).toEqual([]);
});

test.each([
  ['words', 'A red Cat,  sitting!', 'a-red-cat-sitting'],
  ['other scripts', 'Eine Katze über Zürich 猫 кот', 'eine-katze-über-zürich-猫-кот'],
  ['combining marks', 'ca\u0301t', 'cát'],
  ['paths', '../../etc/passwd', 'etc-passwd'],
  ['nothing usable', '!!! \0 ...', 'image'],
  ['nothing', '', 'image'],
  ['a device of Windows', 'NUL', '_nul'],
  ['a port', 'com1', '_com1'],
  ['a name like a device', 'console', 'console'],
  ['emoji', '🐱 cat 🐱', 'cat'],
  ['a flag', '--force', 'force'],
  ['a long prompt', `${'word '.repeat(1000)}`, 'word-word-word-word-word-word-word-word-word-word-word-word'],
  ['long foreign words', '猫'.repeat(100), '猫'.repeat(20)],
  ['a cut at a dash', `${'x'.repeat(59)} y`, 'x'.repeat(59)],
])('makes a name from a prompt: %s', (_name, prompt, expected) => {
  expect(toSlug(prompt)).toBe(expected);
  expect(Buffer.byteLength(toSlug(prompt))).toBeLessThanOrEqual(61);
});

test.each([
  ['models/gemini-2.5-flash', 'models-gemini-2.5-flash'],
  ['..', 'unknown'],
  ['.hidden.', 'hidden'],
  ['aux.1', '_aux.1'],
  ['a b\u202ec', 'a-b-c'],
  ['Größe 猫.кот', 'Größe-猫.кот'],
  ['ca\u0301t', 'cát'],
])('makes a word from %j', (text, expected) => {
  expect(fileWord(text)).toBe(expected);
});
