import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hasTool, lacks, openScreen, type Screen } from '../../../helpers/screen.ts';
import { bareEnv, bin } from '../../../helpers/spawn.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';

/** A folder with a program to complete, a config and a file. */
function place(): { cwd: string; env: Record<string, string> } {
  const cwd = scratchFolder();
  mkdirSync(join(cwd, 'bin'));
  symlinkSync(bin, join(cwd, 'bin/gateway-cli'));
  writeFileSync(join(cwd, 'notes of mine.txt'), '');
  const profiles = { work: { models: { text: 'vendor:text-9' } } };
  writeFileSync(join(cwd, 'config.json'), JSON.stringify({ profile: 'work', profiles }), { mode: 0o600 });
  const env = { GATEWAY_CONFIG: join(cwd, 'config.json'), PATH: `${join(cwd, 'bin')}:${bareEnv(cwd)['PATH'] ?? ''}` };
  return { cwd, env };
}

/** What is typed, and what the line is then. */
const lines: [typed: string, becomes: string][] = [
  ['gateway-cli im', 'gateway-cli image '],
  ['gateway-cli image gen --asp', 'gateway-cli image gen --aspect '],
  ['gateway-cli image gen --aspect 16:', 'gateway-cli image gen --aspect 16:9 '],
  ['gateway-cli image gen --aspect=16', 'gateway-cli image gen --aspect=16:9 '],
  ['gateway-cli text "a b" -m vend', 'gateway-cli text "a b" -m vendor:text-9 '],
  ['gateway-cli text --auth=b', 'gateway-cli text --auth=bearer '],
  ['gateway-cli text --prompt-file no', 'gateway-cli text --prompt-file notes\\ of\\ mine.txt '],
  ['true | gateway-cli chat --mess', 'true | gateway-cli chat --messages '],
];

/** The lines that the shell made of what was typed. */
async function completed(screen: Screen): Promise<string[]> {
  const made: string[] = [];
  for (const [typed] of lines) {
    screen.type(typed);
    screen.press('Tab');
    screen.type('@');
    const shown = await screen.shows(/^% .*@$/m);
    made.push(/^% (.*)@$/m.exec(shown)?.[1] ?? '');
    screen.press('C-u');
    await screen.shows(/^%$/m);
  }
  return made;
}

test.skipIf(lacks('tmux'))(
  'bash completes commands, flags, values, models and files',
  async () => {
    const { cwd, env } = place();
    writeFileSync(join(cwd, 'rc'), `PS1='% '\neval "$(gateway-cli completion bash)"\n`);
    const screen = openScreen(`bash --noprofile --rcfile ${join(cwd, 'rc')} -i`, { env, cwd });
    await screen.shows(/^%$/m);
    expect(await completed(screen)).toEqual(lines.map(([, becomes]) => becomes));
  },
  60_000,
);

test.skipIf(lacks('tmux', 'zsh'))(
  'zsh completes commands, flags, values, models and files',
  async () => {
    const { cwd, env } = place();
    const setup = `PS1='%% '\nautoload -Uz compinit && compinit -D -u\nsource <(gateway-cli completion zsh)\n`;
    writeFileSync(join(cwd, '.zshrc'), setup);
    const screen = openScreen('zsh -d -i', { env: { ...env, ZDOTDIR: cwd }, cwd });
    await screen.shows(/^%$/m);
    expect(await completed(screen)).toEqual(lines.map(([, becomes]) => becomes));
  },
  60_000,
);

test.skipIf(lacks('fish'))('fish completes commands, flags, values, models and files', () => {
  const { cwd, env } = place();
  const ask = lines.map(([typed]) => `complete -C '${typed}'; echo END`).join('\n');
  const out = execFileSync('fish', ['--no-config', '-c', `gateway-cli completion fish | source\n${ask}`], {
    cwd,
    env: { ...bareEnv(cwd), ...env },
    encoding: 'utf8',
  });
  const found = out
    .split('END\n')
    .slice(0, -1)
    .map((block) => block.trimEnd().split('\n'));
  expect(found.map((rows) => rows.map((row) => row.split('\t')[0]))).toEqual([
    ['image'],
    ['--aspect'],
    ['16:9'],
    ['--aspect=16:9'],
    ['vendor:text-9'],
    ['--auth=bearer'],
    ['notes of mine.txt'],
    ['--messages'],
  ]);
});

test.skipIf(!hasTool('bash'))('bash offers files beside the commands of a group that takes some', () => {
  const { cwd, env } = place();
  const script = `source <(gateway-cli completion bash)
    COMP_WORDS=(gateway-cli batch ''); COMP_CWORD=2; COMP_LINE='gateway-cli batch '; COMP_POINT=18
    _gateway_cli gateway-cli; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const out = execFileSync('bash', ['-c', script], { cwd, env: { ...bareEnv(cwd), ...env }, encoding: 'utf8' });
  expect(out.split('\n')).toEqual(expect.arrayContaining(['status', 'gallery', 'notes of mine.txt']));
});

// Debian has no package of it: `test:full` does not demand it.
test.skipIf(!hasTool('pwsh'))('PowerShell completes a command and a value', () => {
  const { cwd, env } = place();
  const script = `gateway-cli completion powershell | Out-String | Invoke-Expression
    foreach ($line in 'gateway-cli im', 'gateway-cli text --auth b') {
      (TabExpansion2 -inputScript $line -cursorColumn $line.Length).CompletionMatches.CompletionText
    }`;
  const out = execFileSync('pwsh', ['-NoProfile', '-Command', script], {
    cwd,
    env: { ...bareEnv(cwd), ...env },
    encoding: 'utf8',
  });
  expect(out.trim().split(/\s+/)).toEqual(['image', 'bearer']);
});
