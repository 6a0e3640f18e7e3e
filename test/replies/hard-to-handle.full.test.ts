import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { describe, expect } from 'vitest';
import { scratchFolder } from '../helpers/scratch.ts';
import { eventStream, messageEvents, test, textReply } from '../helpers/with-server.ts';

/** Nothing that the program does with a reply holds it up for longer, in ms. */
const longestMs = 2000;
const mark = 'the-end-of-it';
const size = 200_000;
const fill = (piece: string): string => piece.repeat(Math.ceil(size / piece.length));
const nested = (open: string, close: string, levels: number): string =>
  open.repeat(levels) + 'x' + close.repeat(levels);

/** Texts that are slow to format, or that a formatter may stumble over; each ends with a mark. */
const texts: Readonly<Record<string, string>> = {
  emphasis: fill('*a_'),
  stars: fill('**'),
  backticks: Array.from({ length: 600 }, (_, n) => '`'.repeat(n)).join(' a '),
  brackets: fill('['),
  links: fill('[a]('),
  images: fill('![a](b '),
  references: fill('[a]: <b>\n'),
  'nested quotes': `${'> '.repeat(2000)}a`,
  'nested lists': Array.from({ length: 900 }, (_, n) => `${'  '.repeat(n)}- a`).join('\n'),
  'numbered lists': fill('1. a\n'),
  'a wide table': `|${fill('a|')}\n|${fill('-|')}\n`,
  'a long table': `|a|b|\n|-|-|\n${fill('|a|b|\n')}`,
  entities: fill('&amp;&#x41;'),
  html: fill('<a b="'),
  tabs: fill('\t- a\n'),
  'one line': fill('word '),
  'one word': fill('w'),
  chinese: fill('漢字、'),
  'joined emoji': fill('\u{1f468}\u200d'),
  'marks over marks': `a${fill('\u0301')}`,
  'right to left': fill('\u202eabc'),
  escapes: fill('\u001b[31m\u009b2J'),
  'carriage returns': fill('a\r'),
  fences: fill('```js\na\n'),
  'long fences': `${fill('`')}\n`,
  tildes: fill('~~~\n~~'),
  'data addresses': fill('data:image/png;base64,'),
  'half addresses': fill('![a](data:image/'),
  nul: fill('\0'),
  'lone surrogates': fill('\ud800 '),
};

/** Parts and blocks that this version does not know, or that are nested too deeply. */
const oddParts: Readonly<Record<string, string>> = {
  'an unknown part': '{"hologram":{"data":[1,2,3]}}',
  'a deep unknown part': `{"hologram":${nested('[', ']', 5000).replace('x', '1')}}`,
  'a deep call': `{"functionCall":{"name":"f","args":{"a":${nested('{"a":', '}', 3000).replace('x', '1')}}}}`,
  'a call of numbers': `{"functionCall":{"name":"f","args":{"a":[${'1e400,'.repeat(20_000)}1]}}}`,
  'code of fences': JSON.stringify({ executableCode: { language: 'PYTHON', code: fill('```\n') } }),
  'null for all': '{"text":null,"inlineData":null,"functionCall":null}',
  'text as a list': '{"text":["a"]}',
  'bytes of no kind': '{"inlineData":{"data":"QUJD"}}',
  'many empty parts': Array.from({ length: 20_000 }, () => '{}').join(','),
};

/** The ways in which a text is worked on after it came. */
const ways: Readonly<Record<string, { argv: string[]; tty?: boolean }>> = {
  'on a terminal': { argv: ['text', 'x'], tty: true },
  'streamed to a terminal': { argv: ['text', 'x', '--stream'], tty: true },
  'in a pipe': { argv: ['text', 'x', '--stream'] },
  'as a document': { argv: ['text', 'x', '--json'] },
  'as code': { argv: ['text', 'x', '--code'] },
  'as an answer to a schema': { argv: ['text', 'x', '--schema', '{"type":"object"}'] },
  'in a file': { argv: ['text', 'x', '-o', 'out.txt'] },
};

async function blockedMs<T>(work: Promise<T>): Promise<{ result: T; ms: number }> {
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  const result = await work;
  delay.disable();
  return { result, ms: delay.max / 1e6 };
}

