import { expect, test } from 'vitest';
import { canaryKey } from '../../../helpers/with-server.ts';
import { place } from './place.ts';

const gemini = { service: 'gemini', apiKey: canaryKey, models: { text: 't', image: 'i' } } as const;
const claude = { service: 'anthropic', apiKeyFile: '/key', models: { chat: 'c' }, timeout: '3m' } as const;
const two = { profile: { text: 'gemini', image: 'gemini', chat: 'claude' }, profiles: { gemini, claude } };

test('use --for puts a profile to some uses, and a map whose uses are all the same becomes a name again', async () => {
  const { cli, config, file } = place({ profiles: { gemini, claude, work: {} } });
  expect((await cli(['config', 'use', 'gemini', '--for', 'text,image'])).stderr).toBe(
    `in use: gemini for text, image and edit (${file})\n`,
  );
  expect((await cli(['config', 'use', 'claude', '--for', 'chat'])).stderr).toBe(
    `in use: gemini for text, image and edit, claude for chat (${file})\n`,
  );
  expect(config()).toMatchObject({ profile: two.profile });
  await cli(['config', 'use', 'work', '--for', 'text,image']);
  const ran = await cli(['config', 'use', 'work', '--for', 'chat']);
  expect(ran.stderr).toBe(`profile work is in use (${file})\n`);
  expect(config()).toMatchObject({ profile: 'work' });
});

test.each([
  ['an unknown use', ['use', 'gemini', '--for', 'text,caht'], "not 'caht'", 'did you mean chat?'],
  ['a use that the service lacks', ['use', 'claude', '--for', 'image'], 'does not have image', '--for text,chat'],
  ['an unknown profile', ['use', 'gemni', '--for', 'text'], "there is no profile 'gemni'", 'config use gemini'],
  ['set without a name', ['set', 'timeout', '9s'], 'claude for chat', '--profile gemini, or --profile claude'],
  ['unset without a name', ['unset', 'timeout'], 'claude for chat', '--profile gemini, or --profile claude'],
  ['get of what differs', ['get', 'service'], 'service of chat is anthropic', '--profile gemini, or --profile claude'],
])('with a profile for each use, %s is exit 2 and says what to type', async (_, words, message, hint) => {
  const { cli, config } = place(two);
  const ran = await cli(['config', ...words]);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain(message);
  expect(ran.stderr).toContain(hint);
  expect(config()).toEqual(two);
});

test('list says which profile serves which use, and what differs with it', async () => {
  const { cli, file } = place(two);
  const listed = await cli(['config', 'list']);
  expect(listed).toMatchObject({ code: 0, stderr: '' });
  const rows = listed.stdout.split('\n').map((line) => line.split(/ {2,}/));
  const content = 'of text, image, edit';
  expect(rows).toContainEqual([`profile ${content}`, 'gemini', `(config ${file})`]);
  expect(rows).toContainEqual(['profile of chat', 'claude', `(config ${file})`]);
  expect(rows).toContainEqual([`apiKey ${content}`, '(redacted)', `(profile gemini (${file}))`]);
  expect(rows).toContainEqual(['apiKeyFile of chat', '/key', `(profile claude (${file}))`]);
  expect(rows).toContainEqual(['baseUrl of chat', 'https://api.anthropic.com', '(service anthropic)']);
  expect(rows).toContainEqual(['headerNames.apiKey', 'x-goog-api-key', '(service gemini)']);
  expect(rows).toContainEqual(['headerNames.version', 'anthropic-version', '(service anthropic)']);
  expect(rows).toContainEqual(['allowHttp', 'false', '(default)']);
  const { stdout } = await cli(['config', 'list', '--json']);
  expect(JSON.parse(stdout)).toMatchObject({
    profile: two.profile,
    settings: { 'profile.edit': { value: 'gemini' }, 'timeout.chat': { value: '3m' }, preview: { value: false } },
  });
  expect(await cli(['config', 'get', 'service', '--profile', 'claude'])).toMatchObject({ stdout: 'anthropic\n' });
});

test('init puts the profile to the uses of its service, beside the one of the others', async () => {
  const { cli, config } = place({});
  await cli(['config', 'init'], { answers: ['gemini', '', 'g'] });
  const ran = await cli(['config', 'init'], { answers: ['anthropic', '', 'c'] });
  expect(ran.stderr).toContain('in use: anthropic for text and chat, gemini for image and edit\n');
  expect(config()).toMatchObject({ profile: { text: 'anthropic', image: 'gemini', chat: 'anthropic' } });
  await cli(['config', 'init'], { answers: ['', '', 'new'] });
  expect(config()).toMatchObject({
    profile: { chat: 'anthropic' },
    profiles: { gemini: { models: { text: 'g' } }, anthropic: { models: { text: 'new' } } },
  });
});
