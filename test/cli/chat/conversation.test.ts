import { expect, test } from 'vitest';
import {
  endsTurn,
  exportMarkdown,
  lastTurnStart,
  openCallResults,
  type SessionMessage,
} from '../../../src/cli/chat/message.ts';
import { toStorable } from '../../../src/cli/chat/session-file.ts';
import { lastTurn } from '../../../src/library/formats/plain-request.ts';
import { createUpload } from '../../../src/library/body.ts';

const call: SessionMessage = {
  role: 'assistant',
  content: [
    { type: 'text', text: 'I look.' },
    { type: 'tool_use', id: 't1', name: 'get_weather', input: { city: 'Rome' } },
  ],
  model: 'm-001',
};
const result: SessionMessage = {
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: 't1', content: 'rain ```', is_error: true }],
};
const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };
const talk: SessionMessage[] = [
  { role: 'user', content: [image, { type: 'text', text: 'what is it?' }], system: 'terse' },
  {
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'hm' },
      { type: 'text', text: '# A dot' },
    ],
    model: 'm-001',
  },
  { role: 'user', content: 'rain?', system: 'terse' },
  call,
  result,
  { role: 'assistant', content: [{ type: 'text', text: 'Yes.' }], model: 'm-001' },
];

test('a turn starts with a prompt and is complete without open calls', () => {
  expect(lastTurnStart(talk)).toBe(2);
  expect(talk.map(endsTurn)).toEqual([false, true, false, false, false, true]);
});

test('Markdown keeps texts unchanged and puts the rest between them', () => {
  expect(exportMarkdown('trip', talk)).toBe(`# trip

> System: terse

## You

*image image/png, 3 bytes*

what is it?

## Answer (m-001)

# A dot

## You

rain?

## Answer (m-001)

I look.

Call of \`get_weather\`:

\`\`\`json
{
  "city": "Rome"
}
\`\`\`

## Tools

Error:

\`\`\`\`
rain \`\`\`
\`\`\`\`

## Answer (m-001)

Yes.
`);
});

test('open calls get a result before the next prompt', () => {
  const missing = { type: 'tool_result', tool_use_id: 't1', content: 'the call was not run', is_error: true };
  expect(openCallResults(call)).toEqual([missing]);
  expect(lastTurn({ prompt: 'go on', results: openCallResults(call) })).toEqual([
    missing,
    { type: 'text', text: 'go on' },
  ]);
  const data = createUpload(Buffer.from('abc'));
  const media = [{ mimeType: 'image/png', data }];
  const sent = { type: 'image', source: { type: 'base64', media_type: 'image/png', data } };
  expect(lastTurn({ media, results: openCallResults(call) })).toEqual([missing, sent]);
  expect(lastTurn({ prompt: 'go on', results: openCallResults(talk[1]) })).toBe('go on');
  expect(lastTurn({ prompt: 'go on', results: openCallResults(undefined) })).toBe('go on');
  expect(openCallResults({ role: 'user', content: call.content })).toEqual([]);
});

test('uploads are saved as the Base64 that was sent', async () => {
  const data = createUpload(Buffer.from('abc'));
  expect(await toStorable([{ source: { data, n: 1 }, flags: [true, null] }])).toEqual([
    { source: { data: 'YWJj', n: 1 }, flags: [true, null] },
  ]);
});
