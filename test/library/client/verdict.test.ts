import { expect, test } from 'vitest';
import { type Result } from '../../../src/library/client/result.ts';
import { emptyResult } from '../../../src/library/client/arriving-reply.ts';
import { judgeAnswer, type Wanted } from '../../../src/library/client/verdict.ts';
import { chooseHint } from '../../../src/library/reasons.ts';
import type { GatewayError } from '../../../src/library/errors.ts';

function judge(result: Result, wanted: Wanted): GatewayError | undefined {
  return judgeAnswer({ result, error: undefined }, wanted).error;
}

const result = (more: object): ReturnType<typeof emptyResult> => ({ ...emptyResult('m'), complete: true, ...more });
const call = { name: 'f', input: {} };
const picture = { declaredType: undefined, candidate: 0, draft: false, blob: {} };

/** As the command line says it. */
function hintAt(answer: ReturnType<typeof emptyResult>, images: number): string {
  const verdict = judge(answer, { images, requireComplete: false });
  return (verdict && chooseHint(verdict)) ?? '';
}

test.each([
  ['a text', { text: 'a' }, 0, undefined],
  ['a call alone', { toolCalls: [call] }, 0, undefined],
  ['nothing', {}, 0, 'no-result'],
  ['a refusal', { text: 'no', stopReason: 'refusal' }, 0, 'no-result'],
  ['a refusal beside a call', { toolCalls: [call], stopReason: 'refusal' }, 0, 'no-result'],
  ['a picture that the service stopped', { images: [picture], stopReason: 'IMAGE_SAFETY' }, 1, 'no-result'],
  ['words in place of a picture', { text: 'a' }, 1, 'no-result'],
  ['one picture of two', { images: [picture] }, 2, 'incomplete'],
  ['a picture', { images: [picture] }, 1, undefined],
])('%s', (_, more, images, kind) => {
  expect(judge(result(more), { images, requireComplete: false })?.class).toBe(kind);
});

test('what the token limit cut is a failure only where completeness is demanded', () => {
  const cut = result({ text: 'a', complete: false, stopReason: 'MAX_TOKENS' });
  expect(judge(cut, { images: 0, requireComplete: false })).toBeUndefined();
  expect(judge(cut, { images: 0, requireComplete: true })).toMatchObject({ class: 'incomplete' });
});

test('a call that the token limit cut is a failure, and a text behind a call is not', () => {
  const block = { type: 'tool_use', name: 'f', input: {} };
  const cut = result({ toolCalls: [call], content: [block], complete: false, stopReason: 'max_tokens' });
  const error = judge(cut, { images: 0, requireComplete: false });
  expect(error).toMatchObject({
    class: 'incomplete',
    message: 'the call of f was cut by the token limit (max_tokens)',
  });
  expect(hintAt(cut, 0)).toContain('--max-tokens');
  const behind = result({ ...cut, text: 'a', content: [block, { type: 'text', text: 'a' }] });
  expect(judge(behind, { images: 0, requireComplete: false })).toBeUndefined();
});

test('a rating that blocked the answer is named even if it is negligible', () => {
  const safetyRatings = [
    { category: 'HATE', probability: 'NEGLIGIBLE', blocked: true },
    { category: 'FRAUD', probability: 'NEGLIGIBLE', blocked: false },
  ];
  const blocked = result({ candidates: [{ index: 0, text: '', safetyRatings }] });
  expect(judge(blocked, { images: 0, requireComplete: false })?.message).toBe(
    'the answer is empty: HATE NEGLIGIBLE (blocked)',
  );
});

test('the message about an empty answer is short, and says what to do', () => {
  const rating = (probability: string, blocked?: boolean): object => ({ category: 'HATE', probability, blocked });
  const hintFor = (more: object): string => hintAt(result(more), 1);
  const blocked = result({
    candidates: [
      {
        index: 0,
        text: '',
        finishMessage: 'x'.repeat(900),
        safetyRatings: [rating('NEGLIGIBLE'), rating('HIGH', true)],
      },
    ],
  });
  expect(judge(blocked, { images: 1, requireComplete: false })?.message).toBe(
    `no image came: ${'x'.repeat(200)}…, HATE HIGH (blocked)`,
  );
  expect(hintFor({ stopReason: 'MAX_TOKENS' })).toBe(
    'the token limit ended it before anything came\nallow more with --max-tokens <n>',
  );
  expect(hintFor({ text: '![a](https://cdn.test/a.png)' })).toContain('which is not fetched: https://cdn.test/a.png');
  expect(hintFor({ text: "![a](https://cdn.test/a'$(x).png)" })).not.toContain('curl');
  expect(hintFor({ text: 'words' })).toContain('say in the prompt that a picture is wanted');
});

test.each(['PROHIBITED_CONTENT', 'RECITATION', 'SPII', 'BLOCKLIST', 'IMAGE_PROHIBITED_CONTENT'])(
  'the hint says nothing of safety settings where they do not help: %s',
  (stopReason) => {
    expect(hintAt(result({ format: 'content', stopReason }), 0)).toBe('change the prompt, or try another model');
  },
);

test.each([
  ['the messages format', { format: 'messages' }, 'change the prompt, or try another model'],
  ['the completions format', { format: 'completions' }, 'change the prompt, or try another model'],
  [
    'the content format',
    { format: 'content' },
    'change the prompt, or look at the safety settings: --safety CATEGORY=THRESHOLD of text and image',
  ],
])('a refusal in %s where no picture was asked for says nothing of pictures', (_, more, hint) => {
  for (const text of ['no', '![a](https://cdn.test/a.png)']) {
    const refused = result({ ...more, text, stopReason: 'refusal' });
    expect(hintAt(refused, 0)).toBe(hint);
  }
});
