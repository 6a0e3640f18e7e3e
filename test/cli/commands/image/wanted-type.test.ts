import { readdirSync } from 'node:fs';
import { expect } from 'vitest';
import { scratchFolder } from '../../../helpers/scratch.ts';
import { imageReply, test } from '../../../helpers/with-server.ts';

const webp = Buffer.from('5249464614000000574542505650384c0d0000002f13400200001234', 'hex').toString('base64');
const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

test('the extension of -o asks OpenAI for the type of the picture', async ({ server, cli }) => {
  server.reply({ body: { data: [{ b64_json: webp }], output_format: 'webp' } });
  const cwd = scratchFolder();
  const argv = ['image', 'gen', 'a cat', '-o', 'cat.webp', '--service', 'openai', '--base-url', server.url];
  expect(await cli(argv, { cwd })).toMatchObject({ code: 0, stdout: 'cat.webp\n', stderr: '' });
  expect(server.requests[0]?.json()).toMatchObject({ output_format: 'webp' });
  expect(readdirSync(cwd)).toEqual(['cat.webp']);
});

test('a type that a service is not asked for is told before the picture is paid', async ({ server, cli }) => {
  const warning =
    "gateway-cli: warning: -o 'cat.webp': this service is not asked for image/webp; the extension will be that of what comes, such as .png\n";
  const cwd = scratchFolder();
  const argv = ['image', 'gen', 'a cat', '-o', 'cat.webp'];
  expect((await cli([...argv, '--dry-run'], { cwd })).stderr).toContain(warning);
  server.reply({ body: imageReply({ mimeType: 'image/png', data: dot }) });
  expect(await cli(argv, { cwd })).toMatchObject({ code: 0, stdout: 'cat.png\n' });
  expect((await cli(['image', 'gen', 'a cat', '-o', 'cat.jpg', '--dry-run'], { cwd, env: {} })).stderr).not.toContain(
    'not asked for',
  );
});

test('the link of a picture comes with the setting that gets its bytes the next time', async ({ server, cli }) => {
  server.reply({ body: { data: [{ b64_json: '', url: 'https://h.example/a.png' }] } });
  const argv = ['image', 'gen', 'a cat', '-o', 'cat.png', '--service', 'openai', '--base-url', server.url];
  const ran = await cli(argv, { cwd: scratchFolder() });
  expect(ran.code).toBe(10);
  expect(ran.stderr).toContain(
    'which is not fetched: https://h.example/a.png\n  next time, get its bytes: --set response_format=b64_json\n',
  );
});

test('an error cuts a long path in its middle, and keeps the name of the file', async ({ cli }) => {
  const path = `${'folder/'.repeat(12)}cat.png`;
  const ran = await cli(['image', 'edit', 'x', '-i', path], { cwd: scratchFolder() });
  expect(ran.code).toBe(2);
  expect(ran.stderr).toContain(
    "-i 'folder/folder/folder/folder/fo…r/folder/folder/folder/cat.png': there is no such file\n",
  );
});
