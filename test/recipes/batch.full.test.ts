import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { lacks } from '../helpers/screen.ts';
import { shell } from '../helpers/spawn.ts';
import { blockBelow, readRecipe, recipes, workspace } from './recipe.ts';

const recipe = (name: string) => join(recipes, name);
const jobs = (count: number) =>
  Array.from({ length: count }, (_, i) => `${JSON.stringify({ id: `job-${i}`, prompt: `number ${i}` })}\n`).join('');

/** A workspace with so many jobs in it. */
function place(count: number, env: Record<string, string> = {}) {
  const at = workspace(env);
  writeFileSync(join(at.cwd, 'jobs.jsonl'), jobs(count));
  return at;
}

function summaryIn(cwd: string, outdir = 'out'): Record<string, unknown> {
  return JSON.parse(readFileSync(join(cwd, outdir, 'summary.json'), 'utf8')) as Record<string, unknown>;
}

function idsIn(cwd: string): string[] {
  const lines = readFileSync(join(cwd, 'out/results.jsonl'), 'utf8').trimEnd().split('\n');
  return lines.map((line) => (JSON.parse(line) as { id: string }).id).toSorted();
}

const allIds = (count: number) => Array.from({ length: count }, (_, i) => `job-${i}`).toSorted();

describe('a shell loop over --shard', () => {
  test('runs all jobs and joins them', async () => {
    const at = place(21);
    const { code, stdout } = await shell(`${recipe('batch-shell.sh')} jobs.jsonl out`, at);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${join('out', 'results.jsonl')}\n` });
    expect(idsIn(at.cwd)).toEqual(allIds(21));
  });

  test('a shard with failures is joined all the same, and the code is 13', async () => {
    const at = place(8);
    writeFileSync(join(at.cwd, 'jobs.jsonl'), `${jobs(8)}{"id":"bad","prompt":"x","model":"fault-400"}\n`);
    const { code } = await shell(`${recipe('batch-shell.sh')} jobs.jsonl out --retries 0`, at);
    expect(code).toBe(13);
    expect(summaryIn(at.cwd)).toMatchObject({ jobs: 9, done: 8, failed: 1 });
  });

  test('a mistake in the jobs ends it with its code', async () => {
    const at = place(1);
    writeFileSync(join(at.cwd, 'jobs.jsonl'), '{"promt":"x"}\n');
    expect((await shell(`${recipe('batch-shell.sh')} jobs.jsonl out`, at)).code).toBe(2);
  });
});

describe('the matrix of GitHub Actions', () => {
  const lines = readRecipe('batch-github.yml');
  const step = (name: string) => {
    const start = lines.findIndex((line) => line.trim() === `- name: ${name}`);
    return blockBelow(
      lines,
      lines.findIndex((line, at) => at > start && line.trim() === 'run: |'),
    ).join('\n');
  };

  test.skipIf(lacks('jq'))('its steps run the shards and join them', async () => {
    const at = place(20);
    const matrix = lines.find((line) => line.trim().startsWith('shard: ['))?.match(/\d+/g) ?? [];
    expect(matrix).toEqual(['1', '2', '3', '4']);
    for (const shard of matrix) {
      const ran = await shell(`set -eo pipefail\n${step('Run one shard')}`, {
        ...at,
        env: { ...at.env, SHARD: shard },
      });
      expect(ran.code).toBe(0);
    }
    const joined = await shell(`set -eo pipefail\n${step('Join the shards')}`, at);
    expect(joined.code).toBe(0);
    expect(idsIn(at.cwd)).toEqual(allIds(20));
    expect(readFileSync(join(at.cwd, 'out/index.html'), 'utf8')).toContain('job-7');
  });
});
