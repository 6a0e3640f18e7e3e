import { expect, test } from 'vitest';
import {
  type TemplateValues,
  fillLeaves,
  fillText,
  toTemplateText,
} from '../../../src/cli/input/template-variables.ts';

function blanksOf(values: Record<string, string>): TemplateValues {
  return { values: new Map(Object.entries(values)), used: new Set(), advice: (name) => `type ${name}`, isRow: false };
}

test.for([
  ['{{city}}, {{ city }}, {{\tcity\t}}', 'Rome, Rome, Rome'],
  ['{{first name}} {{a.b-c_1}} {{größe}} {{gro\u0308ße}}', 'Ada x 1 1'],
  ['{{a}}', '{{city}}'],
  ['$& {{money}}', "$& $1$&$'"],
] as const)('fills %j', ([text, filled]) => {
  const values = { city: 'Rome', 'first name': 'Ada', 'a.b-c_1': 'x', größe: '1', a: '{{city}}', money: "$1$&$'" };
  expect(fillText(text, 'the prompt', blanksOf({ ...values }))).toBe(filled);
});

test.for([
  '${{ secrets.KEY }}',
  '{{#if city}}',
  '{{/if}}',
  '{{ a | b }}',
  '{{{city}}}',
  '{{{{city}}}}',
  '{{1st}}',
  '{{}}',
  '{{ }}',
  '{{a  b}}',
  '{{.Name}}',
  '{{city}',
  '{{ci\nty}}',
  '{city}',
] as const)('leaves %j alone', (text) => {
  expect(fillText(text, 'the prompt', blanksOf({}))).toBe(text);
});

test('names every blank without a value, the place of the first, and the nearest name', () => {
  const fill = () => fillText('a\n{{ctiy}} {{x}}\n{{ctiy}}', "--prompt-file 'p.md'", blanksOf({ city: 'Rome' }));
  expect(fill).toThrow("{{ctiy}}, {{x}} have no value: --prompt-file 'p.md', line 2");
  try {
    fill();
  } catch (error) {
    expect(error).toMatchObject({
      class: 'usage',
      details: { hint: 'the nearest name with a value is city\ntype ctiy' },
    });
  }
});

test('fills the texts of JSON, and names the path of a blank without a value', () => {
  const turns = [{ role: '{{r}}', parts: [{ text: 'in {{city}}' }, { n: 1, '{{city}}': null }] }];
  expect(fillLeaves(turns, 'turns', blanksOf({ city: 'Rome', r: 'user' }))).toEqual([
    { role: 'user', parts: [{ text: 'in Rome' }, { n: 1, '{{city}}': null }] },
  ]);
  expect(() => fillLeaves(turns, 'turns', blanksOf({ r: 'user' }))).toThrow(
    '{{city}} has no value: turns: [0].parts[0].text',
  );
});

test.for([
  ['text', 'text'],
  [1.5, '1.5'],
  [true, 'true'],
  [null, ''],
  [{ a: [1] }, '{"a":[1]}'],
] as const)('writes the value %j as %j', ([value, text]) => {
  expect(toTemplateText(structuredClone(value) as never)).toBe(text);
});
