import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { readReply } from '../../src/library/client/read-reply.ts';
import type { Answer } from '../../src/library/client/result.ts';
import { GatewayError, exitCodes } from '../../src/library/errors.ts';
import { completed, created, done, message, response, textEvents } from '../library/formats/responses/feeding.ts';
import { isFull } from '../helpers/full.ts';
import { cut, type ScriptedReply } from '../helpers/scripted-server.ts';
import { test } from '../helpers/with-server.ts';

const minute = 60_000;
/** The full run cuts at every byte, the other at every 23rd. */
const step = isFull ? 1 : 23;

/** Replies of services, as other projects recorded them: they belong to those, and lie outside the repository. */
const folder = join(import.meta.dirname, '../../../shared/fixtures/responses');
const recorded = existsSync(folder)
  ? readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))] as const)
  : [];

const thought = {
  type: 'reasoning',
  id: 'rs_1',
  summary: [{ type: 'summary_text', text: 'First the sea.' }],
  encrypted_content: 'c2VhbGVk',
};
const call = { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'look', arguments: '{"at":"Zoë 🦅"}' };
const custom = { type: 'custom_tool_call', id: 'ct_1', call_id: 'c2', name: 'write_sql', input: 'SELECT 1' };
const search = {
  type: 'web_search_call',
  id: 'ws_1',
  status: 'completed',
  action: { type: 'search', queries: ['sea'], sources: [{ type: 'url', url: 'https://a.test/' }] },
};
const citation = { type: 'url_citation', url: 'https://a.test/', title: 'A', start_index: 0, end_index: 5 };
const cited = message('Zoë 🦅 flies', {
  content: [{ type: 'output_text', text: 'Zoë 🦅 flies', annotations: [citation] }],
});
const raw = { type: 'reasoning', id: 'rs_2', summary: [], content: [{ type: 'reasoning_text', text: 'hm' }] };

/** Events as a service writes them, each with its number and all of its empty fields. */
function sse(events: readonly object[], { named = true } = {}): Buffer {
  const frames = events.map((event, sequence_number) => {
    const { type } = event as { type: string };
    return `${named ? `event: ${type}\n` : ''}data: ${JSON.stringify({ ...event, sequence_number, obfuscation: 'x7' })}\n\n`;
  });
  return Buffer.from(frames.join(''));
}

/** What services send, in the shapes that public recordings of them have. */
const made: readonly (readonly [string, Buffer])[] = [
  [
    'a text with its annotation.sse',
    sse([
      created,
      ...textEvents(['Zoë ', '🦅', ' flies']),
      {
        type: 'response.output_text.annotation.added',
        item_id: 'msg_1',
        output_index: 0,
        content_index: 0,
        annotation: citation,
      },
      { type: 'response.output_text.done', item_id: 'msg_1', output_index: 0, content_index: 0, text: 'Zoë 🦅 flies' },
      done(0, cited),
      completed([cited]),
    ]),
  ],
  [
    'thinking, and a call whose arguments come in pieces.sse',
    sse([
      created,
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { ...thought, summary: [], encrypted_content: 'c2' },
      },
      {
        type: 'response.reasoning_summary_text.delta',
        item_id: 'rs_1',
        output_index: 0,
        summary_index: 0,
        delta: 'First ',
      },
      {
        type: 'response.reasoning_summary_text.delta',
        item_id: 'rs_1',
        output_index: 0,
        summary_index: 0,
        delta: 'the sea.',
      },
      done(0, thought),
      { type: 'response.output_item.added', output_index: 1, item: { ...call, arguments: '' } },
      { type: 'response.function_call_arguments.delta', item_id: 'fc_1', output_index: 1, delta: '{"at":"Zo' },
      { type: 'response.function_call_arguments.delta', item_id: 'fc_1', output_index: 1, delta: 'ë 🦅"}' },
      { type: 'response.function_call_arguments.done', item_id: 'fc_1', output_index: 1, arguments: call.arguments },
      done(1, call),
      completed([thought, call]),
    ]),
  ],
  [
    'a search, and a call of a tool of free text.sse',
    sse([
      created,
      { type: 'response.output_item.added', output_index: 0, item: { ...search, status: 'in_progress' } },
      { type: 'response.web_search_call.searching', item_id: 'ws_1', output_index: 0 },
      done(0, search),
      { type: 'response.output_item.added', output_index: 1, item: { ...custom, input: '' } },
      { type: 'response.custom_tool_call_input.delta', item_id: 'ct_1', output_index: 1, delta: 'SELECT 1' },
      done(1, custom),
      completed([search, custom]),
    ]),
  ],
  [
    'raw thinking of a local server, without names of events and with an empty last output.sse',
    sse(
      [
        created,
        { type: 'response.reasoning_text.delta', item_id: 'rs_2', output_index: 0, content_index: 0, delta: 'hm' },
        done(0, raw),
        ...textEvents(['half ', 'an answer'], 1),
        completed([]),
      ],
      { named: false },
    ),
  ],
  [
    'an answer that failed.sse',
    sse([
      created,
      ...textEvents(['half']),
      {
        type: 'response.failed',
        response: response([], { status: 'failed', error: { code: 'server_error', message: 'no' } }),
      },
    ]),
  ],
  [
    'a whole reply.json',
    Buffer.from(JSON.stringify(response([thought, search, cited, call], { tools: [], metadata: {} }), null, 1)),
  ],
];

