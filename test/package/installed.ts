import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bareEnv } from '../helpers/spawn.ts';
import { scratchFolder } from '../helpers/scratch.ts';

const root = join(import.meta.dirname, '../..');

/** The package as a user has it: packed, and installed in a folder that was empty. */
export interface Installed {
  /** Where the tarball lies. */
  tarball: string;
  /** The folder that it was installed in. */
  cwd: string;
  /** Files of the tarball and their sizes in bytes. */
  files: Map<string, number>;
  /** Size of the tarball in bytes. */
  packed: number;
  remove(): void;
}

/** Packs what is built and installs it without a network. */
export function packAndInstall(): Installed {
  const folder = scratchFolder();
  const cwd = join(folder, 'empty');
  mkdirSync(cwd);
  const env = { ...bareEnv(folder), npm_config_update_notifier: 'false', npm_config_loglevel: 'error' };
  const npm = (argv: string[], at: string): string => execFileSync('npm', argv, { cwd: at, env, encoding: 'utf8' });
  // `npm test` has built it already: the files in dist are tested. The steps of a pack change package.json, so in a copy.
  const source = join(folder, 'source');
  const { files: names } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { files: string[] };
  for (const name of [...names, '.scripts', 'LICENSE', 'README.md', 'package.json'])
    cpSync(join(root, name), join(source, name), { recursive: true });
  execFileSync(process.execPath, ['.scripts/manifest.js', 'strip'], { cwd: source });
  const out = npm(['pack', '--ignore-scripts', '--json', '--pack-destination', folder], source);
  const [report] = JSON.parse(out) as { filename: string; size: number; files: { path: string; size: number }[] }[];
  if (report === undefined) throw new Error(out);
  const tarball = join(folder, report.filename);
  writeFileSync(join(cwd, 'package.json'), '{"private":true,"type":"module"}');
  npm(['install', '--offline', '--ignore-scripts', '--no-audit', '--no-fund', tarball], cwd);
  return {
    tarball,
    cwd,
    files: new Map(report.files.map(({ path, size }) => [path, size])),
    packed: report.size,
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }),
  };
}
