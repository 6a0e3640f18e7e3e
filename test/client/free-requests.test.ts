import { expect, test } from 'vitest';
import { readModelPage } from '../../src/client/free-requests.ts';
import { loadFormat } from '../../src/formats/format.ts';

test('a page of the content format gives names as -m takes them, operations and the next page', () => {
  const page = JSON.parse(
    '{"models":[{"name":"models/gemini-2.5-flash","displayName":"Gemini 2.5 Flash","inputTokenLimit":1048576,"supportedGenerationMethods":["generateContent","countTokens"]},{"displayName":"no name"},7],"nextPageToken":"p2"}',
  );
  expect(readModelPage(page)).toEqual({
    models: [{ id: 'gemini-2.5-flash', title: 'Gemini 2.5 Flash', operations: ['generateContent', 'countTokens'] }],
    next: 'p2',
    goesOn: true,
  });
});

test('a page of the messages format goes on while it has more', () => {
  const model = '{"type":"model","id":"claude-x","display_name":"Claude X","created_at":"2025-09-29T00:00:00Z"}';
  const read = (more: boolean) =>
    readModelPage(JSON.parse(`{"data":[${model}],"has_more":${more},"first_id":"claude-x","last_id":"claude-x"}`));
  expect(read(true)).toEqual({
    models: [{ id: 'claude-x', title: 'Claude X', operations: undefined }],
    next: 'claude-x',
    goesOn: true,
  });
  expect(read(false)).toMatchObject({ next: undefined, goesOn: false });
});

test('the list of an OpenAI-like relay is read all the same', () => {
  const page = JSON.parse('{"object":"list","data":[{"id":"m/1","name":"M One","object":"model","owned_by":"o"}]}');
  expect(readModelPage(page)).toEqual({
    models: [{ id: 'm/1', title: 'M One', operations: undefined }],
    next: undefined,
    goesOn: false,
  });
});

test('an empty list may leave its key out, and any other object is not a list', () => {
  expect(readModelPage({})).toEqual({ models: [], next: undefined, goesOn: false });
  expect(readModelPage({ candidates: [] })).toBeUndefined();
  expect(readModelPage('models')).toBeUndefined();
});

test('a token is escaped in the query', async () => {
  const address = async (name: 'content' | 'messages' | 'completions', token?: string) =>
    (await loadFormat(name)).models(token);
  expect(await address('content', 'a&b=')).toEqual({
    path: '/v1beta/models',
    query: 'pageSize=1000&pageToken=a%26b%3D',
  });
  expect(await address('content')).toEqual({ path: '/v1beta/models', query: 'pageSize=1000' });
  expect(await address('messages')).toEqual({ path: '/v1/models', query: 'limit=1000' });
  expect(await address('messages', 'a&b=')).toEqual({ path: '/v1/models', query: 'limit=1000&after_id=a%26b%3D' });
  expect(await address('completions')).toEqual({ path: '/v1/models', query: '' });
});
