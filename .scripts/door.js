// The library's door for `import`: Node finds no names in the minified CommonJS of the bundle.

/**
 * An ES module that hands on what dist/index.js exports.
 * @param {readonly string[]} names
 */
export function doorModule(names) {
  return `import door from './index.js';\nexport const { ${[...names].sort().join(', ')} } = door;\n`;
}
