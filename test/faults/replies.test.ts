import { readdirSync } from 'node:fs';
import { expect } from 'vitest';
import type { ScriptedReply } from '../helpers/scripted-server.ts';
import { canaryKey, eventStream, messageEvents, test, textReply } from '../helpers/with-server.ts';

const sse = { 'content-type': 'text/event-stream' };

const exhausted = '{"error":{"code":429,"message":"later","status":"RESOURCE_EXHAUSTED"}}';
const events = messageEvents('all of it').map((event) => eventStream(event));
/** Name, command, reply, exit code, stdout, and a part of stderr. */
const replies: [string, string, ScriptedReply, number, string, string?][] = [
  [
    'last event lacks the blank line: it is message_stop',
    'chat',
    { headers: sse, body: events.join('').trimEnd() },
    0,
    'all of it\n',
  ],
  [
    'last event lacks the blank line: it is a delta',
    'chat',
    { headers: sse, body: events.slice(0, 3).join('').trimEnd() },
    11,
    'all of it\n',
  ],
  [
    'last event lacks the blank line: it is the stop reason',
    'chat',
    { headers: sse, body: events.slice(0, 5).join('').trimEnd() },
    0,
    'all of it\n',
  ],
  [
    'last event lacks the blank line: it is cut in its middle',
    'chat',
    { headers: sse, body: events.slice(0, 5).join('').slice(0, -40) },
    11,
    'all of it\n',
    'the stream ended without its end marker',
  ],
  [
    'UTF-8 split, BOM',
    'chat',
    { headers: sse, chunks: oneByOne(`\uFEFF${eventStream(...messageEvents('Grüße 😀👩‍👩‍👧', '\uFEFFé'))}`) },
    0,
    'Grüße 😀👩‍👩‍👧\uFEFFé\n',
  ],
  [
    'UTF-8 split, BOM in front of a delta',
    'chat',
    {
      headers: sse,
      chunks: oneByOne(
        `\uFEFF${events
          .slice(2)
          .join('')
          .replaceAll(/^event: .*\n/gm, '')}`,
      ),
    },
    0,
    'all of it\n',
  ],
  [
    'event: error after 200: overloaded',
    'chat',
    { headers: sse, body: `${events.slice(0, 3).join('')}${failed('overloaded_error')}` },
    6,
    'all of it\n',
  ],
  [
    'event: error after 200: rate limit',
    'chat',
    { headers: sse, body: `${events.slice(0, 3).join('')}${failed('rate_limit_error')}` },
    5,
    'all of it\n',
  ],
  [
    'event: error after 200: an error without a type',
    'chat',
    { headers: sse, body: `${events.slice(0, 3).join('')}data: {"error":{"code":401,"message":"no"}}\n\n` },
    3,
    'all of it\n',
  ],
  [
    'event: error after 200: in the content format',
    'text',
    { headers: sse, body: `data: ${JSON.stringify(textReply('Hello'))}\n\ndata: ${exhausted}\n\n` },
    5,
    'Hello\n',
  ],
  ['event: error after 200: a whole body', 'text', { body: exhausted }, 5, ''],
  ['JSON broken', 'text', { body: '{"candidates": [}' }, 9, ''],
  ['JSON broken: at most 200 characters are quoted', 'text', { body: 'é'.repeat(5000) }, 9, '', `${'é'.repeat(199)}…`],
  [
    'JSON broken: of an event too',
    'chat',
    { headers: sse, body: `${events.slice(0, 3).join('')}data: {é${'é'.repeat(5000)}\n\n` },
    9,
    'all of it\n',
    `is not JSON: {${'é'.repeat(198)}…`,
  ],
  [
    'JSON broken: HTML of a captive portal',
    'text',
    { headers: { 'content-type': 'text/html' }, body: '<html>\u001b]52;c;x\u0007 Log in!</html>' },
    9,
    '',
    '^[]52;c;x^G Log in!',
  ],
  ['JSON broken: an empty 200', 'text', { body: '' }, 9, ''],
  ['JSON broken: an empty 200 for chat', 'chat', { body: '' }, 9, ''],
  ['deep JSON', 'text', { body: '['.repeat(5_000_000) + ']'.repeat(5_000_000) }, 9, ''],
  [
    'deep JSON inside a reply',
    'text',
    { body: JSON.stringify(textReply('x')).replace('"STOP"', '['.repeat(20_000) + ']'.repeat(20_000)) },
    0,
    'x\n',
  ],
  [
    'deep JSON in an event',
    'chat',
    { headers: sse, body: `data: ${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}\n\n` },
    9,
    '',
  ],
  [
    'blocked: SAFETY',
    'text',
    { body: { promptFeedback: { blockReason: 'SAFETY' } } },
    10,
    '',
    'no-result: the answer is empty: blockReason SAFETY',
  ],
  [
    'blocked: RECITATION',
    'image gen',
    { body: { candidates: [{ finishReason: 'RECITATION' }] } },
    10,
    '',
    'no-result: no image came: finishReason RECITATION',
  ],
  [
    'blocked: words instead of a picture',
    'image gen',
    { body: textReply('I cannot draw') },
    10,
    '',
    'no-result: no image came: finishReason STOP',
  ],
];
test.for(replies)('%s', async ([, command, reply, code, stdout, said = ''], { server, cli }) => {
  server.reply(reply);
  const ran = await cli([...command.split(' '), 'x']);
  expect([ran.code, ran.stdout]).toEqual([code, stdout]);
  expect(ran.stderr).toContain(said);
  expect(ran.stderr).not.toContain('\u001b');
  expect(ran.stderr).not.toMatch(/\n {4}at /);
  expect(ran.stderr.length).toBeLessThan(1000);
  expect(readdirSync(ran.cwd)).toEqual([]);
});

function* oneByOne(text: string): Generator<Uint8Array> {
  for (const byte of Buffer.from(text)) yield Uint8Array.of(byte);
}

function failed(type: string): string {
  return eventStream({ type: 'error', error: { type, message: 'later, please' } });
}

test.for([[], ['-v'], ['--json'], ['--debug']])(
  'error body holds our key: it is hidden, and escapes too (%j)',
  async (flags, { server, cli }) => {
    server.reply(({ headers }) => ({
      status: 400,
      headers: { 'x-echo': headers['x-vendor-a-api-key'] ?? '' },
      body: { error: { message: `bad key ${headers['x-vendor-a-api-key']} \u001b]52;c;eA==\u0007` } },
    }));
    const ran = await cli(['text', 'x', ...flags]);
    expect(ran.code).toBe(4);
    expect(ran.stdout + ran.stderr).not.toContain(canaryKey);
    expect(ran.stderr).toContain('bad key (redacted)');
    expect(ran.stderr).not.toContain('\u001b');
  },
);