const contentReply = (text: string): string => JSON.stringify(textReply(`${text}\n\n${mark}`));

describe.for(Object.entries(ways))('shown %s', ([, { argv, tty = false }]) => {
  test.for(Object.entries(texts))('%s', async ([, text], { server, cli }) => {
    server.reply({ body: argv.includes('--stream') ? `data: ${contentReply(text)}\n\n` : contentReply(text) });
    const cwd = scratchFolder();
    const options = { cwd, tty: { stdout: tty, stderr: tty }, env: { XDG_STATE_HOME: cwd, CI: '1' } };
    const { result: ran, ms } = await blockedMs(cli(argv, options));
    expect(ms).toBeLessThan(longestMs);
    expect([0, 10, 11]).toContain(ran.code);
    expect(ran.stderr).not.toContain('internal');
    const [, kept] = /gateway-cli recover (\S+)/.exec(ran.stderr) ?? [];
    const file = argv.includes('-o') && ran.code === 0 ? readFileSync(join(cwd, 'out.txt'), 'utf8') : '';
    const found = kept === undefined ? ran.stdout + file : readFileSync(kept, 'utf8');
    // What is not printed, as no code or no JSON is in it, is kept; a schema that fails prints the text.
    expect(found).toContain(mark);
  });
});

test.for(Object.entries(oddParts))('beside a text: %s', async ([, part], { server, cli }) => {
  const body = JSON.stringify(
    textReply('', { candidates: [{ content: { parts: [{ text: mark }, 'PART'] }, finishReason: 'STOP', index: 0 }] }),
  ).replace('"PART"', part);
  for (const argv of [
    ['text', 'x'],
    ['text', 'x', '--stream'],
    ['text', 'x', '--json'],
  ]) {
    server.reply({ body: argv.includes('--stream') ? `data: ${body}\n\n` : body });
    const { result: ran, ms } = await blockedMs(cli(argv, { cwd: scratchFolder() }));
    expect(ms).toBeLessThan(longestMs);
    expect(ran.code).toBe(0);
    expect(ran.stdout).toContain(mark);
  }
});

test.for(Object.entries(texts))('in a conversation that is kept: %s', async ([, text], { server, cli }) => {
  server.reply({ body: eventStream(...messageEvents(text, `\n\n${mark}`)) });
  const cwd = scratchFolder();
  const { result: ran, ms } = await blockedMs(cli(['chat', 'hi', '--session', './s'], { cwd, tty: { stdout: true } }));
  expect(ms).toBeLessThan(longestMs);
  // A turn with an invalid picture is not whole: it is printed, and not kept.
  expect([0, 11]).toContain(ran.code);
  expect(ran.stdout).toContain(mark);
  if (ran.code === 0) expect(readFileSync(join(cwd, 's'), 'utf8')).toContain(mark);
});

test('a batch goes on after each reply that is hard to handle', async ({ server, cli }) => {
  const cwd = scratchFolder();
  const bodies = [
    ...Object.values(texts).map(contentReply),
    ...Object.values(oddParts).map((part) =>
      JSON.stringify(
        textReply('', {
          candidates: [{ content: { parts: [{ text: mark }, 'PART'] }, finishReason: 'STOP', index: 0 }],
        }),
      ).replace('"PART"', part),
    ),
  ];
  for (const body of bodies) server.reply({ body });
  const jobs = bodies.map((_, n) => JSON.stringify({ id: `j${n}`, prompt: 'x' }));
  writeFileSync(join(cwd, 'jobs.jsonl'), `${jobs.join('\n')}\n`);
  const { result: ran, ms } = await blockedMs(
    cli(['batch', 'jobs.jsonl', '-o', 'out', '--concurrency', '1', '--json'], { cwd }),
  );
  expect(ms).toBeLessThan(longestMs);
  const { done, failed, unknown, pending } = JSON.parse(ran.stdout) as Record<string, number>;
  // Pictures that are none fail their own job.
  expect([(done ?? 0) + (failed ?? 0), unknown, pending]).toEqual([bodies.length, 0, 0]);
  expect(failed).toBeLessThanOrEqual(2);
  const results = readFileSync(join(cwd, 'out/results.jsonl'), 'utf8').trimEnd().split('\n');
  expect(results.filter((line) => !line.includes(mark))).toEqual([]);
});
