import { expect, test } from 'vitest';
import { decodeContentRequest } from '../../../../src/library/formats/content/decode.ts';

const tools = [{ functionDeclarations: [{ name: 'a' }, { name: 'b' }] }];

test.each([
  [{ mode: 'ANY' }, 'any'],
  [{ mode: 'ANY', allowedFunctionNames: ['b'] }, 'tool:b'],
  [{ mode: 'ANY', allowedFunctionNames: ['b', 'a'] }, 'any'],
  [{ mode: 'any', allowedFunctionNames: [] }, 'any'],
  [{ mode: 'AUTO' }, undefined],
  [{ mode: 'VALIDATED', allowedFunctionNames: ['b'] }, undefined],
  [{ mode: 'NONE' }, 'none'],
])('the choice of tools %j is read as %s', (functionCallingConfig, choice) => {
  const decoded = decodeContentRequest({ contents: [], tools, toolConfig: { functionCallingConfig } });
  expect(decoded.toolChoice).toBe(choice);
});

test.each([
  ['image/png', 'image'],
  ['video/mp4', 'document'],
  [undefined, 'image'],
])('a file at a URL with the type %s is read as a block of the kind %s', (mimeType, type) => {
  const fileData = { fileUri: 'https://x.invalid/f', ...(mimeType !== undefined && { mimeType }) };
  const { turns } = decodeContentRequest({ contents: [{ role: 'user', parts: [{ fileData }] }] });
  const source = { type: 'url', url: 'https://x.invalid/f' };
  expect(turns).toEqual([{ role: 'user', content: [{ type, source }] }]);
});
