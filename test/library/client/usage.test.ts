import { expect } from 'vitest';
import { eventStream, messageEvents, test } from '../../helpers/with-server.ts';

test.for([
  [
    'completions',
    [
      { choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }] },
      { choices: [], usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10, cost: 0.5 } },
      { choices: [], usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, cost: 0 } },
    ],
    { cost: { amount: '0.5' } },
  ],
  [
    'messages',
    messageEvents('Hi').map((event) => {
      const { type } = event as { type: string };
      const first = { ...event, message: { content: [], usage: { input_tokens: 7, output_tokens: 3 } } };
      if (type === 'message_start') return first;
      return type === 'message_delta' ? { ...event, usage: { input_tokens: 0, output_tokens: 0 } } : event;
    }),
    {},
  ],
] as const)('zeros at the end of a stream replace no count of %s', async ([format, events, told], { server, cli }) => {
  const body = eventStream(...events).replaceAll('event: undefined\n', '');
  server.reply({ headers: { 'content-type': 'text/event-stream' }, body });
  const { stdout } = await cli(['text', 'hi', '--stream', '--json', '--format', format]);
  expect(JSON.parse(stdout)).toMatchObject({ usage: { inputTokens: 7, outputTokens: 3 }, ...told });
});
