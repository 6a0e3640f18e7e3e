import { readdirSync } from 'node:fs';
import { expect } from 'vitest';
import { eventStream, imageReply, messageEvents, test, textReply } from '../../helpers/with-server.ts';
import { png } from '../../replies/deviation.ts';

const good = { mimeType: 'image/png', data: png };
const long = `${png.slice(0, 92)}${'A'.repeat(40_000)}`;

test.each([
  ['a foreign character', `${png.slice(0, 40)}*${png.slice(40)}`, 'valid Base64'],
  ['a foreign character in a long one', `${long}*${long}`, 'valid Base64'],
  ['a group that is cut', 'AAAAA', 'cut in the middle of a group'],
  ['padding in the middle', `AA==${png}`, 'valid Base64'],
])('a picture with %s is exit 9; those around it are kept and named', async (_, data, told) => {
  const { startScriptedServer } = await import('../../helpers/scripted-server.ts');
  const { run } = await import('../../helpers/run.ts');
  const server = await startScriptedServer();
  server.reply({ body: imageReply(good, { mimeType: 'image/png', data }, { ...good, data: long }) });
  const ran = await run(['image', 'gen', 'x', '-o', 'out/', '-m', 'm'], {
    env: { GATEWAY_BASE_URL: server.url, GATEWAY_API_KEY: 'k-123456' },
  });
  await server.close();
  expect(ran).toMatchObject({ code: 9, stdout: 'out/image-1.png\nout/image-2.png\n' });
  expect(ran.stderr).toContain(told);
  expect(readdirSync(`${ran.cwd}/out`)).toEqual(['image-1.png', 'image-2.png']);
});

test('a picture without data is absent, as null is', async ({ server, cli }) => {
  server.reply({ body: imageReply(good, { mimeType: 'image/png', data: '' }) });
  expect(await cli(['image', 'gen', 'x', '-o', 'out/'])).toMatchObject({
    code: 0,
    stdout: 'out/image-1.png\n',
    stderr: '',
  });
});

test('a bad picture in a text is exit 9, and the words and the other picture are kept', async ({ server, cli }) => {
  const url = (data: string) => `![x](data:image/png;base64,${data})`;
  server.reply({ body: textReply(`Hi ${url('AAAAA')} and ${url(png)}`) });
  const ran = await cli(['text', 'x', '--json']);
  expect(ran.code).toBe(9);
  expect(JSON.parse(ran.stdout)).toMatchObject({
    text: 'Hi  and ',
    images: [{ path: 'image-1.png' }],
    error: { class: 'bad-reply', sent: 'yes', billed: 'yes' },
  });
});

test('a bad picture in a stream does not end it', async ({ server, cli }) => {
  server.reply({ body: eventStream(...messageEvents('Hi ![x](data:image/png;base64,', 'AAAAA', ') there')) });
  const ran = await cli(['chat', 'x']);
  expect(ran).toMatchObject({ code: 9, stdout: 'Hi  there\n' });
});

test('a reply of which one of several requests was bad is exit 11 and says why', async ({ server, cli }) => {
  server.reply({ body: imageReply(good) });
  server.reply({ body: imageReply({ ...good, data: 'AAAAA' }) });
  const ran = await cli(['image', 'gen', 'x', '-n', '2', '-o', 'out/']);
  expect(ran).toMatchObject({ code: 11, stdout: 'out/image-1.png\n' });
  expect(ran.stderr).toContain('1 of 2 images are missing: an image of the reply is not valid Base64');
});
