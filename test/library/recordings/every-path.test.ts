import { expect, onTestFinished, test } from 'vitest';
import { scratchFolder } from '../../helpers/scratch.ts';
import { startScriptedServer } from '../../helpers/scripted-server.ts';
import { type Served, startServe, upstreamKey, writeConfig } from './served.ts';

/** A base URL with a path is taken whole for the operations of OpenAI's formats. */
function upstreamPath(path: string): string {
  return `/prefix${path.startsWith('/v1/responses') ? path.slice('/v1'.length) : path}`;
}

test('passes every path and method to --upstream, with the key in the form of its caller, and replays it', async () => {
  const server = await startScriptedServer();
  onTestFinished(() => server.close());
  const cwd = scratchFolder();
  const config = writeConfig(cwd, { work: { baseUrl: `${server.url}/prefix`, apiKey: upstreamKey } });
  const recording = await startServe(['--upstream', 'work', '--record', 'kept'], { cwd, config });
  server.always(({ method, path, headers, body }) => ({
    body: { method, path, length: headers['content-length'], type: headers['content-type'], body: String(body) },
  }));
  const asks: [method: string, path: string, headers: Record<string, string>, body?: string][] = [
    ['GET', '/v1beta/models?pageSize=2', { 'x-goog-api-key': 'KEY' }],
    ['GET', '/v1/models', { 'x-api-key': 'KEY', 'anthropic-version': '2023-06-01' }],
    [
      'POST',
      '/v1beta/models/m:embedContent',
      { 'x-goog-api-key': 'KEY', 'content-type': 'application/json' },
      '{"a":1}',
    ],
    [
      'POST',
      '/v1/messages/count_tokens',
      { 'x-api-key': 'KEY', 'anthropic-version': '2023-06-01', 'content-type': 'application/json' },
      '{}',
    ],
    ['DELETE', '/v1/files/f-1', { 'x-api-key': 'KEY' }],
    ['POST', '/v1/responses', { authorization: 'Bearer KEY', 'content-type': 'application/json' }, '{"input":"a"}'],
    ['GET', '/v1/responses/resp_1?stream=true', { authorization: 'Bearer KEY' }],
    ['POST', '/v1/responses/resp_1/cancel', { authorization: 'Bearer KEY' }, ''],
    ['PUT', '/upload/files', { authorization: 'Bearer KEY', 'content-type': 'image/png' }, 'not JSON'],
    ['POST', '/v1/files', { 'x-api-key': 'KEY' }, ''],
  ];
  const askAll = (served: Served) =>
    Promise.all(
      asks.map(async ([method, path, headers, body]) => {
        const shown = Object.entries(headers).map(([name, value]) => [name, value.replace('KEY', served.key)]);
        const response = await fetch(served.url + path, {
          method,
          headers: Object.fromEntries(shown) as Record<string, string>,
          ...(body !== undefined && { body }),
        });
        return response.json();
      }),
    );
  const live = await askAll(recording);
  expect(live).toEqual(
    asks.map(([method, path, headers, body]) => ({
      method,
      path: upstreamPath(path),
      ...(body !== undefined && { length: String(body.length) }),
      ...((headers['content-type'] ?? body !== undefined) && { type: headers['content-type'] ?? expect.any(String) }),
      body: body ?? '',
    })),
  );
  const keyNames = ['x-vendor-a-api-key', 'x-api-key', 'authorization'];
  const forms = server.requests.map(({ path, headers }) => [path, keyNames.filter((name) => name in headers)]);
  expect(Object.fromEntries(forms)).toEqual({
    '/prefix/v1beta/models?pageSize=2': ['x-vendor-a-api-key'],
    '/prefix/v1/models': ['x-api-key'],
    '/prefix/v1beta/models/m:embedContent': ['x-vendor-a-api-key'],
    '/prefix/v1/messages/count_tokens': ['x-api-key'],
    '/prefix/v1/files/f-1': ['x-api-key'],
    '/prefix/responses': ['authorization'],
    '/prefix/responses/resp_1?stream=true': ['authorization'],
    '/prefix/responses/resp_1/cancel': ['authorization'],
    '/prefix/upload/files': ['authorization'],
    '/prefix/v1/files': ['x-api-key'],
  });
  await recording.stop();
  const replaying = await startServe(['--replay', 'kept'], { cwd, config });
  expect(await askAll(replaying)).toEqual(live);
});
