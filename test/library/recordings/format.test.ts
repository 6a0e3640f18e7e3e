import { assert, oneof, property, uint8Array } from 'fast-check';
import { expect, test } from 'vitest';
import { encodeHead, encodeLine, parseHead, parseRecordingLine } from '../../../src/library/recordings/format.ts';
import type { RecordingLine } from '../../../src/library/recordings/format.ts';
import { anyText } from '../../helpers/any-text.ts';

test.each<[string, RecordingLine, string]>([
  [
    'the head of a reply',
    { kind: 'reply', status: 200, headers: { 'content-type': 'text/plain' } },
    '{"status":200,"headers":{"content-type":"text/plain"}}',
  ],
  ['text', { kind: 'chunk', bytes: Buffer.from('é\n') }, String.raw`{"text":"é\n"}`],
  ['half a character', { kind: 'chunk', bytes: Buffer.from([0xc3]) }, '{"base64":"ww=="}'],
  ['an end', { kind: 'ended', ended: 'reset' }, '{"ended":"reset"}'],
])('writes and reads %s', (_name, line, text) => {
  expect(encodeLine(line)).toBe(`${text}\n`);
  expect(parseRecordingLine(text)).toEqual(line);
});

test('a recording omits properties that its lines do not have', () => {
  const line = { kind: 'ended', ended: 'end', key: 'secret' } as RecordingLine;
  expect(encodeLine(line)).toBe('{"ended":"end"}\n');
});

test('keeps every byte of every chunk', () => {
  const content = oneof(
    uint8Array(),
    anyText.map((text) => Buffer.from(text)),
  );
  assert(
    property(content, (bytes) => {
      const line = parseRecordingLine(encodeLine({ kind: 'chunk', bytes }).trimEnd());
      expect(line?.kind === 'chunk' && Buffer.compare(line.bytes, bytes)).toBe(0);
    }),
  );
});

test.each([
  ['no JSON', '{"text":'],
  ['no object', '[1]'],
  ['an unknown end', '{"ended":"maybe"}'],
  ['a status that is none', '{"status":99,"headers":{}}'],
  ['no headers', '{"status":200}'],
  ['nothing known', '{"delay":1}'],
])('does not parse %s as a line', (_name, text) => {
  expect(parseRecordingLine(text)).toBeUndefined();
});

test('the first line of a recording is parsed, and no other line is taken for it', () => {
  const request = '{"body":{"a":1},"method":"POST","path":"/v1/messages"}';
  expect(parseHead(encodeHead({ scope: 'b', at: 5 }, request))).toEqual({
    scope: 'b',
    at: 5,
    request: { method: 'POST', path: '/v1/messages', body: { a: 1 } },
  });
  for (const text of ['', '{"recording":2,"scope":"b","at":5,"request":{}}', '{"recording":1,"scope":"b","at":5}']) {
    expect(parseHead(text)).toBeUndefined();
  }
});
