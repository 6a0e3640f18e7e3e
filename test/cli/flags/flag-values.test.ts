import { expect } from 'vitest';
import { parseToolCommand } from '../../../src/cli/flags/format.ts';
import { test } from '../../helpers/with-server.ts';

/** The body that a command would send. */
function bodyOf(stdout: string): unknown {
  return JSON.parse(stdout.slice(stdout.indexOf('\n{')));
}

test.for([
  [
    'text --safety HARASSMENT=BLOCK_NONE',
    { safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }] },
  ],
  ['text --safety HARM_CATEGORY_X=OFF', { safetySettings: [{ category: 'HARM_CATEGORY_X', threshold: 'OFF' }] }],
  ['chat --metadata user_id=a=b', { metadata: { user_id: 'a=b' } }],
  ['chat --metadata a=1 --metadata b=2', { metadata: { a: '1', b: '2' } }],
  ['chat --metadata {"n":[1]}', { metadata: { n: [1] } }],
  ['chat --tool-choice any', { tool_choice: { type: 'any' } }],
  ['chat --tool-choice tool:weather', { tool_choice: { type: 'tool', name: 'weather' } }],
  ['chat --tool-choice {"type":"auto"}', { tool_choice: { type: 'auto' } }],
] as const)('%s', async ([flags, sends], { cli }) => {
  const ran = await cli([...flags.split(' '), 'hi', '--dry-run']);
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(bodyOf(ran.stdout)).toMatchObject(sends);
});

test.for([
  ['text --set seed=7', { generationConfig: { seed: 7 } }],
  ['text --set topK=40 --set stop[]=END', { generationConfig: { topK: 40, stopSequences: ['END'] } }],
  ['text --set presence_penalty=1 --set maxTokens=9', { generationConfig: { presencePenalty: 1, maxOutputTokens: 9 } }],
  ['image gen --set aspect=16:9', { generationConfig: { imageConfig: { aspectRatio: '16:9' } } }],
  ['chat --set topK=40 --set stop=["END"]', { top_k: 40, stop_sequences: ['END'] }],
  ['text --format completions --set seed=7 --set presencePenalty=1', { seed: 7, presence_penalty: 1 }],
  [
    'text --format responses --set verbosity=low --set maxTokens=9',
    { text: { verbosity: 'low' }, max_output_tokens: 9 },
  ],
  // Nobody knows these: they go where they are said.
  ['text --set own.seed=7', { own: { seed: 7 } }],
  ['text --format completions --set topK=7 --set my_field=1', { topK: 7, my_field: 1 }],
  ['text --format responses --set seed=7', { seed: 7 }],
] as const)('%s needs no path', async ([words, sends], { cli }) => {
  const ran = await cli([...words.split(' '), 'hi', '--dry-run']);
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(bodyOf(ran.stdout)).toMatchObject(sends);
  const { contents: _, generationConfig, ...rest } = bodyOf(ran.stdout) as Record<string, unknown>;
  if (generationConfig !== undefined) expect(rest).toEqual({});
});

test.for([
  ['text', '--safety', 'harassment=OFF'],
  ['text', '--safety', '=OFF'],
  ['text', '--safety', 'HARASSMENT'],
  ['text', '--safety', 'HARASSMENT='],
  ['text', '--safety', 'A=B=C'],
  ['chat', '--metadata', 'user_id'],
  ['chat', '--metadata', '=x'],
  ['chat', '--metadata', '{"a":'],
  ['chat', '--tool-choice', 'tool:'],
  ['chat', '--tool-choice', 'weather'],
  ['chat', '--tool-choice', '{"type":'],
  ['chat', '--tool-choice', '["auto"]'],
] as const)('%s %s %s is refused', async ([command, flag, value], { cli }) => {
  const ran = await cli([command, 'hi', flag, value, '--dry-run']);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain(flag);
});

test('of a few words the hint names the nearest', async ({ cli }) => {
  const ran = await cli(['text', 'hi', '--service', 'Gemini', '--dry-run']);
  expect(ran.code).toBe(2);
  expect(ran.stderr).toContain('for example: --service gemini\n');
});

test.each([
  ['python3 weather.py', ['python3', 'weather.py']],
  ['  a   b\tc ', ['a', 'b', 'c']],
  [`sh -c 'echo "$HOME" | wc'`, ['sh', '-c', 'echo "$HOME" | wc']],
  ['say "two words" \'\'', ['say', 'two words', '']],
  ['"a\\"b\\\\c\\d"', ['a"b\\c\\d']],
  ["a\\ b \\'c", ['a b', "'c"]],
  [`pre'fix'"ed"`, ['prefixed']],
  ["'a\\b'", ['a\\b']],
  ['$(rm -rf /); `x` > y *', ['$(rm', '-rf', '/);', '`x`', '>', 'y', '*']],
  ['end\\', ['end\\']],
])('splits %j without a shell', (command, words) => {
  expect(parseToolCommand(`f=${command}`).argv).toEqual(words);
});

test('a quote that is not closed is a mistake', () => {
  expect(() => parseToolCommand("f=say 'x")).toThrow("a ' is not closed");
});

test('reads name=command at the first equals sign', () => {
  expect(parseToolCommand('f=env A=1 x')).toEqual({ name: 'f', argv: ['env', 'A=1', 'x'] });
});

test.each(['f', '=x', 'f=', 'f=  ', "f=''"])('refuses %j with an example', (word) => {
  expect(() => parseToolCommand(word)).toThrow('--tool-exec takes name=command');
});
