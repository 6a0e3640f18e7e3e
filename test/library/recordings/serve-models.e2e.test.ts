import { readdirSync, readFileSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run, type Ran } from '../../helpers/run.ts';
import { type Served, startServe, startWork, upstreamKey, writeConfig } from './served.ts';

type Work = Awaited<ReturnType<typeof startWork>>;

const four = { text: 'local-text', chat: 'local-chat', image: 'local-image', edit: 'local-edit' };

/** A gateway with these models in its profile `work`. */
async function workWith(models: object): Promise<Work> {
  const work = await startWork();
  const config = writeConfig(work.cwd, { work: { baseUrl: work.url, apiKey: upstreamKey, models } });
  return { ...work, config };
}

/** A script of text, chat, a picture and its edit. */
async function script({ cwd }: Work, { env }: Served, prefix: string): Promise<Ran[]> {
  const image = `${prefix}.png`;
  const commands = [
    ['text', 'hi'],
    ['chat', 'hi'],
    ['image', 'gen', 'hi', '--size', '512', '-o', image],
    ['image', 'edit', '-i', image, 'make it gray', '-o', `${prefix}-gray.png`],
  ];
  const ran: Ran[] = [];
  for (const command of commands) ran.push(await run([...command, '--no-stdin'], { cwd, env }));
  return ran;
}

const modelsOf = ({ env }: Served): object =>
  Object.fromEntries(Object.entries(env).filter(([name]) => name.endsWith('_MODEL')));

const replay = ['--replay', 'kept'];

test('a script of every command is recorded with the models of the profile, and gets them in the replay', async () => {
  const work = await workWith(four);
  const recording = await startServe(['--upstream', 'work', '--record', 'kept'], work);
  const live = await script(work, recording, 'a');
  expect(live.map(({ code, stderr }) => [code, stderr])).toEqual([0, 1, 2, 3].map(() => [0, '']));
  expect(live[1]?.stdout).toContain('the offline model local-chat');
  await recording.stop();
  expect(modelsOf(recording)).toEqual({
    GATEWAY_MODEL: 'local-text',
    GATEWAY_CHAT_MODEL: 'local-chat',
    GATEWAY_IMAGE_MODEL: 'local-image',
    GATEWAY_EDIT_MODEL: 'local-edit',
  });

  const ambient = { GATEWAY_MODEL: 'another', GATEWAY_CHAT_MODEL: 'one-more' };
  const replaying = await startServe(replay, { ...work, env: ambient });
  expect(modelsOf(replaying)).toEqual(modelsOf(recording));
  const again = await script(work, replaying, 'b');
  expect(again.map(({ code, stderr }) => [code, stderr])).toEqual([0, 1, 2, 3].map(() => [0, '']));
  expect(again.slice(0, 2).map(({ stdout }) => stdout)).toEqual(live.slice(0, 2).map(({ stdout }) => stdout));
  for (const name of ['.png', '-gray.png']) {
    expect(readFileSync(join(work.cwd, `b${name}`))).toEqual(readFileSync(join(work.cwd, `a${name}`)));
  }
  await replaying.stop();

  // Only recordings, as `--record` of other commands writes them: their content gives the models.
  unlinkSync(join(work.cwd, 'kept', 'models.json'));
  expect(modelsOf(await startServe(replay, work))).toEqual(modelsOf(recording));
  expect(modelsOf(await startServe(replay, { ...work, env: { GATEWAY_MODEL: 'told' } }))).toEqual({
    GATEWAY_MODEL: 'told',
  });
});

test.each([
  ['equal models', { text: 'm', chat: 'm', image: 'i', edit: 'i' }, { GATEWAY_MODEL: 'm', GATEWAY_IMAGE_MODEL: 'i' }],
  ['no chat', { text: 'm' }, { GATEWAY_MODEL: 'm' }],
  ['chat alone', { chat: 'c' }, { GATEWAY_CHAT_MODEL: 'c' }],
  ['nothing', {}, {}],
])('a profile with %s exports only its models', async (_name, models, expected) => {
  expect(modelsOf(await startServe(['--upstream', 'work'], await workWith(models)))).toEqual(expected);
});

test('the command that serve runs gets the same models, whatever the environment says', async () => {
  const work = await workWith({ text: 'm' });
  const words = ['sh', '-c', 'env | grep "_MODEL=" | sort > "$0"'];
  const env = {
    GATEWAY_CONFIG: work.config,
    GATEWAY_CHAT_MODEL: 'ambient',
    GATEWAY_IMAGE_MODEL: 'mine',
    PATH: process.env['PATH'] ?? '',
  };
  const record = ['serve', '--upstream', 'work', '--record', 'kept', '--', ...words, 'recorded.txt'];
  expect(await run(record, { cwd: work.cwd, env })).toMatchObject({ code: 0 });
  const recorded = readFileSync(join(work.cwd, 'recorded.txt'), 'utf8');
  expect(recorded).toBe('GATEWAY_IMAGE_MODEL=mine\nGATEWAY_MODEL=m\n');

  await run(['text', '--offline', 'hi', '--record', 'kept'], { cwd: work.cwd });
  const elsewhere = { PATH: env.PATH, GATEWAY_CHAT_MODEL: 'ambient' };
  const played = ['serve', ...replay, '--', ...words, 'replayed.txt'];
  expect(await run(played, { cwd: work.cwd, env: elsewhere })).toMatchObject({ code: 0 });
  expect(readFileSync(join(work.cwd, 'replayed.txt'), 'utf8')).toBe(recorded);
  expect(readdirSync(join(work.cwd, 'kept'))).toContain('models.json');
});
