import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, vi } from 'vitest';
import { readReply } from '../../../src/library/client/read-reply.ts';
import { createClient } from '../../../src/index.ts';
import type { FormatName } from '../../../src/library/formats/types.ts';
import { hasRecorded, recordedBody } from '../formats/recorded.ts';
import { isFull } from '../../helpers/full.ts';
import type { ReceivedRequest } from '../../helpers/request-reader.ts';
import { scratchFolder } from '../../helpers/scratch.ts';
import { canaryKey, eventStream, test } from '../../helpers/with-server.ts';
import { comb, halves } from '../../replies/reading.ts';

/** A seam at every byte at once, and one alone at some of them; in the full run at each. */
const stride = isFull ? 1 : 41;

const [a, b, c] = ['https://a.test/', 'https://b.test/', 'https://c.test/'];
const data = (...events: readonly object[]): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');

// Two bytes, three and four: é, €, 😀. What is cited begins and ends behind them.
const contentText = 'é€😀 Rain falls. Sun shines.';
const grounding = {
  groundingChunks: [
    { web: { uri: a, title: 'a.test' } },
    { web: { uri: b, title: '' } },
    { maps: { uri: c, title: 'A place' } },
    { web: { uri: a, title: 'again' } },
  ],
  groundingSupports: [
    { segment: { startIndex: 10, endIndex: 21, text: 'Rain falls.' }, groundingChunkIndices: [1] },
    { segment: { startIndex: 22, endIndex: 33, text: 'Sun shines.' }, groundingChunkIndices: [0, 1, 9] },
    { segment: { startIndex: 11, endIndex: 33, text: 'not in the text' }, groundingChunkIndices: [3] },
  ],
  webSearchQueries: ['rain', 'sun'],
};
const contentSources = [
  {
    url: b,
    kind: 'web',
    cited: true,
    spans: [
      { start: 4, end: 15 },
      { start: 16, end: 27 },
    ],
  },
  { url: a, title: 'a.test', kind: 'web', cited: true, spans: [{ start: 16, end: 27 }] },
  { url: c, title: 'A place', kind: 'map', cited: false },
];
const contentPiece = (text: string, more: object = {}): object => ({
  candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] }, ...more }],
});
const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 };

const citation = (url: string, cited_text: string): object => ({
  type: 'web_search_result_location',
  url,
  title: `Title of ${url}`,
  cited_text,
  encrypted_index: 'aW5kZXg=',
});
const hit = (url: string): object => ({
  type: 'web_search_result',
  url,
  title: `Title of ${url}`,
  page_age: null,
  encrypted_content: 'Y29udGVudA==',
});
const messageBlocks = [
  { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'rain' } },
  { type: 'web_search_tool_result', tool_use_id: 's1', content: [hit(a), hit(c), hit(b)] },
  { type: 'text', text: '😀 So: ' },
  { type: 'text', text: 'rain falls', citations: [citation(b, 'It rains.'), citation(a, 'Wet.')] },
  { type: 'text', text: ', see ' },
  {
    type: 'text',
    text: 'page 7',
    citations: [
      {
        type: 'page_location',
        document_index: 0,
        document_title: 'Notes',
        start_page_number: 7,
        end_page_number: 8,
        cited_text: 'x',
      },
      citation(b, 'More.'),
    ],
  },
];
const titled = (url: string) => ({ url, title: `Title of ${url}`, kind: 'web' });
const messageSources = [
  {
    ...titled(b),
    cited: true,
    snippet: 'It rains.',
    spans: [
      { start: 6, end: 16 },
      { start: 22, end: 28 },
    ],
  },
  { ...titled(a), cited: true, snippet: 'Wet.', spans: [{ start: 6, end: 16 }] },
  { kind: 'document', title: 'Notes', page: 7, cited: true, snippet: 'x', spans: [{ start: 22, end: 28 }] },
  { ...titled(c), cited: false },
];
const messageUsage = { input_tokens: 3, output_tokens: 2, server_tool_use: { web_search_requests: 2 } };
const message = {
  type: 'message',
  id: 'm',
  role: 'assistant',
  model: 'm',
  stop_reason: 'end_turn',
  usage: messageUsage,
};
const messageStream = eventStream(
  { type: 'message_start', message: { id: 'm', role: 'assistant', model: 'm', usage: { input_tokens: 3 } } },
  ...messageBlocks.flatMap((block, index) => {
    const { citations = [], input, text, ...rest } = block as { citations?: object[]; input?: object; text?: string };
    const delta = (one: object): object => ({ type: 'content_block_delta', index, delta: one });
    return [
      {
        type: 'content_block_start',
        index,
        content_block: {
          ...rest,
          ...(text && { text: '' }),
          ...(citations.length > 0 && { citations: [] }),
          ...(input && { input: {} }),
        },
      },
      ...(input ? [delta({ type: 'input_json_delta', partial_json: JSON.stringify(input) })] : []),
      ...citations.map((one) => delta({ type: 'citations_delta', citation: one })),
      ...(text ? [delta({ type: 'text_delta', text })] : []),
      { type: 'content_block_stop', index },
    ];
  }),
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: messageUsage },
  { type: 'message_stop' },
);

