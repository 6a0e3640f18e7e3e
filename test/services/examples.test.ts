import { expect, test } from 'vitest';
import { readme } from '../helpers/readme.ts';
import { run } from '../helpers/run.ts';

/** `["image", "gen", "a lighthouse", …]` */
const words = (line: string): string[] =>
  [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');

/** The commands of a text that draw with the gateway and need nothing but a key. */
const drawing = (text: string): string[] =>
  [...text.matchAll(/gateway-cli (image gen [^`|\n]*)/g)]
    .map(([, line = '']) => line)
    .filter((line) => line.includes('--aspect') && !line.includes('--offline'));

test.each(['GEMINI_API_KEY', 'OPENAI_API_KEY', 'OPENROUTER_API_KEY'])(
  'with only %s, every example of a shape that the README and the help have can be sent',
  async (key) => {
    const help = await Promise.all([['--help'], ['image', 'gen', '--help']].map((argv) => run(argv, { columns: 200 })));
    const examples = [readme, ...help.map(({ stdout }) => stdout)].flatMap(drawing);
    expect(examples.length).toBeGreaterThan(2);
    for (const example of examples)
      expect(await run([...words(example), '--dry-run'], { env: { [key]: 'k' } })).toMatchObject({ code: 0 });
  },
);
