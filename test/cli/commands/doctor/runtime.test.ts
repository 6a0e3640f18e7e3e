import { expect, test } from 'vitest';
import { nodeRow, runRow } from '../../../../src/cli/commands/doctor/checks.ts';

test.each([
  ['20.18.0', 'failed'],
  ['18.20.4', 'failed'],
  ['20.18.1', 'ok'],
  ['24.0.0', 'ok'],
])('Node %s is %s', async (node, state) => {
  const { value } = await runRow(nodeRow, { node }).next();
  expect(value).toMatchObject({ name: 'node', state });
});
