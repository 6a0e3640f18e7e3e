import { expect, test } from 'vitest';
import { run } from '../../helpers/run.ts';

test.each([[['text', 'hi']], [['chat', 'hi']], [['image', 'gen', 'hi', '--size', '512']]])(
  '%j works offline with the real names of the headers',
  async (argv) => {
    const ran = await run([...argv, '--offline', '--header-names', 'x-goog-api-key,anthropic-version']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
  },
);

test('-n 3 draws three pictures, the same three each time; --seed makes them equal', async () => {
  const hashes = async (...more: string[]): Promise<string[]> => {
    const ran = await run(['image', 'gen', 'a cat', '--size', '512', '-n', '3', '--offline', '--json', ...more]);
    const { images } = JSON.parse(ran.stdout) as { images: { sha256: string }[] };
    return images.map(({ sha256 }) => sha256).sort();
  };
  const drawn = await hashes();
  expect(new Set(drawn).size).toBe(3);
  expect(await hashes()).toEqual(drawn);
  expect(new Set(await hashes('--seed', '7')).size).toBe(1);
});

test('a foreign model is answered by the local one, with a word about it', async () => {
  const ran = await run(['text', 'hi', '--offline', '-m', 'some-model']);
  expect(ran.code).toBe(0);
  expect(ran.stderr).toContain('local-text');
});
