import { describe, expect, test } from 'vitest';
import { shell } from '../helpers/spawn.ts';
import { openTerminal, type Terminal } from '../helpers/terminal.ts';

const open = (argv: readonly string[], env: Record<string, string>): Terminal => openTerminal(argv, { env });
const mark = 'echo paged; cat';

describe.skipIf(process.platform === 'win32')('help', () => {
  test.each([
    ['of a topic', ['help', 'exit-codes']],
    ['of a command', ['text', '--help', '--verbose']],
  ])('%s goes through the pager on a terminal', async (_, argv) => {
    const terminal = open(argv, { PAGER: mark });
    expect(await terminal.ended).toBe(0);
    const [first, ...rest] = terminal.lines();
    expect(first).toBe('paged');
    expect(rest.length).toBeGreaterThan(24);
  });

  test.each([
    ['no pager is named', {}],
    ['the pager cannot be started', { PAGER: 'no-such-pager-anywhere' }],
  ])('is printed where %s', async (_, env) => {
    const terminal = open(['help', 'exit-codes'], env);
    expect(await terminal.ended).toBe(0);
    const shown = terminal.lines().join('\n');
    expect(shown).toContain('130');
    expect(shown).not.toContain('paged');
  });

  test('may be left early', async () => {
    const terminal = open(['help', 'output'], { PAGER: 'head -n 1' });
    expect(await terminal.ended).toBe(0);
    expect(terminal.lines()).toHaveLength(1);
  });

  test('leaves Ctrl-C to the pager', async () => {
    const terminal = open(['help', 'output'], { PAGER: 'trap "" INT; echo ready; read x < /dev/tty; echo "got $x"' });
    await terminal.shows('ready');
    terminal.type('\u0003');
    terminal.type('line\r');
    await terminal.shows('got line');
    expect(await terminal.ended).toBe(0);
  });

  test('in a pipe has no pager', async () => {
    const { stdout } = await shell(`PAGER='${mark}' $BIN help exit-codes | cat`);
    expect(stdout).toContain('130');
    expect(stdout).not.toContain('paged');
  });
});
