// Puts a single executable into a folder, which needs no Node, in an archive with its man page, completions and licences.
//   node .scripts/executable.js <folder> [node]     `node`: Node 26 or later, whose copy it is; by default the one that runs this
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import { arch, execPath, exit, platform } from 'node:process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const [folder, node = execPath] = process.argv.slice(2);
if (folder === undefined) {
  console.error('usage: node .scripts/executable.js <folder> [node]');
  exit(2);
}
const { name, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const archive = `${name}-${version}-${platform}-${arch}`;
const home = resolve(folder, archive);
rmSync(home, { recursive: true, force: true });
mkdirSync(join(home, 'completions'), { recursive: true });

const program = join(home, platform === 'win32' ? `${name}.exe` : name);
const config = join(home, 'sea.json');
const list = (path, ends) =>
  readdirSync(join(root, path), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && ends.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'));
const files = [
  ...list('dist/cjs', /^(?!index|testing).*\.js$/),
  ...list('dist', /\.schema\.json$/),
  ...list('src/cli/help/topics', /./),
  ...list('.agents/skills', /./),
];
writeFileSync(join(home, 'names.json'), JSON.stringify(files));
const assets = Object.fromEntries(files.map((path) => [path, join(root, path)]));
writeFileSync(
  config,
  JSON.stringify({
    main: join(root, '.scripts/executable-main.cjs'),
    output: program,
    executable: node,
    disableExperimentalSEAWarning: true,
    assets: { ...assets, 'names.json': join(home, 'names.json') },
  }),
);
execFileSync(node, ['--build-sea', config], { stdio: ['ignore', 'ignore', 'inherit'] });
for (const path of [config, join(home, 'names.json')]) rmSync(path);
// A Mac starts no program that differs from what was signed.
if (platform === 'darwin') execFileSync('codesign', ['--force', '--sign', '-', program]);

const shells = { bash: `${name}.bash`, zsh: `_${name}`, fish: `${name}.fish`, powershell: `${name}.ps1` };
for (const [shell, file] of Object.entries(shells))
  writeFileSync(join(home, 'completions', file), execFileSync(program, ['completion', shell]));
cpSync(join(root, 'dist/man'), join(home, 'man'), { recursive: true });
cpSync(join(root, 'LICENSE'), join(home, 'LICENSE'));
cpSync(join(root, 'dist/THIRD-PARTY-LICENSES.txt'), join(home, 'THIRD-PARTY-LICENSES.txt'));
execFileSync('tar', ['-czf', `${archive}.tar.gz`, archive], { cwd: resolve(folder) });
console.log(join(folder, `${archive}.tar.gz`));
