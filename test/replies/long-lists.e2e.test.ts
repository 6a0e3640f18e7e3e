import { expect } from 'vitest';
import { test } from '../helpers/with-server.ts';

/** So many arguments of a call overflow the stack. */
const many = 127_000;

function repeat<Item>(make: (at: number) => Item): Item[] {
  return Array.from({ length: many }, (_, at) => make(at));
}

const annotation = (at: number) => ({ type: 'url_citation', url: `http://a/${at}` });
const parts = { message: { content: repeat(() => ({ type: 'text', text: 'x' })) }, finish_reason: 'stop' };
const cited = { message: { content: 'x', annotations: repeat((at) => ({ url_citation: annotation(at) })) } };
const content = [{ type: 'output_text', text: 'x', annotations: repeat(annotation) }];

test.for([
  ['completions', 'parts', { choices: [parts] }, undefined],
  ['completions', 'citations', { choices: [{ ...cited, finish_reason: 'stop' }] }, 'the answer is longer than'],
  [
    'responses',
    'citations',
    { status: 'completed', output: [{ type: 'message', content }] },
    'the answer is longer than',
  ],
] as const)(
  'a reply of %s can have very many %s: they are read, or too many',
  async ([format, , body, told], { server, cli }) => {
    server.reply({ body });
    const ran = await cli(['text', 'hi', '--format', format]);
    expect(ran.code).toBe(told === undefined ? 0 : 9);
    expect(ran.stderr.slice(0, 300)).toContain(told ?? '');
    expect(ran.stdout).toMatch(/^x+\n/);
  },
);
