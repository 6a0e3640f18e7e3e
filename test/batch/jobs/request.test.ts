import { describe, expect } from 'vitest';
import { eventStream, imageReply, messageEvents } from '../../helpers/with-server.ts';
import { test } from '../with-batch.ts';

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const shared = { system: 'be brief', maxTokens: 9, temperature: 0.5, topP: 0.9, topK: 3, stop: ['END'], model: 'n' };
const content = { ...shared, candidates: 1, seed: 7, safety: ['HARM=BLOCK_NONE'], cachedContent: 'c' };
const kinds: [string, Record<string, unknown>][] = [
  ['text', {}],
  ['text', { ...content, responseMime: 'application/json', set: ['generationConfig.x=1'] }],
  ['image gen', {}],
  ['image gen', { ...content, aspect: '16:9', size: '2K' }],
  ['chat', {}],
  ['chat', { ...shared, toolChoice: 'auto', metadata: { user_id: 'ci' }, stream: false }],
];

describe.each(kinds)('%s %j', (command, values) => {
  test('is sent like a job whose prompt is read from a file', async ({ server, folder, batch }) => {
    server.answer = () => {
      if (command === 'image gen') return { body: imageReply({ mimeType: 'image/png', data: png }) };
      if (command === 'text') return undefined;
      return { headers: { 'content-type': 'text/event-stream' }, body: eventStream(...messageEvents('hi')) };
    };
    folder.write('p.txt', 'words');
    const words = { command, ...values, prompt: 'words' };
    folder.jobs({ command, ...values, promptFile: 'p.txt' }, words, words, words);
    expect(await batch()).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(4);
    for (const sent of server.bodies) expect(sent).toEqual(server.bodies[0]);
    // They have the same key: nothing is sent again, and nothing was edited.
    const keys = new Set(
      folder
        .lines('jobs.jsonl')
        .slice(1)
        .map(({ slot }) => String(slot).slice(0, 32)),
    );
    expect(keys.size).toBe(1);
    expect(await batch()).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(4);
  });
});

test.for([
  ['a blank prompt', { prompt: ' ' }, 'the prompt is empty'],
  ['no prompt', {}, 'there is no prompt'],
  ['a setting that no job may have', { prompt: 'x', set: ['model=other'] }, '--set cannot change model'],
  ['a model that is none', { prompt: 'x', model: '..' }, "the model may not hold '.' or '..'"],
] as const)(
  '%s is found after valid jobs, before anything is sent',
  async ([, job, message], { server, folder, batch }) => {
    folder.jobs({ prompt: 'a' }, { prompt: 'b' }, { prompt: 'c', set: ['x=1'] }, job);
    const ran = await batch();
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain(`jobs.jsonl:4: ${message}`);
    expect(server.bodies).toEqual([]);
  },
);
