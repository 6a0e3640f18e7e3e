import { describe, expect } from 'vitest';
import { type Client, createClient, readReply, startDeadline } from '../../../src/index.ts';
import { textReply } from '../../helpers/with-server.ts';
import { test } from './library-client.ts';

/** A call as JavaScript can make it, without the help of types. */
type Loose = Record<keyof Client, (...given: unknown[]) => unknown>;

const ask = { model: 'm', prompt: 'hi' };
const circle: Record<string, unknown> = { role: 'user', content: 'x' };
circle['self'] = { circle };
const nest = (levels: number): object => Array.from({ length: levels }).reduce<object>((inner) => ({ inner }), {});

const calls: [string, RegExp, (client: Loose) => unknown][] = [
  ['generate without a request', /takes a request/, (client) => client.generate()],
  ['generate without a model', /names no model/, (client) => client.generate({ prompt: 'hi' })],
  ['generateImages without a request', /takes a request/, (client) => client.generateImages()],
  [
    'stream without a request',
    /takes a request/,
    (client) => (client.stream() as ReturnType<Client['stream']>).reply(),
  ],
  ['prepare without a request', /takes a request/, (client) => client.prepare()],
  ['prepare in no format', /no format "yaml"/, (client) => client.prepare({ model: 'm' }, { format: 'yaml' })],
  ['listModels without a format', /no format is named/, (client) => client.listModels()],
  ['countTokens without a request', /takes a prepared request/, (client) => client.countTokens()],
  ['contextWindow without a request', /takes a prepared request/, (client) => client.contextWindow()],
  ['send without a request', /takes a prepared request/, (client) => client.send()],
  ['ask without a request', /takes a prepared request/, (client) => client.ask()],
  ['ask for a request that is not prepared', /takes a prepared request/, (client) => client.ask({ model: 'm' })],
  ['address without a request', /takes a prepared request/, (client) => client.address()],
  [
    'a time that is no number',
    /timeoutMs is not a number/,
    (client) => client.generate({ model: 'm', prompt: 'hi' }, { timeoutMs: 'abc' }),
  ],
  ['a system that is no text', /^system takes a text, not 5$/, (client) => client.generate({ ...ask, system: 5 })],
  [
    'tools that are no list',
    /^tools takes a list of objects, not 5$/,
    (client) => client.generate({ ...ask, tools: 5 }),
  ],
  [
    'a number in words',
    /^temperature takes a number, not "hot"$/,
    (client) => client.generate({ ...ask, temperature: 'hot' }),
  ],
  [
    'one stop that is no list',
    /^stop takes a list of texts, not "END"$/,
    (client) => client.generate({ ...ask, stop: 'END' }),
  ],
  [
    'a field that is mistyped',
    /^a request has no field maxToken$/,
    (client) => client.generate({ ...ask, maxToken: 5 }),
  ],
  [
    'turns in the form of a format',
    /^a request has no field messages$/,
    (client) => client.generate({ ...ask, messages: [] }),
  ],
  ['a format that is not there', /no format "yaml"/, (client) => client.generate(ask, { format: 'yaml' })],
  ['media that are no list', /^media takes a list, not 5$/, (client) => client.generateImages({ ...ask, media: 5 })],
  [
    'a medium that is nothing',
    /^media\[0\] takes bytes, \{ path \} or \{ data, mimeType \}, not null$/,
    (client) => client.generate({ ...ask, media: [null] }),
  ],
  ['a mask that is a text', /^mask takes bytes/, (client) => client.generateImages({ ...ask, media: [], mask: 'x' })],
  ['a body that holds itself', /^body holds itself/, (client) => client.generate({ ...ask, body: circle })],
  ['a turn that holds itself', /^turns holds itself/, (client) => client.generate({ ...ask, turns: [circle] })],
  ['a body without end', /^body is nested deeper/, (client) => client.generate({ ...ask, body: nest(20_000) })],
  ...['generate', 'generateImages', 'prepare'].map((name): (typeof calls)[number] => [
    `null as the options of ${name}`,
    /^the options of a call are an object, not null$/,
    (client) => client[name as 'generate']({ ...ask, maxTokens: 1 }, null),
  ]),
  [
    'null as the options of stream',
    /^the options of a call are an object, not null$/,
    (client) => (client.stream(ask, null) as ReturnType<Client['stream']>).reply(),
  ],
  ['a word as the options of listModels', /^the options of a call/, (client) => client.listModels('content', 'all')],
  ['a deadline that is no number', /timeoutMs is not a number/, () => startDeadline('abc' as unknown as number)],
  [
    'a reply in no format',
    /no format "yaml"/,
    () => readReply({ status: 200, headers: {}, body: Buffer.from('{}') }, { format: 'yaml' as 'content', model: 'm' }),
  ],
];

