import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { imageReply, test } from '../../../helpers/with-server.ts';
import { jpeg, png } from '../../../replies/deviation.ts';

const dot = { mimeType: 'image/png', data: png };
const photo = { mimeType: 'image/jpeg', data: jpeg };
const base64 = (...path: string[]) => readFileSync(join(...path), 'base64');

describe('-o', () => {
  test.for([
    ['nothing', [], ['image-1.png', 'image-2.png']],
    ['a folder that is made', ['-o', 'out/'], ['out/image-1.png', 'out/image-2.png']],
    ['a folder that is there', ['-o', 'there'], ['there/image-1.png', 'there/image-2.png']],
    ['a name', ['-o', 'dot.png'], ['dot.png', 'dot-2.png']],
    ['a name without extension', ['-o', 'dot'], ['dot.png', 'dot-2.png']],
    ['a template', ['-o', 'there/{slug}-{n}.{ext}'], ['there/a-red-dot-1.png', 'there/a-red-dot-2.png']],
    ['model and id', ['-o', '{model}-{id}.png'], ['m-r-1.png', 'm-r-1-2.png']],
  ] as [string, string[], string[]][])('names the pictures by %s', async ([, flags, paths], { server, cli }) => {
    server.reply({ body: imageReply(dot, dot) });
    const { cwd } = await cli(['image', 'gen', 'a red', 'dot', ...flags, '--dry-run']);
    mkdirSync(join(cwd, 'there'));
    const ran = await cli(['image', 'gen', 'a red', 'dot', ...flags], { cwd });
    expect(ran).toMatchObject({ code: 0, stdout: `${paths.join('\n')}\n`, stderr: '' });
    expect(paths.map((path) => base64(ran.cwd, path))).toEqual([png, png]);
  });

  test('refuses an invalid name', async ({ server, cli }) => {
    expect(await cli(['image', 'gen', 'x', '-o', ''])).toMatchObject({
      code: 2,
      stderr: 'gateway-cli: usage: -o needs a name\n  for example: -o cat.png\n',
    });
    expect(server.requests).toEqual([]);
  });

  test('takes the next free number, and replaces nothing', async ({ server, cli }) => {
    server.always({ body: imageReply(dot) });
    const { cwd } = await cli(['image', 'gen', 'x']);
    expect(await cli(['image', 'gen', 'x'], { cwd })).toMatchObject({ code: 0, stdout: 'image-2.png\n' });
    expect(readdirSync(cwd).sort()).toEqual(['image-1.png', 'image-2.png']);
  });

  test('refuses a name that exists before anything is sent, and --force replaces it', async ({ server, cli }) => {
    const { cwd } = await cli(['image', 'gen', 'x', '--dry-run']);
    writeFileSync(join(cwd, 'dot.png'), 'mine');
    const refused = await cli(['image', 'gen', 'x', '-o', 'dot.png'], { cwd });
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain('--force replaces it');
    expect([readFileSync(join(cwd, 'dot.png'), 'utf8'), server.requests.length]).toEqual(['mine', 0]);
    server.reply({ body: imageReply(dot) });
    expect(await cli(['image', 'gen', 'x', '-o', 'dot.png', '-f'], { cwd })).toMatchObject({ code: 0 });
    expect(base64(cwd, 'dot.png')).toBe(png);
  });

  test('never replaces a name that the user did not give, even with --force', async ({ server, cli }) => {
    const { cwd } = await cli(['image', 'gen', 'x', '--dry-run']);
    writeFileSync(join(cwd, 'cat.jpg'), 'mine');
    server.reply({ body: imageReply(photo) });
    const ran = await cli(['image', 'gen', 'x', '-o', 'cat.png', '--force'], { cwd });
    expect(ran).toMatchObject({ code: 0, stdout: 'cat-2.jpg\n' });
    expect(ran.stderr).toContain('warning: cat.png would hold jpg data, so the file is cat-2.jpg');
    expect(readFileSync(join(cwd, 'cat.jpg'), 'utf8')).toBe('mine');
  });

  test('refuses a folder that is missing before anything is sent', async ({ server, cli }) => {
    const ran = await cli(['image', 'gen', 'x', '-o', 'no/such/dot.png']);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain('mkdir -p no/such');
    expect(server.requests).toHaveLength(0);
  });
});

