import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { createClient } from '../../src/index.ts';
import { png } from '../helpers/replies.ts';
import { scratchFolder } from '../helpers/scratch.ts';
import { eventStream, imageReply, messageEvents, test, textReply } from '../helpers/with-server.ts';

const sound = Buffer.from('RIFF\x04\0\0\0WAVE');
const paper = Buffer.from('%PDF-1.7\n');
const base64 = (bytes: Buffer): string => bytes.toString('base64');

const partsReply = (...parts: object[]): object =>
  textReply('', { candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }] });
const withoutEnd = (reply: object): object => {
  const { candidates } = reply as { candidates: object[] };
  return { ...reply, candidates: candidates.map((candidate) => ({ ...candidate, finishReason: undefined })) };
};
const inline = (mimeType: string | undefined, data: string): object => ({ inlineData: { mimeType, data } });
const soundReply = partsReply({ text: 'hear this' }, inline('audio/wav', base64(sound)));

describe('bytes that are not a picture', () => {
  test.for([
    ['audio/wav', sound, 'file-1.wav'],
    ['application/pdf', paper, 'file-1.pdf'],
    ['text/csv; charset=utf-8', Buffer.from('a,b\n'), 'file-1.csv'],
    ['text/html', Buffer.from('<script>'), 'file-1.bin'],
    ['image/svg+xml', Buffer.from('<svg><script/></svg>'), 'image-1.bin'],
    [undefined, Buffer.from('???'), 'file-1.bin'],
  ] as const)('as %s become a file, with a warning', async ([type, bytes, name], { server, cli }) => {
    server.reply({ body: partsReply({ text: 'x' }, inline(type, base64(bytes))) });
    const cwd = scratchFolder();
    const ran = await cli(['text', 'hi'], { cwd });
    expect(ran).toMatchObject({ code: 0, stdout: 'x\n' });
    expect(ran.stderr).toContain('warning: ');
    expect(ran.stderr).toContain(name);
    expect(readdirSync(cwd)).toEqual([name]);
    expect(readFileSync(join(cwd, name))).toEqual(bytes);
  });

  test.for([
    ['audio/wav', sound, 'out.wav', 'x\n', ['out.wav']],
    ['audio/mpeg', Buffer.from('ID3\x04\0\0'), 'out.mp3', 'x\n', ['out.mp3']],
    ['text/csv', Buffer.from('a,b\n'), 'out.csv', '', ['out-2.csv', 'out.csv']],
    ['text/csv', Buffer.from('a,b\n'), './out.csv', '', ['out-2.csv', 'out.csv']],
  ] as const)(
    '%s beside the text is in the file of -o that has its extension, or in another one than the text',
    async (row, { server, cli }) => {
      const [type, bytes, output, stdout, names] = row;
      server.reply({ body: partsReply({ text: 'x' }, inline(type, base64(bytes))) });
      const ran = await cli(['text', 'hi', '-o', output]);
      expect(ran).toMatchObject({ code: 0, stdout });
      expect(readdirSync(ran.cwd)).toEqual(names);
      expect(readFileSync(join(ran.cwd, names[0]))).toEqual(bytes);
    },
  );

  test.for([
    ['audio/L16;codec=pcm;rate=24000', 1, 24_000],
    ['audio/pcm; rate=8000; channels=2', 2, 8000],
  ] as const)('samples without a header, %s, become a WAV file', async ([type, channels, rate], { server, cli }) => {
    const samples = Buffer.from([1, 0, 255, 127, 0, 128, 2, 0]);
    server.reply({ body: partsReply({ text: 'x' }, inline(type, base64(samples))) });
    const ran = await cli(['text', 'hi', '--json']);
    const file = readFileSync(join(ran.cwd, 'file-1.wav'));
    const [bytes, sha256] = [file.length, createHash('sha256').update(file).digest('hex')];
    expect(JSON.parse(ran.stdout)).toMatchObject({
      files: [{ path: 'file-1.wav', mimeType: 'audio/wav', bytes, sha256 }],
    });
    expect(file.toString('latin1', 0, 4) + file.toString('latin1', 8, 16)).toBe('RIFFWAVEfmt ');
    expect([file.readUInt32LE(4), file.readUInt16LE(20), file.readUInt16LE(34)]).toEqual([file.length - 8, 1, 16]);
    expect([file.readUInt16LE(22), file.readUInt32LE(24)]).toEqual([channels, rate]);
    expect([file.readUInt32LE(28), file.readUInt16LE(32)]).toEqual([rate * channels * 2, channels * 2]);
    expect([file.toString('latin1', 36, 40), file.readUInt32LE(40)]).toEqual(['data', samples.length]);
    expect(file.subarray(44)).toEqual(samples);
  });

  const isSse = { 'content-type': 'text/event-stream' };
  const sse = (...events: readonly object[]): string =>
    events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
  const ends = ['AQA=', '/38=', 'AIACAA=='];
  /** More than is kept in the JSON of a reply. */
  const long = Buffer.alloc(30_000, 7);
  const pieces = [...ends, base64(long), 'BQA='];
  const samples = Buffer.concat(pieces.map((piece) => Buffer.from(piece, 'base64')));
  const chunk = (delta: object, reason: string | null = null) => ({
    id: 'c',
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: reason }],
  });
  const spoken = (type: string, data: string) => ({ type, data, transcript: 'Hi there' });
  const response = (...content: object[]) => ({
    id: 'r',
    object: 'response',
    model: 'm',
    status: 'completed',
    output: [{ type: 'message', id: 'i', role: 'assistant', content }],
  });
  const streamedSounds: Record<string, string> = {
    content: sse(
      ...pieces.map((data) => partsReply(inline('audio/L16;codec=pcm;rate=24000', data), { text: '' })).map(withoutEnd),
      partsReply({ text: 'Hi there' }),
    ),
    completions: sse(
      chunk({ role: 'assistant', content: null, audio: { id: 'a', transcript: 'Hi' } }),
      ...pieces.map((data) => chunk({ audio: { data } })),
      chunk({ content: '', audio: { transcript: ' there' } }),
      chunk({ audio: { expires_at: 1 } }),
      chunk({}, 'stop'),
    ),
    responses: sse(
      { type: 'response.created', response: { id: 'r', model: 'm' } },
      ...pieces.map((delta) => ({ type: 'response.audio.delta', delta })),
      { type: 'response.audio.transcript.delta', delta: 'Hi ' },
      { type: 'response.audio.transcript.delta', delta: 'there' },
      { type: 'response.audio.transcript.done' },
      { type: 'response.completed', response: response(spoken('output_audio', base64(samples))) },
    ),
    messages: eventStream(
      ...messageEvents('Hi there').slice(0, -2),
      ...pieces.map((data, at) => ({
        type: 'content_block_start',
        index: at + 1,
        content_block: { type: 'audio', source: { type: 'base64', media_type: 'audio/pcm;rate=24000', data } },
      })),
      ...messageEvents().slice(-2),
    ),
  };

  test.for(Object.entries(streamedSounds))(
    'a sound that comes in pieces is one file: %s',
    async ([format, body], { server, cli }) => {
      server.reply({ headers: isSse, body });
      const ran = await cli(['text', 'hi', '--stream', '--format', format]);
      expect(ran).toMatchObject({ code: 0, stdout: 'Hi there\n' });
      expect(ran.stderr).toBe('gateway-cli: warning: a file came: audio/wav; it is in file-1.wav\n');
      expect(readdirSync(ran.cwd)).toEqual(['file-1.wav']);
      const file = readFileSync(join(ran.cwd, 'file-1.wav'));
      expect(file.readUInt32LE(24)).toBe(24_000);
      expect(file.subarray(44)).toEqual(samples);
    },
  );

  const mp3 = Buffer.concat([Buffer.from([0xff, 0xf3, 0xe4, 0xc4]), Buffer.alloc(20_000, 5)]);
  const wav = Buffer.concat([sound, Buffer.alloc(20_000)]);
  const wholeSounds = (data: string): Record<string, object> => ({
    completions: {
      id: 'c',
      model: 'm',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: null, audio: spoken('', data) },
          finish_reason: 'stop',
        },
      ],
    },
    responses: response(spoken('output_audio', data)),
  });

  test.for([
    ['completions', mp3, 'mp3'],
    ['completions', wav, 'wav'],
    ['responses', mp3, 'mp3'],
    ['responses', wav, 'wav'],
  ] as const)('the sound of a whole reply is a file of the type that it has: %s', async (row, { server, cli }) => {
    const [format, bytes, extension] = row;
    server.reply({ body: wholeSounds(base64(bytes))[format] ?? {} });
    const ran = await cli(['text', 'hi', '--format', format]);
    expect(ran).toMatchObject({ code: 0, stdout: 'Hi there\n' });
    expect(readFileSync(join(ran.cwd, `file-1.${extension}`))).toEqual(bytes);
  });

  test.for(['completions', 'responses'])(
    'the sound of a whole reply is a WAV file where it has no header: %s',
    async (format, { server, cli }) => {
      server.reply({ body: wholeSounds(base64(samples))[format] ?? {} });
      const ran = await cli(['text', 'hi', '--format', format]);
      expect(readFileSync(join(ran.cwd, 'file-1.wav')).subarray(44)).toEqual(samples);
    },
  );

  test('a piece of a sound that is not Base64 is told, and the others are kept', async ({ server, cli }) => {
    const bad = ['AQA=', '!!', '/38='].map((data) => chunk({ audio: { data } }));
    server.reply({ headers: isSse, body: sse(chunk({ content: 'x' }), ...bad, chunk({}, 'stop')) });
    const ran = await cli(['text', 'hi', '--stream', '--format', 'completions']);
    expect(ran).toMatchObject({ code: 9, stdout: 'x\n' });
    expect(readFileSync(join(ran.cwd, 'file-1.wav')).subarray(44)).toEqual(Buffer.from([1, 0, 255, 127]));
  });

  test('the library has samples without a header as WAV, too', async ({ server }) => {
    server.reply({ body: partsReply({ text: 'x' }, inline('audio/L16;rate=24000', base64(Buffer.alloc(4)))) });
    const client = createClient({ baseUrl: server.url });
    const { files } = await client.generate({ model: 'm', prompt: 'x' });
    expect(files).toMatchObject([{ mimeType: 'audio/wav', extension: 'wav', bytes: 48 }]);
  });

  test('samples of an unknown rate stay as they are, and those that have a header are what it says', async ({
    server,
    cli,
  }) => {
    server.reply({
      body: partsReply(inline('audio/L16', base64(Buffer.alloc(4))), inline('audio/pcm;rate=8000', base64(sound))),
    });
    const { cwd } = await cli(['text', 'hi']);
    expect(readdirSync(cwd)).toEqual(['file-1.pcm', 'file-1.wav']);
  });

  test('bytes that are not an image are an answer by themselves', async ({ server, cli }) => {
    server.reply({ body: partsReply(inline('audio/wav', base64(sound))) });
    expect(await cli(['text', 'hi'])).toMatchObject({ code: 0, stdout: '' });
  });

  test('are in the document, apart from the pictures', async ({ server, cli }) => {
    server.reply({ body: partsReply(inline('audio/wav', base64(sound)), inline('image/png', png.data)) });
    const { images, files } = JSON.parse((await cli(['text', 'hi', '--json'])).stdout) as Record<string, object[]>;
    expect(images).toMatchObject([{ path: 'image-1.png', mimeType: 'image/png' }]);
    expect(files).toMatchObject([{ path: 'file-1.wav', mimeType: 'audio/wav', bytes: 12, candidate: 0 }]);
  });

  test('take the name of -o where its extension fits, and one beside it where not', async ({ server, cli }) => {
    const cwd = scratchFolder();
    server.reply({ body: partsReply(inline('image/png', png.data), inline('audio/wav', base64(sound))) });
    expect(await cli(['image', 'gen', 'x', '-o', 'cat.png'], { cwd })).toMatchObject({ code: 0, stdout: 'cat.png\n' });
    expect(readdirSync(cwd).sort()).toEqual(['cat-2.wav', 'cat.png']);
  });

  test('are not an image: image gen fails, and keeps them', async ({ server, cli }) => {
    server.reply({ body: soundReply });
    const cwd = scratchFolder();
    const ran = await cli(['image', 'gen', 'x'], { cwd });
    expect(ran).toMatchObject({ code: 10 });
    expect(ran.stderr).toContain('no image came');
    expect(readdirSync(cwd)).toEqual(['file-1.wav']);
  });

  test('bytes that are not an image never replace a file', async ({ server, cli }) => {
    const cwd = scratchFolder();
    writeFileSync(join(cwd, 'file-1.wav'), 'mine');
    server.reply({ body: soundReply });
    await cli(['text', 'hi'], { cwd });
    expect(readFileSync(join(cwd, 'file-1.wav'), 'utf8')).toBe('mine');
    expect(readFileSync(join(cwd, 'file-2.wav'))).toEqual(sound);
  });

  test('in a message are kept too, and in its conversation they are not sent back', async ({ server, cli }) => {
    const source = { type: 'base64', media_type: 'application/pdf', data: base64(paper) };
    const content = [
      { type: 'text', text: 'here' },
      { type: 'document', source },
    ];
    server.reply({
      body: { id: 'm', type: 'message', role: 'assistant', model: 'm', content, stop_reason: 'end_turn', usage: {} },
    });
    const cwd = scratchFolder();
    expect(await cli(['chat', 'hi', '--session', './s'], { cwd })).toMatchObject({ code: 0, stdout: 'here\n' });
    expect(readFileSync(join(cwd, 'file-1.pdf'))).toEqual(paper);
    expect(readFileSync(join(cwd, 's'), 'utf8')).not.toContain('document');
  });

  test('of a batch lie beside its images', async ({ server, cli }) => {
    const cwd = scratchFolder();
    writeFileSync(join(cwd, 'jobs.jsonl'), '{"id":"a","command":"text","prompt":"x"}\n');
    server.reply({ body: soundReply });
    expect(await cli(['batch', 'jobs.jsonl', '-o', 'out'], { cwd })).toMatchObject({ code: 0 });
    expect(readFileSync(join(cwd, 'out/images/a.wav'))).toEqual(sound);
  });

  const isStream = { 'content-type': 'text/event-stream' };
  const report = Buffer.concat([paper, Buffer.alloc(3000, 'x')]);
  const said = `the [report.pdf](data:application/pdf;base64,${base64(report)}) is here`;
  const cuts = [said.slice(0, 12), said.slice(12, 30), said.slice(30, 700), said.slice(700)];
  const choice = (key: 'message' | 'delta', content: string, ends?: string) => ({
    id: 'c',
    model: 'm',
    choices: [{ index: 0, [key]: { role: 'assistant', content }, finish_reason: ends ?? null }],
  });
  const message = { id: 'm', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn', usage: {} };
  const inText: Record<string, [string[], object]> = {
    'text, content': [['text'], { body: partsReply({ text: said }) }],
    'text --stream, content': [
      ['text', '--stream'],
      { headers: isStream, body: cuts.map((text) => `data: ${JSON.stringify(partsReply({ text }))}\n\n`).join('') },
    ],
    'chat --no-stream, messages': [
      ['chat', '--no-stream'],
      { body: { ...message, content: [{ type: 'text', text: said }] } },
    ],
    'chat, messages': [['chat'], { headers: isStream, body: eventStream(...messageEvents(...cuts)) }],
    'text, completions': [['text', '--format', 'completions'], { body: choice('message', said, 'stop') }],
    'text --stream, completions': [
      ['text', '--stream', '--format', 'completions'],
      {
        headers: isStream,
        body: [...cuts.map((text) => choice('delta', text)), choice('delta', '', 'stop')]
          .map((event) => `data: ${JSON.stringify(event)}\n\n`)
          .join(''),
      },
    ],
  };

  test.for(Object.entries(inText))(
    'that the text holds as a link are saved: %s',
    async ([, [argv, reply]], { server, cli }) => {
      server.reply(reply);
      const cwd = scratchFolder();
      const ran = await cli([...argv, 'hi'], { cwd });
      expect(ran).toMatchObject({ code: 0, stdout: 'the [report.pdf] is here\n' });
      expect(ran.stderr).toBe('gateway-cli: warning: a file came: application/pdf; it is in file-1.pdf\n');
      expect(readFileSync(join(cwd, 'file-1.pdf'))).toEqual(report);
    },
  );

  test('that the text holds as a link reach the caller of the library', async ({ server }) => {
    server.reply({ body: partsReply({ text: said }) });
    const client = createClient({ baseUrl: server.url });
    const reply = await client.generate({ model: 'm', prompt: 'x' });
    await client.close();
    expect(reply).toMatchObject({ text: 'the [report.pdf] is here', images: [], files: [{ extension: 'pdf' }] });
    expect(Buffer.from(reply.files?.[0]?.data ?? [])).toEqual(report);
  });

  test('reach the caller of the library', async ({ server }) => {
    server.reply({ body: soundReply });
    const client = createClient({ baseUrl: server.url });
    const reply = await client.generate({ model: 'm', prompt: 'x' });
    await client.close();
    expect(reply.images).toEqual([]);
    expect(reply.files).toMatchObject([{ mimeType: 'audio/wav', extension: 'wav', bytes: sound.length }]);
    expect(Buffer.from(reply.files?.[0]?.data ?? [])).toEqual(sound);
  });
});

