import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { isFull } from '../../helpers/full.ts';
import { createPause, type ScriptedServer } from '../../helpers/scripted-server.ts';
import { openTerminal, type Terminal } from '../../helpers/terminal.ts';
import { canaryKey, eventStream, imageReply, messageEvents, test, textReply } from '../../helpers/with-server.ts';

const settings = (url: string): Record<string, string> => ({
  GATEWAY_BASE_URL: url,
  GATEWAY_API_KEY: canaryKey,
  GATEWAY_MODEL: 'm',
  GATEWAY_IMAGE_MODEL: 'm',
});

const open = (server: ScriptedServer, argv: readonly string[], columns = 80, term = 'xterm-256color'): Terminal =>
  openTerminal(argv, { columns, env: { ...settings(server.url), TERM: term } });

const words = Array.from({ length: 40 }, (_, at) => `word${at}`);
const prose = `${words.join(' ')}\n`;
const markdown = '# Names\n\n- **Fog**\n- Beam\n\n```sh\nls -l\n```\n\nThe end.\n';
const dot = {
  mimeType: 'image/png',
  data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
};

/** What the terminal shows without its blanks and line ends: a terminal breaks words of a text that is not formatted. */
function lettersOf(terminal: Terminal): string {
  return terminal.lines().join('').replaceAll(/\s/g, '');
}

/** The text as a terminal of this width shows it, each word in one line. */
function wrapped(text: string, columns: number): string[] {
  const lines = [''];
  for (const word of text.trim().split(' ')) {
    const line = `${lines.at(-1)} ${word}`.trim();
    if (line.length > columns) lines.push(word);
    else lines[lines.length - 1] = line;
  }
  return lines;
}

/** A stream whose parts come one by one: the next when the test has seen the one before. */
function steps(parts: readonly string[]): { chunks: (string | Promise<void>)[]; next: () => void } {
  const pauses = parts.map(() => createPause());
  let at = 0;
  return {
    chunks: parts.flatMap((part, index) => [pauses[index]?.until as Promise<void>, part]),
    next: () => pauses[at++]?.release(),
  };
}

const contentEvents = (texts: readonly string[]): string[] =>
  texts.map((text, at) => {
    const reply = textReply(text) as { candidates: { finishReason?: string }[] };
    if (at < texts.length - 1) for (const candidate of reply.candidates) delete candidate.finishReason;
    return `data: ${JSON.stringify(reply)}\n\n`;
  });

/** A stream of one event a text, in each format. */
const streams: Record<string, (texts: readonly string[]) => string[]> = {
  content: contentEvents,
  messages(texts) {
    const events = messageEvents(...texts).map((event) => eventStream(event));
    const [first, second, ...rest] = events;
    const own = rest.slice(0, texts.length);
    return [[first, second, own[0]].join(''), ...own.slice(1, -1), [own.at(-1), ...rest.slice(texts.length)].join('')];
  },
  completions(texts) {
    const lines = texts.map((content) => JSON.stringify({ choices: [{ index: 0, delta: { content } }] }));
    const end = JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
    const all = lines.map((line) => `data: ${line}\n\n`);
    return [...all.slice(0, -1), `${all.at(-1)}data: ${end}\n\ndata: [DONE]\n\n`];
  },
};

const shapes: Record<string, string> = {
  'a paragraph': words.join(' '),
  'a list': words
    .map((word, at) => (at % 5 === 0 ? `- ${word}` : word))
    .join(' ')
    .replaceAll(' - ', '\n- '),
  'a table': `| Name | Size |\n|---|---|\n${words.map((word) => `| ${word} | big |`).join('\n')}`,
  'a quote': words.map((word) => `> ${word} and`).join('\n'),
  'plain lines': words.join('\n'),
  code: `\`\`\`sh\n${words.join('\n')}\n\`\`\``,
};

