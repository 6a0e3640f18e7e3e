// What is published has no scripts, which npm warns of at each installation, and no packages of the build.
//   node .scripts/manifest.js strip     before a checkout is packed
//   node .scripts/manifest.js restore   after it
//   node .scripts/manifest.js clone     for good, if this is the clone that npm makes of a git address, packs and removes
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

const manifest = 'package.json';
const folder = 'node_modules/.cache';
const kept = `${folder}/package.json`;
const place = '.github/repository';

function strip() {
  const { scripts: _, devDependencies: __, ...published } = JSON.parse(readFileSync(manifest, 'utf8'));
  writeFileSync(manifest, `${JSON.stringify({ ...published, ...links() }, null, 2)}\n`);
}

/** Where the project lives: `.github/repository` has its address in one line, or nothing until there is one. */
function links() {
  const address = existsSync(place) ? readFileSync(place, 'utf8').trim() : '';
  if (address === '') return {};
  const repository = { type: 'git', url: `git+${address}.git` };
  // The name in the registry of MCP is `<host>.<owner>/<name>`, and `server.json` has the same.
  const mcpName = address.replace(/^https:\/\/github\.com\//, 'io.github.');
  return { homepage: `${address}#readme`, bugs: `${address}/issues`, repository, mcpName };
}

const steps = {
  strip() {
    mkdirSync(folder, { recursive: true });
    writeFileSync(kept, readFileSync(manifest));
    strip();
  },
  restore: () => renameSync(kept, manifest),
  clone() {
    if (/[\\/]_cacache[\\/]tmp[\\/]/.test(process.cwd())) strip();
  },
};
steps[process.argv[2]]();
