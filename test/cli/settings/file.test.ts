import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { changeConfig } from '../../../src/cli/commands/config/file.ts';
import { readConfig } from '../../../src/cli/settings/config-file.ts';
import type { Config } from '../../../src/cli/settings/types.ts';
import { openFilesIn, tellsOpenFiles } from '../../helpers/open-files.ts';
import { topicTexts } from '../../helpers/readme.ts';
import { scratchFolder } from '../../helpers/scratch.ts';
import { version } from '../../../src/library/version.ts';

const posix = process.platform !== 'win32';
const isRoot = process.getuid?.() === 0;
const config: Config = {
  $schema: './config.schema.json',
  profile: 'work',
  profiles: { work: { baseUrl: 'https://gateway.example', apiKey: 'sk-canary' } },
};

const writeConfig = (at: string, written: Config): Promise<unknown> => changeConfig(at, () => written);

let folder: string;
let path: string;

beforeEach(() => {
  folder = scratchFolder();
  path = join(folder, 'config.json');
});

afterEach(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));

const modeOf = (name: string) => statSync(name).mode & 0o777;

describe('readConfig', () => {
  test('gives no profiles where there is no file', async () => {
    expect(await readConfig(path)).toEqual({ path, exists: false, config: { profiles: {} }, warnings: [] });
  });

  test('hints at GATEWAY_CONFIG if the home is not a folder, such as /dev/null', async () => {
    writeFileSync(path, '');
    const details = { hint: expect.stringContaining('name another file: GATEWAY_CONFIG=<file>') as string };
    await expect(readConfig(join(path, 'config.json'))).rejects.toMatchObject({ details });
    await expect(writeConfig(join(path, 'config.json'), config)).rejects.toMatchObject({ details });
  });

  test('reads what writeConfig wrote', async () => {
    await writeConfig(path, config);
    expect(await readConfig(path)).toEqual({ path, exists: true, config, warnings: [] });
  });

  test('names the path, the line and the column of a syntax error', async () => {
    writeFileSync(path, '{\n  "profiles": {\n    "work": {,}\n  }\n}', { mode: 0o600 });
    await expect(readConfig(path)).rejects.toMatchObject({
      class: 'usage',
      message: `${path}:3:14: not JSON: expected a key in double quotes`,
    });
  });

  test.each([
    ['a folder', () => mkdirSync(path), 'cannot be read'],
    ['bytes that are not UTF-8', () => writeFileSync(path, Buffer.from([0x7b, 0xff]), { mode: 0o600 }), 'not UTF-8'],
    ['a file too large', () => writeFileSync(path, ' '.repeat(1024 * 1024 + 1), { mode: 0o600 }), 'too large'],
    [
      'a path below a file',
      () => (writeFileSync(join(folder, 'f'), ''), (path = join(folder, 'f', 'config.json'))),
      'cannot be read',
    ],
  ])('refuses %s', async (_name, arrange, message) => {
    arrange();
    const reading = readConfig(path);
    await expect(reading).rejects.toMatchObject({ class: 'usage' });
    await expect(reading).rejects.toThrow(message);
    await expect(reading).rejects.toThrow(path);
  });

  test.skipIf(!posix).each([
    [0o644, 1],
    [0o640, 1],
    [0o620, 1],
    [0o600, 0],
    [0o400, 0],
  ])('a file of mode %o gets this number of warnings: %d', async (mode, count) => {
    writeFileSync(path, '{}');
    chmodSync(path, mode);
    const { warnings } = await readConfig(path);
    expect(warnings.filter((warning) => warning.includes(`chmod 600 ${path}`))).toHaveLength(count);
    expect(warnings).toHaveLength(count);
  });

  test.skipIf(!posix)('a device has no owner whose secret it keeps', async () => {
    expect(await readConfig('/dev/null')).toMatchObject({ exists: true, config: { profiles: {} }, warnings: [] });
  });

  test.skipIf(!posix || isRoot)('readConfig says when the file may not be read', async () => {
    writeFileSync(path, '{}', { mode: 0o000 });
    await expect(readConfig(path)).rejects.toThrow('cannot be read');
  });
});

