import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type GatewayUnderTest } from '../gateway-under-test.ts';
import { askFaults } from './ask.ts';

let gateway: GatewayUnderTest;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close(0));
const { chat, stream } = askFaults(() => gateway);

describe('streams', () => {
  it('fault-error-event breaks off with an error event', async () => {
    const { status, text } = await stream('fault-error-event');
    expect([status, text.match(/text_delta/g)?.length]).toEqual([200, 5]);
    expect(text).toMatch(
      /\n\nevent: error\ndata: \{"type":"error","error":\{"type":"overloaded_error","message":"Overloaded"\}\}\n\n$/,
    );
    expect((await chat('fault-error-event')).status).toBe(529);
  });

  it('fault-no-end has neither stop reason nor message_stop, fault-no-message-stop has the first', async () => {
    const [none, half] = [(await stream('fault-no-end')).text, (await stream('fault-no-message-stop')).text];
    expect([none.includes('message_delta'), none.includes('message_stop')]).toEqual([false, false]);
    expect([half.includes('"stop_reason":"end_turn"'), half.includes('message_stop')]).toEqual([true, false]);
  });

  it('fault-bad-event has an event that is not JSON', async () => {
    expect((await stream('fault-bad-event')).text).toContain('"delta":{oops\n\n');
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
});
