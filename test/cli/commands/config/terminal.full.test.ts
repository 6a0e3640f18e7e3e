import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lacks, openScreen, type Screen } from '../../../helpers/screen.ts';
import { canaryKey } from '../../../helpers/with-server.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';

/** A new file is linked to it. */
const $schema = expect.stringMatching(/^https:.*config\.schema\.json$/) as string;

/** A shell in a real terminal, with a config of its own. */
async function openShell(): Promise<{ screen: Screen; config: () => unknown }> {
  const cwd = scratchFolder();
  const file = join(cwd, 'config.json');
  const screen = openScreen('bash --noprofile --norc -i', { env: { GATEWAY_CONFIG: file }, cwd });
  await screen.shows(/[#$] ?$/m);
  return { screen, config: () => JSON.parse(readFileSync(file, 'utf8')) as unknown };
}

const slow = 60_000;

test.skipIf(lacks('tmux'))(
  'init asks one question after the other; the key is not on the screen',
  async () => {
    const { screen, config } = await openShell();
    screen.type('node $BIN config init');
    screen.press('Enter');
    const answers: [question: string, answer: string][] = [
      ['Service [gateway]', ''],
      ['Base URL', 'https://gateway.example.com'],
      ['API key', canaryKey],
      ['Model', 'some-text'],
    ];
    for (const [question, answer] of answers) {
      await screen.shows(question);
      screen.type(answer);
      screen.press('Enter');
    }
    const shown = await screen.shows('try it: gateway-cli text');
    expect(shown).toContain('https://gateway.example.com');
    expect(shown).not.toContain(canaryKey);
    expect(config()).toEqual({
      $schema,
      profile: 'default',
      profiles: {
        default: {
          baseUrl: 'https://gateway.example.com',
          apiKey: canaryKey,
          models: { text: 'some-text' },
        },
      },
    });
  },
  slow,
);

test.skipIf(lacks('tmux'))(
  'set apiKey - takes a pasted key without echo, and Ctrl-C leaves with 130 and no file',
  async () => {
    const { screen, config } = await openShell();
    screen.type('node $BIN config set apiKey -');
    screen.press('Enter');
    await screen.shows(/^apiKey:/m);
    screen.press('C-c');
    await screen.shows(/^apiKey:\n.*[#$] ?$/m);
    screen.type('echo "code $?"');
    screen.press('Enter');
    await screen.shows(/^code 130$/m);
    expect(config).toThrow('ENOENT');
    // The first question must be over: what is typed before the second one is asked would be echoed.
    screen.type('clear; echo cleared');
    screen.press('Enter');
    await screen.shows(/^cleared$/m);
    screen.type('node $BIN config set apiKey -; echo "code $?"');
    screen.press('Enter');
    await screen.shows(/^apiKey:/m);
    screen.type(`${canaryKey}`);
    screen.press('Enter');
    expect(await screen.shows(/^code 0$/m)).not.toContain(canaryKey);
    expect(config()).toEqual({ $schema, profiles: { default: { apiKey: canaryKey } } });
    // The terminal echoes again.
    screen.type('echo heard');
    screen.press('Enter');
    await screen.shows(/^heard$/m);
  },
  slow,
);
