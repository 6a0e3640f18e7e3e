import { deviation, jpeg, png } from './deviation.ts';

const gen = ['image', 'gen', 'a dot'];
const first = { path: 'image-1.png', mimeType: 'image/png', width: 1, height: 1, bytes: 70, candidate: 0 };
const saved = { images: [first], complete: true, stopReason: 'STOP' };
const urlSafe = png.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');

const inline = (inlineData: string, more = '') =>
  `{"candidates":[{"content":{"parts":[{"inlineData":${inlineData}${more}}],"role":"model"},"finishReason":"STOP"}]}`;

deviation('a Markdown data URL in a text part is saved, and cut from the text (deviation 1)', {
  argv: gen,
  reply: `{"candidates":[{"content":{"parts":[{"text":"Here: ![image](data:image/png;base64,${png}) and ![b](data:image/png;x=1;base64,${png.replaceAll('=', '')})!"}]},"finishReason":"STOP"}]}`,
  code: 0,
  document: { text: 'Here:  and !', images: [first, { ...first, path: 'image-2.png' }] },
  files: { 'image-1.png': png, 'image-2.png': png },
});

deviation('and `text` prints the words around it (deviation 1)', {
  argv: ['text', 'a dot'],
  reply: `{"candidates":[{"content":{"parts":[{"text":"Here: ![image](data:image/png;base64,${png})"}]},"finishReason":"STOP"}]}`,
  code: 0,
  stdout: 'Here: \n',
  stderr: 'image saved: image-1.png\n',
  files: { 'image-1.png': png },
});

const delta = (text: string) =>
  `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${text}"}}\n\n`;
const begin =
  'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","role":"assistant","content":[]}}\n\n';
const end =
  'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n';

deviation('a data URL that spans many deltas never reaches the screen (deviation 2)', {
  argv: ['chat', 'a dot'],
  reply: `${begin}event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n${[
    'Look! ![im',
    'age](data:ima',
    'ge/png;bas',
    `e64,${png.slice(0, 9)}`,
    png.slice(9, 50),
    png.slice(50),
    ') nice',
  ]
    .map(delta)
    .join('')}${end}`,
  code: 0,
  stdout: 'Look!  nice\n',
  stderr: 'image saved: image-1.png\n',
  files: { 'image-1.png': png },
});

deviation('a data URL in the text of a JSON message is saved too (deviation 2)', {
  argv: ['chat', 'a dot', '--no-stream'],
  reply: `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"![x](data:image/png;base64,${png})\\n\\nDone"}],"stop_reason":"end_turn"}`,
  code: 0,
  document: { text: '\n\nDone', images: [first] },
  files: { 'image-1.png': png },
});

const link =
  '{"candidates":[{"content":{"parts":[{"text":"![cat](https://cdn.example.org/cat.png?a=1&b=2)"}]},"finishReason":"STOP"}]}';

deviation('a Markdown link to a hosted image is printed and not fetched (deviation 3)', {
  argv: ['text', 'a cat'],
  reply: link,
  code: 0,
  stdout: '![cat](https://cdn.example.org/cat.png?a=1&b=2)\n',
});

deviation('an image command names the link and is exit 10 (deviation 3)', {
  argv: gen,
  reply: link,
  code: 10,
  stderr: 'which is not fetched: https://cdn.example.org/cat.png?a=1&b=2',
});

deviation('a bare data URL in a text part is saved (deviation 4)', {
  argv: gen,
  reply: `{"candidates":[{"content":{"parts":[{"text":"data:image/png;base64,${png}"}]},"finishReason":"STOP"}]}`,
  code: 0,
  document: { ...saved, text: '' },
  files: { 'image-1.png': png },
});

deviation('an image block of a JSON message is saved (deviation 5)', {
  argv: ['chat', 'a dot', '-o', 'dot.png'],
  reply: `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"Hi"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"${png}"}}],"stop_reason":"end_turn"}`,
  code: 0,
  document: { text: 'Hi', images: [{ ...first, path: 'dot.png' }] },
  files: { 'dot.png': png },
});

