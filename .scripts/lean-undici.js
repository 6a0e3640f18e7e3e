// undici, reduced to what the transport uses of it: HTTP/1.1 over its Agent. What is cut costs 8 ms at every start.
// Each edit names text that must be there, so that another version of undici stops the build instead of passing unreduced.
import { readFile } from 'node:fs/promises';

const nothing = (what) => `module.exports = () => { throw new Error('${what} is not part of this program') };`;

/** The parser as it is, beside the bundle: as Base64 inside JavaScript it is a third larger and scanned at every start. */
const parser = (name) =>
  `let bytes; Object.defineProperty(module, 'exports', { get: () => (bytes ??= require('node:fs').readFileSync(__dirname + '/${name}')) });`;

/**
 * Parser files by the name that they get beside the chunks. The one with SIMD is left out: it is faster at heads alone, does
 * not run everywhere, and would be 18 kB more to download.
 */
export const parsers = {
  'llhttp.wasm': 'undici/lib/llhttp/llhttp-wasm.js',
};

const replaced = {
  'lib/dispatcher/client-h2.js': nothing('HTTP/2'),
  'lib/web/fetch/body.js': `exports.extractBody = () => { throw new Error('form data is not part of this program') };`,
  'lib/llhttp/llhttp_simd-wasm.js': parser('llhttp.wasm'),
  'lib/llhttp/llhttp-wasm.js': parser('llhttp.wasm'),
};

const edits = {
  // Only for a stream that is a server's request, which nobody here has.
  'lib/core/util.js': [
    ["const { IncomingMessage } = require('node:http')", ''],
    ['constructor === IncomingMessage', "constructor.name === 'IncomingMessage'"],
  ],
  // node:http costs a millisecond and is asked for one number: its default, which no flag of ours changes.
  'lib/dispatcher/client.js': [["const http = require('node:http')", 'const http = { maxHeaderSize: 16384 }']],
};

const assertion = `module.exports = (value, message) => { if (!value) require('node:assert')(value, message); };`;

/** An esbuild plugin. */
export const leanUndici = {
  name: 'lean-undici',
  setup(build) {
    build.onResolve({ filter: /^node:assert$/ }, ({ importer }) =>
      importer.includes('/undici/') ? { path: 'assert', namespace: 'lean' } : undefined,
    );
    build.onLoad({ filter: /^assert$/, namespace: 'lean' }, () => ({ contents: assertion, loader: 'js' }));
    build.onLoad({ filter: /[\\/]undici[\\/]lib[\\/].*\.js$/ }, async ({ path }) => {
      const name = path.replaceAll('\\', '/').split('/undici/').at(-1);
      if (replaced[name] !== undefined) return { contents: replaced[name], loader: 'js' };
      if (edits[name] === undefined) return undefined;
      return { contents: edit(await readFile(path, 'utf8'), edits[name], name), loader: 'js' };
    });
  },
};

function edit(text, changes, name) {
  for (const [before, after] of changes) {
    if (!text.includes(before)) throw new Error(`undici/${name} no longer holds: ${before}`);
    text = text.replace(before, after);
  }
  return text;
}