// A stream of completions differs in nothing that the screen sees.
describe.each(Object.entries(streams))('in the %s format', (format, events) => {
  test.for(Object.entries(shapes))(
    '%s is on the screen while it comes, each word once',
    async ([, text], { server }) => {
      const pieces = text.match(/[^]{1,12}/g) ?? [];
      const { chunks, next } = steps(events(pieces));
      server.reply({ headers: { 'content-type': 'text/event-stream' }, chunks });
      const env = { ...settings(server.url), GATEWAY_FORMAT: format };
      const terminal = openTerminal(['chat', 'hi'], { columns: 60, rows: 12, env });
      await terminal.shows('waiting for the gateway');
      let came = '';
      for (const [at, piece] of pieces.entries()) {
        next();
        came += piece;
        const last = came.match(/word\d+(?=\W)/g)?.at(-1);
        if (last !== undefined) await terminal.shows(new RegExp(`${last}\\b`));
        if (last !== undefined) expect(terminal.lines().join('\n')).not.toContain('waiting');
        if (at === 10) terminal.resize(40, 10);
        if (at === 20) terminal.resize(100, 24);
      }
      expect(await terminal.ended).toBe(0);
      expect(
        terminal
          .lines()
          .join('\n')
          .match(/word\d+/g),
      ).toEqual(words);
    },
  );
});

describe.each(isFull ? [80, 40, 200] : [40])('in a terminal of %i columns', (columns) => {
  test('an answer that comes slowly, word by word, is readable', async ({ server }) => {
    const [first = '', ...rest] = words.map((word) => `${word} `);
    const all = eventStream(...messageEvents(first, ...rest, '\n'));
    const cut = all.indexOf('word20');
    const { chunks, next } = steps([all.slice(0, cut), all.slice(cut)]);
    server.reply({ headers: { 'content-type': 'text/event-stream' }, chunks });
    const terminal = open(server, ['chat', 'hi', '--no-markdown'], columns);
    await terminal.shows('waiting for the gateway');
    next();
    await terminal.shows(/word19/);
    next();
    expect(await terminal.ended).toBe(0);
    expect(lettersOf(terminal)).toBe(words.join(''));
  });

  test('Markdown that comes slowly is shown once, formatted', async ({ server }) => {
    const { chunks, next } = steps(contentEvents([prose.slice(0, 30), prose.slice(30), `\n${markdown}`]));
    server.reply({ headers: { 'content-type': 'text/event-stream' }, chunks });
    const terminal = open(server, ['text', '--stream', 'hi'], columns);
    await terminal.shows('waiting for the gateway');
    next();
    next();
    next();
    expect(await terminal.ended).toBe(0);
    const rest = ['', 'Names', '', '• Fog', '• Beam', '', '  ls -l', '', 'The end.'];
    expect(terminal.lines()).toEqual([...wrapped(prose, columns), ...rest]);
  });
});

test('an answer that comes at once shows no spinner', async ({ server }) => {
  server.reply({ body: eventStream(...messageEvents('hello')) });
  const terminal = open(server, ['chat', 'hi']);
  expect(await terminal.ended).toBe(0);
  expect(terminal.lines()).toEqual(['hello']);
});

test('thinking and an answer have lines of their own', async ({ server }) => {
  const thinking = [
    { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'let me see' } },
    { type: 'content_block_stop', index: 0 },
  ];
  const [start = {}, ...answer] = messageEvents('two ', 'words').map((event) =>
    'index' in event ? { ...event, index: 1 } : event,
  );
  const { chunks, next } = steps([eventStream(start, ...thinking), eventStream(...answer)]);
  server.reply({ headers: { 'content-type': 'text/event-stream' }, chunks });
  const terminal = open(server, ['chat', 'hi', '--thinking']);
  await terminal.shows('waiting');
  next();
  await terminal.shows('let me see');
  next();
  expect(await terminal.ended).toBe(0);
  expect(terminal.lines()).toEqual(['let me see', 'two words']);
});