deviation('an image block that stands whole in content_block_start is saved (deviation 5)', {
  argv: ['chat', 'a dot'],
  reply: `${begin}event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"image","source":{"type":"base64","media_type":"image/png","data":"${png}"}}}\n\nevent: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n${end}`,
  code: 0,
  document: { text: '', images: [first] },
  files: { 'image-1.png': png },
});

deviation('base64url is decoded (deviation 7)', {
  argv: gen,
  reply: inline(`{"mimeType":"image/png","data":"${urlSafe}=="}`),
  code: 0,
  document: saved,
  files: { 'image-1.png': png },
});

deviation('missing padding, line breaks and escaped slashes are no fault (deviation 8)', {
  argv: gen,
  reply: inline(
    `{"mimeType":"image/png","data":"${png.slice(0, 40)}\\r\\n${png.slice(40).replaceAll('=', '').replaceAll('/', '\\/')}"}`,
  ),
  code: 0,
  document: saved,
  files: { 'image-1.png': png },
});

deviation('a data-URL prefix inside data is taken off (deviation 10)', {
  argv: gen,
  reply: inline(`{"mimeType":"image/png","data":"data:image/png;base64,${png}"}`),
  code: 0,
  document: saved,
  files: { 'image-1.png': png },
});

deviation('without a mimeType the bytes tell (deviation 11)', {
  argv: gen,
  reply: inline(`{"data":"${jpeg}"}`),
  code: 0,
  document: { images: [{ path: 'image-1.jpg', mimeType: 'image/jpeg' }], warnings: [] },
  files: { 'image-1.jpg': jpeg },
});

deviation('a mimeType with capitals and parameters is understood (deviation 12)', {
  argv: gen,
  reply: inline(`{"mimeType":"Image/PNG; charset=binary","data":"${png}"}`),
  code: 0,
  document: { ...saved, warnings: [] },
});

deviation('audio with parameters is no picture (deviation 12)', {
  argv: gen,
  reply: inline('{"mimeType":"audio/L16;codec=pcm;rate=24000","data":"AAAA"}'),
  code: 10,
  document: { images: [] },
});

deviation('a wrong mimeType gives way to the bytes, with a warning (deviation 13)', {
  argv: [...gen, '-o', 'cat.png'],
  reply: inline(`{"mimeType":"image/png","data":"${jpeg}"}`),
  code: 0,
  stdout: 'cat.jpg\n',
  stderr: 'warning: the image is declared "image/png", but its bytes are image/jpeg',
  files: { 'cat.jpg': jpeg },
});

const draft = `{"inlineData":{"mimeType":"image/jpeg","data":"${jpeg}"},"thought":true}`;
const final = `{"inlineData":{"mimeType":"image/png","data":"${png}"},"thoughtSignature":"AAAA"}`;

deviation('drafts are left out where a final picture came (deviation 14)', {
  argv: gen,
  reply: `{"candidates":[{"content":{"parts":[${draft},${draft},${final}]},"finishReason":"STOP"}]}`,
  code: 0,
  document: { images: [first] },
});

deviation('the last draft is saved where there is nothing else (deviation 14)', {
  argv: gen,
  reply: `{"candidates":[{"content":{"parts":[${draft},${final.replace('"thoughtSignature":"AAAA"', '"thought":true')}]},"finishReason":"STOP"}]}`,
  code: 0,
  document: { images: [first] },
});

deviation('a ratio that was ignored is a warning (deviation 42)', {
  argv: [...gen, '--aspect', '16:9'],
  reply: inline(`{"mimeType":"image/png","data":"${png}"}`),
  code: 0,
  stdout: 'image-1.png\n',
  stderr: 'warning: image-1.png is 1×1, not 16:9\n',
});

deviation('and with --strict exit 11, the file kept (deviation 42)', {
  argv: [...gen, '--aspect', '16:9', '--size', '2K', '--strict'],
  reply: inline(`{"mimeType":"image/png","data":"${png}"}`),
  code: 11,
  stdout: 'image-1.png\n',
  stderr: 'image-1.png is 1×1, not 16:9 and not 2K',
  files: { 'image-1.png': png },
});
