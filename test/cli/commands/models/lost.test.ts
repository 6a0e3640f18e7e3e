import { expect } from 'vitest';
import { cut, reset } from '../../../helpers/scripted-server.ts';
import { test } from '../../../helpers/with-server.ts';

test.for([
  ['no reply', { raw: [reset] }, 8, /\n {2}run the same command again: a list costs nothing\n$/],
  ['a cut one', { chunks: ['{"data":[', cut] }, 11, /\n {2}run the same command again: a list costs nothing\n$/],
  ['a late one', { raw: [new Promise<void>(() => {})] }, 8, /\n {2}give it more time: --timeout 2m\n$/],
] as const)('a list of which there is %s is not billed', async ([, reply, code, hint], { server, cli }) => {
  server.reply(reply);
  const ran = await cli([
    'models',
    '--service',
    'openai',
    '--base-url',
    server.url,
    '--retries',
    '0',
    '--timeout',
    '1',
  ]);
  expect([ran.code, ran.stderr]).toEqual([code, expect.stringMatching(hint)]);
});
