import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

const root = join(import.meta.dirname, '../..');
const folder = join(root, '.github/workflows');
const read = (path: string): unknown => parse(readFileSync(join(root, path), 'utf8'));

interface Workflow {
  on: Record<string, unknown>;
  permissions: object;
  jobs: Record<string, { permissions?: Record<string, string>; if?: string; steps: { uses?: string; run?: string }[] }>;
}

describe.each(readdirSync(folder))('the workflow %s', (name) => {
  const text = readFileSync(join(folder, name), 'utf8');
  const workflow = parse(text) as Workflow;
  const jobs = Object.values(workflow.jobs);

  test('names each action by the digest of a commit, with its version beside it', () => {
    const uses = text.split('\n').filter((line) => line.includes('uses:'));
    expect(uses.length).toBe(jobs.flatMap(({ steps }) => steps.filter((step) => step.uses)).length);
    for (const line of uses) expect(line).toMatch(/uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  test('may read the repository and nothing else, but where it publishes what the owner switched on', () => {
    expect(workflow.permissions).toEqual({ contents: 'read' });
    for (const job of jobs) if (job.permissions) expect(job.if).toBe("vars.PUBLISH == 'true'");
  });

  test('runs scripts that exist', () => {
    const runs = jobs.flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? []));
    for (const [, script = ''] of runs.join('\n').matchAll(/(?:node |env )(\.[\w/.-]+)/g))
      expect([script, existsSync(join(root, script))]).toEqual([script, true]);
  });
});

test('a pull request starts one run of the matrix', () => {
  const { on } = read('.github/workflows/test.yml') as Workflow;
  expect(on).toEqual({ push: { branches: ['main'] }, pull_request: null });
});

test('what is published has no scripts, and Dependabot and the issue forms can be read', () => {
  expect(read('.github/dependabot.yml')).toMatchObject({ version: 2 });
  for (const form of ['bug', 'wish'])
    expect(read(`.github/ISSUE_TEMPLATE/${form}.yml`)).toMatchObject({
      name: expect.any(String),
      body: expect.any(Array),
    });
});