describe('writeConfig', () => {
  test('links a new file to the schema of this version, and leaves the link of an older one as it is', async () => {
    await writeConfig(path, { profiles: { a: {} } });
    const $schema = `https://unpkg.com/gateway-cli@${version.split('.')[0]}/dist/config.schema.json`;
    for (const topic of ['settings', 'services'])
      expect(topicTexts.get(topic)).toContain(`{\n  "$schema": "${$schema}",\n`);
    const linked = { $schema, profiles: { a: {} } };
    expect(readFileSync(path, 'utf8')).toBe(`${JSON.stringify(linked, null, 2)}\n`);
    await changeConfig(path, (current) => ({ ...current.config, profile: 'a', profiles: { a: {} } }));
    expect((await readConfig(path)).config).toEqual({ ...linked, profile: 'a' });
    writeFileSync(path, '{}');
    await changeConfig(path, (current) => ({ ...current.config, profile: 'a', profiles: { a: {} } }));
    expect((await readConfig(path)).config).toEqual({ profile: 'a', profiles: { a: {} } });
  });

  test('writes JSON that a person can read, and leaves nothing beside it', async () => {
    await writeConfig(path, config);
    expect(readFileSync(path, 'utf8')).toBe(`${JSON.stringify(config, null, 2)}\n`);
    expect(readdirSync(folder)).toEqual(['config.json']);
  });

  test.skipIf(!posix)('makes the folder 0700 and the file 0600, whatever the umask', async () => {
    const before = process.umask(0);
    try {
      await writeConfig(join(folder, 'new', 'config.json'), config);
    } finally {
      process.umask(before);
    }
    expect(modeOf(join(folder, 'new'))).toBe(0o700);
    expect(modeOf(join(folder, 'new', 'config.json'))).toBe(0o600);
  });

  test.skipIf(!posix)(
    'a file that was open to others is closed; the mode of a folder it did not make stays',
    async () => {
      writeFileSync(path, '{}');
      chmodSync(path, 0o644);
      chmodSync(folder, 0o755);
      await writeConfig(path, config);
      expect(modeOf(path)).toBe(0o600);
      expect(modeOf(folder)).toBe(0o755);
    },
  );

  test.skipIf(!posix).each([
    ['there', true],
    ['not there yet', false],
  ])('a link whose target is %s stays, and the target is written', async (_name, exists) => {
    const target = join(folder, 'dotfiles', 'gateway.json');
    mkdirSync(join(folder, 'dotfiles'));
    if (exists) writeFileSync(target, '{}');
    symlinkSync(join('dotfiles', 'gateway.json'), path);
    await writeConfig(path, config);
    expect(lstatSync(path).isSymbolicLink()).toBe(true);
    expect(JSON.parse(readFileSync(target, 'utf8'))).toEqual(config);
    expect(modeOf(target)).toBe(0o600);
    expect(readdirSync(join(folder, 'dotfiles'))).toEqual(['gateway.json']);
  });

  test.skipIf(!posix)('refuses links in a circle, folders and devices', async () => {
    symlinkSync(path, path);
    await expect(writeConfig(path, config)).rejects.toThrow(new RegExp(`^${path}: the links lead in a circle$`));
    await expect(writeConfig(folder, config)).rejects.toThrow(new RegExp(`^${folder}: is not a regular file$`));
    await expect(writeConfig('/dev/null', config)).rejects.toThrow('is not a regular file');
  });

  test('leaves the old file as it is when the new one cannot be written', async () => {
    writeFileSync(path, '{}');
    const below = join(path, 'deeper', 'config.json');
    await expect(writeConfig(below, config)).rejects.toMatchObject({ class: 'usage' });
    expect(readFileSync(path, 'utf8')).toBe('{}');
    expect(readdirSync(folder)).toEqual(['config.json']);
  });

  test.skipIf(!tellsOpenFiles)('leaves no file and no folder open', async () => {
    await writeConfig(path, config);
    await readConfig(path);
    expect(openFilesIn(folder)).toEqual([]);
  });

  test.skipIf(!posix || spawnSync('mkfifo', ['--version']).status !== 0)('refuses a named pipe', async () => {
    spawnSync('mkfifo', [path]);
    await expect(writeConfig(path, config)).rejects.toThrow('is not a regular file');
  });
});
