import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { variablesOf } from '../../src/settings/sources.ts';
import { settingNames } from '../../src/settings/table.ts';
import { useNames } from '../../src/settings/types.ts';

test('the topic settings names every variable', () => {
  const topic = readFileSync(join(import.meta.dirname, '../../src/help/settings.md'), 'utf8');
  const variables = settingNames.flatMap((name) => useNames.flatMap((use) => variablesOf(name, use)));
  expect(variables).toContain('GATEWAY_MODEL');
  expect([...new Set(variables)].filter((name) => !topic.includes(`| \`${name}\` |`))).toEqual([]);
});
