import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { recordedModels, recordedModelsByUse } from '../../../src/library/recordings/models.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

/** Recordings as a stranger could write them, one for each request. */
function folderOf(requests: readonly { method?: string; path: string; body?: object }[]): string {
  const folder = scratchFolder();
  for (const [index, { method = 'POST', path, body = {} }] of requests.entries()) {
    const head = { recording: 1, scope: 's', at: 1, request: { method, path, body } };
    const reply = { status: 200, headers: {} };
    const lines = [head, reply, { text: '{}' }, { ended: 'end' }].map((line) => JSON.stringify(line));
    const place = join(folder, `r-${`${index}`.repeat(32)}`);
    mkdirSync(place);
    writeFileSync(join(place, '1.jsonl'), `${lines.join('\n')}\n`);
  }
  return folder;
}

const strange = [
  { path: '/v1beta/models/a%0ABASH_ENV=x:generateContent' },
  { path: '/v1beta/models/a%1b%5B31m:generateContent' },
  { path: '/v1beta/models/%E0%A4%A:generateContent' },
  { path: '/v1/messages', body: { model: 'a\nBASH_ENV=x' } },
  { path: '/v1/chat/completions', body: { model: 'a\r\u0085b' } },
];

test('a recorded model with control characters is no model, so it cannot set a variable', async () => {
  const folder = folderOf([...strange, { path: '/v1beta/models/good:generateContent' }]);
  expect(await recordedModels(folder)).toEqual(['good']);
  expect(await recordedModelsByUse(folder)).toEqual({ text: 'good', chat: undefined });
  expect(await recordedModelsByUse(folderOf(strange))).toEqual({ text: undefined, chat: undefined });
});

test('a file whose request has control characters in its path is no recording', async () => {
  const body = { model: 'good' };
  const strangers = [
    { path: '/v1/messages\nPOST /x', body },
    { method: 'POST\u001b[2J', path: '/v1/messages', body },
  ];
  expect(await recordedModels(folderOf(strangers))).toEqual([]);
  expect(await recordedModels(folderOf([{ path: '/v1/messages', body }]))).toEqual(['good']);
});
