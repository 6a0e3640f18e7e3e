import { describe, expect, it } from 'vitest';
import { exitCodes } from '../../../src/library/errors.ts';
import { faults } from '../../../src/gateway/faults/table.ts';
import { dig, sharedGateway } from '../gateway-under-test.ts';
import { askFaults } from './ask.ts';
import { batchFaultNames, faultRows } from './topic.ts';

const gateway = sharedGateway();
const { chat, complete, respond, write } = askFaults(gateway);

describe('the table of faults', () => {
  it('has the rows of the topic, each with a code of the exit table', () => {
    const named = [...faultRows.map(({ name }) => name), ...batchFaultNames];
    expect(named.toSorted()).toEqual(Object.keys(faults).toSorted());
    const codes: number[] = Object.values(exitCodes).map(({ code }) => code);
    for (const { exitCode } of faultRows) expect(codes).toContain(exitCode);
  });

  it('is all there is: another fault is an unknown model', async () => {
    expect((await write('fault-nonsense')).status).toBe(404);
    expect((await chat('fault-nonsense')).status).toBe(404);
    expect((await complete('fault-nonsense')).status).toBe(404);
    expect((await respond('fault-nonsense')).status).toBe(404);
  });
});

describe('statuses', () => {
  const rows: [code: number, content: string, messages: string, completions: string, named?: string | null][] = [
    [400, 'INVALID_ARGUMENT', 'invalid_request_error', 'invalid_request_error'],
    [401, 'UNAUTHENTICATED', 'authentication_error', 'invalid_request_error', 'invalid_api_key'],
    [402, 'INVALID_ARGUMENT', 'billing_error', 'insufficient_quota', 'insufficient_quota'],
    [403, 'PERMISSION_DENIED', 'permission_error', 'invalid_request_error'],
    [404, 'NOT_FOUND', 'not_found_error', 'invalid_request_error', 'model_not_found'],
    [408, 'DEADLINE_EXCEEDED', 'invalid_request_error', 'invalid_request_error'],
    [413, 'Request Entity Too Large', 'request_too_large', 'invalid_request_error'],
    [429, 'RESOURCE_EXHAUSTED', 'rate_limit_error', 'requests', 'rate_limit_exceeded'],
    [500, 'INTERNAL', 'api_error', 'server_error'],
    [503, 'UNAVAILABLE', 'api_error', 'server_error'],
    [504, 'DEADLINE_EXCEEDED', 'timeout_error', 'server_error'],
    [529, 'UNAVAILABLE', 'overloaded_error', 'server_error'],
  ];
  it.each(rows)('fault-%i in all formats', async (code, status, type, kind, named = null) => {
    const content = await write(`fault-${code}`);
    expect([content.status, content.json]).toMatchObject([code, { error: { code, status } }]);
    const messages = await chat(`fault-${code}`);
    expect([messages.status, messages.json]).toMatchObject([code, { type: 'error', error: { type } }]);
    const completions = await complete(`fault-${code}`);
    const error = { message: expect.any(String), type: kind, param: null, code: named };
    expect([completions.status, completions.json]).toEqual([code, { error }]);
    const responses = await respond(`fault-${code}`);
    expect([responses.status, responses.json]).toEqual([code, { error }]);
  });

  it('fault-429 reports how long to wait, in the header and in the body', async () => {
    const { headers, json } = await write('fault-429');
    expect(headers.get('retry-after')).toBe('1');
    expect(dig(json, 'error', 'details', 0)).toEqual({
      '@type': 'type.googleapis.com/google.rpc.RetryInfo',
      retryDelay: '1s',
    });
  });

  it('fault-quota is over for long: as OpenAI says it, for good', async () => {
    const { headers, json } = await complete('fault-quota');
    expect(headers.get('retry-after')).toBe('3600');
    expect(json).toMatchObject({ error: { type: 'insufficient_quota', code: 'insufficient_quota' } });
  });

  it('fault-503-twice fails two times for each request, then answers, then starts over', async () => {
    const statuses = [];
    for (let visit = 0; visit < 6; visit++) statuses.push((await write('fault-503-twice')).status);
    expect(statuses).toEqual([503, 503, 200, 503, 503, 200]);
    expect((await chat('fault-503-twice')).status).toBe(503);
    expect((await complete('fault-503-twice')).status).toBe(503);
    expect((await respond('fault-503-twice')).status).toBe(503);
  });

  it('fault-html-502 is a page, fault-redirect leads away', async () => {
    const page = await chat('fault-html-502');
    expect([page.status, page.headers.get('content-type'), page.text]).toEqual([
      502,
      'text/html; charset=utf-8',
      expect.stringContaining('<h1>502 Bad Gateway</h1>'),
    ]);
    const away = await write('fault-redirect');
    expect([away.status, away.headers.get('location')]).toEqual([307, 'https://example.invalid/']);
  });
});
