// The first lines of a single executable: the files of the package are inside of it, and are loaded from there as they are asked for.
const { getAsset } = require('node:sea');
const { posix } = require('node:path');
const vm = require('node:vm');

const names = JSON.parse(getAsset('names.json', 'utf8'));
const loaded = new Map();
const inside = {
  read: (path) => getAsset(path, 'utf8'),
  list: (folder) => names.flatMap((name) => (name.startsWith(folder) ? [name.slice(folder.length)] : [])),
};
globalThis[Symbol.for('gateway-cli/files')] = inside;

/** Runs a CommonJS module once, and returns what it exports. */
function load(path) {
  const known = loaded.get(path);
  if (known !== undefined) return known.exports;
  const module = { exports: {} };
  loaded.set(path, module);
  const folder = posix.dirname(path);
  const ownRequire = (name) => (name.startsWith('.') ? load(posix.join(folder, name)) : require(name));
  const place = [posix.join('/gateway-cli', path), posix.join('/gateway-cli', folder)];
  const run = vm.compileFunction(inside.read(path), ['exports', 'require', 'module', '__filename', '__dirname'], {
    filename: place[0],
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  run.call(module.exports, module.exports, ownRequire, module, ...place);
  return module.exports;
}

load('dist/cjs/main.js');