const annotation = (url: string, start_index: number, end_index: number): object => ({
  type: 'url_citation',
  url_citation: { url, title: `Title of ${url}`, start_index, end_index, content: 'snippet' },
});
const annotations = [annotation(b, 5, 15), annotation(a, 0, 4), annotation(b, 17, 19)];
const completionSources = [
  { ...titled(a), cited: true, snippet: 'snippet', spans: [{ start: 0, end: 4 }] },
  // Behind a character of two units nobody knows what is counted.
  { ...titled(b), cited: true, snippet: 'snippet', spans: [{ start: 5, end: 15 }] },
];
const completionText = 'See: rain falls. 😀';
const completionUsage = {
  prompt_tokens: 3,
  completion_tokens: 2,
  total_tokens: 5,
  server_tool_use_details: { web_search_requests: 1 },
};
const choice = (more: object): object => ({ choices: [{ index: 0, ...more }] });

const flat = (url: string, start_index: number, end_index: number): object => ({
  type: 'url_citation',
  url,
  title: `Title of ${url}`,
  start_index,
  end_index,
});
const [firstNotes, secondNotes] = [
  [flat(b, 0, 4)],
  [flat(a, 0, 4), flat(b, 5, 8), { type: 'file_citation', filename: 'n.md', index: 8 }],
];
const searchCall = {
  type: 'web_search_call',
  id: 'ws',
  status: 'completed',
  action: {
    type: 'search',
    queries: ['rain'],
    sources: [
      { type: 'url', url: a },
      { type: 'url', url: c },
    ],
  },
};
const part = (text: string, notes: readonly object[]): object => ({ type: 'output_text', text, annotations: notes });
const responseMessage = { type: 'message', id: 'msg', role: 'assistant', status: 'completed' };
const response = {
  id: 'r',
  object: 'response',
  model: 'm',
  status: 'completed',
  output: [
    searchCall,
    { ...responseMessage, content: [part('Rain falls. ', firstNotes), part('Sun and rain.', secondNotes)] },
  ],
  usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
  tool_usage: { web_search: { num_requests: 2 } },
};
const responseSources = [
  // Of the second part: places are counted in the part, and told in the whole text.
  {
    ...titled(b),
    cited: true,
    spans: [
      { start: 0, end: 4 },
      { start: 17, end: 20 },
    ],
  },
  { ...titled(a), cited: true, spans: [{ start: 12, end: 16 }] },
  { kind: 'document', title: 'n.md', cited: true },
  { url: c, kind: 'web', cited: false },
];
const deltasOfPart = (content_index: number, text: string, notes: readonly object[]): object[] => [
  { type: 'response.output_text.delta', item_id: 'msg', output_index: 1, content_index, delta: text },
  ...notes.map((each, annotation_index) => ({
    type: 'response.output_text.annotation.added',
    item_id: 'msg',
    output_index: 1,
    content_index,
    annotation_index,
    annotation: each,
  })),
];
const responseStream = eventStream(
  { type: 'response.created', response: { id: 'r', model: 'm' } },
  {
    type: 'response.output_item.added',
    output_index: 0,
    item: { type: 'web_search_call', id: 'ws', status: 'in_progress' },
  },
  { type: 'response.output_item.done', output_index: 0, item: searchCall },
  { type: 'response.output_item.added', output_index: 1, item: { ...responseMessage, content: [] } },
  ...deltasOfPart(0, 'Rain falls. ', firstNotes),
  ...deltasOfPart(1, 'Sun and rain.', secondNotes),
  { type: 'response.output_item.done', output_index: 1, item: response.output[1] },
  { type: 'response.completed', response },
);

