import { expect, test } from 'vitest';
import { divert } from './divert.ts';

const long = 'QUJDREVGR0hJSktM';

test.each<[string, string, string, string[]]>([
  [
    'inlineData',
    `{"inlineData":{"mimeType":"image/png","data":"${long}"}}`,
    `{"inlineData":{"mimeType":"image/png","data":"@0"}}`,
    [long],
  ],
  ['inline_data', `{"inline_data" : { "data" :\n "${long}" } }`, `{"inline_data" : { "data" :\n "@0" } }`, [long]],
  ['a source', `{"content":[{"source":{"data":"${long}"}}]}`, `{"content":[{"source":{"data":"@0"}}]}`, [long]],
  ['a BOM', `\uFEFF{"source":{"data":"${long}"}}`, `\uFEFF{"source":{"data":"@0"}}`, [long]],
  [
    'two',
    `[{"source":{"data":"${long}"}},{"source":{"data":"${long}AA"}}]`,
    `[{"source":{"data":"@0"}},{"source":{"data":"@1"}}]`,
    [long, `${long}AA`],
  ],
  ['a picture of the images operations', `{"data":[{"b64_json":"${long}"}]}`, `{"data":[{"b64_json":"@0"}]}`, [long]],
  [
    'a picture of a completion',
    `{"images":[{"image_url":{"url":"data:image/png;base64,${long}"}},{"image_url":"data:image/png;base64,${long}"}]}`,
    `{"images":[{"image_url":{"url":"data:image/png;base64,@0"}},{"image_url":"data:image/png;base64,@1"}]}`,
    [long, long],
  ],
  ['a URL of something else', `{"url":"data:image/png;base64,${long}"}`, `{"url":"data:image/png;base64,${long}"}`, []],
  ['a short one', `{"source":{"data":"QUJD"}}`, `{"source":{"data":"QUJD"}}`, []],
  ['an empty one', `{"source":{"data":""}}`, `{"source":{"data":""}}`, []],
  ['another parent', `{"other":{"data":"${long}"}}`, `{"other":{"data":"${long}"}}`, []],
  ['another key', `{"source":{"date":"${long}"}}`, `{"source":{"date":"${long}"}}`, []],
  ['an array', `{"source":{"data":["${long}"]}}`, `{"source":{"data":["${long}"]}}`, []],
  [
    'escapes',
    String.raw`{"source":{"data":"QU\/JD\u002bRE\r\nVGR\u002B\t0hJ"}}`,
    `{"source":{"data":"@0"}}`,
    ['QU/JD+RE\r\nVGR+\t0hJ'],
  ],
  [
    'a foreign escape later',
    String.raw`{"source":{"data":"QUJDREVGR\u00e90hJ\"A"}}`,
    `{"source":{"data":"@0"}}`,
    ['QUJDREVGR\xff0hJ"A'],
  ],
  [
    'a text document',
    `{"source":{"type":"text","data":"Hello, this is text"}}`,
    `{"source":{"type":"text","data":"Hello, this is text"}}`,
    [],
  ],
  [
    'Markdown',
    `{"text":"a ![x](data:image/png;base64,${long}) b"}`,
    `{"text":"a ![x](data:image/png;base64,@0) b"}`,
    [long],
  ],
  [
    'a bare URL at the end',
    `{"text":"DATA:image/JPEG;q=1;base64,${long}"}`,
    `{"text":"DATA:image/JPEG;q=1;base64,@0"}`,
    [long],
  ],
  [
    'an escaped URL',
    String.raw`{"text":"\u0064ata:image\/png;base64,QUJD\/EVGR\u003d\n\"x\""}`,
    String.raw`{"text":"\u0064ata:image\/png;base64,@0\n\"x\""}`,
    ['QUJD/EVGR='],
  ],
  [
    'two URLs',
    `{"content":"data:image/a;base64,${long} data:image/b;base64,${long}"}`,
    `{"content":"data:image/a;base64,@0 data:image/b;base64,@1"}`,
    [long, long],
  ],
  ['a short URL', `{"text":"data:image/a;base64,QUJD) x"}`, `{"text":"data:image/a;base64,QUJD) x"}`, []],
  ['a URL that is not an image', `{"text":"data:text/a;base64,${long}"}`, `{"text":"data:text/a;base64,${long}"}`, []],
  ['a URL without Base64', `{"text":"data:image/a,${long}"}`, `{"text":"data:image/a,${long}"}`, []],
  [
    'a URL after a false start',
    `{"text":"ddata:image data:image/a;base64,${long}"}`,
    `{"text":"ddata:image data:image/a;base64,@0"}`,
    [long],
  ],
  [
    'text of a reply in an array',
    `[{"text":"data:image/a;base64,${long}"}]`,
    `[{"text":"data:image/a;base64,${long}"}]`,
    [],
  ],
  ['below args', `{"args":{"source":{"data":"${long}"}}}`, `{"args":{"source":{"data":"${long}"}}}`, []],
  [
    'below input',
    `{"input":{"a":[{"inlineData":{"data":"${long}"}}]}}`,
    `{"input":{"a":[{"inlineData":{"data":"${long}"}}]}}`,
    [],
  ],
  ['after args', `{"args":{},"source":{"data":"${long}"}}`, `{"args":{},"source":{"data":"@0"}}`, [long]],
  [
    'a tool result',
    `{"content":[{"content":{"source":{"data":"${long}"}}}]}`,
    `{"content":[{"content":{"source":{"data":"${long}"}}}]}`,
    [],
  ],
  [
    'quotes in strings',
    String.raw`{"a":"\"source\":{\"data\":\"QUJDREVGR0hJ\"}","\"b":"\\","c":"x\\\""}`,
    String.raw`{"a":"\"source\":{\"data\":\"QUJDREVGR0hJ\"}","\"b":"\\","c":"x\\\""}`,
    [],
  ],
  [
    'a long key',
    `{"${'k'.repeat(100)}":1,"source":{"data":"${long}"}}`,
    `{"${'k'.repeat(100)}":1,"source":{"data":"@0"}}`,
    [long],
  ],
  ['HTML', '<html data="x{">', '<html data="x{">', []],
])('passes everything except long Base64: %s, cut anywhere', async (_name, body, json, strings) => {
  const bytes = Buffer.from(body);
  expect(await divert([bytes])).toEqual({ json, strings });
  expect(await divert([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual({ json, strings });
  for (let at = 1; at < bytes.length; at++) {
    expect(await divert([bytes.subarray(0, at), bytes.subarray(at)])).toEqual({ json, strings });
  }
});