test('a PNG that is declared text/plain is a picture', async ({ server, cli }) => {
  const cwd = scratchFolder();
  server.reply({ body: imageReply({ mimeType: 'text/plain', data: png.data }) });
  expect(await cli(['image', 'gen', 'x'], { cwd })).toMatchObject({ code: 0, stdout: 'image-1.png\n' });
});

const ran = [
  { text: 'Let me see.' },
  { executableCode: { language: 'PYTHON', code: 'print(1)\n' } },
  { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1\n' } },
  { text: 'It is 1.' },
];
const shown = 'Let me see.\n\n```python\nprint(1)\n```\n\n```\n1\n```\n\nIt is 1.\n';

describe('code that the service ran', () => {
  test('is printed as Markdown with what it printed, whole and streamed', async ({ server, cli }) => {
    server.reply({ body: partsReply(...ran) });
    expect(await cli(['text', 'hi'])).toMatchObject({ code: 0, stdout: shown });
    const pieces = ran.map((part) => `data: ${JSON.stringify(partsReply(part))}\n\n`).join('');
    server.reply({ headers: { 'content-type': 'text/event-stream' }, body: pieces });
    const streamed = await cli(['text', 'hi', '--stream']);
    expect(streamed.stdout.replaceAll(/\n{3,}/g, '\n\n')).toBe(shown);
  });

  test('is apart from the text in the document', async ({ server, cli }) => {
    server.reply({ body: partsReply(...ran) });
    const document = JSON.parse((await cli(['text', 'hi', '--json'])).stdout) as { candidates: object[] };
    expect(document).toMatchObject({
      text: 'Let me see.It is 1.',
      candidates: [{ text: 'Let me see.It is 1.', markdown: shown.trimEnd() }],
    });
  });
});
