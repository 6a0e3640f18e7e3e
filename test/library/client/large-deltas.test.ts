import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { eventStream, messageEvents } from '../../helpers/with-server.ts';
import { comb, messageOf, printed, replyOf } from '../../replies/reading.ts';

const bytes = Buffer.alloc(700_000, 'picture');
const base64 = bytes.toString('base64');
const sha256 = createHash('sha256').update(bytes).digest('hex');
const url = `data:image/png;base64,${base64}`;

test.each([
  ['in one delta', [`Hi ![x](${url}) there`], 'Hi  there', 1],
  [
    'in deltas of 300 kB',
    ['Hi ', `![x](${url.slice(0, 300_000)}`, url.slice(300_000, 600_000), `${url.slice(600_000)})`],
    'Hi ',
    1,
  ],
  [
    'in a large delta and small ones',
    [`![x](${url.slice(0, 600_000)}`, ...(url.slice(600_000).match(/.{1,90000}/g) ?? []), ')!'],
    '!',
    1,
  ],
  ['bare', [url], '', 1],
  ['twice in one delta', [`![x](${url}) and ![y](${url})`], ' and ', 2],
])('a picture that is streamed as Markdown %s', async (_, texts, text, count) => {
  const body = Buffer.from(eventStream(...messageEvents(...texts)));
  for (const step of [body.length, 65_536, 9973]) {
    const { deltas, answer } = await messageOf(replyOf(comb(body, { first: 0, step })));
    expect(answer.error).toBeUndefined();
    expect([printed(deltas), answer.result.text]).toEqual([text, text]);
    expect(answer.result.images.map(({ blob }) => blob.sha256)).toEqual(Array.from({ length: count }, () => sha256));
  }
});