const beside = {
  citations: [a, b, c],
  search_results: [
    { url: a, title: 'A', snippet: 'about a' },
    { url: b, title: 'B' },
    { url: c, title: 'C' },
  ],
};
const besideText = 'Rain [2]. Sun [1][2].';
const besideSources = [
  {
    url: b,
    title: 'B',
    kind: 'web',
    mark: '[2]',
    cited: true,
    spans: [
      { start: 5, end: 8 },
      { start: 17, end: 20 },
    ],
  },
  { url: a, title: 'A', kind: 'web', mark: '[1]', snippet: 'about a', cited: true, spans: [{ start: 14, end: 17 }] },
  { url: c, title: 'C', kind: 'web', cited: false },
];

/** A reply with sources in each format and each form, and what a reader finds in it. */
const rows: [name: string, format: FormatName, body: string, sources: object[], searches: number | undefined][] = [
  [
    'grounding of the content format',
    'content',
    JSON.stringify({
      ...contentPiece(contentText, { finishReason: 'STOP', groundingMetadata: grounding }),
      usageMetadata,
    }),
    contentSources,
    2,
  ],
  [
    'grounding that a stream repeats, with supports that come late',
    'content',
    data(
      contentPiece('é€😀 Rain falls.', {
        groundingMetadata: { groundingChunks: grounding.groundingChunks, webSearchQueries: ['rain'] },
      }),
      contentPiece(' Sun shines.', {
        groundingMetadata: { groundingChunks: grounding.groundingChunks, webSearchQueries: ['rain'] },
      }),
      {
        ...contentPiece('', {
          finishReason: 'STOP',
          groundingMetadata: { groundingSupports: grounding.groundingSupports, webSearchQueries: ['sun', 'rain'] },
        }),
        usageMetadata,
      },
    ),
    contentSources,
    2,
  ],
  [
    'citations of the messages format',
    'messages',
    JSON.stringify({ ...message, content: messageBlocks }),
    messageSources,
    2,
  ],
  ['citations of a messages stream', 'messages', messageStream, messageSources, 2],
  [
    'annotations of a completion',
    'completions',
    JSON.stringify({
      ...choice({ message: { role: 'assistant', content: completionText, annotations }, finish_reason: 'stop' }),
      usage: completionUsage,
    }),
    completionSources,
    1,
  ],
  [
    'annotations of a completion, streamed late',
    'completions',
    data(
      choice({ delta: { role: 'assistant', content: 'See: rain ' } }),
      choice({ delta: { content: 'falls. 😀' } }),
      choice({ delta: { annotations } }),
      { ...choice({ delta: {}, finish_reason: 'stop' }), usage: completionUsage },
    ),
    completionSources,
    1,
  ],
  ['annotations of a response', 'responses', JSON.stringify(response), responseSources, 2],
  ['annotations of a response stream', 'responses', responseStream, responseSources, 2],
  [
    'the lists of Perplexity',
    'completions',
    JSON.stringify({
      ...beside,
      ...choice({ message: { role: 'assistant', content: besideText }, finish_reason: 'stop' }),
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, num_search_queries: 3 },
    }),
    besideSources,
    3,
  ],
  [
    'the lists of Perplexity, in each chunk',
    'completions',
    data(
      { ...beside, ...choice({ delta: { role: 'assistant', content: 'Rain [2]. S' } }) },
      { ...beside, ...choice({ delta: { content: 'un [1][2].' } }) },
      { ...beside, ...choice({ delta: {}, finish_reason: 'stop' }), usage: { num_search_queries: 3 } },
    ),
    besideSources,
    3,
  ],
  [
    'the list of xAI, which the text does not number',
    'completions',
    data(choice({ delta: { content: 'Rain.' } }), {
      ...choice({ delta: {}, finish_reason: 'stop' }),
      citations: [b, a, b],
    }),
    [
      { url: b, kind: 'web', cited: false },
      { url: a, kind: 'web', cited: false },
    ],
    undefined,
  ],
];