describe('-o -', () => {
  test('writes the bytes of the picture and nothing else', async ({ server, cli }) => {
    server.reply({ body: imageReply(dot) });
    const ran = await cli(['image', 'gen', 'x', '-o', '-']);
    expect([ran.code, ran.stdoutBytes.toString('base64'), ran.stderr]).toEqual([0, png, '']);
    expect(readdirSync(ran.cwd)).toEqual([]);
  });

  test('-o - saves a second image in a file, with a warning', async ({ server, cli }) => {
    server.reply({ body: imageReply(dot, photo) });
    const ran = await cli(['image', 'gen', 'x', '-o', '-']);
    expect([ran.code, ran.stdoutBytes.toString('base64')]).toEqual([0, png]);
    const [beside = ''] = readdirSync(ran.cwd);
    expect(ran.stderr).toContain(`one more image came; it is in ${beside}`);
    expect(base64(ran.cwd, beside)).toBe(jpeg);
  });

  test.for([
    ['a terminal', ['-o', '-'], { tty: { stdout: true } }, 'terminal'],
    ['several pictures', ['-o', '-', '-n', '2'], {}, 'one image'],
    ['--json', ['-o', '-', '--json'], {}, 'both write to stdout'],
    ['--sidecar', ['-o', '-', '--sidecar'], {}, 'name a file: -o image.png'],
  ] as const)('is refused for %s', async ([, flags, options, told], { server, cli }) => {
    const ran = await cli(['image', 'gen', 'x', ...flags], options);
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain(told);
    expect(server.requests).toHaveLength(0);
  });
});

test('image gen saves every image of every candidate, and names the candidate of each', async ({ server, cli }) => {
  const [one] = (imageReply(dot, dot) as { candidates: object[] }).candidates;
  const [two] = (imageReply(photo) as { candidates: object[] }).candidates;
  server.reply({
    body: {
      candidates: [
        { ...one, index: 0 },
        { ...two, index: 1 },
      ],
    },
  });
  const ran = await cli(['image', 'gen', 'x', '--candidates', '2', '-o', 'out/', '--json']);
  expect(ran.code).toBe(0);
  const { images } = JSON.parse(ran.stdout) as { images: object[] };
  expect(images).toMatchObject([
    { path: 'out/image-1.png', candidate: 0 },
    { path: 'out/image-2.png', candidate: 0 },
    { path: 'out/image-3.jpg', candidate: 1 },
  ]);
  expect(server.requests[0]?.json()).toMatchObject({ generationConfig: { candidateCount: 2 } });
});

test('--sidecar reports what the picture was made from', async ({ server, cli }) => {
  const { cwd } = await cli(['image', 'gen', 'x', '--dry-run']);
  writeFileSync(join(cwd, 'in.png'), Buffer.from(png, 'base64'));
  server.reply({ body: { ...imageReply(dot), usageMetadata: { totalTokenCount: 5 } } });
  const argv = ['image', 'edit', '-i', 'in.png', 'make it red', '--aspect', '1:1', '--seed', '7', '--sidecar'];
  expect(await cli([...argv, '-o', 'out.png'], { cwd })).toMatchObject({ code: 0, stdout: 'out.png\n' });
  const sha256 = createHash('sha256').update(Buffer.from(png, 'base64')).digest('hex');
  const sidecar = JSON.parse(readFileSync(join(cwd, 'out.png.json'), 'utf8')) as object;
  expect(Object.keys(sidecar)).not.toContain('candidates');
  expect(sidecar).toMatchObject({
    schema: 'gateway-cli/sidecar@1',
    prompt: 'make it red',
    model: 'm',
    tool: expect.stringMatching(/^gateway-cli \d/) as string,
    request: {
      contents: [{ role: 'user', parts: [{ text: 'make it red' }, { inlineData: { mimeType: 'image/png' } }] }],
      generationConfig: { imageConfig: { aspectRatio: '1:1' }, seed: 7 },
    },
    inputs: [{ mimeType: 'image/png', sha256 }],
    responseId: 'r-1',
    modelVersion: 'm-001',
    usage: { totalTokens: 5 },
    image: { path: 'out.png', mimeType: 'image/png', width: 1, height: 1, bytes: 70, sha256 },
  });
});

test('an edit without a prompt is reported with an image in its example', async ({ cli }) => {
  const { cwd } = await cli(['image', 'gen', 'x', '--dry-run']);
  writeFileSync(join(cwd, 'in.png'), Buffer.from(png, 'base64'));
  const ran = await cli(['image', 'edit', '-i', 'in.png'], { cwd });
  expect(ran.code).toBe(2);
  expect(ran.stderr).toContain('there is no prompt\n  for example: gateway-cli image edit -i photo.jpg "make it gray"');
});