test('a terminal that is resized while an answer comes keeps all of it', async ({ server }) => {
  const { chunks, next } = steps(contentEvents([`${prose}\n`, `${prose}\n`]));
  server.reply({ headers: { 'content-type': 'text/event-stream' }, chunks });
  const terminal = open(server, ['text', '--stream', 'hi']);
  await terminal.shows('waiting');
  next();
  await terminal.shows('word39');
  terminal.resize(40, 10);
  next();
  expect(await terminal.ended).toBe(0);
  expect(lettersOf(terminal)).toBe(words.join('').repeat(2));
});

test('image gen shows the wait, then only the path', async ({ server }) => {
  const { chunks, next } = steps([JSON.stringify(imageReply(dot))]);
  server.reply({ chunks });
  const terminal = open(server, ['image', 'gen', 'a cat']);
  await terminal.shows('waiting for the gateway');
  next();
  expect(await terminal.ended).toBe(0);
  expect(terminal.lines()).toEqual(['image-1.png']);
});

test('a preview is drawn above or below the path, not over it', async ({ server }) => {
  server.reply({ body: imageReply(dot) });
  const terminal = open(server, ['image', 'gen', 'a cat', '--preview']);
  expect(await terminal.ended).toBe(0);
  expect(terminal.lines()).toContain('image-1.png');
});

test('a batch shows how far it is on one line, and its sum in the end', async ({ server }) => {
  const { chunks, next } = steps([JSON.stringify(textReply('one'))]);
  server.reply({ chunks });
  server.reply({ body: textReply('two') });
  const env = settings(server.url);
  const terminal = openTerminal(['batch', 'jobs.jsonl', '-o', 'out', '--concurrency', '1'], { env });
  writeFileSync(join(terminal.cwd, 'jobs.jsonl'), '{"id":"a","prompt":"x"}\n{"id":"b","prompt":"y"}\n');
  await terminal.shows('0/2');
  next();
  expect(await terminal.ended).toBe(0);
  const shown = terminal.lines().join('\n');
  expect(shown).toContain('2 done');
  expect(shown).not.toContain('0/2');
});

test('a conversation has its prompts, its answers and its spinner in their places', async ({ server }) => {
  const events = messageEvents('Fog', ' and Beam');
  const { chunks, next } = steps([eventStream(...events.slice(0, 3)), eventStream(...events.slice(3))]);
  server.reply({ headers: { 'content-type': 'text/event-stream' }, chunks });
  const terminal = open(server, ['chat']);
  await terminal.shows(/^>/m);
  terminal.type('two names\r');
  await terminal.shows('waiting for the gateway');
  next();
  next();
  await terminal.shows(/Fog and Beam\n+>/);
  terminal.type('/exit\r');
  expect(await terminal.ended).toBe(0);
  const shown = terminal.lines().join('\n');
  expect(shown).toMatch(/> two names\n+Fog and Beam\n/);
  expect(shown).not.toContain('waiting');
});

test('a conversation on a dumb terminal has no escape sequence', async ({ server }) => {
  server.reply({
    headers: { 'content-type': 'text/event-stream' },
    chunks: [eventStream(...messageEvents('Fog', ' and **Beam**'))],
  });
  const terminal = open(server, ['chat'], 80, 'dumb');
  await terminal.shows(/^>/m);
  terminal.type('two names\r');
  await terminal.shows(/Fog and \*\*Beam\*\*\n+>/);
  terminal.type('/exit\r');
  expect(await terminal.ended).toBe(0);
  expect(terminal.written()).not.toContain('\u001b');
});

test('config init asks line by line and shows no key', async () => {
  const terminal = openTerminal(['config', 'init'], { columns: 40 });
  await terminal.shows('Service [gateway]');
  terminal.type('gemini\r');
  await terminal.shows('API key');
  terminal.type(`${canaryKey}\r`);
  await terminal.shows('key received');
  expect(terminal.lines().join('')).not.toContain(canaryKey);
  terminal.type('\u0003');
  expect(await terminal.ended).toBe(130);
});