describe.for(rows)('%s', ([, format, body, sources, searches]) => {
  test('are sources: each once, in the order of the text, with its places in code points, and what is not cited last', async () => {
    const { result, error } = await readReply(
      { status: 200, headers: {}, body: Buffer.from(body) },
      { format, model: 'm' },
    );
    expect([error, result.sources, result.usage?.searches]).toEqual([undefined, sources, searches]);
  });

  test('are the same however the bytes arrive', async () => {
    const bytes = Buffer.from(body);
    const read = async (chunks: Iterable<Uint8Array>): Promise<unknown> => {
      const pieces = async function* (): AsyncGenerator<Uint8Array> {
        for (const chunk of chunks) yield Uint8Array.from(chunk);
      };
      return (await readReply({ status: 200, headers: {}, body: pieces() }, { format, model: 'm' })).result.sources;
    };
    expect(await read(comb(bytes, { first: 0, step: 1 }))).toEqual(sources);
    for (let at = 0; at <= bytes.length; at += stride) expect(await read(halves(bytes, at))).toEqual(sources);
  });
});

test.skipIf(!hasRecorded)(
  'recorded searches of both formats have their sources (skipped without ../shared/fixtures)',
  async () => {
    const read = async (file: string, format: FormatName) =>
      (await readReply({ status: 200, headers: {}, body: Buffer.from(recordedBody(file)) }, { format, model: 'm' }))
        .result;
    const search = await read('messages/llm-anthropic__test_web_search__0.sse', 'messages');
    expect(search.usage).toMatchObject({ searches: 1 });
    const [first] = search.sources ?? [];
    expect(first).toMatchObject({ cited: true, url: 'https://www.wunderground.com/hourly/us/ca/san-francisco' });
    const { start = 0, end = 0 } = first?.spans?.[0] ?? {};
    expect([...search.text].slice(start, end).join('')).toBe(
      search.content?.find((block) => Array.isArray(block['citations']))?.['text'],
    );
    expect(search.sources?.some(({ cited }) => !cited)).toBe(true);
    const context = await read('content/pydantic-ai__url_context.json', 'content');
    expect(context.sources).toEqual([
      {
        kind: 'web',
        url: 'https://ai.pydantic.dev',
        title: 'Pydantic AI',
        cited: true,
        spans: [{ start: 0, end: 131 }],
      },
    ]);
  },
);

test.for([
  [
    'messages',
    {
      ...message,
      content: [
        {
          type: 'web_search_tool_result',
          tool_use_id: 's',
          content: { type: 'web_search_tool_result_error', error_code: 'max_uses_exceeded' },
        },
        { type: 'text', text: 'hm' },
      ],
    },
    'web_search failed at the service: max_uses_exceeded',
  ],
  [
    'content',
    contentPiece('hm', {
      finishReason: 'STOP',
      urlContextMetadata: { urlMetadata: [{ retrievedUrl: a, urlRetrievalStatus: 'URL_RETRIEVAL_STATUS_PAYWALL' }] },
    }),
    'the service could not read https://a.test/: URL_RETRIEVAL_STATUS_PAYWALL',
  ],
] as const)(
  'a search that failed in an answer of the %s format is a warning',
  async ([format, body, told], { server, cli }) => {
    server.reply({ body });
    const ran = await cli(['text', 'x', '--format', format]);
    expect(ran).toMatchObject({ code: 0, stdout: 'hm\n' });
    expect(ran.stderr).toContain(told);
  },
);

test('an answer that goes on has the sources of all its requests, at their places in the whole text', async ({
  server,
  cli,
}) => {
  const half = { finishReason: 'CONTINUATION', continuationToken: 't', groundingMetadata: grounding };
  server.reply({ body: contentPiece(contentText, half) });
  server.reply({ body: contentPiece(contentText, { finishReason: 'STOP', groundingMetadata: grounding }) });
  const { stdout } = await cli(['text', 'x', '--json']);
  const { sources, usage } = JSON.parse(stdout) as { sources: { spans: object[] }[]; usage: object };
  expect(usage).toEqual({ searches: 4 });
  expect(sources.map(({ spans = [] }) => spans.length)).toEqual([4, 2, 0]);
  expect(sources[1]?.spans).toEqual([
    { start: 16, end: 27 },
    { start: 43, end: 54 },
  ]);
});

