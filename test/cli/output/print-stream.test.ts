import { expect, test } from 'vitest';
import { printStream, stopPlain } from '../../../src/cli/output/print.ts';
import type { AnswerContext } from '../../../src/cli/context.ts';
import type { Answer } from '../../../src/library/client/result.ts';
import type { StreamDelta } from '../../../src/library/formats/events.ts';

test.each([
  ['until the first words are printed on a terminal', true, ['thinking came', 'stop', 'hi', '\n']],
  ['until the reply begins where nothing can move', false, ['stop', 'thinking came', 'hi', '\n']],
])('what says that the program waits runs %s', async (_, isTTY, expected) => {
  const events: string[] = [];
  const stdout = { isTTY, columns: 80, write: async (text: unknown) => void events.push(String(text)) };
  const context = {
    io: { stdout, stderr: { isTTY } },
    root: {},
  } as unknown as AnswerContext;
  const running = new Set(['progress']);
  const progress = {
    update: () => undefined,
    clear: () => undefined,
    stop: () => void (running.delete('progress') && events.push('stop')),
  };
  async function* deltas(): AsyncGenerator<StreamDelta[], Answer> {
    // The head of the reply.
    stopPlain(progress, context);
    yield [{ type: 'thinking', block: 0, text: 'hm' }];
    events.push('thinking came');
    yield [{ type: 'text', block: 1, text: 'hi' }];
    return {} as Answer;
  }
  await printStream(deltas(), { isMarkdown: false, progress }, context);
  expect(events).toEqual(expected);
});
