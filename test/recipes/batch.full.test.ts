import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { lacks } from '../helpers/screen.ts';
import { shell } from '../helpers/spawn.ts';
import { blockBelow, readRecipe, recipes, workspace } from './recipe.ts';

const recipe = (name: string) => join(recipes, name);
const jobs = (count: number) =>
  Array.from({ length: count }, (_, i) => `${JSON.stringify({ id: `job-${i}`, prompt: `number ${i}` })}\n`).join('');

/** A workspace with a number of jobs in it. */
function place(count: number, env: Record<string, string> = {}) {
  const at = workspace(env);
  writeFileSync(join(at.cwd, 'jobs.jsonl'), jobs(count));
  return at;
}

/** The ids and states in the table of all shards. */
function rowsIn(cwd: string, table = 'out.csv'): string[][] {
  const [head = '', ...lines] = readFileSync(join(cwd, table), 'utf8').trimEnd().split('\r\n');
  const columns = head.split(',');
  const [id, state] = [columns.indexOf('id'), columns.indexOf('state')];
  return lines.map((line) => line.split(',')).map((cells) => [cells[id] ?? '', cells[state] ?? '']);
}

function idsIn(cwd: string, table?: string): string[] {
  return rowsIn(cwd, table).map(([id = '']) => id);
}

const allIds = (count: number) => Array.from({ length: count }, (_, i) => `job-${i}`);

describe('a shell loop over --shard', () => {
  test('runs all jobs and writes one table of them', async () => {
    const at = place(21);
    const { code, stdout } = await shell(`${recipe('batch-shell.sh')} jobs.jsonl out`, at);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'out.csv\n' });
    expect(idsIn(at.cwd)).toEqual(allIds(21));
  });

  test('a shard with failures is in the table all the same, and the code is 13', async () => {
    const at = place(8);
    writeFileSync(join(at.cwd, 'jobs.jsonl'), `${jobs(8)}{"id":"bad","prompt":"x","model":"fault-400"}\n`);
    const { code } = await shell(`${recipe('batch-shell.sh')} jobs.jsonl out --retries 0`, at);
    expect(code).toBe(13);
    expect(rowsIn(at.cwd)).toEqual([...allIds(8).map((id) => [id, 'done']), ['bad', 'failed']]);
  });

  test('a mistake in the jobs ends it with its code', async () => {
    const at = place(1);
    writeFileSync(join(at.cwd, 'jobs.jsonl'), '{"promt":"x"}\n');
    expect((await shell(`${recipe('batch-shell.sh')} jobs.jsonl out`, at)).code).toBe(2);
  });
});

test.skipIf(lacks('parallel'))(
  'GNU parallel runs the shards, and starts a killed one again',
  { timeout: 300_000 },
  async () => {
    const at = place(24);
    // The third shard's first process is killed before it can do anything; parallel starts another one.
    writeFileSync(
      join(at.cwd, '.bin/killed-once'),
      '#!/usr/bin/env bash\nif [[ "$*" == *" 3/8 "* && ! -e killed ]]; then touch killed; kill -9 $$; fi\nexec node "$BIN" "$@"\n',
      { mode: 0o755 },
    );
    const script = `rm .bin/gateway-cli && mv .bin/killed-once .bin/gateway-cli && ${recipe('batch-parallel.sh')} jobs.jsonl out`;
    const { code, stderr } = await shell(script, at);
    expect({ code, stderr: stderr.replaceAll(/^.*(citation|Academic|parallel --citation).*\n/gm, '') }).toMatchObject({
      code: 0,
    });
    expect(readFileSync(join(at.cwd, 'killed'), 'utf8')).toBe('');
    expect(idsIn(at.cwd)).toEqual(allIds(24));
  },
);

test('the Slurm script runs the task that the variables name', async () => {
  const at = place(20, { SLURM_ARRAY_TASK_MIN: '1', SLURM_ARRAY_TASK_COUNT: '3' });
  const script = [1, 2, 3].map((task) => `SLURM_ARRAY_TASK_ID=${task} bash ${recipe('batch-slurm.sbatch')}`);
  const { code } = await shell(`${script.join(' && ')} && gateway-cli batch export out-{1..3} -o out.csv`, at);
  expect(code).toBe(0);
  expect(idsIn(at.cwd)).toEqual(allIds(20));
  const directives = readRecipe('batch-slurm.sbatch').filter((line) => line.startsWith('#SBATCH'));
  for (const line of directives) expect(line).toMatch(/^#SBATCH --[a-z-]+(=\S+)?$/);
  // Slurm reads directives only above the first command.
  const lines = readRecipe('batch-slurm.sbatch');
  const firstCommand = lines.findIndex((line) => line !== '' && !line.startsWith('#'));
  expect(lines.findLastIndex((line) => line.startsWith('#SBATCH'))).toBeLessThan(firstCommand);
});

describe('the Indexed Job of Kubernetes', () => {
  const lines = readRecipe('batch-kubernetes.yaml');
  const value = (key: string) =>
    lines
      .find((line) => line.trim().startsWith(`${key}:`))
      ?.split(':')[1]
      ?.trim();

  test('its command runs the shard of the pod', async () => {
    const at = place(20);
    const command = (lines.find((line) => line.includes('exec gateway-cli batch')) ?? '')
      .trim()
      .slice('- exec '.length);
    const here = command.replaceAll('/work/', '');
    expect(here).toContain('--shard auto/8');
    const runs = Array.from({ length: 8 }, (_, index) => `JOB_COMPLETION_INDEX=${index} sh -c '${here}'`);
    const { code } = await shell(`${runs.join(' && ')} && gateway-cli batch export out-{0..7} -o out.csv`, at);
    expect(code).toBe(0);
    expect(idsIn(at.cwd)).toEqual(allIds(20));
  });

  test('says the same number everywhere, and leaves time for what is under way', () => {
    expect([value('completions'), value('completionMode'), value('restartPolicy')]).toEqual(['8', 'Indexed', 'Never']);
    expect(Number(value('terminationGracePeriodSeconds'))).toBeGreaterThan(12);
    expect(lines.join('\n')).not.toContain('\t');
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

  test.skipIf(lacks('jq'))('its steps run the shards and report on them', async () => {
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
    const joined = await shell(`set -eo pipefail\n${step('Report on the shards')}`, at);
    expect(joined.code).toBe(0);
    expect(idsIn(at.cwd, 'results.csv')).toEqual(allIds(20));
    expect(readFileSync(join(at.cwd, 'gallery.html'), 'utf8')).toContain('job-7');
  });
});