const options: [string, RegExp, unknown][] = [
  ['no options', /no base URL is set/, undefined],
  ['a service that is not there', /there is no service "nope"/, { service: 'nope' }],
  ['a format that is not there', /there is no format "yaml"/, { baseUrl: 'https://h', format: 'yaml' }],
  ['a time that is no number', /timeoutMs is not a number/, { baseUrl: 'https://h', timeoutMs: 'abc' }],
  ['a base URL that is a number', /^baseUrl takes a URL, not 5$/, { baseUrl: 5 }],
  ['a base URL that is an object', /^baseUrl takes a URL, not an object$/, { baseUrl: {} }],
  ['headers that are no object', /^headers takes an object of texts, not 5$/, { baseUrl: 'https://h', headers: 5 }],
  ['a header that is a number', /^headers takes an object of texts/, { baseUrl: 'https://h', headers: { a: 5 } }],
  [
    'wrappers that are no functions',
    /^wrappers takes a list of functions, not a list$/,
    { baseUrl: 'https://h', wrappers: [5] },
  ],
  ['a listener that is none', /^onEvent takes a function, not true$/, { baseUrl: 'https://h', onEvent: true }],
  [
    'a memory that is none',
    /^memory takes an object with get and set, not an object$/,
    { baseUrl: 'https://h', memory: {} },
  ],
  ['a number of retries that is none', /retries is not a number/, { baseUrl: 'https://h', retries: NaN }],
];

describe('wrong calls are told as usage, and send nothing', () => {
  test.for(calls)('%s', async ([, words, call], { client }) => {
    const said = await (async () => call(client() as unknown as Loose))().then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(said).toMatchObject({ name: 'GatewayError', class: 'usage', message: expect.stringMatching(words) });
  });

  test.for(options)('createClient with %s', ([, words, given]) => {
    expect(() => createClient(given as { baseUrl: string })).toThrow(
      expect.objectContaining({ class: 'usage', message: expect.stringMatching(words) }),
    );
  });
});

const noKeys: [string, unknown][] = [
  ['a number', 5],
  ['a function that gives none', () => undefined],
  ['a function that gives a number', () => 5],
];

test.each(noKeys)('a key that is %s is told as a key, and nothing is sent', async (_, apiKey) => {
  const client = createClient({ baseUrl: 'http://127.0.0.1:1', apiKey: apiKey as string, retries: 0 });
  await expect(client.generate({ model: 'm', prompt: 'hi' })).rejects.toMatchObject({
    class: 'auth',
    message: expect.stringContaining('the key is empty'),
    details: { sent: 'no' },
  });
});

test('ask tells how many requests it took', async ({ server, client }) => {
  for (let count = 0; count < 2; count++) server.reply({ status: 503, headers: { 'retry-after-ms': '1' }, body: '{}' });
  server.reply({ body: textReply('Hello') });
  const asking = client();
  const request = await asking.prepare({ model: 'm', prompt: 'hi' });
  const deltas = asking.ask(request);
  let next = await deltas.next();
  while (!next.done) next = await deltas.next();
  expect(next.value).toMatchObject({ attempts: 3, result: { text: 'Hello' } });
});

test('what is null is left out: options of a client and of a call, and fields of a request', async ({
  server,
  client,
}) => {
  server.reply({ body: textReply('Hello') });
  const loose = client({ headers: null, auth: null, wrappers: null } as object) as unknown as Loose;
  const request = { ...ask, system: null, temperature: null, tools: null, schema: null, media: null, mask: null };
  expect(await loose.generate({ ...request, turns: null, body: null }, { signal: null, fallback: null })).toMatchObject(
    {
      text: 'Hello',
    },
  );
  expect(server.requests[0]?.json()).toEqual({ contents: [{ role: 'user', parts: [{ text: 'hi' }] }] });
});
