import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createApp } from '../../src/gateway/app.ts';
import { listen, type Listening } from '../../src/gateway/listen.ts';
import { createOfflineHandler } from '../../src/gateway/offline-handler.ts';
import { recordedFiles } from '../helpers/recorded-files.ts';
import { lacks } from '../helpers/screen.ts';
import { bareEnv, bin, type Shell, shell } from '../helpers/spawn.ts';
import { scratchFolder } from '../helpers/scratch.ts';
import { recipes } from './recipe.ts';

const page = readFileSync(join(recipes, 'ci-recordings.md'), 'utf8');
const key = 'canary-7f3a9c51-secret';

/** The shell text of a chapter: all its blocks, one after the other. */
function blocksOf(title: string): string {
  const chapter = page.split(/^## /m).find((text) => text.startsWith(title)) ?? '';
  return [...chapter.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block]) => block).join('\n');
}

const titles = [...page.matchAll(/^## (.*)$/gm)].map(([, title = '']) => title);

describe.skipIf(lacks('jq', 'tar'))('the recipes of serve', { timeout: 300_000 }, () => {
  const ran: Record<string, Shell> = {};
  const cwd = scratchFolder();
  let gateway: Listening;

  // One after the other, in one folder, as a reader would.
  beforeAll(async () => {
    gateway = await startUpstream();
    prepare(cwd, gateway.url);
    const path = `${join(cwd, '.bin')}:${bareEnv(cwd)['PATH'] ?? ''}`;
    const env = { PATH: path, GATEWAY_CONFIG: join(cwd, 'config.json') };
    for (const title of titles) {
      const script = blocksOf(title).replace('--port 8787', '--port 0');
      ran[title] = await shell(`set -euo pipefail\ntrap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n${script}`, {
        cwd,
        env,
      });
    }
  }, 300_000);
  afterAll(() => gateway.close(0));

  test.each(titles)('%s: every line works', (title) => {
    expect(blocksOf(title)).not.toBe('');
    expect(ran[title]).toMatchObject({ code: 0 });
  });

  test('the script receives the quota error, and is replayed with the real answer', () => {
    const { stdout, stderr } = ran['Test a script in CI without a key'] as Shell;
    expect(stdout.match(/offline model local-text/g)).toHaveLength(3);
    expect(stdout.match(/offline model fault-503-twice/g)).toHaveLength(1);
    expect(stderr).toContain('gateway-cli: quota:');
  });

  test('the callers work with the local key', () => {
    const { stdout, stderr } = ran['Keep the key on one machine'] as Shell;
    expect(stdout).toContain('offline model local-text');
    expect(stderr).toContain('profile work');
    expect(readFileSync(join(cwd, 'local.env'), 'utf8')).not.toContain(key);
  });

  test('the bug comes again', () => {
    const answers = (ran['Reproduce a bug report'] as Shell).stdout.trimEnd().split('\n');
    expect(answers).toHaveLength(2);
    expect(answers[0]).toBe(answers[1]);
  });

  test('the recordings show what the page says, and no key', () => {
    const { stdout } = ran['Read a recording before you commit it'] as Shell;
    expect(stdout).toContain('"path":"/v1beta/models/some-model:generateContent"');
    expect(stdout).toContain('offline model local-text');
    expect(stdout).toContain('"content-type":"application/json; charset=UTF-8"');
    for (const folder of ['recordings', 'bug']) {
      const names = recordedFiles(join(cwd, folder));
      expect(names).not.toEqual([]);
      for (const name of names) expect(readFileSync(join(cwd, folder, name), 'utf8')).not.toContain(key);
    }
  });
});

/** A gateway whose `some-model` is the offline one. */
function startUpstream(): Promise<Listening> {
  const answerOffline = createOfflineHandler({});
  return listen(createApp({ key, handler: (request) => answerOffline({ ...request, pathId: 'local-text' }) }));
}

/** The folder of a user of the recipes: a script, a profile, the program. */
function prepare(cwd: string, baseUrl: string): void {
  mkdirSync(join(cwd, '.bin'));
  symlinkSync(bin, join(cwd, '.bin/gateway-cli'));
  writeFileSync(join(cwd, 'notes.txt'), 'the lamp was mended\n');
  const script = '#!/bin/sh\n# One line from the notes.\ngateway-cli text --no-stdin "sum up: $(cat notes.txt)"\n';
  writeFileSync(join(cwd, 'report.sh'), script, { mode: 0o755 });
  const profiles = { work: { baseUrl, apiKey: key, models: { text: 'some-model' } } };
  writeFileSync(join(cwd, 'config.json'), JSON.stringify({ profiles }), { mode: 0o600 });
}