describe('under the answer', () => {
  const body = JSON.stringify({
    ...beside,
    ...choice({ message: { role: 'assistant', content: besideText }, finish_reason: 'stop' }),
  });
  const grounded = contentPiece('Rain falls.', {
    finishReason: 'STOP',
    groundingMetadata: { ...grounding, groundingSupports: [{ segment: { endIndex: 11 }, groundingChunkIndices: [0] }] },
  });
  const note = '[1] a.test  https://a.test/\n';

  test('a terminal gets what is cited, a pipe only with --sources', async ({ server, cli }) => {
    server.always({ body: grounded });
    const terminal = { tty: { stdout: true } };
    expect((await cli(['text', 'x'], terminal)).stdout).toMatch(new RegExp(`Rain falls\\.\\n\\n\\${note}$`));
    expect((await cli(['text', 'x', '--stream'], terminal)).stdout).toMatch(
      new RegExp(`Rain falls\\.\\n\\n\\${note}$`),
    );
    expect((await cli(['text', 'x', '--no-sources'], terminal)).stdout).not.toContain('a.test');
    expect((await cli(['text', 'x'])).stdout).toBe('Rain falls.\n');
    expect((await cli(['text', 'x', '--sources'])).stdout).toBe(`Rain falls.\n\n${note}`);
    expect((await cli(['text', 'x', '--sources', '--json'])).stdout).toContain(
      '"sources":[{"kind":"web","url":"https://a.test/"',
    );
    const { cwd } = await cli(['text', 'x', '--sources', '-o', 'a.md']);
    expect(readFileSync(join(cwd, 'a.md'), 'utf8')).toBe(`Rain falls.\n\n${note}`);
  });

  test('the numbers are those of the text where it has some', async ({ server, cli }) => {
    server.reply({ body });
    const { stdout } = await cli(['chat', 'x', '--format', 'completions', '--no-save', '--sources']);
    expect(stdout).toBe(`${besideText}\n\n[2] B  https://b.test/\n[1] A  https://a.test/\n`);
  });

  test('a title cannot control the terminal', async ({ server, cli }) => {
    const groundingMetadata = { groundingChunks: [{ web: { uri: a, title: 'x\u001b[2Jy\nz' } }] };
    server.reply({ body: contentPiece('Rain.', { finishReason: 'STOP', groundingMetadata }) });
    expect((await cli(['text', 'x'], { tty: { stdout: true } })).stdout).toContain('[1] x^[[2Jy z  https://a.test/\n');
  });
});

test('a batch keeps the sources of its answers, and its table has a column of them', async ({ server, cli }) => {
  const cwd = scratchFolder();
  server.reply({ body: contentPiece(contentText, { finishReason: 'STOP', groundingMetadata: grounding }) });
  await cli(['batch', '-', '-o', 'out'], { stdin: '{"id":"a","prompt":"x"}\n', cwd });
  expect(JSON.parse(readFileSync(join(cwd, 'out/results.jsonl'), 'utf8'))).toMatchObject({ sources: contentSources });
  const { stdout } = await cli(['batch', 'export', 'out', '--format', 'csv'], { cwd });
  expect(stdout).toContain(',sources,');
  expect(stdout).toContain(`,${b}; ${a},`);
});

test('what the messages format found goes back unchanged in the next turn of a session', async ({ server, cli }) => {
  vi.stubEnv('XDG_STATE_HOME', scratchFolder());
  const cwd = scratchFolder();
  const argv = ['chat', '--session', './s.jsonl', '--service', 'gateway'];
  server.reply({ body: messageStream });
  server.reply({ body: { ...message, content: [{ type: 'text', text: 'yes' }] } });
  writeFileSync(join(cwd, 's.jsonl'), '');
  expect((await cli([...argv, 'one'], { cwd })).code).toBe(0);
  expect((await cli([...argv, 'two'], { cwd })).code).toBe(0);
  const { messages } = (server.requests[1] as ReceivedRequest).json() as { messages: { content: unknown }[] };
  expect(messages[1]?.content).toEqual(messageBlocks);
});

test('a reply of the library has its sources', async ({ server }) => {
  const client = createClient({ baseUrl: server.url, apiKey: canaryKey });
  server.reply({ body: { ...message, content: messageBlocks } });
  const reply = await client.generate({ model: 'm', maxTokens: 9, prompt: 'x' }, { format: 'messages' });
  expect([reply.sources, reply.usage?.searches]).toEqual([messageSources, 2]);
  await client.close();
});
