// What npm would publish, and what it would install beside it.
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** @type {import('./experiment.js').Experiment} */
export const tarball = {
  rounds: 1,
  sides: {
    product: async (lab) => {
      const folder = lab.folder();
      const root = join(lab.bin, '../..');
      await lab.run(['npm', 'pack', root, '--ignore-scripts', '--silent', '--pack-destination', folder]);
      const name = readdirSync(folder).find((file) => file.endsWith('.tgz')) ?? '';
      writeFileSync(join(folder, 'package.json'), '{"private":true}');
      await lab.run([
        'npm',
        'install',
        join(folder, name),
        '--prefix',
        folder,
        '--ignore-scripts',
        '--silent',
        '--no-audit',
        '--no-fund',
      ]);
      return { bytes: statSync(join(folder, name)).size, packages: countPackages(join(folder, 'node_modules')) };
    },
  },
};

/** @param {string} folder a node_modules folder @returns {number} */
function countPackages(folder) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('package.json') && isPackage(path) && existsSync(join(folder, path)),
  ).length;
}

/** @param {string} path below node_modules: `name/package.json`, `@scope/name/package.json` or the same below another package */
function isPackage(path) {
  const inner = path.split(/[\\/]node_modules[\\/]/).at(-1) ?? '';
  return /^(?:@[^\\/]+[\\/])?[^@\\/][^\\/]*[\\/]package\.json$/.test(inner);
}
