// From esbuild's split ES modules to CommonJS: Node starts a CommonJS program 4 ms sooner, and loads each further file of it
// faster. (esbuild itself splits ES modules only.)
import { transform } from 'esbuild';

/** Builtins that every Node process has loaded when a program starts. The others are loaded at their first use. */
const ready = new Set(['buffer', 'events', 'fs', 'module', 'path', 'process', 'timers', 'url', 'util']);

/** A builtin that answers like itself, but is loaded at the first question. */
const later = `const __later = (name) => {
  let loaded;
  const load = () => (loaded ??= require(name));
  return new Proxy(() => {}, {
    get: (_, key) => load()[key],
    has: (_, key) => key in load(),
    apply: (_, self, values) => load()(...values),
    ownKeys: () => Reflect.ownKeys(load()),
    getOwnPropertyDescriptor: (_, key) => ({ ...Reflect.getOwnPropertyDescriptor(load(), key), configurable: true }),
  });
};`;

const common = { format: 'cjs', platform: 'node', target: 'node20.18', legalComments: 'none' };

/**
 * @param {string} code an ES module of the bundle, not minified: the names of esbuild's helpers are looked for
 * @returns {Promise<string>}
 */
export async function toCommonJs(code) {
  // No module of ours does anything by being loaded, so a chunk that gives nothing is not needed.
  const { code: plain } = await transform(code.replaceAll(/^import ?"[^"]+";/gm, ''), {
    ...common,
    supported: { 'dynamic-import': false },
  });
  const deferred = plain
    // The name that a package's module has in the bundle says nothing to anybody.
    .replaceAll(/\{(\s*)"node_modules\/[^"\n]+"\(/g, '{$1_(')
    .replaceAll(/(?:\(0, \w+\.__require\)|\b__require)\("node:/g, 'require("node:')
    .replaceAll(/= require\("node:([a-z0-9_/]+)"\)/g, (found, name) =>
      ready.has(name) ? found : `= __later("node:${name}")`,
    )
    .replaceAll(/__toESM\(require\("node:([a-z0-9_/]+)"\)/g, (found, name) =>
      ready.has(name) ? found : `__toESM(__later("node:${name}")`,
    );
  const whole = `"use strict";\n${deferred.includes('__later(') ? later : ''}\n${deferred}`;
  return (await transform(exportValues(whole), { ...common, minify: true, treeShaking: true })).code;
}

/**
 * esbuild exports every name by a getter to a getter, since variables may change. Functions do not: exported as they are,
 * they cost their callers in other files nothing.
 * @param {string} code
 */
function exportValues(code) {
  const exported = /^__export\((\w+), \{\n([^}]*)\n\}\);\nmodule\.exports = __toCommonJS\(\1\);$/m;
  const isFunction = (line) => {
    const local = /=> (\w+),?$/.exec(line)?.[1];
    return new RegExp(`^(?:async )?function ?\\*? ?${local}\\(`, 'm').test(code);
  };
  return code.replace(exported, (_, name, list) => {
    const lines = list.split('\n').map((line) => line.replace(/,?$/, ','));
    const live = lines.filter((line) => !isFunction(line));
    const fixed = lines.filter(isFunction).map((line) => line.replace('() => ', ''));
    return [
      live.length > 0 ? `__export(${name}, {${live.join('')}});` : '',
      `module.exports = Object.assign(__defProp(${name}, "__esModule", { value: true }), {${fixed.join('')}});`,
    ].join('\n');
  });
}