interface Read extends Partial<Answer> {
  thrown?: GatewayError;
}

async function read(body: Buffer): Promise<Read> {
  try {
    return await readReply({ status: 200, headers: {}, body }, { format: 'responses', model: 'm' });
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    return { thrown };
  }
}

/** Where a body holds its end: the last event that ends a reply, its blank line apart; of JSON the last brace. */
function endOf(name: string, body: Buffer): number {
  const text = body.toString();
  if (name.endsWith('.json')) return Buffer.byteLength(text.trimEnd());
  const ends = [...text.matchAll(/^data: .*"type": ?"(?:response\.(?:completed|incomplete|failed)|error)".*$/gm)];
  const last = ends[0];
  return last === undefined ? Infinity : Buffer.byteLength(text.slice(0, last.index + last[0].length));
}

describe('a reply of the responses format that is cut at any byte', () => {
  test.for([...made, ...recorded])(
    'is an error of the table, and never half an answer taken as whole: %s',
    { timeout: 10 * minute },
    async ([name, body]) => {
      const whole = await read(body);
      const end = endOf(name, body);
      const wrong: unknown[] = [];
      // The longest recordings at some hundred places.
      const stride = Math.max(step, Math.ceil(body.length / (isFull ? 4000 : 300)));
      for (let at = 0; at < body.length; at += stride) {
        const { result, error, thrown } = await read(body.subarray(0, at));
        const failure = error ?? thrown;
        if (at >= end) {
          const isSame = failure?.class === (whole.error ?? whole.thrown)?.class && result?.text === whole.result?.text;
          if (!isSame || result?.complete !== whole.result?.complete) wrong.push({ at, after: result, failure });
        } else if (failure === undefined || result?.complete || !(failure.class in exitCodes))
          wrong.push({ at, result });
        else if (!(whole.result?.text ?? '').startsWith(result?.text ?? '')) wrong.push({ at, text: result?.text });
        else if (result?.toolCalls.some((one) => !isOf(one, whole))) wrong.push({ at, calls: result.toolCalls });
      }
      expect(wrong).toEqual([]);
    },
  );
});

/** Whether a call of a cut reply is one of the whole. The input of one that is cut is a text, which nobody takes for it. */
function isOf({ name, input }: { name: string; input?: unknown }, { result }: Read): boolean {
  return (result?.toolCalls ?? []).some((one) =>
    typeof input === 'string' ? one.name.startsWith(name) : JSON.stringify(one.input) === JSON.stringify(input),
  );
}

/** The two ways in which a body lacks its end: the connection broke, or the gateway thinks it is whole. */
const endings: [string, (part: Buffer) => ScriptedReply][] = [
  ['a broken connection', (part) => ({ chunks: part.length > 0 ? [part, cut] : [cut] })],
  ['a clean end', (part) => ({ body: part })],
];

describe.each(endings)('a stream of the responses format with %s at any byte', (name, ending) => {
  test(
    'is exit 0 only where its last event came, else 11, and what came is kept',
    { timeout: 10 * minute },
    async ({ server, cli }) => {
      const [file, body] = made[0] ?? ['', Buffer.alloc(0)];
      const end = endOf(file, body);
      const wrong: unknown[] = [];
      for (let at = 0; at <= body.length; at += isFull ? 7 : 149) {
        server.reply(ending(body.subarray(0, at)));
        const { code, stdout } = await cli(['chat', 'x', '--format', 'responses', '--json']);
        const { complete, text = '' } = JSON.parse(stdout) as { complete: boolean; text?: string };
        const isEnded = at >= end;
        // An empty body that ends cleanly is not a cut: it is an empty reply.
        const isNothing = name === 'a clean end' && !body.subarray(0, at).includes('\n\n');
        const expected = isEnded ? 0 : isNothing ? 9 : 11;
        if (code !== expected || complete !== isEnded || !'Zoë 🦅 flies'.startsWith(text))
          wrong.push({ at, code, text });
      }
      expect(wrong).toEqual([]);
    },
  );
});
