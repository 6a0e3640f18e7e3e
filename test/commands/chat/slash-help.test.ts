import { expect, test } from 'vitest';
import { slashCommands } from '../../../src/chat/slash.ts';
import { slashHelp } from '../../../src/commands/chat/slash-help.ts';

test.each([40, 80])('/help names every command, whole words in %i columns', (columns) => {
  const help = slashHelp(columns);
  for (const [name, text] of Object.entries(slashCommands)) {
    expect(help).toContain(`  /${name}`);
    expect(help.replaceAll(/\s+/g, ' ')).toContain(text);
  }
  expect(Math.max(...help.split('\n').map((line) => line.length))).toBeLessThanOrEqual(columns);
});
