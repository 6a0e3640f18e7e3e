import { describe, expect, it } from 'vitest';
import { readEvents, turn, sharedGateway } from '../gateway-under-test.ts';
import { askFaults } from './ask.ts';

const gateway = sharedGateway();
const { chat, completeStream, respond, respondStream, stream } = askFaults(gateway);

describe('streams', () => {
  it('fault-error-event breaks off with an error event', async () => {
    const { status, text } = await stream('fault-error-event');
    expect([status, text.match(/text_delta/g)?.length]).toEqual([200, 5]);
    expect(text).toMatch(
      /\n\nevent: error\ndata: \{"type":"error","error":\{"type":"overloaded_error","message":"Overloaded"\}\}\n\n$/,
    );
    expect((await chat('fault-error-event')).status).toBe(529);
  });

  it('fault-no-end has neither stop reason nor message_stop, fault-no-message-stop has a stop reason', async () => {
    const [none, half] = [(await stream('fault-no-end')).text, (await stream('fault-no-message-stop')).text];
    expect([none.includes('message_delta'), none.includes('message_stop')]).toEqual([false, false]);
    expect([half.includes('"stop_reason":"end_turn"'), half.includes('message_stop')]).toEqual([true, false]);
  });

  it('fault-bad-event has an event that is not JSON', async () => {
    expect((await stream('fault-bad-event')).text).toContain('"delta":{oops\n\n');
  });

  const pieces = async (model: string, query = '?alt=sse'): Promise<string> =>
    (await gateway.post(`/v1beta/models/${model}:streamGenerateContent${query}`, turn('hi'), asText)).text;
  const asText = { 'x-vendor-a-api-key': 'local-test-key', authorization: '' };

  it('fault-error-event breaks a content stream off with UNAVAILABLE', async () => {
    const text = await pieces('fault-error-event');
    expect(text.match(/"text":/g)).toHaveLength(5);
    expect(text).toMatch(/\r\n\r\ndata: \{"error":\{"code":503,[^\n]*"status":"UNAVAILABLE"\}\}\r\n\r\n$/);
    expect(JSON.parse(await pieces('fault-error-event', ''))).toHaveLength(6);
  });

  it('fault-no-end and fault-bad-event spoil a content stream too', async () => {
    const cut = await pieces('fault-no-end');
    expect([cut.match(/"text":/g)?.length, cut.includes('finishReason')]).toEqual([5, false]);
    expect(await pieces('fault-bad-event')).toMatch(/data: \{"candidates":\[\{"content":\{oops\r\n\r\n$/);
  });

  it('fault-odd-framing holds the whole content stream', async () => {
    const odd = await pieces('fault-odd-framing');
    expect(odd).toMatch(/^: OFFLINE PROCESSING\r\n\r\ndata: .*"finishReason":"STOP".*\r\n\r\ndata: \[DONE\]\r\n\r\n$/s);
    expect(odd).not.toContain('\r\r');
    expect(JSON.parse(await pieces('fault-odd-framing', ''))).not.toHaveLength(0);
  });

  it('fault-unknown-events and fault-odd-framing hold the whole answer all the same', async () => {
    const unknown = (await stream('fault-unknown-events')).text;
    expect([
      unknown.includes('event: offline_note'),
      unknown.includes('offline_delta'),
      unknown.includes('message_stop'),
    ]).toEqual([true, true, true]);
    const odd = (await stream('fault-odd-framing')).text;
    expect(odd).toMatch(/^: OFFLINE PROCESSING\r\n\r\ndata: \{"type":"message_start"/);
    expect(odd).toMatch(/data: \{"type":"message_stop"\}\r\n\r\ndata: \[DONE\]\r\n\r\n$/);
    expect(odd).not.toMatch(/[^\r]\n/);
  });

  describe('of completions', () => {
    const chunks = async (model: string): Promise<string[]> =>
      (await completeStream(model)).text.split(/\r?\n\r?\n/).slice(0, -1);
    const texts = (lines: string[]): number => lines.filter((line) => line.includes('"delta":{"content":"')).length;

    it('fault-error-event breaks off with an error', async () => {
      const lines = await chunks('fault-error-event');
      // The first holds the role, with an empty text.
      expect(texts(lines)).toBe(5);
      expect(lines.at(-1)).toMatch(/^data: \{"error":\{"message":"The model is overloaded[^\n]*"server_error"/);
    });

    it('fault-no-end has no finish reason and no [DONE], fault-no-message-stop has the first', async () => {
      const [none, half] = [(await chunks('fault-no-end')).join(), (await chunks('fault-no-message-stop')).join()];
      expect([none.includes('"finish_reason":"stop"'), none.includes('[DONE]')]).toEqual([false, false]);
      expect([half.includes('"finish_reason":"stop"'), half.includes('[DONE]')]).toEqual([true, false]);
    });

    it('fault-bad-event is not JSON in the middle', async () => {
      expect((await chunks('fault-bad-event')).slice(-2)).toEqual([
        'data: {"choices":[{"index":0,"delta":{oops',
        'data: [DONE]',
      ]);
    });

    it('fault-unknown-events has a chunk without choices and a delta that is not known', async () => {
      const lines = await chunks('fault-unknown-events');
      expect(lines[1]).toContain('"choices":[],"offline_note":"skip me"');
      expect(lines[2]).toContain('"delta":{"offline_delta":"skip me"}');
      expect(lines.at(-1)).toBe('data: [DONE]');
    });

    it('fault-odd-framing has a comment, CRLF, and [DONE] once', async () => {
      const { text } = await completeStream('fault-odd-framing');
      expect(text).toMatch(/^: OFFLINE PROCESSING\r\n\r\ndata: \{"id":/);
      expect(text).toMatch(/"finish_reason":"stop"\}\][^\n]*\r\n\r\ndata: \[DONE\]\r\n\r\n$/);
      expect(text.match(/\[DONE\]/g)).toHaveLength(1);
    });
  });

  describe('of responses', () => {
    const events = async (model: string): Promise<Record<string, unknown>[]> =>
      readEvents((await respondStream(model)).text);
    const texts = (all: Record<string, unknown>[]): number =>
      all.filter(({ type }) => type === 'response.output_text.delta').length;

    it('fault-error-event breaks off with an error event, and refuses what is no stream', async () => {
      const all = await events('fault-error-event');
      expect(texts(all)).toBe(5);
      const error = { message: expect.any(String), type: 'server_error', param: null, code: null };
      expect(all.at(-1)).toEqual({ type: 'error', sequence_number: all.length - 1, error });
      expect((await respond('fault-error-event')).status).toBe(529);
    });

    it('fault-no-end has no event that ends it, fault-no-message-stop has one', async () => {
      const [none, whole] = [await events('fault-no-end'), await events('fault-no-message-stop')];
      expect([none.at(-1)?.['type'], texts(none)]).toEqual(['response.output_text.delta', 5]);
      expect(whole.at(-1)).toMatchObject({ type: 'response.completed', response: { status: 'completed' } });
    });

    it('fault-bad-event is not JSON in the middle', async () => {
      expect((await respondStream('fault-bad-event')).text).toMatch(/"delta":\{oops\n\n$/);
    });

    it('fault-unknown-events has events that are not known between those of the whole answer', async () => {
      const types = (await events('fault-unknown-events')).map(({ type }) => type);
      expect([types[1], types[5]]).toEqual(['response.offline_note', 'response.offline_text.delta']);
      expect(types.at(-1)).toBe('response.completed');
    });

    it('fault-odd-framing has a comment, CRLF, no names, and [DONE] at the end', async () => {
      const { text } = await respondStream('fault-odd-framing');
      expect(text).toMatch(/^: OFFLINE PROCESSING\r\n\r\ndata: \{"type":"response\.created"/);
      expect(text).toMatch(/data: \{"type":"response\.completed"[^\n]*\r\n\r\ndata: \[DONE\]\r\n\r\n$/);
      expect(text).not.toMatch(/event: |[^\r]\n/);
    });
  });
});
