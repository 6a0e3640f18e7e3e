import { expect, test } from 'vitest';
import { checkNode } from '../../../../src/cli/commands/doctor/checks.ts';

test.each([
  ['20.18.0', 'failed'],
  ['18.20.4', 'failed'],
  ['20.18.1', 'ok'],
  ['24.0.0', 'ok'],
])('Node %s is %s', (node, state) => {
  expect(checkNode(node)).toMatchObject({ name: 'node', state });
});
