import { expect, test } from 'vitest';
import { blocksOf, renderMarkdown } from '../../src/terminal/markdown.ts';
import { type MarkdownStream, startMarkdown } from '../../src/terminal/markdown-stream.ts';
import { createTinyScreen, type TinyScreen } from '../helpers/tiny-screen.ts';

interface Opened {
  stream: MarkdownStream;
  screen: TinyScreen;
  /** What was written, in writes. */
  writes: string[];
  /** The pause between two redraws is over. */
  pass(): void;
  size: { columns: number; rows: number };
}

function open({ columns = 40, rows = 10 } = {}): Opened {
  const size = { columns, rows };
  const screen = createTinyScreen(size);
  const writes: string[] = [];
  let waiting: (() => void) | undefined;
  const stdout = {
    isTTY: true,
    get columns() {
      return size.columns;
    },
    get rows() {
      return size.rows;
    },
    async write(chunk: string | Uint8Array) {
      const text = Buffer.from(chunk).toString();
      writes.push(text);
      screen.write(text);
    },
  };
  const after = (_: number, act: () => void) => {
    waiting = act;
    return () => (waiting = undefined);
  };
  const pass = () => {
    const act = waiting;
    waiting = undefined;
    act?.();
  };
  return { stream: startMarkdown({ stdout, colored: false, after, elapsed: () => 0 }), screen, writes, pass, size };
}

const document = `# Title

A paragraph with **bold words** and a [link](http://a.b) that goes over the edge.
Second line
===

- one
- two words that are long enough to wrap at forty
  1. nested
  2. list

- loose

  with a paragraph

2

1. a list

| a | b |
|---|--:|
| 1 | 2 |
| longer | 3 |

\`\`\`sh
echo 'a line of code that is wider than the screen is'

# done
\`\`\`
> quoted *text*
> - item

---
The end.`;

const shownAtOnce = (text: string, columns = 40): string[] => {
  const screen = createTinyScreen({ columns, rows: 1 });
  screen.write(renderMarkdown(blocksOf(text), { width: columns, colored: false, breaks: true }));
  return screen.lines();
};

test.each([1, 2, 3, 7, 50])('shows what one rendering of the whole would, in deltas of %i characters', async (step) => {
  const { stream, screen, pass } = open({ rows: 30 });
  for (let at = 0; at < document.length; at += step) {
    await stream.write(document.slice(at, at + step));
    pass();
  }
  await stream.end();
  expect(screen.lines()).toEqual(shownAtOnce(document));
});

test('loses and repeats nothing of a text that is taller than the screen', async () => {
  const items = Array.from({ length: 40 }, (_, index) => `${index + 1}. item *${index + 1}*${index % 3 ? '' : '\n'}\n`);
  const rows = Array.from({ length: 40 }, (_, index) => `| ${index + 10} | cell ${index + 10} |\n`);
  const text = `${items.join('')}\nthen\n\n| n | c |\n|--|--|\n${rows.join('')}\n`;
  const { stream, screen, pass } = open({ rows: 5 });
  for (const piece of text.match(/[^]{1,5}/g) ?? []) {
    await stream.write(piece);
    pass();
  }
  await stream.end();
  expect(screen.lines()).toEqual(shownAtOnce(text));
});

test('touches no block that is complete, and appends to a long block of code', async () => {
  const { stream, writes, pass } = open();
  await stream.write('# Title\n\npara\n\n```\n');
  for (let line = 1; line <= 200; line++) {
    pass();
    await stream.write(`line ${line}\n`);
  }
  await stream.end();
  expect(writes.slice(2).join('')).toBe(
    Array.from({ length: 199 }, (_, index) => `\n  line ${index + 2}`).join('') + '\n',
  );
});

test('draws at most once in a pause, and at the end all', async () => {
  const { stream, screen, writes, pass } = open();
  for (const word of ['one ', 'two ', 'three ', 'four']) await stream.write(word);
  expect(writes).toEqual(['one']);
  pass();
  expect(screen.lines()).toEqual(['one two three four']);
  await stream.write(' five');
  await stream.end();
  expect(screen.lines()).toEqual(['one two three four five', '']);
});

test('goes on below a line that another wrote', async () => {
  const { stream, screen, pass } = open();
  await stream.write('# Title\n\nHello\n**wor');
  await stream.clear();
  screen.write('warning\n');
  await stream.write('ld**');
  pass();
  expect(screen.lines()).toEqual(['# Title', 'warning', '', 'Hello', 'world']);
  await stream.end();
  expect(screen.lines()).toEqual(['# Title', 'warning', '', 'Hello', 'world', '']);
});

test('shows what it wiped though nothing more comes', async () => {
  const { stream, screen, pass } = open();
  await stream.write('Hello');
  await stream.clear();
  screen.write('warning\n');
  pass();
  pass();
  expect(screen.lines()).toEqual(['warning', 'Hello']);
});

test('wraps at the edge that the terminal has now', async () => {
  const { stream, screen, pass, size } = open({ columns: 40 });
  await stream.write('some words that fit in a line of forty');
  size.columns = 20;
  screen.resize(20);
  expect(screen.lines()).toEqual(['some words that fit ', 'in a line of forty']);
  await stream.write(' and more');
  pass();
  expect(screen.lines()).toEqual(['some words that fit', 'in a line of forty', 'and more']);
});

test('begins anew after an end, and shows nothing for nothing', async () => {
  const { stream, writes } = open();
  await stream.end();
  await stream.write('```\none');
  await stream.end();
  await stream.write('\r');
  await stream.write('\n*two*');
  await stream.end();
  await stream.end();
  expect(writes.join('')).toBe('  one\ntwo\n');
});

test('tells a failure to write', async () => {
  const failures: Error[] = [];
  const stdout = {
    isTTY: true,
    columns: 80,
    write: () => (failures[0] ? Promise.reject(failures[0]) : Promise.resolve()),
  };
  let act: (() => void) | undefined;
  const after = (_: number, later: () => void) => {
    act = later;
    return () => undefined;
  };
  const stream = startMarkdown({ stdout, colored: false, after });
  await stream.write('one');
  failures.push(new Error('closed'));
  await stream.write(' two');
  act?.();
  await expect(stream.write(' three')).rejects.toThrow('closed');
  await expect(stream.end()).rejects.toThrow('closed');
});

test('takes 100,000 deltas without reading the text again for each', async () => {
  const { stream, writes, pass } = open({ columns: 4000 });
  const started = performance.now();
  for (let delta = 0; delta < 100_000; delta++) {
    await stream.write(delta % 100 === 99 ? 'end\n\n' : 'word ');
    if (delta % 1000 === 999) pass();
  }
  await stream.end();
  expect(writes.length).toBeLessThan(250);
  expect(performance.now() - started).toBeLessThan(20_000);
});
