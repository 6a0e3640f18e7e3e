import { expect, test } from 'vitest';
import { printStream } from '../../../src/cli/output/print.ts';
import type { AnswerContext } from '../../../src/cli/context.ts';
import type { Answer } from '../../../src/library/client/result.ts';
import type { StreamDelta } from '../../../src/library/formats/events.ts';

test('what says that the program waits runs until the first words are printed', async () => {
  const events: string[] = [];
  const stdout = { isTTY: true, columns: 80, write: async (text: unknown) => void events.push(String(text)) };
  const context = {
    io: { stdout, stderr: { isTTY: true } },
    root: {},
  } as unknown as AnswerContext;
  const running = new Set(['progress']);
  const progress = {
    update: () => undefined,
    clear: () => undefined,
    stop: () => void (running.delete('progress') && events.push('stop')),
  };
  async function* deltas(): AsyncGenerator<StreamDelta[], Answer> {
    yield [{ type: 'thinking', block: 0, text: 'hm' }];
    events.push('thinking came');
    yield [{ type: 'text', block: 1, text: 'hi' }];
    return {} as Answer;
  }
  await printStream(deltas(), { isMarkdown: false, progress }, context);
  expect(events).toEqual(['thinking came', 'stop', 'hi', '\n']);
});
