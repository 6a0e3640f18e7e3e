import { isAbsolute, join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { configPath, userFolders } from '../../../src/cli/settings/config-file.ts';

const folders = async () => ({
  config: resolve('/home/u/.config/gateway-cli'),
  state: resolve('/home/u/.local/state/gateway-cli'),
  cache: resolve('/home/u/.cache/gateway-cli'),
});
const relative = async () => ({ config: 'gateway-cli', state: 'gateway-cli', cache: 'gateway-cli' });
const none = () => Promise.reject(new Error('asked'));
const cwd = resolve('/work');

test.each([
  ['the user folder', {}, resolve('/home/u/.config/gateway-cli/config.json')],
  ['the user folder for an empty variable', { GATEWAY_CONFIG: '' }, resolve('/home/u/.config/gateway-cli/config.json')],
  ['GATEWAY_CONFIG', { GATEWAY_CONFIG: resolve('/etc/g.json') }, resolve('/etc/g.json')],
  ['a relative GATEWAY_CONFIG, from the current folder', { GATEWAY_CONFIG: 'g.json' }, join(cwd, 'g.json')],
])('finds the config file in %s', async (_name, env, expected) => {
  expect(await configPath({ env, cwd, folders })).toBe(expected);
});

test('never looks for settings in the current folder', async () => {
  await expect(configPath({ env: {}, cwd, folders: relative })).rejects.toMatchObject({ class: 'usage' });
});

test('asks for no folder where GATEWAY_CONFIG names the file', async () => {
  expect(await configPath({ env: { GATEWAY_CONFIG: 'a' }, cwd, folders: none })).toBe(join(cwd, 'a'));
});

test('takes the folders of the platform', async () => {
  const found = await userFolders();
  expect(isAbsolute(found.config)).toBe(true);
  expect(found.config).toContain('gateway-cli');
  expect(found.config).not.toContain('nodejs');
});
