import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { decode } from 'fast-png';
import { expect, test } from 'vitest';
import { readme } from './helpers/readme.ts';
import { scratchFolder } from './helpers/scratch.ts';
import { shell } from './helpers/spawn.ts';

/** Every `$ gateway-cli …` of a console block with the output that the README shows below it. */
const shown = [...readme.matchAll(/```console\n([\s\S]*?)```/g)].flatMap(([, block = '']) =>
  block
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [command = '', ...output] = part.trimEnd().split('\n');
      return { command, output: output.join('\n') };
    }),
);

test('the README shows outputs', () => {
  expect(shown.length).toBeGreaterThan(2);
});

test.each(shown)('$command prints what the README says', async ({ command, output }) => {
  const ran = await shell(command.replaceAll('gateway-cli ', 'node $BIN '));
  expect(ran).toMatchObject({ code: 0, stdout: `${output}\n`, stderr: '' });
});

test('the picture in the README is the one that its command draws', async () => {
  const { command } = shown.find((example) => example.output === 'dusk.png') ?? { command: '' };
  const { cwd } = await shell(command.replaceAll('gateway-cli ', 'node $BIN '));
  // Pixels, not bytes: each Node has a zlib of its own.
  const [drawn, kept] = [join(cwd, 'dusk.png'), join(import.meta.dirname, 'fixtures/dusk.png')].map((file) =>
    decode(readFileSync(file)),
  );
  expect(drawn?.width).toBe(680);
  expect(Buffer.from(drawn?.data ?? []).equals(Buffer.from(kept?.data ?? []))).toBe(true);
});

test('the table of ten rows becomes a table of results whose costs add up to the bill', async () => {
  const [, example = ''] = /```sh\n([^`]*--data[^`]*)```/.exec(readme) ?? [];
  const ran = await shell(example.replaceAll('gateway-cli ', 'node $BIN '));
  expect(ran).toMatchObject({ code: 0, stdout: 'out/results.jsonl\nresults.csv\n' });
  const rows: Record<string, string>[] = parse(readFileSync(join(ran.cwd, 'results.csv')), { columns: true });
  expect(rows.map(({ town, state }) => `${town} ${state}`)).toHaveLength(10);
  expect(rows[4]).toMatchObject({ town: 'Kyoto', state: 'done', 'cost.currency': 'USD' });
  // In parts of ten million: whole numbers are exact.
  const sum = rows.reduce((all, row) => all + BigInt((row['cost.amount'] ?? '').replace('.', '').padEnd(8, '0')), 0n);
  const bill = /^cost: 0\.(\d+) USD$/m.exec(ran.stderr)?.[1] ?? '';
  expect(BigInt(bill.padEnd(7, '0'))).toBe(sum);
});

test('the script and the command that tests it meet two failures, and the picture is made', async () => {
  const bare = (text: string): string => text.replaceAll('gateway-cli ', 'node $BIN ');
  const [, script = ''] = /```sh\n([^`]*case \$code[^`]*)```/.exec(readme) ?? [];
  const [, command = ''] = /`(gateway-cli serve -- [^`]*script\.sh)`/.exec(readme) ?? [];
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'script.sh'), `#!/bin/sh\n${bare(script)}`, { mode: 0o700 });
  const ran = await shell(bare(command), { cwd });
  expect(ran).toMatchObject({ code: 0, stdout: 'hero.png\ndone\n' });
  expect(ran.stderr.match(/^POST \S+ \d+/gm)?.map((line) => line.slice(-3))).toEqual(['503', '503', '200']);
});
