import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createFolder } from './with-batch.ts';

const bin = join(import.meta.dirname, '../../bin/gateway-cli.js');
const lines = 60_000;
/** One job of each block of the file or so is of this shard. */
const shard = '1/240';

/** Greatest resident memory of a dry run, in KiB. */
async function peakOf(argv: readonly string[], line: (n: number) => string): Promise<number> {
  const { cwd } = createFolder();
  const file = openSync(join(cwd, 'lines'), 'w');
  for (let at = 0; at < lines; at += 1000)
    writeSync(file, Array.from({ length: 1000 }, (_, i) => `${line(at + i)}\n`).join(''));
  closeSync(file);
  const tell = `process.on('exit', () => require('node:fs').writeFileSync('peak', String(process.resourceUsage().maxRSS)))`;
  writeFileSync(join(cwd, 'tell.cjs'), tell);
  const words = ['--require', './tell.cjs', bin, 'batch', ...argv, '-o', 'out', '--offline', '--dry-run'];
  const child = spawn(process.execPath, [...words, '--shard', shard], { cwd, stdio: 'ignore' });
  expect(await once(child, 'exit')).toEqual([0, null]);
  return Number(readFileSync(join(cwd, 'peak'), 'utf8'));
}

test('prompts in memory do not keep the blocks of their file in memory', async () => {
  const prompt = (n: number) => `number ${n} ${'x'.repeat(1000)}\u{1f431}`;
  const asJobs = await peakOf(['lines'], (n) => JSON.stringify({ id: `${n + 1}`, prompt: prompt(n) }));
  const asPrompts = await peakOf(['--prompts', 'lines'], prompt);
  expect(asPrompts / asJobs).toBeLessThan(1.3);
});
