import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readme } from '../helpers/readme.ts';
import { scratchFolder } from '../helpers/scratch.ts';
import { openTerminal, withoutTmux } from '../helpers/tmux.ts';
import { terminalSvg } from './terminal-svg.ts';

/** What a visitor of the README sees; everything comes from the local gateway, so each run shows the same. */
const commands = [
  'gateway-cli text --offline "three names for a lighthouse cat"',
  'gateway-cli image gen --offline "a lighthouse at dusk" --aspect 16:9 -o dusk.png --preview',
  'git diff | gateway-cli chat --offline "write a commit message"',
  'gateway-cli image gen --offline "another lighthouse" -o dusk.png; echo "exit code $?"',
];

const picture = '.github/session.svg';
const file = join(import.meta.dirname, '../..', picture);

/** `vitest -u` draws the picture again. */
test.skipIf(withoutTmux)('the recorded session of the README is what a terminal shows', async () => {
  const cwd = scratchFolder();
  const script = [
    'git init -q; gateway-cli() { node "$BIN" "$@"; }',
    String.raw`try() { printf '\e[1;32m$\e[0m %s\n' "$1"; eval "$1"; }`,
    ...commands.map((command) => `try '${command}'`),
  ];
  writeFileSync(join(cwd, 'session.sh'), script.join('\n'));
  const terminal = await openTerminal('source session.sh', { cwd, env: { COLORTERM: 'truecolor' } });
  onTestFinished(() => terminal.close());
  await terminal.shows(/^exit \d+$/m);
  const screen = (await terminal.screen({ colors: true })).replace(/\n.*exit \d+$/, '');
  await expect(terminalSvg(screen, 100)).toMatchFileSnapshot(file);
  expect(statSync(file).size).toBeLessThan(60_000);
});

test('the README shows the recorded session', () => {
  expect(readme).toContain(`](${picture})`);
});
